# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Subscriptions of the awaiting client: the events of requests, in order."""

from __future__ import annotations

import asyncio

from .._connection.awaiting import AsyncConnection
from .._protocol.exceptions import HandleError, OutriderError, ServerGone
from .._protocol.frames import encode, unpack
from .._protocol.hints import Any, Callable
from .._protocol.models import Event
from .._resources.events import SUBSCRIBING, Sieve, Subscribed, ended, interrupted, wish
from .calls import AsyncCalls
from .events import AsyncEventStream, complain


class AsyncWatch(Subscribed, AsyncEventStream):
    """As :class:`outrider.Watch`: ``async with client.watch("request.*") as events: async for event in events: …``.

    The subscription begins with the ``async with``, or with the iteration.
    """

    def __init__(
        self, client: AsyncCalls, topics: tuple[str, ...], function: Callable[[Event], object] | None = None, *,
        timeout: float | None = None, **wishes: Any,
    ) -> None:
        self._params = wish(topics, **wishes)
        self._client = client
        self._sieve = Sieve()
        self._function = function
        self._began = False
        self._connection: AsyncConnection | None = None
        self._inbox = client._inbox()
        super().__init__(self._inbox, (), timeout, self._params["queue"])

    async def begin(self) -> None:
        """Subscribes. Harmless when done twice."""
        if self._began:
            return
        self._began = True
        try:
            await self._subscribe(await self._client._live())
        except BaseException:
            super().close()
            raise
        if self._function is not None:
            self._inbox.watches.append(self)
            self._inbox.start(self._run(self._function))

    async def _subscribe(self, connection: AsyncConnection) -> None:
        self._connection = connection
        message = await connection.call("events.subscribe", encode(self._params), SUBSCRIBING)
        self._sieve.learn(unpack(message)["subscription"], self._accept)

    async def renew(self, connection: AsyncConnection) -> None:
        """Subscribes on another connection, after the end of the last one."""
        before = self._connection
        if not self._open or before is None or before.loop is not connection.loop:
            return
        self._sieve = Sieve()
        try:
            await self._subscribe(connection)
        except ServerGone:
            pass  # the next connection is the next try
        except OutriderError as problem:
            self.close()
            connection.loop.call_soon(complain, ended(self._params), problem)

    async def __anext__(self) -> Event:
        await self.begin()
        return await super().__anext__()

    async def _run(self, function: Callable[[Event], object]) -> None:
        async for event in self:
            try:
                outcome = function(event)
                if asyncio.iscoroutine(outcome):
                    await outcome
            except Exception as problem:
                complain(f"the function for {event.topic} failed", problem)
        await self.aclose()

    def lost(self, connection: AsyncConnection, problem: OutriderError | None) -> None:
        """A connection has ended. A function waits for the next one, unless the client is closed."""
        if self._client._closed:
            self.end(problem if self._function is None else None)
        elif connection is not self._connection:
            pass  # it was that of another event loop
        elif self._function is None:
            self.end(problem)
        elif self._open:
            connection.loop.call_soon(complain, interrupted(self._params), problem or connection.gone())

    def close(self) -> None:
        """Ends the delivery; an iteration ends after the kept events."""
        super().close()
        self._inbox.unwatch(self)

    async def aclose(self) -> None:
        """Ends the subscription; an iteration ends after the kept events."""
        connection = self._connection
        self.close()
        if self._sieve.name is None or connection is None or connection.dead is not None:
            # the subscription ended with its connection; a call would open another one
            return
        try:
            parameters = encode({"subscription": self._sieve.name})
            unpack(await connection.call("events.unsubscribe", parameters, SUBSCRIBING))
        except (HandleError, ServerGone):
            pass  # the connection that it belonged to has ended, and it with that

    async def __aenter__(self) -> AsyncWatch:
        await self.begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
