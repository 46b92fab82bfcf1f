# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Streams of the awaiting client: the body of a response on arrival. Loaded with the first stream."""

from __future__ import annotations

import os

from .._protocol.hints import Any, AsyncIterator, Awaitable, Callable, Iterator
from .._protocol.models import Headers
from .._protocol.parameters import Opened
from .._resources.reading import PATIENCE, PIECE, Reading, closing
from .calls import AsyncCalls
from .ends import AsyncClosing, end_by
from .pipe import AsyncPipe, open_pipe
from .responses import AsyncResponse, end_check
from .variant import iteration

# the methods of the same name hide it
Bytes = bytes


class AsyncStream(AsyncClosing):
    """A streamed response body; made by :meth:`outrider.AsyncClient.stream`.

    In ``async with client.stream(url) as s:`` the head is there: :attr:`status`, :attr:`headers`,
    :meth:`raise_for_status`. The first of :meth:`bytes`, :meth:`text`, :meth:`lines`, :meth:`json` and :meth:`frames`
    decides the kind of items; the service splits the body. An iteration raises if the body ends early, after all
    earlier items.

    A program that does not read slows only its own server down. Leaving the ``async with`` cancels the request, and so
    does dropping the stream.
    """

    response: AsyncResponse

    def __init__(self, client: AsyncCalls, opening: Callable[[], Awaitable[Opened]]) -> None:
        self._client = client
        self._invoke = client._invoke_raw
        self._reading: Reading | None = None
        self._path: str | None = None
        self._pipe: AsyncPipe | None = None
        self._opening = opening  # async
        # sync: self._open(opening)

    async def _open(self, opening: Callable[[], Awaitable[Opened]]) -> None:
        built, result = await opening()
        self._path = self._client._socket_path()
        self._pipe = None
        self._reading = Reading(result, self._client)
        self.response = AsyncResponse(result["response"], self._invoke)
        if built.check and self.response.error is not None:
            await self.close()
            self.response.raise_for_error()

    @property
    def status(self) -> int | None:
        """The status code; ``None`` when no head arrived."""
        return self.response.status

    @property
    def headers(self) -> Headers:
        """The fields of the head."""
        return self.response.headers

    @property
    def ok(self) -> bool:
        """Whether there is an acceptable head with a status below 400."""
        return self.response.ok

    def raise_for_status(self) -> None:
        """Raises :class:`~outrider.StatusError` for a status of 400 and above, and for any other failure."""
        self.response.raise_for_status()

    # Reading

    def _charset(self) -> str | None:
        """UTF-8 in place of a charset that a server has made up."""
        from .._resources.lines import usable

        named = self.response.encoding if hasattr(self, "response") else "utf-8"
        charset = usable(named)
        return None if charset == named else charset

    def bytes(self) -> AsyncIterator[Bytes]:
        """The bytes as they come, in pieces of any length; on a connection of their own if the service has a socket."""

        async def more() -> tuple[Bytes] | None:
            pipe = self._pipe or await self._raw()
            piece = await pipe.take(PIECE)
            return (piece,) if piece else None

        is_raw = self._pipe is not None or (self._path is not None and self._opened().kind in ("", "raw"))
        return iteration(more) if is_raw else self._items("bytes")

    def text(self, charset: str | None = None) -> AsyncIterator[str]:
        """Text on arrival, never cut within a character; in ``charset``, or in the charset of the response."""
        return self._items("text", charset=charset or self._charset())

    def lines(self, charset: str | None = None, *, max_item: int | None = None) -> AsyncIterator[str]:
        """Lines without their ends. A line of more than ``max_item`` bytes, default 1 MiB, raises."""
        return self._items("lines", charset=charset or self._charset(), maxItem=max_item)

    def json(self, *, lines: bool = False, max_item: int | None = None) -> AsyncIterator[Any]:
        """JSON values in succession; with ``lines`` each line is a value.

        A wrong value raises :class:`~outrider.SerializationError`; a new iteration continues after the value.
        """
        return self._items("ndjson" if lines else "json", maxItem=max_item)

    def frames(self, prefix: str | None = None, *, max_item: int | None = None) -> AsyncIterator[Bytes]:
        """Bytes that have their length before them, as ``prefix`` says: see StreamOptions in the protocol."""
        return self._items("frames", prefix=prefix, maxItem=max_item)

    def __aiter__(self) -> AsyncIterator[str]:
        return self.lines()

    def _items(self, kind: str, **wishes: Any) -> AsyncIterator[Any]:
        reading: Reading | None = None

        async def more() -> Iterator[Any] | None:
            nonlocal reading
            if reading is None:
                reading = self._opened()
                reading.begin(kind, **wishes)
            elif reading.over:
                return None
            else:
                reading.keep(await self._invoke("stream.read", reading.params(), timeout=PATIENCE), self.response)
            return reading.pieces()

        return iteration(more)

    async def read(self) -> Bytes:
        """The rest of the body, as bytes."""
        return b"".join([piece async for piece in self.bytes()])

    async def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> str:
        """Writes the rest to a file, which must not exist unless ``replace``. Gives its absolute path.

        The file appears when it is complete: a body that ends early leaves none.
        """
        from .._protocol.arguments import absolute
        from .._resources.saving import whole_file

        target = absolute(path)
        with whole_file(target, replace) as file:
            async for piece in self.bytes():
                file.write(piece)
        return target

    # sync: def raw(self) -> Pipe:
    # sync:     """The bytes as an open file, on a connection of their own, for libraries such as ``tarfile``.
    # sync:
    # sync:     Needs a service on a socket. Reading past the end raises if the body was cut short.
    # sync:     """
    # sync:     return self._raw()
    # sync:
    async def _raw(self) -> AsyncPipe:
        pipe = self._pipe
        if pipe is None:
            if self._path is None:
                raise RuntimeError("raw bytes need a service on a socket, not on stdio")
            reading = self._opened()
            reading.begin("raw")
            ended = end_check(reading, self._invoke, self.response._declared)
            self._pipe = pipe = await open_pipe(self._path, reading, ended)
        return pipe

    def _opened(self) -> Reading:
        if self._reading is None:
            raise RuntimeError("open the stream first: async with client.stream(url) as stream:")
        return self._reading

    # Ends

    async def close(self) -> None:
        """Closes the stream, and cancels the request unless the request has ended. Harmless when done twice."""
        reading = self._reading
        if self._pipe is not None:
            self._pipe.close()
        if reading is None or reading.client is None:
            return
        self._reading = None  # async
        if reading.over:
            reading.client._leave(closing(reading))
            reading.client = None
            return
        for method, params in closing(reading):
            await end_by(self._invoke, method, params)
        reading.client = None

    async def __aenter__(self) -> AsyncStream:  # async
        await self._open(self._opening)  # async
        return self  # async

    def __repr__(self) -> str:
        if self._reading is None:
            return "<AsyncStream that is not open>"
        return f"<AsyncStream [{self.status}] {self.response._line}>"
