# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The records of a WebSocket on a connection that carries nothing else: kind, length, payload; docs/websockets.md."""

from __future__ import annotations

from struct import Struct

from .._protocol.frames import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HEAD = Struct(">BI")
_TEXT, _BINARY, _CONTROL = 1, 2, 3


def record(message: str | bytes | bytearray | memoryview) -> bytes:
    """A message on its way to the service."""
    if isinstance(message, str):
        payload, kind = message.encode(), _TEXT
    elif isinstance(message, (bytes, bytearray, memoryview)):
        payload, kind = bytes(message), _BINARY
    else:
        raise TypeError(f"a message must be str or bytes, not {type(message).__name__} (send_json takes other values)")
    return _HEAD.pack(kind, len(payload)) + payload


def control(told: dict[str, Any]) -> bytes:
    """A command of the program beside messages, such as ``{"close": …}``."""
    payload = encode(told).encode()
    return _HEAD.pack(_CONTROL, len(payload)) + payload


class Records:
    """Finds messages in bytes that come in pieces. ``end`` is the content of the final record."""

    __slots__ = ("_missing", "_parts", "end")

    def __init__(self) -> None:
        self.end: dict[str, Any] | None = None
        self._parts: list[bytes] = []
        self._missing = 0

    def feed(self, data: bytes) -> list[Any]:
        """The messages that are complete now."""
        if self._parts:
            self._parts.append(data)
            self._missing -= len(data)
            if self._missing > 0:
                return []
            data = b"".join(self._parts)
            self._parts = []
        found: list[Any] = []
        add, head = found.append, _HEAD.unpack_from
        at, size = 0, len(data)
        last = size - 5
        while at <= last:
            kind, length = head(data, at)
            start = at + 5
            end = start + length
            if end > size:
                self._missing = end - size
                break
            if kind == _TEXT:
                add(data[start:end].decode())
            elif kind == _BINARY:
                add(data[start:end])
            else:
                self._control(decode(data[start:end].decode()))
            at = end
        else:
            self._missing = 5 - (size - at)
        if at < size:
            self._parts = [data[at:] if at else data]
        return found

    def _control(self, told: dict[str, Any]) -> None:
        # how the connection stands is told among the messages
        if "socket" not in told:
            self.end = told
