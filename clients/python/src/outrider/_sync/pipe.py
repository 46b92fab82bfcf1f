# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A response body as a readable file, on a connection that carries nothing else."""

from __future__ import annotations

from _socket import MSG_PEEK
from io import RawIOBase

from .._connection.peers import connect
from .._protocol.exceptions import OutriderError
from .._protocol.frames import call_frame, encode
from .._resources.streams import attached, cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket as Socket
    from collections.abc import Callable
    from typing import Any


class Pipe(RawIOBase):
    """A body as a file that can be read, from a connection that carries nothing else."""

    def __init__(self, path: str, frame: bytes, ended: Callable[[int], None]) -> None:
        self._ended: Callable[[int], None] | None = ended
        self._count = 0
        self._socket = _attach(path, frame)

    def readable(self) -> bool:
        """The pipe can be read."""
        return True

    def fileno(self) -> int:
        """The socket's, for ``select``."""
        return self._socket.fileno()

    def readinto(self, buffer: Any) -> int:
        """As of any file: how many bytes were there; none at the end. Raises if the body was cut short."""
        view = memoryview(buffer).cast("B")
        if self._ended is None or not view:
            return 0
        try:
            size = self._socket.recv_into(view)
        except ConnectionError as problem:
            raise cut(problem) from None
        self._came(size)
        return size

    def take(self, size: int) -> bytes:
        """As :meth:`read`, without a buffer between."""
        if self._ended is None:
            return b""
        if self.closed:
            raise ValueError("the stream is closed")
        try:
            # A longer buffer would be mapped and unmapped for each read.
            piece = self._socket.recv(min(size, 1 << 16))
        except ConnectionError as problem:
            raise cut(problem) from None
        self._came(len(piece))
        return piece

    def _came(self, size: int) -> None:
        self._count += size
        if size == 0 and self._ended is not None:
            ended, self._ended = self._ended, None
            ended(self._count)

    def close(self) -> None:
        """Ends the connection, and the request unless all was read."""
        # a pipe that could not be opened has no socket
        if not self.closed and hasattr(self, "_socket"):
            self._socket.close()
        super().close()


def _attach(path: str, frame: bytes) -> Socket:
    """A connection that carries nothing else after the reply to ``frame``."""
    try:
        made = connect(path, False)
    except OSError as problem:
        raise problem if isinstance(problem, OutriderError) else cut(problem) from None
    try:
        made.sendall(frame)
        line = b""
        while not line.endswith(b"\n"):
            # what follows the line belongs to the reader
            waiting = made.recv(65536, MSG_PEEK)
            if not waiting:
                raise cut()
            line += made.recv(waiting.find(b"\n") + 1 or len(waiting))
        attached(line)
    except BaseException as problem:
        made.close()
        if isinstance(problem, OSError) and not isinstance(problem, OutriderError):
            raise cut(problem) from None
        raise
    return made


def open_pipe(path: str, frame: bytes, ended: Callable[[int], None]) -> Pipe:
    """A connection for the bytes of a stream; ``ended`` raises at their end if so many are not all."""
    return Pipe(path, frame, ended)


def open_socket(path: str, stream: str) -> Any:
    """A stream with bytes both ways as a ``socket.socket``."""
    from socket import socket

    frame = call_frame(1, "stream.attach", encode({"stream": stream, "direction": "both"}))
    return socket(fileno=_attach(path, frame).detach())
