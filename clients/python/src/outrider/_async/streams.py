# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The body of a response as it comes, for the awaiting client."""

from __future__ import annotations

import asyncio
import os
import socket as sockets
from typing import TYPE_CHECKING, Any

from .._connection.peers import check_peer
from .._protocol.exceptions import HandleError, ServerGone
from .._resources.reading import PATIENCE, PIECE, Reading, closing
from .._resources.streams import Head, attached, cut
from .responses import AsyncResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from types import TracebackType

    from .caller import AsyncCaller

    # the methods of the same name hide it
    Bytes = bytes


class AsyncStream(Head):
    """The body of a response as it comes; made by :meth:`outrider.AsyncClient.stream`.

    ``async with client.stream(url) as s:`` awaits the head; then ``async for line in s.lines():``. The methods are
    those of :class:`~outrider.Stream`.
    """

    response: AsyncResponse

    def __init__(
        self, opening: Callable[[], Awaitable[tuple[dict[str, Any], bool, str | None]]], client: AsyncCaller
    ) -> None:
        self._opening = opening
        self._client = client
        self._invoke = client.invoke
        self._path: str | None = None
        self._reading: Reading | None = None
        self._socket: sockets.socket | None = None

    async def __aenter__(self) -> AsyncStream:
        result, check, self._path = await self._opening()
        self.response = AsyncResponse(result["response"], self._invoke)
        self._reading = Reading(result, self._client)
        if check and self.response.error is not None:
            await self.close()
            self.response.raise_for_error()
        return self

    # Reading

    async def bytes(self) -> AsyncIterator[Bytes]:
        """The bytes as they come, in pieces of any length; past JSON, where the service is on a socket."""
        reading = self._open()
        if self._path is None or reading.kind not in ("", "raw"):
            async for piece in self._items("bytes"):
                yield piece
            return
        if reading.over:
            return
        loop = asyncio.get_running_loop()
        piece = b""
        if not reading.kind:
            reading.begin("raw")
            piece = await self._attach(loop, self._path, reading)
        while piece or (piece := await self._more(loop)):
            yield piece
            piece = b""
        reading.over = True
        try:
            ended = await self._invoke("request.wait", {"request": reading.request})
        except HandleError:
            raise cut() from None
        AsyncResponse(ended, self._invoke).raise_for_error()

    async def _attach(self, loop: asyncio.AbstractEventLoop, path: str, reading: Reading) -> Bytes:
        """A second connection that carries the bytes; those that came with its answer."""
        self._socket = sockets.socket(sockets.AF_UNIX)
        self._socket.setblocking(False)
        try:
            await loop.sock_connect(self._socket, path)
            check_peer(self._socket, path)
            await loop.sock_sendall(self._socket, reading.attach())
        except OSError as problem:
            raise cut(problem) from None
        rest = b""
        while b"\n" not in rest:
            piece = await self._more(loop)
            if not piece:
                raise cut()
            rest += piece
        line, rest = rest.split(b"\n", 1)
        attached(line)
        return rest

    async def _more(self, loop: asyncio.AbstractEventLoop) -> Bytes:
        try:
            return await loop.sock_recv(self._pipe(), PIECE)
        except ConnectionError as problem:
            raise cut(problem) from None

    def text(self, charset: str | None = None) -> AsyncIterator[str]:
        """Text as it comes, never cut within a character."""
        return self._items("text", charset=charset)

    def lines(self, charset: str | None = None, *, max_item: int | None = None) -> AsyncIterator[str]:
        """Lines without their ends."""
        return self._items("lines", charset=charset, maxItem=max_item)

    def json(self, *, lines: bool = False, max_item: int | None = None) -> AsyncIterator[Any]:
        """JSON values, one after the other; with ``lines`` each line is one."""
        return self._items("ndjson" if lines else "json", maxItem=max_item)

    def frames(self, prefix: str | None = None, *, max_item: int | None = None) -> AsyncIterator[Bytes]:
        """Bytes that have their length before them."""
        return self._items("frames", prefix=prefix, maxItem=max_item)

    def __aiter__(self) -> AsyncIterator[str]:
        return self.lines()

    async def _items(self, kind: str, **wishes: Any) -> AsyncIterator[Any]:
        reading = self._open()
        reading.begin(kind, **wishes)
        for item in reading.pieces():
            yield item
        while not reading.over:
            reading.keep(await self._invoke("stream.read", reading.params(), timeout=PATIENCE), self.response)
            for item in reading.pieces():
                yield item

    async def read(self) -> Bytes:
        """All that is left, as bytes."""
        return b"".join([piece async for piece in self.bytes()])

    async def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> str:
        """Writes all that is left to a file, which must not exist unless ``replace``. Gives its absolute path."""
        target = os.path.abspath(os.fspath(path))
        with open(target, "wb" if replace else "xb") as file:
            async for piece in self.bytes():
                file.write(piece)
        return target

    def _open(self) -> Reading:
        if self._reading is None:
            raise RuntimeError("open the stream first: async with client.stream(url) as stream:")
        return self._reading

    def _pipe(self) -> sockets.socket:
        if self._socket is None:
            raise ValueError("the stream is closed")
        return self._socket

    # Ends

    async def close(self) -> None:
        """Wants no more: the request is cancelled unless it has ended. Harmless when done twice."""
        reading, self._reading = self._reading, None
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        for method, params in closing(reading) if reading is not None else ():
            try:
                await self._invoke(method, params)
            except (HandleError, ServerGone):
                pass
        if reading is not None:
            reading.client = None

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<AsyncStream of {self._reading.name}>" if self._reading else "<AsyncStream that is not open>"
