# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The awaiting client: requests, sessions, routers and subscriptions."""

from __future__ import annotations

import os
from time import monotonic

from .._protocol.arguments import LONGEST_MESSAGE, comes_in_pieces, located, no_attribute
from .._protocol.exceptions import ExchangeError, OutriderError
from .._protocol.frames import encode, is_stored, result_of
from .._protocol.hints import Any, Callable, Iterable, Mapping, Sequence, Unpack
from .._protocol.models import Event
from .._protocol.parameters import FOREVER, UNTIMED_GUARD, Built, Defaults, build, build_item, guard_for
from .calls import AsyncCalls
from .ends import AsyncClosing
from .responses import AsyncResponse
from .verbs import AsyncVerbs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._protocol.options import Item, Options
    from .._resources.events import Wishes
    from .oauth import AsyncCredentials
    from .router import AsyncRouter
    from .sessions import AsyncSession
    from .tcp import AsyncReachabilities
    from .transfers import AsyncDownloads, AsyncRequest
    from .watching import AsyncWatch


class AsyncClient(AsyncCalls, AsyncVerbs, AsyncClosing):
    """Makes HTTP requests through the outrider service, one at a time or many at once.

    ::

        async with outrider.AsyncClient() as client:
            r = await client.get("https://example.org", params={"q": "wolf"})
            r.raise_for_status()
            print(r.json())

    Without arguments the client finds the user's service, or starts the service. ``socket`` is the path of another
    service; ``stdio=True`` starts a service for this client alone, ``command`` a service by a command of your own. All
    other arguments are options of :meth:`get`, as defaults for every request: ``headers`` and ``params`` are merged
    name by name, and a URL without a scheme is appended to ``base_url``::

        api = outrider.AsyncClient(base_url="https://api.example.org/v1", timeout=(3, 10), retry=3)

    A request that fails on the network raises the matching :class:`~outrider.ExchangeError`; ``check=False``,
    here or in a request, returns the response instead, with the exception in ``r.error``. A status such as 404
    is not a failure: see :meth:`AsyncResponse.raise_for_status`.
    """

    download: AsyncDownloads
    oauth: AsyncCredentials
    reachability: AsyncReachabilities

    def __init__(
        self, *, socket: str | os.PathLike[str] | None = None, stdio: bool = False,
        command: Sequence[str] | None = None, spawn: bool = True, **options: Unpack[Options],
    ) -> None:
        if (socket is not None) + bool(stdio) + (command is not None) > 1:
            raise TypeError("give only one of socket, stdio and command")
        if isinstance(command, str):
            raise TypeError("command must be a list of words, not one string")
        if command is not None and not command:
            raise ValueError("command must name a program")
        self._defaults = Defaults(**options)
        super().__init__(socket, stdio, command, spawn)

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Loads a resource when it is first used."""
            if name == "download":
                from .transfers import AsyncDownloads as kind
            elif name == "oauth":
                from .oauth import AsyncCredentials as kind
            elif name == "reachability":
                from .tcp import AsyncReachabilities as kind
            else:
                raise no_attribute(type(self).__name__, name)
            # one for all threads
            return self.__dict__.setdefault(name, kind(self))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), "download", "oauth", "reachability"]

    # Requests

    def _caller(self) -> AsyncClient:
        return self

    async def _send(self, method: str, url: str, options: Mapping[str, Any]) -> AsyncResponse:
        if options.get("progress"):
            from .transfers import send

            response = await send(self, method, url, options)
            await self._load(response, options.get("body_to"))  # async
            return response
        if "data" in options and not options.get("files"):
            data = options["data"]
            # in a message, as base64, long bytes would take four times their memory
            is_held = isinstance(data, (str, bytes, bytearray, memoryview))
            if comes_in_pieces(data) or (is_held and len(data) > LONGEST_MESSAGE):
                return await self._send_pieces(method, url, options)
        if options.get("files") is not None:
            from .._protocol.forms import with_form

            options = with_form(options)
        form = options.get("files")
        is_long = form is not None and form.length > LONGEST_MESSAGE
        built = None if is_long else build(method, url, options, self._defaults)
        if built is None or len(built.params) > LONGEST_MESSAGE:
            from .._resources.feeding import long_body

            # both at once would take twice the memory
            built = None
            changed = long_body(options)
            if changed is not None:
                return await self._send_pieces(method, url, changed)
            built = build(method, url, options, self._defaults)
        began = monotonic()
        message = await self._message("data.send", built.params, built.guard)
        response = AsyncResponse(result_of(message) if type(message) is dict else message, self._invoke_raw)
        response._seconds = monotonic() - began
        if built.body_to == "stream" or is_stored(message):
            response._follow(self)
        if built.check and type(message) is dict:
            response.raise_for_error()
        await self._load(response, built.body_to)  # async
        return response

    async def _send_pieces(self, method: str, url: str, options: Mapping[str, Any]) -> AsyncResponse:
        from .._resources.feeding import begun
        from .feeding import send

        data = begun(options["data"])
        if isinstance(data, (str, bytes, bytearray, list)):
            return await self._send(method, url, {**options, "data": data})
        response = await send(self, method, url, {**options, "data": data})
        await self._load(response, options.get("body_to"))  # async
        return response

    async def _load(self, response: AsyncResponse, body_to: str | None) -> None:  # async
        """Reads a body that became too large for the message, unless ``body_to`` was given."""  # async
        if body_to is None and response._packed() is None and response.body_kind == "stored":  # async
            await response.read()  # async

    async def many(
        self, requests: Iterable[Item], *, window: int = 64, **options: Unpack[Options]
    ) -> list[AsyncResponse | OutriderError]:
        """Sends many requests over a single connection, ``window`` of them at a time, and waits for all.

        A request is a URL, a pair of method and URL, or a mapping with ``url``, perhaps ``method``, and options;
        ``options`` are for all of them. The list has their responses in the same order. A failed request does not
        disturb the others: in its place is the exception, which is returned and not raised::

            for url, r in zip(urls, await client.many(urls)):
                print(url, r if isinstance(r, Exception) else r.status)
        """
        if not 1 <= window <= 256:
            raise ValueError("window must be between 1 and 256")
        if isinstance(requests, str):
            raise TypeError("requests must be a list of requests, not one text: many([url])")
        built = [build_item(item, options, self._defaults) for item in requests]
        if not built:
            return []
        params, guard = [one.params for one in built], max([one.guard for one in built])
        replies = await self._batch("data.send", params, window, guard)
        outcomes = [self._outcome(reply, one) for reply, one in zip(replies, built)]
        for outcome, one in zip(outcomes, built):  # async
            if isinstance(outcome, AsyncResponse):  # async
                await self._load(outcome, one.body_to)  # async
        return outcomes

    def _outcome(self, reply: Any, built: Built) -> AsyncResponse | OutriderError:
        if isinstance(reply, OutriderError):
            return reply
        try:
            reply = located(reply, built.params)
            response = AsyncResponse(result_of(reply) if type(reply) is dict else reply, self._invoke_raw)
        except OutriderError as problem:
            return problem
        if built.body_to == "stream" or is_stored(reply):
            response._follow(self)
        error: ExchangeError | None = response.error if built.check else None
        return response if error is None else error

    async def start(self, method: str, url: str, **options: Unpack[Options]) -> AsyncRequest:
        """Starts a request and returns it at once, to be awaited, suspended or cancelled later; options as for
        :meth:`get`."""
        from .transfers import AsyncRequest, is_known_elsewhere, sweep

        built = build(method, url, options, self._defaults)
        await sweep(self)
        result = await self._result("data.start", built.params, UNTIMED_GUARD)
        return AsyncRequest(self, result, built.check, is_known_elsewhere(self, options))

    async def wait(
        self, request: str | AsyncRequest, *, timeout: float | None = None, check: bool | None = None
    ) -> AsyncResponse | None:
        """The response to a started request; ``None`` if there is none after ``timeout`` seconds."""
        params: dict[str, Any] = {"request": getattr(request, "_handle", request)}
        if timeout is not None:
            params["timeout"] = timeout
        if getattr(request, "_is_streamed", False):
            params["until"] = "response"
        guard = guard_for(FOREVER if timeout is None else timeout)
        message = await self._message("request.wait", encode(params), guard)
        result = result_of(message) if type(message) is dict else message
        if type(result) is dict and result.get("pending"):
            return None
        response = AsyncResponse(result, self._invoke_raw)
        if not isinstance(request, str):
            request._is_over, response._origin = True, request._kept
        is_checked = self._defaults.check if check is None else check
        return response.raise_for_error() if is_checked else response

    async def cancel(self, request: str | AsyncRequest) -> str:
        """Cancels a started request; returns its state. Calls that wait for it raise :class:`~outrider.Cancelled`."""
        params = {"request": getattr(request, "_handle", request)}
        return str((await self.invoke("request.cancel", params))["state"])

    # Sessions, routers and events

    def session(self, **settings: Any) -> AsyncSession:
        """Requests that share settings, and functions that decide about them; see :class:`outrider.AsyncSession`."""
        from .._resources.events import Functions
        from .sessions import AsyncSession

        return AsyncSession(self, self.__dict__.setdefault("_codes", Functions("session")), settings)

    def router(
        self, name: str, *, base_url: str | None = None, shared: bool = False, check: bool = True, **options: Any
    ) -> AsyncRouter:
        """The router of that name or handle; with ``base_url`` a new router, to which :meth:`AsyncRouter.endpoint` adds
        endpoints, with ``options`` as the defaults of its requests; see :class:`outrider.AsyncRouter`."""
        from .router import AsyncRouter

        if base_url is None and (options or shared):
            raise TypeError("options are for a router that is defined here: give base_url, too")
        return AsyncRouter(name, self, check=check, base_url=base_url, shared=shared, options=options)

    def watch(
        self, *topics: str, function: Callable[[Event], object] | None = None, **wishes: Unpack[Wishes]
    ) -> AsyncWatch:
        """The events of this client's requests, to iterate over or for a function: see :class:`outrider.AsyncWatch`."""
        from .watching import AsyncWatch

        return AsyncWatch(self, topics, function, **wishes)

    def __repr__(self) -> str:
        where = "stdio" if self._stdio or self._command else self._socket or "the user's service"
        return f"<outrider.AsyncClient of {where}>"
