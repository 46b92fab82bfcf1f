# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The two kinds of response. They know no client: they are given the function that calls the service."""

from __future__ import annotations

from binascii import a2b_base64

from ._exceptions import HandleError, InvalidCall, ServerGone
from ._models import ResponseData

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
    from types import TracebackType
    from typing import Any

CHUNK = 262_144
"""How many bytes of a kept body are read at a time, unless told otherwise."""

PATIENCE = 630
"""Seconds to wait for the answer to one ``stream.read``, which waits a little less for the server."""


def _piece(answer: Any) -> tuple[bytes, bool]:
    """What one ``response.read`` gave, and whether the body ends there."""
    data = a2b_base64(answer["base64"])
    return data, answer["end"] is True or not data


def _pieces(content: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


def _chunk_size(size: int) -> int:
    if not isinstance(size, int) or not 1 <= size <= 8_388_608:
        raise ValueError("chunk_size must be between 1 and 8388608 bytes")
    return size


def _absolute(path: str | os.PathLike[str]) -> str:
    from os import fspath
    from os.path import abspath

    return abspath(fspath(path))


class FileExists(InvalidCall, FileExistsError):
    """The service did not save a body, for the file exists already."""


class FolderMissing(InvalidCall, FileNotFoundError):
    """The service did not save a body, for there is no such folder."""


def _unsaved(problem: InvalidCall, path: str) -> InvalidCall:
    """Why the service did not save a body, as the exception that writing it here would have raised."""
    from errno import EEXIST, ENOENT
    from os import strerror
    from os.path import dirname, lexists

    made: InvalidCall
    if (problem.data.get("failure") or {}).get("code") == 1801:
        made = FileExists(str(problem), code=problem.code, data=problem.data)
        made.errno = EEXIST
    elif problem.pointer == "/path" and not lexists(dirname(path)):
        made = FolderMissing(str(problem), code=problem.code, data=problem.data)
        made.errno = ENOENT
    else:
        return problem
    made.strerror, made.filename = strerror(made.errno), path
    return made


def _write(path: str, content: bytes, replace: bool) -> None:
    with open(path, "wb" if replace else "xb") as file:
        file.write(content)


class Response(ResponseData):
    """The answer to a request made by :class:`~outrider.Client`.

    A body of up to 1 MiB came with the answer. A larger one is kept by the service, and read from there when
    :attr:`content`, :attr:`text` or :meth:`json` asks for it, or piece by piece with :meth:`iter_bytes`.
    ``with client.get(url) as r:`` gives a kept body back at the end; otherwise it goes ten minutes later.
    A copy, also one that was pickled, has the body only if that came with the answer or had been read.

    With ``body_to="stream"`` there is only the head yet: the body comes while :meth:`iter_bytes` runs, or as a whole
    when it is asked for, and leaving the ``with`` cancels what is left of it.
    """

    __slots__ = ()

    @property
    def content(self) -> bytes:
        """The body's bytes."""
        if self._content is None:
            inline = self._inline()
            if inline is None:
                self._whole_or_raise()
                inline = b"".join(self.iter_bytes(1 << 20))
                if self.body_kind in ("stored", "stream"):
                    self.close()
            self._content = inline
        return self._content

    @property
    def text(self) -> str:
        """The body as text, by its charset; what cannot be decoded becomes U+FFFD."""
        return self._text(self.content)

    def json(self) -> Any:
        """The body as a JSON value. Raises :class:`ValueError` if it is not JSON."""
        if self._packed() is None and self.body_kind == "json":
            return self.body["json"]
        return self._json(self.content)

    def iter_bytes(self, chunk_size: int = CHUNK) -> Iterator[bytes]:
        """The body in pieces of ``chunk_size`` bytes (the last may be shorter), without holding all of it.

        With ``body_to="stream"``: as it comes, in pieces of any length up to that.
        """
        size = _chunk_size(chunk_size)
        inline = self._content if self._content is not None else self._inline()
        if inline is not None:
            yield from _pieces(inline, size)
            return
        reading = self._flow()
        if reading is not None:
            yield from reading.pieces()
            while not reading.over:
                reading.keep(self._call("stream.read", reading.params(size), timeout=PATIENCE), self)
                yield from reading.pieces()
            return
        offset, end = 0, False
        while not end:
            asked = {"response": self.handle, "offset": offset, "bytes": size}
            data, end = _piece(self._call("response.read", asked))
            offset += len(data)
            if data:
                yield data

    def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> str:
        """Writes the body to a file, which must not exist unless ``replace``. Gives its absolute path."""
        target = _absolute(path)
        if self.handle is not None and self._content is None:
            asked = {"response": self.handle, "path": target, "replace": replace}
            try:
                self._call("response.save", asked)
            except InvalidCall as problem:
                raise _unsaved(problem, target) from None
        elif self._content is None and self._flow() is not None:
            with open(target, "wb" if replace else "xb") as file:
                for piece in self.iter_bytes():
                    file.write(piece)
            self.close()
        else:
            _write(target, self.content, replace)
        return target

    def close(self) -> None:
        """Gives a kept body back to the service, and wants no more of a stream. Harmless when done twice."""
        if self._released:
            return
        self._released = True
        for method, params in self._leavings():
            try:
                self._call(method, params)
            except (HandleError, ServerGone):
                pass
        if self._reading is not None:
            self._reading.client = None

    release = close

    def __enter__(self) -> Response:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncResponse(ResponseData):
    """The answer to a request made by :class:`~outrider.AsyncClient`.

    The body has been read unless ``body_to`` asked for it to be kept, or for a stream; then ``await r.read()``
    first, or ``async for piece in r.iter_bytes()``.
    """

    __slots__ = ()
    _call: Callable[..., Awaitable[Any]]

    @property
    def content(self) -> bytes:
        """The body's bytes. A body that the service keeps must be read first: ``await r.read()``."""
        if self._content is None:
            self._content = self._inline()
            if self._content is None:
                raise RuntimeError("this body has not been read: await r.read() first")
        return self._content

    @property
    def text(self) -> str:
        """The body as text, by its charset; what cannot be decoded becomes U+FFFD."""
        return self._text(self.content)

    def json(self) -> Any:
        """The body as a JSON value. Raises :class:`ValueError` if it is not JSON."""
        if self._packed() is None and self.body_kind == "json":
            return self.body["json"]
        return self._json(self.content)

    async def read(self) -> bytes:
        """Reads the whole body, wherever it is."""
        if self._content is None:
            inline = self._inline()
            if inline is None:
                self._whole_or_raise()
                inline = b"".join([piece async for piece in self.iter_bytes(1 << 20)])
                if self.body_kind in ("stored", "stream"):
                    await self.close()
            self._content = inline
        return self._content

    async def iter_bytes(self, chunk_size: int = CHUNK) -> AsyncIterator[bytes]:
        """The body in pieces of ``chunk_size`` bytes (the last may be shorter), without holding all of it.

        With ``body_to="stream"``: as it comes, in pieces of any length up to that.
        """
        size = _chunk_size(chunk_size)
        inline = self._content if self._content is not None else self._inline()
        if inline is not None:
            for piece in _pieces(inline, size):
                yield piece
            return
        reading = self._flow()
        if reading is not None:
            for piece in reading.pieces():
                yield piece
            while not reading.over:
                reading.keep(await self._call("stream.read", reading.params(size), timeout=PATIENCE), self)
                for piece in reading.pieces():
                    yield piece
            return
        offset, end = 0, False
        while not end:
            asked = {"response": self.handle, "offset": offset, "bytes": size}
            data, end = _piece(await self._call("response.read", asked))
            offset += len(data)
            if data:
                yield data

    async def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> str:
        """Writes the body to a file, which must not exist unless ``replace``. Gives its absolute path."""
        target = _absolute(path)
        if self.handle is not None and self._content is None:
            asked = {"response": self.handle, "path": target, "replace": replace}
            try:
                await self._call("response.save", asked)
            except InvalidCall as problem:
                raise _unsaved(problem, target) from None
        elif self._content is None and self._flow() is not None:
            with open(target, "wb" if replace else "xb") as file:
                async for piece in self.iter_bytes():
                    file.write(piece)
            await self.close()
        else:
            _write(target, await self.read(), replace)
        return target

    async def close(self) -> None:
        """Gives a kept body back to the service, and wants no more of a stream. Harmless when done twice."""
        if self._released:
            return
        self._released = True
        for method, params in self._leavings():
            try:
                await self._call(method, params)
            except (HandleError, ServerGone):
                pass
        if self._reading is not None:
            self._reading.client = None

    release = close

    async def __aenter__(self) -> AsyncResponse:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
