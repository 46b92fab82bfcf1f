# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A response body on a connection that carries nothing else, for asyncio."""

from __future__ import annotations

import asyncio
import socket as sockets

from .._connection.peers import connect
from .._protocol.exceptions import OutriderError
from .._resources.reading import PIECE
from .._resources.streams import attached, cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class AsyncPipe:
    """The bytes of a body, as they come."""

    def __init__(self, made: sockets.socket, early: bytes, ended: Callable[[int], Awaitable[None]]) -> None:
        self._ended: Callable[[int], Awaitable[None]] | None = ended
        self._rest = early
        self._count = len(early)
        self._socket = made

    async def take(self, size: int) -> bytes:
        """Some bytes; none at the end. Raises if the body was cut short."""
        if self._rest:
            piece, self._rest = self._rest[:size], self._rest[size:]
            return piece
        if self._ended is None:
            return b""
        piece = await self._received(size)
        self._count += len(piece)
        if not piece:
            await self._ended(self._count)
            self._ended = None
        return piece

    async def _received(self, size: int) -> bytes:
        if self._socket.fileno() < 0:
            raise ValueError("the stream is closed")
        while True:
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
        loop.add_reader(self._socket, _end_turn, turn)
        try:
            await turn
        finally:
            loop.remove_reader(self._socket)

    def __del__(self) -> None:
        self._socket.close()

    def close(self) -> None:
        """Ends the connection, and the request unless all was read."""
        self._socket.close()


def _end_turn(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


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


async def open_pipe(path: str, frame: bytes, ended: Callable[[int], Awaitable[None]]) -> AsyncPipe:
    """A connection for the bytes of a stream; ``ended`` raises at their end if so many are not all."""
    made, early = await attach(path, frame)
    return AsyncPipe(made, early, ended)
