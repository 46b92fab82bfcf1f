# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Header fields, events and the progress of transfers, as the service sent them; the interface of progress bars."""

from __future__ import annotations

from .hints import Any, Callable, Iterator, Mapping, Protocol, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Generic, TypeVar

    Value = TypeVar("Value", covariant=True)

    class Told(Generic[Value]):
        """A member that a program can only read."""

        def __get__(self, owner: Any, kind: Any = None, /) -> Value: ...


def told(member: str, text: str, default: Any = None, of: str = "_told") -> Any:
    """A property that is a member of an object of the service, which the attribute ``of`` has."""
    return property(lambda self: getattr(self, of).get(member, default), doc=text)


class Headers:
    """The fields of a response: a mapping that ignores case and keeps repeated fields.

    ``headers["content-type"]`` is the value (repeated fields joined by a comma and a space),
    ``headers.get_all("set-cookie")`` all values, and ``headers.pairs`` the fields in wire order.
    """

    __slots__ = ("_folded", "pairs")

    def __init__(self, fields: Sequence[Mapping[str, str]]) -> None:
        self.pairs: tuple[tuple[str, str], ...] = tuple([(field["name"], field["value"]) for field in fields])
        folded: dict[str, list[str]] = {}
        for name, value in self.pairs:
            folded.setdefault(name.lower(), []).append(value)
        self._folded = folded

    def __getitem__(self, name: str) -> str:
        return ", ".join(self._folded[name.lower()])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._folded

    def __iter__(self) -> Iterator[str]:
        return iter(self._folded)

    def __len__(self) -> int:
        return len(self._folded)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Headers) and self._folded == other._folded

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Headers({dict(self.items())!r})"

    def get(self, name: str, default: str | None = None) -> str | None:
        """The value of a field, or ``default``."""
        values = self._folded.get(name.lower())
        return default if values is None else ", ".join(values)

    def get_all(self, name: str) -> list[str]:
        """Every value of a field, in wire order; empty when there is none."""
        return list(self._folded.get(name.lower(), ()))

    def keys(self) -> list[str]:
        """The names, in lower case."""
        return list(self._folded)

    def values(self) -> list[str]:
        """The values, a value for each name."""
        return [", ".join(values) for values in self._folded.values()]

    def items(self) -> list[tuple[str, str]]:
        """Names and values."""
        return [(name, ", ".join(values)) for name, values in self._folded.items()]


class Event:
    """Something the service told without being asked: ``name`` (``event.progress``) and ``params``."""

    __slots__ = ("name", "params")

    def __init__(self, name: str, params: Mapping[str, Any]) -> None:
        self.name = name
        self.params = params

    request: Told[str | None] = told("request", "The handle of its request, if any.", of="params")
    seq: Told[int | None] = told("seq", "Its number among the events of that request or stream, from 0.", of="params")
    tag: Told[str | None] = told("tag", "The label that the request was given.", of="params")
    topic: Told[str | None] = told("topic", "The topic of an ``event.monitor``.", of="params")

    @property
    def detail(self) -> Mapping[str, Any]:
        """The details of the topic."""
        return self.params.get("detail") or {}

    def __repr__(self) -> str:
        return f"<Event {self.name} {dict(self.params)!r}>"


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
