# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Subscriptions: the parameters of ``events.subscribe``, and the events of a subscription."""

from __future__ import annotations

from _thread import allocate_lock

from .._protocol.arguments import present
from .._protocol.openings import Dropped
from .events import EventQueue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypedDict

    from .._protocol.models import Event

    class Wishes(TypedDict, total=False):
        """The options of a subscription, and of the wait for its events."""

        session: str
        request: Any
        queue: int
        drop: str
        timeout: float | None

MONITOR, DROPPED = "event.monitor", "event.dropped"

SUBSCRIBING = 60.0
"""Seconds to wait for the reply to ``events.subscribe`` and ``events.unsubscribe``."""


def wish(
    topics: tuple[str, ...], *, session: str | None = None, request: Any = None, queue: int = 1000,
    drop: str = "oldest",
) -> dict[str, Any]:
    """The parameters of ``events.subscribe``."""
    if not topics:
        raise ValueError('name at least one topic, such as "request.*"')
    request = getattr(request, "handle", request)
    return present(topics=list(topics), session=session, request=request, queue=queue, drop=drop)


def interrupted(params: dict[str, Any]) -> str:
    """The warning for a function whose connection has ended."""
    return (
        f"no more events of {', '.join(params['topics'])} until the next call of the client, which subscribes again"
    )


def ended(params: dict[str, Any]) -> str:
    """The warning for a function whose subscription cannot be made again."""
    return f"no more events of {', '.join(params['topics'])}, watch again: the new connection cannot subscribe"


class Sieve:
    """Passes on the events of a subscription. Events that come before its name is known wait."""

    def __init__(self) -> None:
        self.name: str | None = None
        self._early: list[Event] = []
        self._lock = allocate_lock()

    def take(self, event: Event, accept: Callable[[Event], None]) -> None:
        """Any event."""
        if event.name != MONITOR and event.name != DROPPED:
            return
        with self._lock:
            if self.name is None:
                self._early.append(event)
            elif event.params.get("subscription") == self.name:
                accept(event)

    def learn(self, name: str, accept: Callable[[Event], None]) -> None:
        """The name is known."""
        with self._lock:
            self.name = name
            early, self._early = self._early, []
            for event in early:
                if event.params.get("subscription") == name:
                    accept(event)


class Subscribed(Dropped, EventQueue):
    """An iteration over the events of a subscription; ends the subscription when dropped."""

    _client: Any
    _sieve: Sieve

    def _drop(self) -> None:
        if self._open and self._sieve.name is not None:
            self._client._leave([("events.unsubscribe", {"subscription": self._sieve.name})])

    @property
    def subscription(self) -> str | None:
        """The handle of the subscription, after the subscribing."""
        return self._sieve.name

    def take(self, event: Event) -> None:
        self._sieve.take(event, self._accept)

    def _accept(self, event: Event) -> None:
        if event.name == DROPPED:
            self.dropped += event.params.get("count", 0)
        else:
            super().take(event)
