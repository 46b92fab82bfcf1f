# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The options of a request, for type checkers only."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence
from http.cookiejar import CookieJar
from typing import IO, Any, Literal, Optional, Protocol, TypedDict, Union

from .access import Named
from .models import Headers, Progress, Watcher

Scalar = Union[str, int, float, bool, None]
Pairs = Union[Mapping[str, Any], Iterable[tuple[str, Union[Scalar, Iterable[Scalar]]]]]
HeadersIn = Union[
    Headers, Mapping[str, Optional[str]], Mapping[str, Sequence[str]], Mapping[str, Union[str, Sequence[str], None]],
    Iterable[tuple[str, Optional[str]]],
]  # fmt: skip
Files = Union[Mapping[str, Any], Iterable[tuple[str, Any]]]
Timeout = Union[float, tuple[Optional[float], Optional[float]], Mapping[str, float]]
Auth = Union[tuple[str, str], Mapping[str, Any], Named]
Proxy = Union[str, bool, Mapping[str, Any]]
Item = Union[str, tuple[str, str], Mapping[str, Any]]


class Handled(Protocol):
    """An object with a handle: a session."""

    @property
    def handle(self) -> str: ...


class Options(TypedDict, total=False):
    """The options of every request, besides its method and its URL."""

    base_url: str | None
    params: Pairs | str | None
    headers: HeadersIn | None
    json: Any
    data: (
        str | bytes | bytearray | memoryview | IO[bytes] | IO[str] | Pairs
        | Iterable[bytes] | Iterable[str] | AsyncIterable[bytes] | AsyncIterable[str] | None
    )  # fmt: skip
    file: str | os.PathLike[str] | None
    files: Files | None
    compress: Literal["br", "deflate", "gzip", "zstd"] | Mapping[str, Any] | None
    expect_continue: bool | None
    content_type: str | None
    parameters: Any
    encoding: str | Mapping[str, Any] | None
    auth: Auth | None
    timeout: Timeout | None
    proxy: Proxy | None
    verify: bool | str | os.PathLike[str] | Mapping[str, Any] | None
    cert: str | os.PathLike[str] | Sequence[str | os.PathLike[str] | None] | Mapping[str, Any] | None
    http2: bool | Literal["prior"] | None
    connect_to: str | None
    cookies: bool | Mapping[str, Any] | CookieJar | None
    cache: bool | str | Mapping[str, Any] | None
    serialize: str | Mapping[str, Any] | None
    validate: bool | Mapping[str, Any] | Sequence[bool | Mapping[str, Any]] | None
    handlers: Sequence[Mapping[str, Any]] | None
    max_body: int | None
    body_to: Literal["inline", "stored", "file", "stream", "discard"] | None
    max_inline: int | None
    redirect: Literal["follow", "none"] | Mapping[str, Any] | None
    allow_redirects: bool | None
    follow_redirects: bool | None
    retry: bool | int | Literal["connectionLost"] | Mapping[str, Any] | None
    start_immediately: bool | None
    session: str | Handled | None
    interceptors: Sequence[str | Mapping[str, Any]] | None
    disposition: Mapping[str, Any] | None
    challenge: Mapping[str, Any] | None
    priority: Literal["low", "normal", "high"] | None
    metrics: bool | None
    tag: str | None
    events: bool | Sequence[str] | None
    progress: bool | Callable[[Progress], object] | Watcher | None
    expected_size: int | None
    detach: bool | None
    name: str | None
    addresses: Literal["any", "public", "ipv4", "ipv6"] | None
    allow_get_body: bool | None
    default_headers: bool | None
    decode: bool | None
    check: bool | None


class SSEOptions(Options, total=False):
    """The additional options of an event stream.

    ``method``         default: POST with a body, else GET
    ``last_event_id``  the id to resume after
    ``reconnect``      ``False``, ``True``, or a mapping such as ``{"delay": 1, "maxDelay": 30, "max": 5}``; without
                       it, ``True`` for methods that may be repeated
    ``max_event``      how many bytes an event may have, at most 8 MiB; 1 MiB unless given
    """

    method: str | None
    last_event_id: str | None
    reconnect: bool | Mapping[str, Any] | None
    max_event: int | None
