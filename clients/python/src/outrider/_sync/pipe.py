# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A response body as a readable file, or the messages of a WebSocket, on a connection that carries nothing else."""

from __future__ import annotations

from _socket import MSG_DONTWAIT, MSG_NOSIGNAL, MSG_PEEK, SHUT_RDWR, SHUT_WR
from _socket import socket as Socket
from _thread import TIMEOUT_MAX, allocate_lock
from contextlib import suppress
from io import RawIOBase
from select import POLLIN, POLLOUT, poll
from time import monotonic

from .._connection.waiters import atomic_acquire
from .._connection.discovery import connect
from .._protocol.exceptions import OutriderError
from .._protocol.frames import call_frame, encode
from .._protocol.hints import Any, Callable
from .._resources.reading import ATTACHING, Reading, attached, cut
from .._resources.records import Records

_LONGEST = (1 << 31) - 1
"""Milliseconds for which ``poll`` can wait."""


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
            self._ended(self._count)
            # not before: an interrupted call has found no end
            self._ended = None

    def close(self) -> None:
        """Ends the connection, and the request unless all was read."""
        # a pipe that could not be opened has no socket
        if not self.closed and hasattr(self, "_socket"):
            self._socket.close()
        super().close()


def _attach(path: str, frame: bytes, seconds: float | None = None) -> Socket:
    """A connection that carries nothing else after the reply to ``frame``, which comes within ``seconds``."""
    try:
        made = connect(path, False)
    except OSError as problem:
        raise problem if isinstance(problem, OutriderError) else cut(problem) from None
    try:
        # there may be a default for all new sockets
        made.settimeout(None)
        made.sendall(frame, MSG_NOSIGNAL)
        line, deadline = b"", None if seconds is None else monotonic() + seconds
        while not line.endswith(b"\n"):
            if deadline is not None and not _is_ready(made, deadline - monotonic(), POLLIN):
                raise cut()
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


def _is_ready(made: Socket, seconds: float, event: int) -> bool:
    waiting = poll()
    waiting.register(made, event)
    return bool(waiting.poll(max(0, min(seconds * 1000, _LONGEST))))


class RawBody:
    """The bytes of a body to the service. A connection that is closed before ``finish`` has returned true ends the
    request."""

    def __init__(self, path: str, stream: str) -> None:
        frame = call_frame(1, "stream.attach", encode({"stream": stream, "direction": "write"}))
        self._socket = _attach(path, frame, ATTACHING)

    def write(self, piece: memoryview, wait: float) -> int:
        """Sends the first bytes, and returns how many; 0 if the service takes nothing for ``wait`` seconds.

        Raises :class:`BrokenPipeError` or :class:`ConnectionResetError` if the service takes no more.
        """
        _is_ready(self._socket, wait, POLLOUT)
        # a socket is ready when most of its buffer is free, and a slow server may not free so much in time
        with suppress(BlockingIOError):
            return self._socket.send(piece, MSG_DONTWAIT | MSG_NOSIGNAL)
        return 0

    def finish(self, wait: float) -> bool:
        """Ends the body. Returns whether the service has taken all of it, after ``wait`` seconds at most."""
        self._socket.shutdown(SHUT_WR)
        return _is_ready(self._socket, wait, POLLIN)

    def close(self) -> None:
        """Ends the connection."""
        self._socket.close()


# in asyncio, a coroutine function
open_raw_body = RawBody


def open_pipe(path: str, reading: Reading, ended: Callable[[int], None]) -> Pipe:
    """A connection for the bytes of a stream; ``ended`` raises at their end if so many are not all."""
    return Pipe(path, reading.attach(), ended)


def open_socket(path: str, stream: str) -> Any:
    """A stream with bytes both ways as a ``socket.socket``."""
    from socket import socket

    frame = call_frame(1, "stream.attach", encode({"stream": stream, "direction": "both"}))
    return socket(fileno=_attach(path, frame).detach())


class Channel:
    """Messages both ways; any thread may send while another one reads."""

    def __init__(self, path: str, stream: str) -> None:
        self._socket = open_socket(path, stream)
        self._socket.settimeout(None)
        self._records = Records()
        self._reading, self._writing = allocate_lock(), allocate_lock()

    @property
    def end(self) -> dict[str, Any] | None:
        """The last record of the service; ``None`` while messages may follow."""
        return self._records.end

    def read(self, timeout: float | None) -> list[Any]:
        """The next messages; none at the end, and if none came in time."""
        deadline = None if timeout is None else monotonic() + timeout
        if not self._reading.acquire(timeout=-1 if timeout is None else min(timeout, TIMEOUT_MAX)):
            return []
        try:
            while self._records.end is None:
                if deadline is not None and not _is_ready(self._socket, deadline - monotonic(), POLLIN):
                    return []
                count = self._socket.recv_into(self._records.room())
                if not count:
                    raise cut()
                found = self._records.filled(count)
                if found:
                    return found
            return []
        except OSError as problem:
            raise cut(problem) from None
        finally:
            self._reading.release()

    def send(self, record: bytes, timeout: float | None = None) -> None:
        """Sends a record; waits while the service takes nothing. Raises :class:`OSError` after the end of the
        connection, and if the service takes nothing for ``timeout`` seconds."""
        mine = False
        try:
            [mine] = atomic_acquire(self._writing, -1 if timeout is None else timeout)
            if not mine:
                raise BrokenPipeError
            try:
                if timeout is None:
                    self._socket.sendall(record, MSG_NOSIGNAL)
                else:
                    self._send_within(record, timeout)
            except BaseException:
                # part of a record may have left
                self._socket.shutdown(1)
                raise
        finally:
            if mine:
                self._writing.release()

    def _send_within(self, record: bytes, timeout: float) -> None:
        rest = memoryview(record)
        deadline = monotonic() + timeout
        while rest:
            if not _is_ready(self._socket, deadline - monotonic(), POLLOUT):
                raise BrokenPipeError
            with suppress(BlockingIOError):
                rest = rest[self._socket.send(rest, MSG_DONTWAIT | MSG_NOSIGNAL) :]

    def close(self) -> None:
        """Ends the connection and its WebSocket, and the wait of a thread that sends."""
        with suppress(OSError):
            self._socket.shutdown(SHUT_RDWR)
        self._socket.close()


# in asyncio, a coroutine function
open_channel = Channel
