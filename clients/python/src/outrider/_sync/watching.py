# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Subscriptions of the blocking client: what happens to requests, one event after the other."""

from __future__ import annotations

from _thread import start_new_thread

from .._protocol.exceptions import HandleError, OutriderError, ServerGone
from .._resources.watching import DROPPED, Sieve, wish
from .events import FOREVER, EventStream, complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._protocol.models import Event
    from .caller import Caller


def watch(
    client: Caller, topics: tuple[str, ...], function: Callable[[Event], object] | None, *,
    timeout: float | None = None, **wishes: Any,
) -> Watch:
    """The events of a new subscription."""
    params = wish(topics, **wishes)
    return Watch(client, params, FOREVER if timeout is None else timeout, params["queue"], function)


class Watch(EventStream):
    """What happens to one's requests, one event after the other::

        with client.watch("request.finished", "request.retrying", timeout=5) as events:
            client.many(urls)
            for event in events:
                print(event.topic, event.request, event.detail)

        client.watch("attempt.*", function=print)       # in a thread of its own, until it is closed

    The topics are those of ``events.topics``; ``*`` stands for any run of characters, ``session=`` or ``request=``
    narrows them. ``event.detail`` is what there is to say. At most ``queue=1000`` events wait in the service, and as
    many here; what was too much is counted in ``dropped``, and ``drop="newest"`` says which ones go. The iteration
    ends when nothing came for ``timeout`` seconds, and with :class:`~outrider.ServerGone` when the connection ends.
    """

    def __init__(
        self,
        client: Caller,
        params: dict[str, Any],
        timeout: float,
        limit: int,
        function: Callable[[Event], object] | None,
    ) -> None:
        inbox = client._inbox()
        super().__init__(client._live(), (), timeout, limit, inbox.forget)
        self._client = client
        self._sieve = Sieve()
        inbox.add(self)
        try:
            self._sieve.learn(client.invoke("events.subscribe", params)["subscription"], self._accept)
        except BaseException:
            super().close()
            raise
        if function is not None:
            start_new_thread(self._run, (function,))

    def __del__(self) -> None:
        try:
            if self._open and self._sieve.name is not None:
                self._client._leave([("events.unsubscribe", {"subscription": self._sieve.name})])
        except Exception:
            # of one that never was, or at the end of the interpreter
            pass

    @property
    def subscription(self) -> str | None:
        """The handle of the subscription."""
        return self._sieve.name

    def take(self, event: Event) -> None:
        self._sieve.take(event, self._accept)

    def _accept(self, event: Event) -> None:
        if event.name == DROPPED:
            self.dropped += event.params.get("count", 0)
        else:
            super().take(event)

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
        """Ends the subscription; an iteration ends after what is kept."""
        if not self._open:
            return
        super().close()
        try:
            self._client.invoke("events.unsubscribe", {"subscription": self._sieve.name})
        except (HandleError, ServerGone):
            pass  # the connection that it belonged to has ended, and it with that
