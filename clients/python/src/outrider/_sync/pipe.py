# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A response body as a readable file, on a connection that carries nothing else."""

from __future__ import annotations

from io import RawIOBase

from .._connection.peers import connect
from .._protocol.exceptions import OutriderError
from .._protocol.frames import call_frame, encode
from .._resources.reading import PIECE
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
        self._rest = b""
        try:
            self._socket: Socket = connect(path, False)
        except OSError as problem:
            raise cut(problem) from None
        try:
            self._socket.sendall(frame)
            while b"\n" not in self._rest:
                piece = self._socket.recv(PIECE)
                if not piece:
                    raise cut()
                self._rest += piece
            line, self._rest = self._rest.split(b"\n", 1)
            self._count = len(self._rest)
            attached(line)
        except OSError as problem:
            self._socket.close()
            raise problem if isinstance(problem, OutriderError) else cut(problem) from None
        except BaseException:
            self._socket.close()
            raise

    def readable(self) -> bool:
        """The pipe can be read."""
        return True

    def fileno(self) -> int:
        """The socket's, for ``select``; some bytes may already have been read from the socket."""
        return self._socket.fileno()

    def readinto(self, buffer: Any) -> int:
        """As of any file: how many bytes were there; none at the end. Raises if the body was cut short."""
        view = memoryview(buffer).cast("B")
        if self._rest:
            size = min(len(view), len(self._rest))
            view[:size], self._rest = self._rest[:size], self._rest[size:]
            return size
        if self._ended is None:
            return 0
        try:
            size = self._socket.recv_into(view)
        except ConnectionError as problem:
            raise cut(problem) from None
        self._count += size
        if size == 0 and len(view):
            ended, self._ended = self._ended, None
            ended(self._count)
        return size

    def take(self, size: int) -> bytes:
        """As :meth:`read`, without a buffer between."""
        if self._rest:
            piece, self._rest = self._rest[:size], self._rest[size:]
            return piece
        if self._ended is None:
            return b""
        if self.closed:
            raise ValueError("the stream is closed")
        try:
            # A longer buffer would be mapped and unmapped for each read.
            piece = self._socket.recv(min(size, 1 << 16))
        except ConnectionError as problem:
            raise cut(problem) from None
        self._count += len(piece)
        if not piece:
            ended, self._ended = self._ended, None
            ended(self._count)
        return piece

    def close(self) -> None:
        """Ends the connection, and the request unless all was read."""
        # a pipe that could not be opened has no socket
        if not self.closed and hasattr(self, "_socket"):
            self._socket.close()
        super().close()


def open_pipe(path: str, frame: bytes, ended: Callable[[int], None]) -> Pipe:
    """A connection for the bytes of a stream; ``ended`` raises at their end if so many are not all."""
    return Pipe(path, frame, ended)


def open_socket(path: str, stream: str) -> Any:
    """A stream of ``tcp.open`` as a ``socket.socket``."""
    import socket as sockets

    try:
        made = sockets.socket(fileno=connect(path, False).detach())
    except OSError as problem:
        raise cut(problem) from None
    try:
        made.sendall(call_frame(1, "stream.attach", encode({"stream": stream, "direction": "both"})))
        line = b""
        while not line.endswith(b"\n"):
            # what follows the line belongs to the peer
            waiting = made.recv(65536, sockets.MSG_PEEK)
            if not waiting:
                raise cut()
            line += made.recv(waiting.find(b"\n") + 1 or len(waiting))
        attached(line)
    except OSError as problem:
        made.close()
        raise problem if isinstance(problem, OutriderError) else cut(problem) from None
    except BaseException:
        made.close()
        raise
    return made
