# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The response of the blocking client."""

from __future__ import annotations

from .._protocol.exceptions import HandleError, InvalidCall, ServerGone
from .._resources.reading import PATIENCE
from .._resources.responses import (
    CHUNK,
    ResponseData,
    absolute,
    checked_size,
    piece_of,
    pieces,
    save_error,
    write_file,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Any


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
        size = checked_size(chunk_size)
        inline = self._content if self._content is not None else self._inline()
        if inline is not None:
            yield from pieces(inline, size)
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
            data, end = piece_of(self._call("response.read", asked))
            offset += len(data)
            if data:
                yield data

    def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> str:
        """Writes the body to a file, which must not exist unless ``replace``. Gives its absolute path."""
        target = absolute(path)
        if self.handle is not None and self._content is None:
            asked = {"response": self.handle, "path": target, "replace": replace}
            try:
                self._call("response.save", asked)
            except InvalidCall as problem:
                raise save_error(problem, target) from None
        elif self._content is None and self._flow() is not None:
            with open(target, "wb" if replace else "xb") as file:
                for piece in self.iter_bytes():
                    file.write(piece)
            self.close()
        else:
            write_file(target, self.content, replace)
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


