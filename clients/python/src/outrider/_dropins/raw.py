# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""``response.raw`` of requests: a response of urllib3 whose bytes come from the service."""

from __future__ import annotations

from http.client import HTTPMessage
from typing import Any, cast

from urllib3 import HTTPResponse
from urllib3._collections import HTTPHeaderDict
from urllib3.exceptions import HTTPError, ProtocolError, ReadTimeoutError, ResponseNotChunked

from .._protocol import exceptions as errors
from .._protocol.hints import Iterator
from .._resources.feeding import PIECE
from .blocking import Body
from .exchanges import Head

_VERSIONS = {"1.0": 10, "1.1": 11, "2": 20, "2.0": 20}

SERVICE: Any = "outrider"
"""Stands where exceptions of urllib3 name a connection pool."""


def _broken(problem: errors.OutriderError) -> HTTPError:
    """The exception of urllib3 for a body that ended early; requests converts this exception."""
    if isinstance(problem, errors.RequestTimeout):
        return ReadTimeoutError(SERVICE, "", f"Read timed out. {problem}")
    return ProtocolError(f"Connection broken: {problem}", problem)


class _Original:
    """The part of an :mod:`http.client` response that urllib3 and requests use: its fields, for the cookies."""

    def __init__(self, head: Head, file: _File) -> None:
        self.msg = HTTPMessage()
        for name, value in head.fields:
            self.msg[name] = value
        self.status, self.reason = head.status, head.reason
        self.version = _VERSIONS.get(head.version, 11)
        self._file = file

    def isclosed(self) -> bool:
        return self._file.closed

    def close(self) -> None:
        self._file.close()


class _File:
    """The bytes of a body as a file, which closes itself at the end, as in :mod:`http.client`."""

    chunked = False

    left: int | None = None
    """How many bytes are left of the body, if its length is known from the head."""

    def __init__(self, body: Body) -> None:
        self._body: Body | None = body

    @property
    def chunk_left(self) -> int:
        """How many bytes can be read without a wait; docker asks."""
        body = self._body
        return 0 if body is None else body.ready

    @property
    def fp(self) -> _File | None:
        """Stands for the socket, which requests_ntlm asks for a certificate, and docker shuts to end a stream."""
        return None if self._body is None else self

    raw = _sock = fp

    def shutdown(self, how: int) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        return self._body is None

    def isclosed(self) -> bool:
        return self._body is None

    def read(self, amt: int | None = None) -> bytes:
        """``amt`` bytes, fewer only at the end."""
        found: list[bytes] = []
        left = amt
        while left is None or left > 0:
            piece = self.read1(PIECE if left is None else left)
            if not piece:
                break
            found.append(piece)
            left = None if left is None else left - len(piece)
        return b"".join(found)

    def read1(self, amt: int | None = None) -> bytes:
        """The available bytes, at most ``amt``; waits for the first byte."""
        body = self._body
        if body is None or amt == 0:
            return b""
        try:
            piece = body.next(PIECE if amt is None or amt < 0 else min(amt, PIECE))
        except errors.OutriderError as problem:
            self._body = None
            raise _broken(problem) from problem
        if self.left is not None:
            self.left -= len(piece)
        if not piece or self.left == 0:
            self.close()
        return piece

    def close(self) -> None:
        body, self._body = self._body, None
        if body is not None:
            body.close()


class Raw(HTTPResponse):
    """A response of urllib3 without a connection of its own."""

    def __init__(self, head: Head, body: Body, method: str, url: str) -> None:
        headers = HTTPHeaderDict()
        for name, value in head.fields:
            headers.add(name, value)
        file = _File(body)
        super().__init__(
            body=cast(Any, file),
            headers=headers,
            status=head.status,
            version=_VERSIONS.get(head.version, 11),
            reason=head.reason,
            preload_content=False,
            decode_content=False,
            original_response=cast(Any, _Original(head, file)),
            request_method=method,
            request_url=url,
        )
        self.version_string = f"HTTP/{head.version}"
        file.left = self.length_remaining
        # without a length, a body of HTTP/2 is read on arrival, too: its lines may be rare
        self.chunked = file.chunked = self.chunked or (file.left is None and head.version >= "2")

    def supports_chunked_reads(self) -> bool:
        """A chunked body is returned on arrival."""
        return True

    def read_chunked(self, amt: int | None = None, decode_content: bool | None = None) -> Iterator[bytes]:  # type: ignore[override]
        """The body on arrival, in pieces of at most ``amt`` bytes; after decoding only with urllib3 2.6 and later."""
        if not self.chunked:
            raise ResponseNotChunked("Response is not chunked. Header 'transfer-encoding: chunked' is missing.")
        self._init_decoder()
        file = cast(_File, self._fp)
        amt = None if amt is not None and amt < 0 else amt
        # few bytes may stand for very many
        bound = {"max_length": amt} if hasattr(self._decoder, "has_unconsumed_tail") else {}
        with self._error_catcher():
            while amt != 0:
                is_left = getattr(self._decoder, "has_unconsumed_tail", False)
                piece = b"" if is_left else file.read1(amt)
                if not piece and not is_left:
                    break
                decoded = self._decode(piece, decode_content=decode_content, flush_decoder=False, **bound)
                if decoded:
                    yield decoded
            if decode_content and (rest := self._flush_decoder()):
                yield rest
