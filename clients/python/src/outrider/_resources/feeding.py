# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Bodies of requests that are written piece by piece: the part of both clients that makes no call."""

from __future__ import annotations

from binascii import b2a_base64
from time import monotonic

from .._protocol.arguments import timeout_of
from .._protocol.exceptions import RequestTimeout
from .._protocol.parameters import merged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from .._protocol.parameters import Defaults

PIECE = 262_144
"""The bytes of a body per call."""

LONGEST = 86_400.0
"""Seconds of the longest timeout that the service takes; stands for no timeout."""


def seconds(timeout: float | None) -> float:
    """A timeout within the range of the service."""
    return LONGEST if timeout is None else min(max(timeout, 0.001), LONGEST)


def octets(content: Any) -> bytes:
    """Bytes, or text as UTF-8. ``bytes`` alone would turn an integer into so many zeros."""
    if isinstance(content, str):
        return content.encode()
    try:
        return bytes(memoryview(content))
    except TypeError:
        raise TypeError(f"bytes or text is sent, not {type(content).__name__}") from None


def pieces(content: Any) -> Iterator[bytes]:
    """Bytes, or text as UTF-8, in the pieces in which a body is written."""
    content = octets(content)
    for start in range(0, len(content), PIECE):
        yield content[start : start + PIECE]


def written(stream: str, piece: bytes, wait: float) -> dict[str, Any]:
    """The parameters of a ``stream.write``."""
    return {"stream": stream, "base64": b2a_base64(piece, newline=False).decode("ascii"), "wait": wait}


def unhurried(options: Mapping[str, Any], defaults: Defaults) -> dict[str, Any]:
    """The timeout of a request whose body comes piece by piece: pauses of the program are no silence of the server."""
    timeout = timeout_of(merged(options, defaults).get("timeout"))
    phases = dict(timeout) if isinstance(timeout, dict) else {} if timeout is None else {"total": seconds(timeout)}
    return {"idle": LONGEST, "total": LONGEST, **phases}


class Patience:
    """How long a writer waits for a server that takes nothing of a body."""

    def __init__(self, timeout: float | None) -> None:
        self._limit = seconds(timeout)
        self._since = monotonic()
        self.wait = min(self._limit, 0.5)
        """The wait of a ``stream.write`` in seconds: short, so that the end of the request is noticed."""

    def begin(self) -> None:
        """The time that the program takes for the next piece does not count."""
        self._since = monotonic()

    def note(self, room: int) -> None:
        """Raises :class:`~outrider.RequestTimeout` when there has been no room for too long."""
        now = monotonic()
        if room > 0:
            self._since = now
        elif now - self._since >= self._limit:
            raise RequestTimeout(
                f"sending the body: the server took nothing for {self._limit:g} seconds (raise the write timeout)",
                code=1405,
                kind="sessionTaskFailed",
                reason="timedOut",
                data={"phase": "request"},
                retryable=True,
            )
