# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Calls to the service, which find the next service if no service has read them; events and callbacks."""

from __future__ import annotations

from asyncio import sleep  # async

# sync: from time import sleep
from .._connection.awaiting import AsyncConnection
from .._connection.discovery import PAUSES
from .._connection.wire import Unsent
from .._protocol.arguments import is_stopping, located
from .._protocol.exceptions import OutriderError, ServerNotFound
from .._protocol.frames import HELLO, encode, told, unpack
from .._protocol.hints import Any, Awaitable, Callable, Container, Iterable, Mapping, Sequence, Unpack, overload
from .._protocol.models import Event
from .._protocol.parameters import Defaults, guard_for, own_timeout
from .connected import AsyncConnected
from .responses import AsyncResponse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._protocol.options import Item, Options, Timeout
    from .events import AsyncEventStream
    from .variant import Handler, Replier, Reply


class AsyncCalls(AsyncConnected):
    """Calls on the connection to the service: what sessions, streams, downloads and credentials know of a client, so
    that none of them imports one."""

    _defaults: Defaults

    def __getstate__(self) -> Any:
        raise TypeError("a client cannot be copied or pickled: make one with the same arguments in each process")

    if TYPE_CHECKING:
        # what a client adds

        async def _send(self, method: str, url: str, options: Mapping[str, Any]) -> AsyncResponse: ...
        async def start(self, method: str, url: str, **options: Unpack[Options]) -> Any: ...
        async def many(
            self, requests: Iterable[Item], *, window: int = 64, **options: Unpack[Options]
        ) -> list[AsyncResponse | OutriderError]: ...
        async def wait(
            self, request: Any, *, timeout: float | None = None, check: bool | None = None
        ) -> AsyncResponse | None: ...

    # On the connection

    async def _message(self, method: str, params: str, seconds: float, only: AsyncConnection | None = None) -> Any:
        # sync: if self._subscriptions is not None:
        # sync:     return located(self._subscriptions.beside(self._say, method, params, seconds, only), params)
        return located(await self._say(method, params, seconds, only), params)

    async def _batch(self, method: str, params: Sequence[str], window: int, seconds: float) -> list[Any]:
        # sync: if self._subscriptions is not None:
        # sync:     replies: list[Any] = self._subscriptions.beside(self._say_all, method, params, window, seconds)
        # sync:     return replies
        return await self._say_all(method, params, window, seconds)

    async def _say(self, method: str, params: str, seconds: float, only: AsyncConnection | None = None) -> Any:
        connection = only or self._here() or await self._live()
        try:
            message = await connection.call(method, params, seconds)
        except Unsent:
            if only is not None:
                raise
            connection, message = await self._again(lambda other: other.call(method, params, seconds))
        if type(message) is dict and is_stopping(message):
            self._retire(connection)
        return message

    async def _say_all(self, method: str, params: Sequence[str], window: int, seconds: float) -> list[Any]:
        connection = await self._live()
        if connection.greeting:
            # of a batch, a service that ends may have read a part: so first one call finds a service that answers
            try:
                await self._say("server.hello", HELLO, seconds)
            except (ServerNotFound, Unsent):
                raise
            except OutriderError as problem:
                return [problem] * len(params)
            connection = await self._live()
        try:
            replies = await connection.batch(method, params, window, seconds)
        except Unsent:
            connection, replies = await self._again(lambda other: other.batch(method, params, window, seconds))
        if any(type(one) is dict and is_stopping(one) for one in replies):
            self._retire(connection)
        return replies

    async def _again(self, work: Callable[[AsyncConnection], Awaitable[Any]]) -> tuple[AsyncConnection, Any]:
        """The same on the connection to the next service."""
        for pause in PAUSES:
            connection = await self._live()
            try:
                return connection, await work(connection)
            except Unsent:
                await sleep(pause)
        connection = await self._live()
        return connection, await work(connection)

    # Any method

    async def call(self, name: str, /, **params: Any) -> dict[str, Any]:
        """Calls any method of the service by its name: ``await client.call("server.info")``.

        Parameters and result have the names of the protocol. An error raises a :class:`~outrider.CallError`. A failed
        exchange does not raise; the result holds the failure."""
        message = await self._message(name, encode(params), guard_for(own_timeout(params)))
        return told(message, in_python=False)

    async def invoke(
        self, name: str, params: Mapping[str, Any] | None = None, *, timeout: Timeout | None = None
    ) -> dict[str, Any]:
        """As :meth:`call`, with the parameters in a mapping and a time limit that is this client's only. Messages of
        errors name the parameters of this client."""
        message = await self._message(name, encode({} if params is None else params), guard_for(timeout))
        return told(message)

    async def _invoke_on(self, connection: AsyncConnection, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """As :meth:`invoke`, on that connection only: the others do not know what it makes. May raise ``Unsent``."""
        return told(await self._message(name, encode(params), guard_for(None), connection))

    async def _invoke_raw(
        self, name: str, params: Mapping[str, Any], *, timeout: Timeout | None = None
    ) -> dict[str, Any]:
        """As :meth:`invoke`, but ``base64`` of a body, or of a piece of it, may be its bytes."""
        return unpack(await self._message(name, encode(params), guard_for(timeout)))

    async def _result(self, method: str, params: str, seconds: float) -> dict[str, Any]:
        return unpack(await self._message(method, params, seconds))

    async def info(self) -> dict[str, Any]:
        """The version, the features and the limits of the service: ``server.info``."""
        return await self.invoke("server.info")

    async def stats(self) -> dict[str, Any]:
        """The counters of the service: ``server.stats``."""
        return await self.invoke("server.stats")

    # Events and callbacks

    def events(self, *names: str, timeout: float | None = None, limit: int = 1000) -> AsyncEventStream:
        """Events as they come, to iterate over: all events, or the events with the given names.

        Open the iteration before the request, so that no event is missed: ``with client.events() as events: …``
        """
        from .events import AsyncEventStream

        inbox = self._inbox()
        return AsyncEventStream(inbox, names, timeout, limit)  # async
        # sync: return EventStream(self._live(), inbox, names, timeout, limit)

    @overload
    def on(self, name: str) -> Callable[[Handler], Handler]: ...
    @overload
    def on(self, name: str, function: Handler) -> Handler: ...  # noqa: F811
    def on(self, name: str, function: Callable[[Event], object] | None = None) -> Any:  # noqa: F811
        """Calls ``function`` with every event of that name (``"*"`` for all); also as a decorator:
        ``@client.on("event.progress")``.

        The blocking client calls the functions in turn, in the order of the events, in a thread of its own; if the
        functions are too slow, the oldest events are dropped. In asyncio, a coroutine function runs as a task."""
        if function is None:
            return lambda given: self.on(name, given)
        inbox = self._inbox()
        inbox.handlers.setdefault(name, []).append(function)
        # sync: inbox.serve(self._live())
        return function

    def off(self, name: str, function: Callable[[Event], object] | None = None) -> None:
        """Undoes :meth:`on`, for a function or for all functions of that name."""
        self._inbox().remove(name, function)

    @overload
    def on_callback(self, name: str) -> Callable[[Replier], Replier]: ...
    @overload
    def on_callback(self, name: str, function: Replier) -> Replier: ...  # noqa: F811
    def on_callback(self, name: str, function: Callable[[dict[str, Any]], Reply] | None = None) -> Any:  # noqa: F811
        """Serves the service's callbacks of that name (``callback.ask``) with the result of ``function``.

        The function gets the parameters and returns a mapping or ``None``; the service gets its exceptions as errors.
        Also as a decorator. Callbacks without a function are refused."""
        if function is None:
            return lambda given: self.on_callback(name, given)
        inbox = self._inbox()
        inbox.callbacks[name] = function
        # sync: inbox.serve(self._live())
        return function

    def _add_replier(self, name: str, functions: Container[str], replier: Callable[[dict[str, Any]], Any]) -> None:
        """Replies to callbacks that name an entry of ``functions``; other callbacks stay with :meth:`on_callback`."""
        inbox = self._inbox()
        inbox.repliers[name] = (functions, replier)
        # sync: inbox.serve(self._live())
