# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A response body, or the messages of a WebSocket, on a connection that carries nothing else, for asyncio."""

from __future__ import annotations

import asyncio
import socket as sockets
from contextlib import suppress
from typing import cast

from .._connection.pending import Room
from .._connection.discovery import connect
from .._protocol.exceptions import OutriderError
from .._protocol.frames import call_frame, encode
from .._protocol.hints import Any, Awaitable, Callable
from .._resources.reading import ATTACHING, PIECE, Reading, attached, cut
from .._resources.records import Records


class AsyncPipe:
    """The bytes of a body, as they come."""

    def __init__(self, made: sockets.socket, early: bytes, ended: Callable[[int], Awaitable[None]] | None) -> None:
        self._ended = ended
        self._rest = early
        self._count = len(early)
        self._socket = made
        self._turns: list[asyncio.Future[None]] = []

    async def take(self, size: int) -> bytes:
        """Some bytes; none at the end. Raises if the body was cut short."""
        if self._rest:
            piece, self._rest = self._rest[:size], self._rest[size:]
            return piece
        if self._ended is None:
            return b""
        piece = await self._received(size)
        self._count += len(piece)
        ended = self._ended
        if not piece and ended is not None:
            await ended(self._count)
            self._ended = None
        return piece

    async def _received(self, size: int) -> bytes:
        while True:
            if self._socket.fileno() < 0:
                raise ValueError("the stream is closed")
            try:
                # not `sock_recv`: a task that is cancelled as bytes arrive would lose the bytes
                return self._socket.recv(size)
            except BlockingIOError:
                await self._readable()
            except ConnectionError as problem:
                raise cut(problem) from None

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._turns.append(turn)
        loop.add_reader(self._socket, self._wake)
        try:
            await turn
        finally:
            self._turns.remove(turn)
            if not self._turns and self._socket.fileno() >= 0 and not loop.is_closed():
                loop.remove_reader(self._socket)

    def _wake(self) -> None:
        for turn in self._turns:
            if not turn.done() and not turn.get_loop().is_closed():
                turn.set_result(None)

    def __del__(self) -> None:
        self._socket.close()

    def close(self) -> None:
        """Ends the connection, and the request unless all was read. Tasks that wait for bytes raise ValueError."""
        for loop in {turn.get_loop() for turn in self._turns}:
            # an event loop would not notice the end of a closed socket
            if not loop.is_closed() and self._socket.fileno() >= 0:
                loop.remove_reader(self._socket)
        self._wake()
        self._socket.close()


class AsyncRawBody:
    """The bytes of a body to the service. A connection that is closed before ``finish`` has returned true ends the
    request."""

    def __init__(self, made: sockets.socket) -> None:
        self._socket = made

    async def write(self, piece: memoryview, wait: float) -> int:
        """Sends the first bytes, and returns how many; 0 if the service takes nothing for ``wait`` seconds.

        Raises :class:`BrokenPipeError` or :class:`ConnectionResetError` if the service takes no more.
        """
        loop = asyncio.get_running_loop()
        await self._is_ready(wait, loop.add_writer, loop.remove_writer)
        # a socket is ready when most of its buffer is free, and a slow server may not free so much in time
        with suppress(BlockingIOError):
            return self._socket.send(piece, sockets.MSG_NOSIGNAL)
        return 0

    async def finish(self, wait: float) -> bool:
        """Ends the body. Returns whether the service has taken all of it, after ``wait`` seconds at most."""
        self._socket.shutdown(sockets.SHUT_WR)
        loop = asyncio.get_running_loop()
        return await self._is_ready(wait, loop.add_reader, loop.remove_reader)

    async def _is_ready(self, wait: float, add: Callable[..., Any], remove: Callable[..., Any]) -> bool:
        ready = asyncio.get_running_loop().create_future()

        def wake() -> None:
            if not ready.done():
                ready.set_result(None)

        add(self._socket, wake)
        try:
            return bool((await asyncio.wait((ready,), timeout=wait))[0])
        finally:
            remove(self._socket)

    def close(self) -> None:
        """Ends the connection."""
        self._socket.close()


async def open_raw_body(path: str, stream: str) -> AsyncRawBody:
    """A connection for the bytes of a body."""
    frame = call_frame(1, "stream.attach", encode({"stream": stream, "direction": "write"}))
    try:
        made, _ = await asyncio.wait_for(attach(path, frame), ATTACHING)
    except asyncio.TimeoutError:
        raise cut() from None
    return AsyncRawBody(made)


async def attach(path: str, frame: bytes) -> tuple[sockets.socket, bytes]:
    """A connection that carries nothing else after the reply to ``frame``, and the bytes that came behind it."""
    loop = asyncio.get_running_loop()
    try:
        made = sockets.socket(fileno=connect(path, False).detach())
    except OSError as problem:
        raise problem if isinstance(problem, OutriderError) else cut(problem) from None
    made.setblocking(False)
    rest = b""
    try:
        await loop.sock_sendall(made, frame)
        while b"\n" not in rest:
            piece = await loop.sock_recv(made, PIECE)
            if not piece:
                raise cut()
            rest += piece
        line, rest = rest.split(b"\n", 1)
        attached(line)
    except BaseException as problem:
        made.close()
        if isinstance(problem, OSError) and not isinstance(problem, OutriderError):
            raise cut(problem) from None
        raise
    return made, rest


async def open_pipe(path: str, reading: Reading, ended: Callable[[int], Awaitable[None]]) -> AsyncPipe:
    """A connection for the bytes of a stream; ``ended`` raises at their end if so many are not all. A reader that is
    cancelled meanwhile leaves the connection to the next one."""

    reading.piping = piping = reading.piping or asyncio.ensure_future(_opened(path, reading.attach()))
    # cancels nothing
    await asyncio.wait((piping,))
    if reading.piping is piping:
        reading.piping = None
    try:
        if piping.cancelled():
            raise ValueError("the stream is closed")
        pipe: AsyncPipe = piping.result()
    finally:
        # the exception of the task knows this frame
        del piping
    pipe._ended = ended
    return pipe


async def _opened(path: str, frame: bytes) -> AsyncPipe:
    """A pipe that does not know the stream, which has the task."""
    return AsyncPipe(*await attach(path, frame), None)


_AHEAD = 1 << 20
"""Bytes that may wait for the program; then nothing is read."""

_UNSENT = 1 << 16
"""Bytes that are sent at once, without waiting for the end of a turn of the event loop."""


class AsyncChannel(Room, asyncio.BufferedProtocol):
    """Messages both ways. Records sent in the same turn of the event loop leave in a single ``send``."""

    def __init__(self, loop: asyncio.AbstractEventLoop, early: bytes) -> None:
        super().__init__(loop)
        self._records = Records()
        self._found: list[Any] = self._records.feed(early)
        self._waiting: list[asyncio.Future[None]] = []
        self._held = len(early)
        self._is_paused = False
        self._lost: Exception | None = None
        self._unsent = 0
        self._transport: asyncio.Transport

    @property
    def end(self) -> dict[str, Any] | None:
        """The last record of the service; ``None`` while messages may follow."""
        return None if self._found else self._records.end

    # Reading

    async def read(self, timeout: float | None) -> list[Any]:
        """The next messages; none at the end, and if none came in time."""
        deadline = None if timeout is None else self.loop.time() + timeout
        timer = None if deadline is None else self.loop.call_at(deadline, self._wake)
        try:
            while not self._found:
                if self._records.end is not None:
                    return []
                if self._lost is not None:
                    raise self._lost
                if deadline is not None and self.loop.time() >= deadline:
                    return []
                turn = self.loop.create_future()
                self._waiting.append(turn)
                try:
                    await turn
                except BaseException:
                    if turn in self._waiting:
                        self._waiting.remove(turn)
                    raise
        finally:
            if timer is not None:
                timer.cancel()
        found, self._found, self._held = self._found, [], 0
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
        return found

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The event loop gives us the transport."""
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the event loop puts the next bytes."""
        return self._records.room()

    def buffer_updated(self, nbytes: int) -> None:
        """So many bytes arrived."""
        found = self._records.filled(nbytes)
        self._found += found
        self._held += nbytes
        if self._held > _AHEAD and self._found and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()
        if self._waiting and (found or self._records.end is not None):
            self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """The service has ended the connection, or we have."""
        self._lost = cut(exc if isinstance(exc, OSError) else None)
        self._wake()
        self.resume_writing()

    # Writing

    async def send(self, record: bytes, timeout: float | None = None) -> None:
        """Sends a record; waits while the service takes nothing. Raises :class:`OSError` after the end of the
        connection, and if the service takes nothing for ``timeout`` seconds."""
        while self._room is not None:
            # cancels nothing: others wait for the same
            done, _ = await asyncio.wait((self._room,), timeout=timeout)
            if not done:
                raise BrokenPipeError
        if self._lost is not None or self._transport.is_closing():
            raise BrokenPipeError
        if not self._outgoing:
            self.loop.call_soon(self._flush)
        self._outgoing.append(record)
        self._unsent += len(record)
        if self._unsent > _UNSENT:
            self._flush()

    def _flush(self) -> None:
        if self._outgoing:
            outgoing, self._outgoing, self._unsent = self._outgoing, [], 0
            self._transport.write(outgoing[0] if len(outgoing) == 1 else b"".join(outgoing))

    def close(self) -> None:
        """Ends the connection and its WebSocket."""
        self._transport.abort()


async def open_channel(path: str, stream: str) -> AsyncChannel:
    """A connection for the messages of a WebSocket."""
    loop = asyncio.get_running_loop()
    frame = call_frame(1, "stream.attach", encode({"stream": stream, "direction": "both"}))
    made, early = await attach(path, frame)
    try:
        channel = AsyncChannel(loop, early)
        await loop.create_unix_connection(lambda: channel, sock=made)
    except BaseException:
        made.close()
        raise
    return channel
