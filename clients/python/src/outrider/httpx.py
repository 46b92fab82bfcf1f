# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Transports for httpx: a program keeps its ``httpx.Client``, and the service does the networking.

::

    import httpx, outrider.httpx

    client = httpx.Client(transport=outrider.httpx.Transport())

Needs ``pip install outrider[httpx]``.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import httpx

from ._async.client import AsyncClient as _AsyncClient
from ._dropins.awaiting import AsyncBody, AsyncLink
from ._dropins.blocking import Body, Link
from ._dropins.exchanges import INLINE, Full, Head, Settings, Unsupported, limits
from ._protocol import exceptions as errors
from ._protocol.frames import in_base64
from ._protocol.hints import AsyncIterator, Callable, Iterator, Mapping
from ._protocol.parameters import spec_for
from ._resources.feeding import LONGEST, PIECE
from ._sync.client import Client as _Client

__all__ = ["AsyncTransport", "Transport"]


class _Prepared:
    """A request of httpx in the words of the service."""

    def __init__(
        self, request: httpx.Request, settings: Settings, proxy: str | None, trust: Mapping[str, Any]
    ) -> None:
        times: Mapping[str, float | None] = request.extensions.get("timeout") or {}
        self.read, self.write, self.pool = times.get("read"), times.get("write"), times.get("pool")
        if "target" in request.extensions:
            raise Unsupported("extension target: the service makes the target of the url (leave the extension out)")
        if request.url.scheme == "https" and request.extensions.get("sni_hostname") not in (None, request.url.host):
            raise Unsupported("extension sni_hostname: the service sends the host of the url (put the name there)")
        fields = [(name.decode("ascii"), value) for name, value in request.headers.raw]
        self.params = settings.params(
            request.method, str(request.url), fields, limits(times.get("connect"), self.read), proxy, True
        )
        if request.url.scheme == "https":
            self.params.update(trust)
        said = request.headers.get("Content-Length", "")
        self.length = int(said) if said.isdecimal() else None
        content = _content(request)
        # a body that contradicts its Content-Length is refused on the way
        is_streamed = content is None or len(content) > INLINE or len(content) != (self.length or 0)
        self.stream: Any = request.stream if is_streamed else None
        if content is not None and not is_streamed and self.length is not None:
            self.params["body"] = {"base64": in_base64(content)}


def _content(request: httpx.Request) -> bytes | None:
    """A body in memory."""
    try:
        return request.content
    except httpx.RequestNotRead:
        return None


@contextmanager
def _mapped(request: httpx.Request, kind: Callable[[Any], type[httpx.TransportError]]) -> Iterator[None]:
    """Raises the exceptions of httpx for a request."""
    try:
        yield
    except Unsupported as problem:
        raise httpx.LocalProtocolError(str(problem), request=request) from None
    except Full as problem:
        raise httpx.PoolTimeout(f"{problem} (read or close them, or raise the pool timeout)", request=request) from None
    except errors.OutriderError as problem:
        raise kind(problem)(str(problem), request=request) from problem


_TIMEOUTS: dict[str, type[httpx.TimeoutException]] = {
    "queue": httpx.PoolTimeout,
    "resolve": httpx.ConnectTimeout,
    "connect": httpx.ConnectTimeout,
    "proxy": httpx.ConnectTimeout,
    "tls": httpx.ConnectTimeout,
    "request": httpx.WriteTimeout,
}


# the first that fits counts; of a server that closes the connection in place of a response, httpx says the same
_BEFORE_THE_HEAD: tuple[tuple[tuple[type[Exception], ...], type[httpx.TransportError]], ...] = (
    ((errors.ProxyError,), httpx.ProxyError),
    ((errors.ConnectError, errors.TLSError, errors.ServerNotFound), httpx.ConnectError),
    ((errors.MalformedResponse, errors.ResponseTooLarge, errors.ConnectionLost), httpx.RemoteProtocolError),
    ((errors.RequestError, errors.InvalidCall), httpx.LocalProtocolError),
    ((errors.TransportError, errors.Cancelled, errors.ServerGone), httpx.ReadError),
)


def _raised(problem: errors.OutriderError) -> type[httpx.TransportError]:
    """The exception of httpx for a failure before the head."""
    if isinstance(problem, errors.RequestTimeout):
        return _TIMEOUTS.get(str(problem.data.get("phase")), httpx.ReadTimeout)
    if problem.code in (1100, 1413):
        return httpx.UnsupportedProtocol
    fitting = (kind for ours, kind in _BEFORE_THE_HEAD if isinstance(problem, ours))
    return next(fitting, httpx.TransportError)


def _broken(problem: errors.OutriderError) -> type[httpx.TransportError]:
    """The exception of httpx for a body that ended early."""
    if isinstance(problem, errors.RequestTimeout):
        return httpx.ReadTimeout
    is_remote = isinstance(problem, (errors.MalformedResponse, errors.ConnectionLost))
    return httpx.RemoteProtocolError if is_remote else httpx.ReadError


def _response(head: Head, stream: httpx.SyncByteStream | httpx.AsyncByteStream) -> httpx.Response:
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head.fields]
    extensions = {
        "http_version": f"HTTP/{head.version}".encode("ascii"),
        "reason_phrase": head.reason.encode("ascii", "ignore"),
    }
    return httpx.Response(head.status, headers=headers, stream=stream, extensions=extensions)


class _Stream(httpx.SyncByteStream):
    def __init__(self, body: Body, request: httpx.Request) -> None:
        self._body, self._request = body, request

    def __iter__(self) -> Iterator[bytes]:
        while True:
            with _mapped(self._request, _broken):
                piece = self._body.next(PIECE)
            if not piece:
                return
            yield piece

    def close(self) -> None:
        self._body.close()


class _AsyncStream(httpx.AsyncByteStream):
    def __init__(self, body: AsyncBody, request: httpx.Request) -> None:
        self._body, self._request = body, request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            with _mapped(self._request, _broken):
                piece = await self._body.next(PIECE)
            if not piece:
                return
            yield piece

    async def aclose(self) -> None:
        self._body.leave()


def _trust(verify: Any, cert: Any, http2: bool | None) -> dict[str, Any]:
    """The settings of certificates and HTTP versions, for the service."""
    if hasattr(verify, "wrap_socket"):
        raise TypeError("verify must be a boolean, the path of roots or a policy: the service takes no SSLContext")
    spec, _, _ = spec_for("GET", "", {"verify": None if verify is True else verify, "cert": cert, "http2": http2})
    del spec["url"]
    return spec


def _expect_asyncio() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "outrider.httpx.AsyncTransport runs in asyncio only (in trio, use httpx.Client and Transport in a thread)"
        ) from None


Owner = TypeVar("Owner")


class _Wishes(Generic[Owner]):
    """The arguments of both transports."""

    def __init__(
        self, client: Owner | None = None, *, socket: str | os.PathLike[str] | None = None, proxy: str | None = None,
        verify: bool | str | Mapping[str, Any] = True, cert: Any = None, http2: bool | None = None,
        session: str | None = None, credential: str | None = None, retry: bool | Mapping[str, Any] | None = None,
        priority: str | None = None, tag: str | None = None, connections: int = 100,
    ) -> None:
        if client is not None and socket is not None:
            raise TypeError("give only one of client and socket")
        self._settings = Settings(socket, session, credential, retry, priority, tag, connections)
        self._proxy = proxy
        self._trust = _trust(verify, cert, http2)
        self._begin(client)

    if TYPE_CHECKING:

        def _begin(self, client: Owner | None) -> None: ...


class Transport(_Wishes[_Client], httpx.BaseTransport):
    """Sends the requests of an ``httpx.Client`` through the outrider service.

    ``client`` is an :class:`outrider.Client` that other code uses, too; by default the transport connects by itself, to
    the user's service or to ``socket``. ``proxy`` is the URL of a proxy for all requests; ``verify``, ``cert`` and
    ``http2`` are the same as for :meth:`outrider.Client.get`. ``session`` names a session of the service with settings
    of its own. ``credential`` names an OAuth 2 credential, whose token goes to the origins of that credential with
    every request that has no Authorization of its own. ``retry``, ``priority`` and ``tag`` are the same as for
    :meth:`outrider.Client.get`. ``connections`` is the most connections to a host at once; a ``session`` has its own
    limit.

    Redirects, cookies, ``auth=`` and the decoding of bodies stay with httpx.
    """

    def _begin(self, client: _Client | None) -> None:
        self._link = Link(self._settings, client)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request: called by ``httpx.Client``."""
        lease = self._link.lease()
        with _mapped(request, _raised):
            asked = _Prepared(request, self._settings, self._proxy, self._trust)
            patience = LONGEST if asked.pool is None else asked.pool
            with lease.place(True, patience, asked.stream is not None) as place:
                result = lease.exchange(asked.params, asked.stream, asked.length, asked.write)
        return _response(Head(result), _Stream(Body(lease, result, asked.read, place), request))

    def close(self) -> None:
        """Ends the transport's own connection to the service."""
        self._link.close()


class AsyncTransport(_Wishes[_AsyncClient], httpx.AsyncBaseTransport):
    """Sends the requests of an ``httpx.AsyncClient`` through the outrider service; in asyncio, not in trio.

    The arguments are the same as for :class:`Transport`; ``client`` is an :class:`outrider.AsyncClient`.
    """

    def _begin(self, client: _AsyncClient | None) -> None:
        self._link = AsyncLink(self._settings, client)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request: called by ``httpx.AsyncClient``."""
        _expect_asyncio()
        with _mapped(request, _raised):
            asked = _Prepared(request, self._settings, self._proxy, self._trust)
            async with self._link.place(asked.pool) as place:
                result = await self._link.exchange(asked.params, asked.stream, asked.length, asked.write)
        return _response(Head(result), _AsyncStream(AsyncBody(self._link.client, result, asked.read, place), request))

    async def aclose(self) -> None:
        """Ends the transport's own connections to the service."""
        await self._link.close()
