# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A response body on a connection that carries nothing else, for asyncio."""

from __future__ import annotations

import asyncio
import socket as sockets

from .._connection.peers import check_peer
from .._protocol.exceptions import ServerNotFound
from .._resources.reading import PIECE
from .._resources.streams import attached, cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class AsyncPipe:
    """The bytes of a body, as they come."""

    def __init__(self, ended: Callable[[int], Awaitable[None]]) -> None:
        self._ended: Callable[[int], Awaitable[None]] | None = ended
        self._rest = b""
        self._count = 0
        self._socket = sockets.socket(sockets.AF_UNIX)
        self._socket.setblocking(False)

    async def open(self, path: str, frame: bytes) -> AsyncPipe:
        """Connects, and sends the line that turns the connection into the bytes of a stream."""
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_connect(self._socket, path)
            check_peer(self._socket, path)
            await loop.sock_sendall(self._socket, frame)
        except ServerNotFound:
            raise
        except OSError as problem:
            raise cut(problem) from None
        while b"\n" not in self._rest:
            piece = await self._received(PIECE)
            if not piece:
                raise cut()
            self._rest += piece
        line, self._rest = self._rest.split(b"\n", 1)
        self._count = len(self._rest)
        attached(line)
        return self

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


async def open_pipe(path: str, frame: bytes, ended: Callable[[int], Awaitable[None]]) -> AsyncPipe:
    """A connection for the bytes of a stream; ``ended`` raises at their end if so many are not all."""
    pipe = AsyncPipe(ended)
    try:
        return await pipe.open(path, frame)
    except BaseException:
        pipe.close()
        raise
