# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Subscriptions of the blocking client: the events of requests, in order."""

from __future__ import annotations

from _thread import start_new_thread

from .._protocol.exceptions import HandleError, OutriderError, ServerGone
from .._resources.watching import Sieve, Subscribed, wish
from .events import EventStream, complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._protocol.models import Event
    from .caller import Caller


class Watch(Subscribed, EventStream):
    """The events of the client's requests, in order::

        with client.watch("request.finished", "request.retrying", timeout=5) as events:
            client.many(urls)
            for event in events:
                print(event.topic, event.request, event.detail)

        client.watch("attempt.*", function=print)       # in a thread of its own, until it is closed

    ``events.topics`` lists the topics; ``*`` stands for any run of characters, ``session=`` or ``request=``
    narrows them. ``event.detail`` holds the details. At most ``queue=1000`` events wait in the service, and as
    many here; ``dropped`` counts the events that were dropped, the oldest ones unless ``drop="newest"``. The iteration
    ends when nothing came for ``timeout`` seconds, and with :class:`~outrider.ServerGone` when the connection ends.
    """

    def __init__(
        self, client: Caller, topics: tuple[str, ...], function: Callable[[Event], object] | None = None, *,
        timeout: float | None = None, **wishes: Any,
    ) -> None:
        params = wish(topics, **wishes)
        self._client = client
        self._sieve = Sieve()
        super().__init__(client._live(), client._inbox(), (), timeout, params["queue"])
        try:
            self._sieve.learn(client.invoke("events.subscribe", params)["subscription"], self._accept)
        except BaseException:
            super().close()
            raise
        if function is not None:
            start_new_thread(self._run, (function,))

    def _run(self, function: Callable[[Event], object]) -> None:
        try:
            for event in self:
                try:
                    function(event)
                except Exception as problem:
                    complain(f"the function for {event.topic} failed", problem)
        except OutriderError:
            pass  # the connection has ended, and with it what there was to tell

    def close(self) -> None:
        """Ends the subscription; an iteration ends after the kept events."""
        if not self._open:
            return
        super().close()
        try:
            self._client.invoke("events.unsubscribe", {"subscription": self._sieve.name})
        except (HandleError, ServerGone):
            pass  # the connection that it belonged to has ended, and it with that
