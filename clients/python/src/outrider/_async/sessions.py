# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Sessions of the awaiting client. Loaded when the first session is made."""

from __future__ import annotations

import os
from asyncio import sleep  # async

from .._connection.awaiting import AsyncConnection

# sync: from time import sleep
from .._connection.discovery import PAUSES
from .._connection.wire import Unsent
from .._protocol.exceptions import HandleError, OutriderError
from .._protocol.hints import Any, Awaitable, Callable, Iterable, Mapping, Unpack
from .._protocol.openings import Dropped
from .._resources.events import Functions, Told, decorator, decorator_once
from .._resources.responses import keep_raised
from .._resources.sessions import KINDS, Plan
from .calls import AsyncCalls
from .ends import AsyncClosing, end_by
from .responses import AsyncResponse
from .variant import SerialLock, settled
from .verbs import AsyncVerbs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._protocol.options import Item, Options
    from .cookies import AsyncCookies
    from .transfers import AsyncDownloads, AsyncRequest
    from .verbs import Result


class AsyncSession(AsyncVerbs, Dropped, AsyncClosing):
    """Requests that share settings, and functions that decide about them::

        session = client.session(headers={"X-Api": "1"}, timeout=10)

        @session.adapter
        async def sign(attempt):
            attempt.headers["Authorization"] = "Bearer " + await token()

        @session.retrier
        def again(answered):
            return answered.status == 503 and answered.retries < 3

        await session.get("https://example.org/things", validate=True)

    The settings are the parameters of ``session.create``: ``headers``, ``timeout``, ``connections_per_host``,
    ``interceptors``, ``redirect``, ``proxy``, ``limits``, ``name``, ``shared``, ``start_immediately``, ``credentials``,
    a list or a mapping of URLs to user names and passwords, ``verify``, ``cert``, ``http2``, ``connect_to``, ``cache``
    and ``cookies``, which is ``True``, the name of a jar, or a jar of ``http.cookiejar``; and every option of
    :meth:`AsyncClient.get`, which this client gives to each request of the session: ``base_url``, ``params``, ``auth``,
    ``validate``, ``retry`` and so on.

    The functions run in a thread of the client, or in the event loop, where they may be coroutine functions.
    An exception counts as a failed callback: the attempt of an adapter fails, a retrier wants no retry. The exception
    of a serializer is raised by the request itself. ``timeout`` in a decorator is how many seconds the service waits
    for the function.

    A ``shared`` session that this object has made serves it in forked children, in other event loops and after a lost
    connection, too. Its adapters, retriers and ``trust`` run in the process and the event loop that made the session,
    or that first used the session after one was added; requests from elsewhere need that loop to run. If that loop is
    closed, or loses its connection, another loop of the process takes over, but no child.

    A session that is dropped is closed after its running requests, unless it has a ``name``, or its :meth:`handle` was
    asked for.
    """

    def __init__(
        self, client: AsyncCalls | None = None, codes: Functions | None = None,
        settings: Mapping[str, Any] | None = None, **named: Any,
    ) -> None:
        if client is None or codes is None or settings is None or named:
            raise TypeError("a session is made by session(…) of a client, or by outrider.session(…)")
        self._client = client
        self._plan = Plan(codes, settings)
        # handle and number of interceptors by connection; each event loop has a connection
        self._made: dict[AsyncConnection, tuple[str, int]] = {}
        # the connection on which the service calls the functions of a shared session
        self._owner: AsyncConnection | None = None
        # one lock per connection, held while the session is made, so that simultaneous requests make one session
        self._making: dict[AsyncConnection, Any] = {}
        # programs that know its name or its handle may use it without this object
        self._is_known = bool(self._plan.settings.get("name") or self._plan.settings.get("shared"))
        # requests that were started call its functions after the end of this object
        self._has_started = False

    def _drop(self) -> None:
        made, self._made = self._made, {}
        for connection, (handle, _) in () if self._is_known else made.items():
            self._client._defaults.sessions.pop(handle, None)
            connection.post([("session.close", {"session": handle, "cancel": False})])
        if not (self._is_known or self._has_started):
            self._plan.forget()

    @decorator_once
    def adapter(self, function: Any = None, *, timeout: float | None = None, once: bool = False) -> Any:
        """Calls the function before each attempt, to change the :class:`Attempt`. With ``once``, its first result holds
        for all attempts of a request."""
        return self._added("adapt", function, timeout=timeout, once=once)

    @decorator_once
    def retrier(self, function: Any = None, *, timeout: float | None = None, once: bool = False) -> Any:
        """Calls the function after each failure, with an :class:`Answered` that has the ``error``. The function returns
        whether to retry, or after how many seconds; a text refuses for good."""
        return self._added("retry", function, timeout=timeout, once=once)

    @decorator
    def validator(self, function: Any = None, *, timeout: float | None = None) -> Any:
        """Calls the function with each response, to return ``False`` or a text for an unacceptable response."""
        return self._added("validate", function, timeout=timeout)

    @decorator
    def serializer(self, function: Any = None, *, timeout: float | None = None) -> Any:
        """Calls the function with each body; ``response.json()`` is its result, ``response.content`` the received
        bytes. An exception of the function is raised by the request."""
        return self._added("serialize", function, timeout=timeout)

    @decorator
    def destination(self, function: Any = None, *, timeout: float | None = None) -> Any:
        """Calls the function with each complete download, an :class:`Arrived`, to return the path for the file, or a
        mapping with ``path``, ``replace`` and ``createDirectories``."""
        return self._added("destination", function, timeout=timeout)

    @decorator
    def encoder(self, function: Any = None, *, timeout: float | None = None) -> Any:
        """Calls the function with the ``parameters`` of each request, in an :class:`Encoded`, to set ``url``,
        ``headers``, ``json`` or ``text``. A request with its own ``encoding`` stays unchanged."""
        return self._added("encode", function, timeout=timeout)

    @decorator
    def redirector(self, function: Any = None, *, timeout: float | None = None) -> Any:
        """Calls the function with each :class:`Redirect`, to return whether to follow, or another URL."""
        return self._added("redirect", function, timeout=timeout)

    @decorator
    def challenge(self, function: Any = None, *, timeout: float | None = None) -> Any:
        """Calls the function with each :class:`Challenge` without a known credential, to return a user name and a
        password, or nothing."""
        return self._added("challenge", function, timeout=timeout)

    @decorator
    def trust(self, function: Any = None, *, timeout: float | None = None) -> Any:
        """Calls the function with each :class:`PresentedServer`, in the handshake, to return whether to trust the
        server, or a text that says why not. ``{"trust": True, "remember": 3600}`` counts for that many seconds."""
        return self._added("trust", function, timeout=timeout)

    def _added(self, kind: str, function: Any, **options: Any) -> Any:
        if function is None:
            return lambda given: self._added(kind, given, **options)
        shape, say = KINDS[kind]
        codes = self._plan.codes

        # the client keeps it, and must not keep the session
        async def reply(params: dict[str, Any]) -> dict[str, Any]:
            shaped = shape(params)
            try:
                return say(shaped, await settled(codes.find(params)(shaped)))
            except Exception as problem:
                if kind != "serialize":
                    raise
                keep_raised(params["request"], problem)
                raise Told(f"{type(problem).__name__}: {problem}") from None

        self._client._add_replier(f"callback.{kind}", codes.functions, reply)
        return self._plan.add(kind, function, options)

    # sync: @property
    async def handle(self) -> str:
        """The service's handle; made when first needed, and again on another connection."""
        self._is_known = True
        return await self._handle()

    def _known(self) -> str | None:
        """The handle on the connection that is open as far as is known, for a caller that repeats a failed call."""
        connection = self._client._here()
        return None if connection is None else self._made.get(connection, (None, 0))[0]

    async def _handle(self) -> str:
        pauses = iter(PAUSES)
        while True:
            connection = await self._client._live()
            made = self._made.get(connection)
            # sync: if made is not None and made[1] == len(self._plan.interceptors):
            if made is not None and made[1] == len(self._plan.interceptors) and not self._is_orphan():  # async
                return made[0]
            # the lock may be held by a thread whose reply only this thread can read
            # sync: if connection._is_nested():
            # sync:     connection._nested("session.create", b"")
            try:
                async with self._making.setdefault(connection, SerialLock()):
                    return await self._make(connection)
            except Unsent:
                # the session is made on the next connection
                pause = next(pauses, None)
                if pause is None:
                    raise
                await sleep(pause)

    async def _make(self, connection: AsyncConnection) -> str:
        if await self._client._live() is not connection:
            raise Unsent(f"the service ({connection.name}) has gone before it made the session")
        made, wanted = self._made.get(connection), len(self._plan.interceptors)
        if made is None:
            new = await self._create(connection)
            made = self._made.setdefault(connection, new)
            if made[0] != new[0]:
                # a signal handler has made the session meanwhile
                connection.post([("session.close", {"session": new[0]})])
            for old in [old for old in list(self._making) if old.dead is not None]:
                self._making.pop(old, None)
                self._client._defaults.sessions.pop(self._made.pop(old, ("", 0))[0], None)
            self._client._defaults.sessions[made[0]] = self._plan
        if made[1] != wanted or self._is_orphan():
            if self._owner is not None and self._owner.pid != os.getpid():
                # the functions would end with this child, and the parent would not know
                raise RuntimeError("a forked child adds no function to a shared session: add it before the fork")
            own = {"interceptors": self._plan.interceptors, "trust": self._owner and self._plan.callbacks.get("trust")}
            changes = {"session": made[0], **{name: value for name, value in own.items() if value}}
            await self._client._invoke_on(connection, "session.update", changes)
            if self._owner is not None:
                self._owner = connection
        self._made[connection] = (made[0], wanted)
        return made[0]

    def _lose(self, handle: str) -> None:
        """The service does not know the session any more: the next request makes the session again."""
        for connection, made in list(self._made.items()):
            if made[0] == handle:
                self._made.pop(connection, None)
                self._client._defaults.sessions.pop(handle, None)

    def _is_orphan(self) -> bool:
        """Whether the connection on which the service calls the functions has ended; that of a parent is unknown."""
        owner = self._owner
        if owner is None or owner.pid != os.getpid():
            return False
        # sync: return owner.dead is not None
        return owner.dead is not None or owner.loop.is_closed()  # async

    async def _create(self, connection: AsyncConnection) -> tuple[str, int]:
        """Its handle, and the number of interceptors that the service knows."""
        self._plan.codes.functions.update(self._plan.functions)
        count, params = len(self._plan.interceptors), self._plan.params()
        try:
            created = await self._client._invoke_on(connection, "session.create", params)
        except HandleError as problem:
            found = await self._shared(connection) if problem.data.get("state") == "taken" else None
            if found is None:
                raise
            return found
        handle = str(created["session"])
        if self._plan.settings.get("shared"):
            self._owner = connection
        if self._plan.jar is not None:
            from .._protocol.access import specs_of

            params = {"session": handle, "cookies": specs_of(self._plan.jar)}
            if self._plan.layer.get("base_url"):
                # for cookies without a domain
                params["url"] = str(self._plan.layer["base_url"])
            try:
                await self._client._invoke_on(connection, "cookies.set", params)
            except BaseException:
                connection.post([("session.close", {"session": handle})])
                raise
        return handle, count

    async def _shared(self, connection: AsyncConnection) -> tuple[str, int] | None:
        """As :meth:`_create`, of a shared session that this object made on another connection, if it is still there."""
        if not self._made:
            return None
        handle, _ = next(reversed(self._made.values()))
        try:
            # functions stay with a connection that lives, of another event loop or the parent of a fork
            await self._client._invoke_on(connection, "session.update", {"session": handle})
        except HandleError:
            return None
        return handle, max((count for name, count in self._made.values() if name == handle), default=0)

    async def _send(self, method: str, url: str, options: Mapping[str, Any]) -> AsyncResponse:
        if not self._plan.has_functions():
            return await self._client._send(method, url, {**options, "session": await self._handle()})
        async with self._client._turn():
            return await self._client._send(method, url, {**options, "session": await self._handle()})

    async def _within(self, work: Callable[[], Awaitable[Result]]) -> Result:
        if not self._plan.has_functions():
            return await work()
        async with self._client._turn():
            return await work()

    async def _result(self, method: str, params: str, seconds: float) -> dict[str, Any]:
        return await self._within(lambda: self._client._result(method, params, seconds))

    def _caller(self) -> AsyncCalls:
        return self._client

    async def _own(self, options: Any) -> Any:
        return {**options, "session": await self._handle()}

    async def many(
        self, requests: Iterable[Item], *, window: int = 64, **options: Unpack[Options]
    ) -> list[AsyncResponse | OutriderError]:
        """Sends many requests of this session; see :meth:`AsyncClient.many`."""
        own = await self._own(options)
        if not self._plan.has_functions():
            return await self._client.many(requests, window=window, **own)
        async with self._client._turn(window) as places:
            return await self._client.many(requests, window=places, **own)

    async def start(self, method: str, url: str, **options: Unpack[Options]) -> AsyncRequest:
        """Starts a request of this session and returns at once; see :class:`outrider.AsyncRequest`."""
        own = await self._own(options)
        started: AsyncRequest = await self._starting(lambda: self._client.start(method, url, **own))
        return started

    async def _starting(self, work: Callable[[], Awaitable[Result]]) -> Result:
        if not self._plan.has_functions():
            return await work()
        self._has_started = True
        async with self._client._start_turn():
            return await work()

    @property
    def download(self) -> AsyncDownloads:
        """Downloads of this session: ``session.download(url, path)``, and its methods as in ``client.download``."""
        from .transfers import AsyncDownloads

        return AsyncDownloads(self)

    @property
    def cookies(self) -> AsyncCookies:
        """The jar of a session with ``cookies=``."""
        from .cookies import AsyncCookies

        return AsyncCookies(self._client, self._handle)

    async def cancel_all(self) -> int:
        """Cancels all its requests, and waits until they are over; how many there were."""
        result = await self._client.invoke("session.cancelAll", {"session": await self._handle()})
        return int(result["cancelled"])

    async def close(self) -> None:
        """Ends the session in the service; running requests end with :class:`~outrider.Cancelled`."""
        made, self._made, self._owner = self._made, {}, None
        here, ours = self._client._here(), []
        for connection, (handle, _) in made.items():
            self._client._defaults.sessions.pop(handle, None)
            if connection is here or self._plan.settings.get("shared"):
                ours.append(handle)
            else:
                # on a connection of another event loop, or to a stopping service; a lost connection ended the session
                connection.post([("session.close", {"session": handle})])
        for handle in ours:
            await end_by(self._client.invoke, "session.close", {"session": handle})
        self._plan.forget()
