# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The awaiting client: the same calls as the blocking one, in an asyncio event loop."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, TypeVar, overload

from .._connection.wire import Unsent
from .._protocol.exceptions import ExchangeError, OutriderError
from .._protocol.frames import encode, result_of, unpack
from .._protocol.parameters import FOREVER, UNTIMED_GUARD, Defaults, build, build_item, guard_for, own_timeout
from .connected import Connected
from .events import AsyncEventStream
from .responses import AsyncResponse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

    from typing_extensions import Unpack

    from .._protocol.models import Event
    from .._protocol.options import Auth, HeadersIn, Item, Options, SSEOptions, Timeout
    from .._resources.sessions import Codes
    from .._resources.watching import Wishes
    from .downloads import AsyncDownloads
    from .event_source import AsyncEventSource
    from .oauth import AsyncCredentials
    from .sessions import AsyncSession
    from .streams import AsyncStream
    from .watching import AsyncWatch

Handler = TypeVar("Handler", bound=Callable[..., object])
Answerer = TypeVar("Answerer", bound=Callable[[dict[str, Any]], Any])


class AsyncClient(Connected):
    """Makes HTTP requests through the outrider service from asyncio.

    ::

        async with outrider.AsyncClient() as client:
            r = await client.get("https://example.org", params={"q": "wolf"})
            pages = await client.many(["https://example.org/a", "https://example.org/b"])

    The arguments and the methods are those of :class:`~outrider.Client`. A cancelled task cancels its request.
    A body that the service keeps because it is large is read before the response is returned, unless ``body_to``
    was given.
    """

    download: AsyncDownloads
    oauth: AsyncCredentials

    def __init__(
        self,
        *,
        socket: str | os.PathLike[str] | None = None,
        stdio: bool = False,
        command: Sequence[str] | None = None,
        spawn: bool = True,
        headers: HeadersIn | None = None,
        auth: Auth | None = None,
        timeout: Timeout | None = None,
        check: bool = True,
    ) -> None:
        if (socket is not None) + bool(stdio) + (command is not None) > 1:
            raise TypeError("give only one of socket, stdio and command")
        if isinstance(command, str):
            raise TypeError("command must be a list of words, not one string")
        if command is not None and not command:
            raise ValueError("command must name a program")
        self._defaults = Defaults(headers, auth, timeout, check)
        super().__init__(socket, stdio, command, spawn)
        self._codes: Codes | None = None

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Loads ``download`` and ``oauth`` when they are first used."""
            if name == "download":
                from .downloads import AsyncDownloads as kind
            elif name == "oauth":
                from .oauth import AsyncCredentials as kind
            else:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            made = kind(self)
            setattr(self, name, made)
            return made

    # Requests

    async def get(self, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends a GET request, and awaits its response; the options are those of :meth:`outrider.Client.get`."""
        return await self._send("GET", url, options)

    async def head(self, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends a HEAD request; the response has no body."""
        return await self._send("HEAD", url, options)

    async def options(self, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends an OPTIONS request."""
        return await self._send("OPTIONS", url, options)

    async def post(self, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends a POST request, usually with ``json=``, ``data=``, ``file=`` or ``files=``."""
        return await self._send("POST", url, options)

    async def put(self, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends a PUT request."""
        return await self._send("PUT", url, options)

    async def patch(self, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends a PATCH request."""
        return await self._send("PATCH", url, options)

    async def delete(self, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends a DELETE request."""
        return await self._send("DELETE", url, options)

    async def request(self, method: str, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends a request with any method."""
        return await self._send(method, url, options)

    async def upload(
        self, url: str, path: Any = None, *, method: str = "POST", **options: Unpack[Options]
    ) -> AsyncResponse:
        """Sends the file of that path, or another body; see :meth:`outrider.Client.upload`."""
        from .._resources.transfers import with_body

        return await self._send(method, url, with_body(path, options))

    async def _send(self, method: str, url: str, options: Mapping[str, Any]) -> AsyncResponse:
        if options.get("progress"):
            from .transfers import send

            return await self._whole(await send(self, method, url, options), options.get("body_to"))
        built = build(method, url, options, self._defaults)
        message = await self._message("data.send", built.params, built.guard)
        response = AsyncResponse(message if type(message) is bytes else result_of(message), self.invoke)
        if built.check:
            response.raise_for_error()
        return await self._whole(response, built.body_to)

    async def many(
        self, requests: Iterable[Item], *, window: int = 64, **options: Unpack[Options]
    ) -> list[AsyncResponse | OutriderError]:
        """Sends many requests over one connection, ``window`` of them at a time; see :meth:`outrider.Client.many`."""
        if not 1 <= window <= 256:
            raise ValueError("window must be between 1 and 256")
        built = [build_item(item, options, self._defaults) for item in requests]
        if not built:
            return []
        guard = max([one.guard for one in built])
        connection = await self._live()
        answers = await connection.batch("data.send", [one.params for one in built], window, guard)
        outcomes = [self._outcome(answer, one.check) for answer, one in zip(answers, built)]
        for outcome, one in zip(outcomes, built):
            if isinstance(outcome, AsyncResponse):
                await self._whole(outcome, one.body_to)
        return outcomes

    def _outcome(self, answer: Any, check: bool) -> AsyncResponse | OutriderError:
        if isinstance(answer, OutriderError):
            return answer
        if type(answer) is bytes:
            return AsyncResponse(answer, self.invoke)
        try:
            response = AsyncResponse(result_of(answer), self.invoke)
        except OutriderError as problem:
            return problem
        error: ExchangeError | None = response.error if check else None
        return response if error is None else error

    async def _whole(self, response: AsyncResponse, body_to: str | None) -> AsyncResponse:
        """The response, with a body that became too large for the answer."""
        if body_to == "stream":
            response._follow(self)
        elif body_to is None and response._packed() is None and response.body_kind == "stored":
            await response.read()
        return response

    async def start(self, method: str, url: str, **options: Unpack[Options]) -> str:
        """Starts a request and returns its handle at once. See :meth:`wait`."""
        built = build(method, url, options, self._defaults)
        return str((await self._result("data.start", built.params, UNTIMED_GUARD))["request"])

    async def wait(
        self, request: str, *, timeout: float | None = None, check: bool | None = None
    ) -> AsyncResponse | None:
        """The response to a started request; ``None`` if it has none after ``timeout`` seconds."""
        params: dict[str, Any] = {"request": request}
        if timeout is not None:
            params["timeout"] = timeout
        result = await self.invoke("request.wait", params, timeout=FOREVER if timeout is None else timeout)
        if result.get("pending"):
            return None
        response = AsyncResponse(result, self.invoke)
        if self._defaults.check if check is None else check:
            response.raise_for_error()
        return response

    async def cancel(self, request: str) -> str:
        """Cancels a started request; its state afterwards. Who waits for it gets :class:`~outrider.Cancelled`."""
        return str((await self.invoke("request.cancel", {"request": request}))["state"])

    def stream(self, url: str, *, method: str = "GET", **options: Unpack[Options]) -> AsyncStream:
        """``async with`` it: sends a request, awaits its head, and gives the body as it comes.

        ::

            async with client.stream("https://example.org/log") as s:
                async for line in s.lines():
                    print(line)
        """
        from .._resources.streams import build_stream
        from .streams import AsyncStream

        built = build_stream(method, url, options, self._defaults)

        async def opening() -> tuple[dict[str, Any], bool, str | None]:
            result = await self._result("stream.open", built.params, built.guard)
            connection = self._here()
            path = None if self._stdio or self._command or connection is None else connection.name
            return result, built.check, path

        return AsyncStream(opening, self)

    # Any method

    async def call(self, name: str, /, **params: Any) -> dict[str, Any]:
        """Calls any method of the service by its name; see :meth:`outrider.Client.call`."""
        return await self.invoke(name, params, timeout=own_timeout(params))

    async def invoke(
        self, name: str, params: Mapping[str, Any] | None = None, *, timeout: Timeout | None = None
    ) -> dict[str, Any]:
        """As :meth:`call`, with the parameters in a mapping and a time limit that is this client's only."""
        return await self._result(name, encode({} if params is None else params), guard_for(timeout))

    async def _result(self, method: str, params: str, seconds: float) -> dict[str, Any]:
        return unpack(await self._message(method, params, seconds))

    async def _message(self, method: str, params: str, seconds: float) -> Any:
        connection = self._here() or await self._live()
        try:
            return await connection.call(method, params, seconds)
        except Unsent:
            return await (await self._live()).call(method, params, seconds)

    async def info(self) -> dict[str, Any]:
        """What the service tells about itself: ``server.info``."""
        return await self.invoke("server.info")

    async def stats(self) -> dict[str, Any]:
        """What the service has done so far: ``server.stats``."""
        return await self.invoke("server.stats")

    # Events and callbacks

    def sse(self, url: str, **options: Unpack[SSEOptions]) -> AsyncEventSource:
        """The events of a server, for ``async for``; see :class:`AsyncEventSource` and :class:`EventSource`."""
        from .event_source import AsyncEventSource

        return AsyncEventSource(self, url, options)

    def session(self, **settings: Any) -> AsyncSession:
        """Requests that share settings, and functions that are asked about them; see :class:`AsyncSession`."""
        from .._resources.sessions import Codes
        from .sessions import AsyncSession

        if self._codes is None:
            self._codes = Codes()
        return AsyncSession(self, self._codes, settings)

    def events(self, *names: str, timeout: float | None = None, limit: int = 1000) -> AsyncEventStream:
        """Events as they come, to iterate over with ``async for``; see :meth:`outrider.Client.events`."""
        return AsyncEventStream(self._inbox(), names, timeout, limit)

    def watch(
        self, *topics: str, function: Callable[[Event], object] | None = None, **wishes: Unpack[Wishes]
    ) -> AsyncWatch:
        """What happens to this client's requests; see :class:`outrider.AsyncWatch` and :class:`outrider.Watch`."""
        from .watching import watch

        return watch(self, topics, function, **wishes)

    @overload
    def on(self, name: str) -> Callable[[Handler], Handler]: ...
    @overload
    def on(self, name: str, function: Handler) -> Handler: ...
    def on(self, name: str, function: Callable[[Event], object] | None = None) -> Any:
        """Calls ``function`` with every event of that name (``"*"`` for all); also as a decorator.

        A coroutine function is run as a task.
        """
        if function is None:
            return lambda given: self.on(name, given)
        self._inbox().handlers[name] = [*self._inbox().handlers.get(name, ()), function]
        return function

    def off(self, name: str, function: Callable[[Event], object] | None = None) -> None:
        """Ends what :meth:`on` began, for one function or for all of that name."""
        handlers = self._inbox().handlers
        kept = [] if function is None else [other for other in handlers.get(name, ()) if other != function]
        if kept:
            handlers[name] = kept
        else:
            handlers.pop(name, None)

    @overload
    def on_callback(self, name: str) -> Callable[[Answerer], Answerer]: ...
    @overload
    def on_callback(self, name: str, function: Answerer) -> Answerer: ...
    def on_callback(self, name: str, function: Callable[[dict[str, Any]], Any] | None = None) -> Any:
        """Answers the service's questions of that name with what ``function`` returns, or its coroutine."""
        if function is None:
            return lambda given: self.on_callback(name, given)
        self._inbox().callbacks[name] = function
        return function

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        where = "stdio" if self._stdio or self._command else self._socket or "the user's service"
        return f"<outrider.AsyncClient of {where}>"
