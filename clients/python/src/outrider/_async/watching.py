# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Subscriptions of the awaiting client: the events of requests, in order."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .._protocol.exceptions import HandleError, OutriderError, ServerGone
from .._resources.watching import Sieve, Subscribed, wish
from .events import AsyncEventStream, complain

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._protocol.models import Event
    from .caller import AsyncCaller


class AsyncWatch(Subscribed, AsyncEventStream):
    """As :class:`outrider.Watch`: ``async with client.watch("request.*") as events: async for event in events: …``.

    The subscription begins with the ``async with``, or with the iteration.
    """

    def __init__(
        self, client: AsyncCaller, topics: tuple[str, ...], function: Callable[[Event], object] | None = None, *,
        timeout: float | None = None, **wishes: Any,
    ) -> None:
        self._params = wish(topics, **wishes)
        self._client = client
        self._sieve = Sieve()
        self._function = function
        self._began = False
        self._inbox = client._inbox()
        super().__init__(self._inbox, (), timeout, self._params["queue"])

    async def begin(self) -> None:
        """Subscribes. Harmless when done twice."""
        if self._began:
            return
        self._began = True
        try:
            name = (await self._client.invoke("events.subscribe", self._params))["subscription"]
            self._sieve.learn(name, self._accept)
        except BaseException:
            super().close()
            raise
        if self._function is not None:
            self._inbox.start(self._run(self._function))

    async def __anext__(self) -> Event:
        await self.begin()
        return await super().__anext__()

    async def _run(self, function: Callable[[Event], object]) -> None:
        try:
            async for event in self:
                try:
                    outcome = function(event)
                    if asyncio.iscoroutine(outcome):
                        await outcome
                except Exception as problem:
                    complain(f"the function for {event.topic} failed", problem)
        except OutriderError:
            pass  # the connection has ended, and with it what there was to tell

    async def aclose(self) -> None:
        """Ends the subscription; an iteration ends after the kept events."""
        super().close()
        if self._sieve.name is None:
            return
        try:
            await self._client.invoke("events.unsubscribe", {"subscription": self._sieve.name})
        except (HandleError, ServerGone):
            pass  # the connection that it belonged to has ended, and it with that

    async def __aenter__(self) -> AsyncWatch:
        await self.begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
