# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A method per kind of request, for clients and sessions."""

from __future__ import annotations

import os

from .._protocol.arguments import FIXED, fixed
from .._protocol.hints import Any, Awaitable, Callable, Mapping, Unpack
from .._protocol.parameters import Built, Defaults, Opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from .._protocol.options import Options, SSEOptions
    from .calls import AsyncCalls
    from .event_source import AsyncEventSource
    from .responses import AsyncResponse
    from .streams import AsyncStream
    from .tcp import AsyncTCPConnection
    from .websockets import AsyncWebSocket

    Result = TypeVar("Result")


class AsyncVerbs:
    """Requests by their methods; a subclass sends them."""

    if TYPE_CHECKING:
        # what a client or a session adds

        async def _send(self, method: str, url: str, options: Mapping[str, Any]) -> AsyncResponse: ...
        async def _result(self, method: str, params: str, seconds: float) -> dict[str, Any]: ...
        def _caller(self) -> AsyncCalls: ...

    async def _own(self, options: Any) -> Any:
        """The options, with the session that they are for."""
        return options

    async def _within(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Does it with a place if the service may call functions."""
        return await work()

    async def _starting(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Starts a request, when there is a place if the service may call functions."""
        return await work()

    def _opened_by(
        self, call: str, build: Callable[[str, Any, Defaults], Built], url: str, options: Mapping[str, Any]
    ) -> Callable[[], Awaitable[Opened]]:
        async def opening() -> Opened:
            built = build(url, await self._own(options), self._caller()._defaults)
            return built, await self._result(call, built.params, built.guard)

        return opening

    def stream(self, url: str, *, method: str = "GET", **options: Unpack[Options]) -> AsyncStream:
        """Sends a request, waits for the response head, and streams the body; options as for :meth:`get`.

        ::

            async with client.stream("https://example.org/log") as s:
                async for line in s.lines():
                    print(line)

        The other forms are ``s.bytes()``, ``s.text()``, ``s.json()`` and ``s.frames()``; the blocking client has
        ``s.raw()``, a file, too. A ``timeout`` in seconds is for the head, and for each silence in the body.
        """
        from .._resources.reading import build_stream
        from .streams import AsyncStream

        opening = self._opened_by("stream.open", lambda *given: build_stream(method, *given), url, options)
        return AsyncStream(self._caller(), opening)

    def sse(self, url: str, **options: Unpack[SSEOptions]) -> AsyncEventSource:
        """Opens an event stream: the events of a server, as they come; see :class:`outrider.AsyncEventSource`."""
        from .._resources.sockets import build_sse, first_id
        from .event_source import AsyncEventSource

        opening = self._opened_by("sse.open", build_sse, url, options)
        return AsyncEventSource(self._caller(), opening, first_id(options))

    def websocket(self, url: str, **options: Any) -> AsyncWebSocket:
        """Opens a WebSocket; see :class:`outrider.AsyncWebSocket`.

        ``protocols``    subprotocols to offer, the preferred first
        ``ping``         ``False``, or ``{"interval": 30, "timeout": 30}``
        ``reconnect``    ``True``, or a mapping: reconnect after a lost connection
        ``greeting``     messages that are sent first on each connection, such as subscriptions
        ``compression``  ``False``, or a mapping
        ``max_message``  bytes of a message at most; also ``backlog`` and ``overflow``, for a program that is slow

        The other options are the same as for :meth:`get`.
        """
        from .._resources.sockets import build_websocket
        from .websockets import AsyncWebSocket

        return AsyncWebSocket(self._caller(), self._opened_by("websocket.open", build_websocket, url, options))

    def tcp(
        self, host: str | None = None, port: int | None = None, *, path: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> AsyncTCPConnection:
        """Opens a TCP connection, or a Unix socket with ``path``; see :class:`outrider.AsyncTCPConnection`.

        ``tls``      ``True``, or ``{"serverName": name, "alpn": [...]}``: TLS before the first byte

        ``proxy``, ``timeout``, ``addresses``, ``retry``, ``session`` and ``tag`` are the same as for requests.
        """
        from .._resources.sockets import build_tcp
        from .tcp import AsyncTCPConnection

        async def given() -> dict[str, Any]:
            return build_tcp(host, port, path, await self._own(options))

        return AsyncTCPConnection(self._caller(), given)

    async def get(self, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends a GET request, and waits for its response.

        ``params``        names and values for the query
        ``base_url``      the base of a URL without a scheme, joined by a single slash
        ``parameters``    values for the query or the body, as ``encoding`` says; bytes, dates and decimals, too
        ``encoding``      ``json``, ``propertyList``, or a mapping: see Encoding in the protocol; else a form
        ``headers``       fields, as a mapping or as pairs
        ``json``          a value to send as JSON
        ``data``          text, bytes, names and values to send as a form, an open file, or an iterator of pieces that
                          are sent as they come
        ``file``          the path of a file to send; the service reads it
        ``content_type``  instead of the default for the kind of body
        ``auth``          a user name and a password, or a mapping: ``{"bearer": token}``, ``{"digest": ("u", "p")}``
        ``timeout``       seconds in total, ``(connect, read)`` as in requests, or a mapping of phases
                          (``connect``, ``firstByte``…) to seconds; without it the service's limits hold, and ten
                          minutes in all
        ``proxy``         a URL, ``none``, ``environment`` (of this program, as curl reads it), or a mapping:
                          ``{"http": url, "https": url, "credential": ("u", "p"), "bypass": ["*.example.org"]}``
        ``verify``        ``False`` to trust any server, the path of a file or directory of roots, or a policy such as
                          ``{"publicKeys": {"pins": [...]}}``; ``True`` is the default evaluation
        ``cert``          a client certificate: a path, ``(certificate, key)``, ``(certificate, key, passphrase)`` or
                          ``{"pkcs12": path, "passphrase": text}``
        ``http2``         ``False`` for HTTP/1.1 only, ``prior`` for HTTP/2 without asking the server
        ``connect_to``    ``host:port`` to connect to in place of the URL's
        ``cookies``       names and values to send beside the session's jar, or ``False`` to send and store none
        ``cache``         ``True``, the name of a cache, or a mapping such as ``{"mode": "forceCache"}``
        ``serialize``     ``json``, ``text``, ``auto``, or a mapping such as ``{"schema": {...}}``: let the service
                          check or decode the body; ``content`` is still the received body
        ``validate``      ``True``, or rules such as ``{"status": ["200..299"]}``: else raises ValidationError
        ``handlers``      mappings of ``id``, ``serialize``, ``validate``; see :attr:`Response.results`
        ``max_body``      how many bytes the body may have; more raises ResponseTooLarge
        ``body_to``       ``stored``, ``file`` or ``discard``: leave the body in the service
        ``max_inline``    up to how many bytes the body comes with the result
        ``redirect``      ``none``, or a mapping with ``max``, ``keepHeaders``, ``keepBody``; ``allow_redirects=False``
                          and ``follow_redirects=False`` say ``none``, too
        ``retry``         how many times, ``True``, ``connectionLost``, or a mapping such as
                          ``{"limit": 5, "jitter": "full"}``
        ``metrics``       ``True``: report how long each phase took
        ``tag``           a label that comes back in every event
        ``progress``      ``True``: a bar on a terminal; or a function that gets :class:`~outrider.Progress`
        ``expected_size`` how many bytes to expect, for progress where the server does not say
        ``events``        ``True``, or which kinds of events to send; see :meth:`events`
        ``check``         ``False``: return failed exchanges instead of raising
        """
        return await self._send("GET", url, options)

    async def head(self, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends a HEAD request; the response has no body."""
        return await self._send("HEAD", url, options)

    async def options(self, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends an OPTIONS request."""
        return await self._send("OPTIONS", url, options)

    async def post(self, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends a POST request, with ``json=``, ``data=``, ``file=`` or ``files=``; options as for :meth:`get`."""
        return await self._send("POST", url, options)

    async def put(self, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends a PUT request; options as for :meth:`get`."""
        return await self._send("PUT", url, options)

    async def patch(self, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends a PATCH request; options as for :meth:`get`."""
        return await self._send("PATCH", url, options)

    async def delete(self, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends a DELETE request; options as for :meth:`get`."""
        return await self._send("DELETE", url, options)

    async def request(self, method: str, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends a request with any method; options as for :meth:`get`."""
        return await self._send(method, url, options)

    async def upload(
        self, url: str, path: Any = None, *, method: str = "POST", **options: Unpack[Options]
    ) -> AsyncResponse:
        """Sends the file of that path, or another body; ``progress=True`` shows a progress bar."""
        from .._resources.bars import with_body

        return await self._send(method, url, with_body(path, options))


for _name in FIXED:
    setattr(AsyncVerbs, _name, fixed(_name))
