# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The records of a WebSocket on a connection that carries nothing else: kind, length, payload; docs/websockets.md."""

from __future__ import annotations

from struct import Struct

from .._protocol.frames import decode, encode
from .._protocol.hints import Any
from .reading import PIECE

_HEAD = Struct(">BI")
_TEXT, _BINARY, _CONTROL = 1, 2, 3

_LONGEST = 64 << 20
"""Bytes of a message that the service takes; a longer one would end the WebSocket."""

_LEAST = 8192
"""Bytes of the buffer of a WebSocket on which little comes."""

_MOST = 4 << 20
"""Bytes of the buffer that stay after a long message, for the next one."""

_FIRST = 3
"""Where the first record begins, so that its payload has an address that is a multiple of 8: CPython decodes ASCII
there in a single pass."""

_SHORT = 4096
"""Payloads below so many bytes are cut from one copy: slices of ``bytes`` are the cheapest."""


def record(message: str | bytes | bytearray | memoryview) -> bytes:
    """A message on its way to the service."""
    if isinstance(message, str):
        try:
            payload, kind = message.encode(), _TEXT
        except UnicodeEncodeError as problem:
            from .._protocol.places import unwritable

            # the exception of a message that goes to the service as a call
            raise unwritable({"text": message}, "params", str(problem)) from None
    elif isinstance(message, (bytes, bytearray, memoryview)):
        payload, kind = bytes(message), _BINARY
    else:
        raise TypeError(f"a message must be str or bytes, not {type(message).__name__} (send_json takes other values)")
    if len(payload) > _LONGEST:
        raise ValueError(f"a message must have at most {_LONGEST} bytes, not {len(payload)}: send it in several")
    return _HEAD.pack(kind, len(payload)) + payload


def control(told: dict[str, Any]) -> bytes:
    """A command of the program beside messages, such as ``{"close": …}``."""
    payload = encode(told).encode()
    return _HEAD.pack(_CONTROL, len(payload)) + payload


class Records:
    """Finds messages in bytes that come in pieces. ``end`` is the content of the final record.

    The pieces are read into a buffer that stays: new memory for each piece costs more than its bytes do. The buffer
    grows with the traffic, and keeps the length of a long message while more of them follow.
    """

    __slots__ = ("_size", "_start", "_until", "_view", "end")

    def __init__(self) -> None:
        self.end: dict[str, Any] | None = None
        # the bytes from the start to the size belong to an incomplete record
        self._start = self._size = _FIRST
        self._view = memoryview(bytearray(_LEAST))
        self._until = _LEAST

    def room(self) -> memoryview:
        """Where the next bytes go."""
        return self._view[self._size : self._until]

    def feed(self, data: bytes) -> list[Any]:
        """The messages that are complete with these bytes, which were read elsewhere."""
        found: list[Any] = []
        while data:
            room = self.room()
            piece, data = data[: len(room)], data[len(room) :]
            room[: len(piece)] = piece
            found += self.filled(len(piece))
        return found

    def filled(self, count: int) -> list[Any]:
        """The messages that are complete now that so many bytes are in the room."""
        found: list[Any] = []
        add, head, view = found.append, _HEAD.unpack_from, self._view
        at, size = self._start, self._size + count
        is_full = size == self._until
        last, missing, length = size - 5, 5, 0
        data: bytes | None = None
        while at <= last:
            kind, length = head(view, at)
            start = at + 5
            end = start + length
            if end > size:
                missing = 5 + length
                break
            if length < _SHORT:
                if data is None:
                    data = view[:size].tobytes()
                if kind == _TEXT:
                    add(data[start:end].decode())
                elif kind == _BINARY:
                    add(data[start:end])
                else:
                    self._control(decode(data[start:end].decode()))
            elif kind == _TEXT:
                add(str(view[start:end], "utf-8"))
            elif kind == _BINARY:
                add(view[start:end].tobytes())
            else:
                self._control(decode(str(view[start:end], "utf-8")))
            at = end
        self._start, self._size = at, size
        self._prepare(missing, length, is_full)
        return found

    def _prepare(self, missing: int, length: int, is_full: bool) -> None:
        """Makes room for the next bytes: for the rest of a record of ``missing`` bytes, and for what follows."""
        capacity = len(self._view)
        if missing + _FIRST > capacity:
            capacity = missing + _FIRST + 5
        elif is_full and capacity < PIECE:
            capacity = min(capacity * 4, PIECE)
        elif capacity > PIECE and (length * 2 < PIECE or capacity > max(_MOST, missing + _FIRST + 5)):
            capacity = max(PIECE, missing + _FIRST + 5)
        held = self._view[self._start : self._size]
        if capacity != len(self._view) or not held or capacity - self._start < max(missing, capacity // 2):
            if capacity != len(self._view):
                self._view = memoryview(bytearray(capacity))
            self._start, self._size = _FIRST, _FIRST + len(held)
            self._view[_FIRST : self._size] = held
        # hardly anything then follows a long record, and has to be moved
        self._until = self._start + missing + 5 if missing * 2 > capacity else capacity

    def _control(self, told: dict[str, Any]) -> None:
        # how the connection stands is told among the messages
        if "socket" not in told:
            self.end = told
