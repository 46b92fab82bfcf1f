# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The progress of a transfer, and the interface of progress bars."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol

    class Watcher(Protocol):
        """Something that is told how far a transfer is, between its beginning and its end."""

        def __enter__(self) -> Callable[[Progress], object]: ...
        def __exit__(self, kind: Any, error: Any, trace: Any, /) -> object: ...


class Progress:
    """The progress of the body in a direction.

    ``direction``       ``upload`` or ``download``
    ``completed``       bytes so far, not compressed
    ``total``           bytes in all, or ``None``; no more than expected where ``estimated``
    ``fraction``        0 to 1, or ``None``
    ``rate``            bytes per second of late, or ``None``
    ``remaining``       seconds to go at that rate, or ``None``
    ``wire_completed``  bytes on the wire where the body is compressed, else ``None``; ``wire_total`` likewise
    ``attempt``         which attempt this is, from 1; each counts from zero, and so does each of its ``redirects``
    """

    __slots__ = (
        "attempt", "completed", "direction", "estimated", "fraction", "rate", "redirects", "remaining", "total",
        "wire_completed", "wire_total",
    )  # fmt: skip

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.direction: str = params["direction"]
        self.completed: int = params["completed"]
        self.total: int | None = params.get("total")
        self.estimated: bool = params.get("estimated", False)
        self.fraction: float | None = params.get("fraction")
        self.rate: float | None = params.get("rate")
        self.remaining: float | None = params.get("remaining")
        self.wire_completed: int | None = params.get("wireCompleted")
        self.wire_total: int | None = params.get("wireTotal")
        self.attempt: int = params.get("attempt", 1)
        self.redirects: int = params.get("redirects", 0)

    @property
    def done(self) -> bool:
        """Whether this body has come to its end."""
        return self.completed == self.total and not self.estimated

    @property
    def sending(self) -> tuple[str, int, int]:
        """The key of a count: each key counts from zero."""
        return self.direction, self.attempt, self.redirects

    def __repr__(self) -> str:
        part = "" if self.fraction is None else f" ({self.fraction:.0%})"
        return f"<outrider.Progress {self.direction} {self.completed}{part}>"


def progress_of(info: Mapping[str, Any], direction: str) -> Progress:
    """How far the body in a direction is, by the result of ``request.get``."""
    if direction not in ("download", "upload"):
        raise ValueError("direction must be download or upload")
    done, whole = ("received", "receivedTotal") if direction == "download" else ("sent", "sentTotal")
    said = info.get("progress") or {}
    completed, total = said.get(done, 0), said.get(whole)
    fraction = completed / total if total else None
    about = {"direction": direction, "completed": completed, "total": total, "fraction": fraction}
    return Progress({**about, "attempt": info.get("attempts", 1), "redirects": len(info.get("redirects", ()))})
