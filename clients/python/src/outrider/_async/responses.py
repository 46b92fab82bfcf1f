# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The response of the awaiting client."""

from __future__ import annotations

import os

from .._protocol.exceptions import HandleError, InvalidCall
from .._protocol.hints import Any, AsyncIterator, Awaitable, Callable, Iterable
from .._resources.reading import PATIENCE, PIECE, WHOLE, Reading, checked_size, cut, piece_of, pieces
from .._resources.responses import ResponseData
from .ends import AsyncClosing, end_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .pipe import AsyncPipe


class AsyncResponse(ResponseData, AsyncClosing):
    """The response to a request made by :class:`~outrider.AsyncClient`.

    A body of up to 8 MiB came with the response. The service keeps a larger body: :meth:`iter_bytes` reads the body in
    pieces, and the end of ``async with await client.get(url) as r:`` releases the body, as does dropping the response;
    the service drops the body after ten minutes. A copy, also by pickle, has the body only if the body came with the
    response or had been read.

    With ``body_to="stream"`` only the head has come: the body comes while :meth:`iter_bytes` runs, and leaving the
    ``async with`` cancels the rest.
    """

    __slots__ = ()
    _call: Callable[..., Awaitable[Any]]
    _pipe: AsyncPipe | None

    async def read(self) -> bytes:  # async
    # sync: def _fetched(self) -> bytes:
        """Reads the whole body, from memory or from the service."""
        if self._content is None:
            inline = self._inline()
            if inline is None:
                self._whole_or_raise()
                inline = b"".join([piece async for piece in self.iter_bytes(WHOLE)])
                if self.body_kind in ("stored", "stream"):
                    await self.close()
            self._content = inline
        return self._content

    def _fetched(self) -> bytes:  # async
        raise RuntimeError("this body has not been read: await r.read() first")  # async

    def iter_bytes(self, chunk_size: int = PIECE) -> AsyncIterator[bytes]:
        """The body in pieces of ``chunk_size`` bytes (the last may be shorter), without holding the whole body.

        With ``body_to="stream"``: on arrival, in pieces of any length up to that.
        """
        from .variant import iteration

        size = checked_size(chunk_size)
        begun, offset, end = False, 0, False

        async def more() -> Iterable[bytes] | None:
            nonlocal begun, offset, end
            reading = self._flow()
            if not begun:
                begun = True
                inline = self._content if self._content is not None else self._inline()
                end = inline is not None
                return pieces(inline, size) if inline is not None else reading.pieces() if reading is not None else ()
            if end or (reading is not None and reading.over):
                return None
            if reading is None:
                params = {"response": self._stored, "offset": offset, "bytes": size}
                piece, end = piece_of(await self._call("response.read", params))
                offset += len(piece)
            elif (pipe := self._pipe or await self._piped(reading)) is not None:
                piece = await pipe.take(size)
            else:
                reading.keep(await self._call("stream.read", reading.params(size), timeout=PATIENCE), self)
                return reading.pieces()
            return (piece,) if piece else ()

        return iteration(more)

    async def _piped(self, reading: Reading) -> AsyncPipe | None:
        """A connection of their own for the bytes of a stream, once they are known to be many."""
        path = None if reading.client is None or not self._flows_long(reading) else reading.client._socket_path()
        if path is not None:
            from .pipe import open_pipe

            reading.moved = True
            self._pipe = await open_pipe(path, reading, end_check(reading, self._call, self._declared))
        return self._pipe

    iter_content = iter_bytes
    """As in requests; there the pieces have one byte without ``chunk_size``."""

    def iter_lines(self) -> AsyncIterator[str]:
        """The body as lines without their ends, without holding the whole body, in the charset of :attr:`text`."""
        from .._resources.lines import LineSplitter
        from .variant import iteration

        splitter, body = LineSplitter(self.encoding), self.iter_bytes()
        is_over = False

        async def more() -> list[str] | None:
            nonlocal is_over
            if is_over:
                return None
            async for piece in body:
                return splitter.lines(piece)
            is_over = True
            return splitter.lines(b"", end=True)

        return iteration(more)

    async def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> str:
        """Writes the body to a file, which must not exist unless ``replace``. Gives its absolute path.

        The file appears whole or not at all.
        """
        from .._protocol.arguments import absolute
        from .._resources.saving import save_error, whole_file

        target = absolute(path)
        if self._stored is not None and self._content is None:
            params = {"response": self._stored, "path": target, "replace": replace}
            try:
                await self._call("response.save", params)
            except InvalidCall as problem:
                raise save_error(problem, target) from None
            return target
        with whole_file(target, replace) as file:
            async for piece in self.iter_bytes():
                file.write(piece)
        if self._content is None and self._flow() is not None:
            await self.close()
        return target

    async def close(self) -> None:
        """Gives a kept body back to the service, and cancels the rest of a stream. Harmless when done twice."""
        if self._released:
            return
        self._released = True
        self._unkeep()
        if self._pipe is not None:
            self._pipe.close()
        if self._reading is not None and self._reading.over and self._reading.client is not None:
            self._reading.client._leave(self._leavings())
            self._reading.client = None
            return
        for method, params in self._leavings():
            await end_by(self._call, method, params)
        if self._reading is not None:
            self._reading.client = None

    release = close


def end_check(
    reading: Reading, invoke: Callable[..., Awaitable[Any]], declared: int | None
) -> Callable[[int], Awaitable[None]]:
    """A function that raises if the body ended early, after so many bytes on its connection.

    It knows no stream and no response, which would keep it alive.
    """

    async def ended(count: int) -> None:
        if reading.count + count == declared:
            # the service need not be asked
            reading.over = True
            return
        try:
            result = await invoke("request.wait", {"request": reading.request})
        except HandleError:
            raise cut() from None
        AsyncResponse(result, invoke).raise_for_error()
        reading.over = True

    return ended
