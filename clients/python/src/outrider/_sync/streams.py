# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The body of a response as it comes, for the blocking client. Loaded when the first stream is asked for."""

from __future__ import annotations

import os

from .._protocol.exceptions import HandleError, OutriderError, ServerGone
from .._resources.reading import PATIENCE, PIECE, Reading, closing
from .._resources.streams import Head, cut
from .pipe import Pipe
from .responses import Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Any

    from .caller import Caller

    # the methods of the same name hide it
    Bytes = bytes


class Stream(Head):
    """The body of a response as it comes; made by :meth:`outrider.Client.stream`.

    The head is there: :attr:`status`, :attr:`headers`, :meth:`raise_for_status`. What the body consists of is said
    by the first of :meth:`bytes`, :meth:`text`, :meth:`lines`, :meth:`json` and :meth:`frames`; the service finds
    it. An iteration raises what ends the body early: all that came before has been given then.

    A program that does not read holds the server up, and nobody else. Leaving the ``with`` cancels the request, and so
    does dropping the stream.
    """

    def __init__(self, result: dict[str, Any], client: Caller, path: str | None, check: bool) -> None:
        self._reading = Reading(result, client)
        self._invoke = client.invoke
        self.response = Response(result["response"], self._invoke)
        self._path = path
        self._pipe: Pipe | None = None
        self._closed = False
        if check:
            try:
                self.response.raise_for_error()
            except OutriderError:
                self.close()
                raise

    # Reading

    def bytes(self) -> Iterator[Bytes]:
        """The bytes as they come, in pieces of any length; past JSON, where the service is on a socket."""
        if self._pipe is not None or (self._path is not None and not self._reading.kind):
            pipe = self.raw()
            while piece := pipe.read(PIECE):
                yield piece
        else:
            yield from self._items("bytes")

    def text(self, charset: str | None = None) -> Iterator[str]:
        """Text as it comes, never cut within a character; in the charset of the response unless one is given."""
        return self._items("text", charset=charset)

    def lines(self, charset: str | None = None, *, max_item: int | None = None) -> Iterator[str]:
        """Lines without their ends. One of more than ``max_item`` bytes, 1 MiB unless given, raises."""
        return self._items("lines", charset=charset, maxItem=max_item)

    def json(self, *, lines: bool = False, max_item: int | None = None) -> Iterator[Any]:
        """JSON values, one after the other; with ``lines`` each line is one.

        One that is wrong raises :class:`~outrider.SerializationError`; a new iteration goes on behind it.
        """
        return self._items("ndjson" if lines else "json", maxItem=max_item)

    def frames(self, prefix: str | None = None, *, max_item: int | None = None) -> Iterator[Bytes]:
        """Bytes that have their length before them, as ``prefix`` says: see StreamOptions in the protocol."""
        return self._items("frames", prefix=prefix, maxItem=max_item)

    def __iter__(self) -> Iterator[str]:
        return self.lines()

    def _items(self, kind: str, **wishes: Any) -> Iterator[Any]:
        reading = self._reading
        reading.begin(kind, **wishes)
        yield from reading.pieces()
        while not reading.over:
            reading.keep(self._invoke("stream.read", reading.params(), timeout=PATIENCE), self.response)
            yield from reading.pieces()

    def read(self) -> Bytes:
        """All that is left, as bytes."""
        return b"".join(self.bytes())

    def raw(self) -> Pipe:
        """The bytes as an open file, on a connection of their own: for whoever wants files, such as ``tarfile``.

        Needs a service on a socket. Reading past the end raises if the body was cut short.
        """
        if self._pipe is None:
            if self._path is None:
                raise RuntimeError("raw bytes need a service on a socket, not on stdio")
            reading, invoke = self._reading, self._invoke

            def ended() -> None:
                """Raises why the body ended early, if it did."""
                # knows no Stream, or that and the file would keep each other
                reading.over = True
                try:
                    result = invoke("request.wait", {"request": reading.request})
                except HandleError:
                    raise cut() from None
                Response(result, invoke).raise_for_error()

            reading.begin("raw")
            self._pipe = Pipe(self._path, reading.attach(), ended)
        return self._pipe

    def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> str:
        """Writes all that is left to a file, which must not exist unless ``replace``. Gives its absolute path."""
        target = os.path.abspath(os.fspath(path))
        with open(target, "wb" if replace else "xb") as file:
            for piece in self.bytes():
                file.write(piece)
        return target

    # Ends

    def close(self) -> None:
        """Wants no more: the request is cancelled unless it has ended. Harmless when done twice."""
        if self._closed:
            return
        self._closed = True
        if self._pipe is not None:
            self._pipe.close()
        for method, params in closing(self._reading):
            try:
                self._invoke(method, params)
            except (HandleError, ServerGone):
                pass
        self._reading.client = None

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Stream [{self.status}] {self.response.method} {self.response.url}>"
