# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Events that wait for a program, and subscriptions: the part of both clients that neither blocks nor awaits."""

from __future__ import annotations

from _thread import allocate_lock
from _weakref import ref
from collections import deque
from itertools import count

from .._protocol.arguments import present
from .._protocol.hints import Any, Callable, Container, Mapping
from .._protocol.models import Event
from .._protocol.openings import Dropped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol, TypeVar, TypedDict, overload

    Code = TypeVar("Code", bound=Callable[[Any], Any])

    class Decorator(Protocol):
        """A method that is a decorator, with its settings or without."""

        @overload
        def __call__(self, function: Code, *, timeout: float | None = None) -> Code: ...
        @overload
        def __call__(self, *, timeout: float | None = None) -> Callable[[Code], Code]: ...

    class DecoratorOnce(Protocol):
        """The same, with one setting more."""

        @overload
        def __call__(self, function: Code, *, timeout: float | None = None, once: bool = False) -> Code: ...
        @overload
        def __call__(self, *, timeout: float | None = None, once: bool = False) -> Callable[[Code], Code]: ...

    class Wishes(TypedDict, total=False):
        """The options of a subscription, and of the wait for its events."""

        session: str
        request: Any
        queue: int
        drop: str
        timeout: float | None


_numbers = count(1).__next__

CANCEL = "$/cancelRequest"
"""The notification that the service wants no reply to a callback any more. It is no event of the program."""


class Told(Exception):
    """An exception of a function that the caller of its request gets, so that no warning is needed."""


def refused(problem: BaseException) -> str:
    """The error for the service for a function's exception."""
    return str(problem) if isinstance(problem, Told) else f"{type(problem).__name__}: {problem}"


def decorator(method: Any) -> Decorator:
    """Tells type checkers both forms of such a method."""
    return method  # type: ignore[no-any-return]


def decorator_once(method: Any) -> DecoratorOnce:
    """Tells type checkers both forms of such a method."""
    return method  # type: ignore[no-any-return]


class Functions:
    """Functions of a program by their callback names: of the sessions of a client, or of its credentials."""

    def __init__(self, owner: str) -> None:
        self.functions: dict[str, Callable[[Any], Any]] = {}
        self._owner = owner

    def add(self, function: Callable[[Any], Any]) -> str:
        """Its name."""
        name = f"{getattr(function, '__name__', self._owner)}#{_numbers()}"
        self.functions[name] = function
        return name

    def find(self, params: Mapping[str, Any]) -> Callable[[Any], Any]:
        """The function that a callback is for."""
        try:
            return self.functions[params["callback"]]
        except KeyError:
            raise LookupError(f"no {self._owner} has a function named {params.get('callback')!r}") from None


class EventQueue:
    """The events of an iteration. The oldest is dropped when there are more than ``limit``."""

    def __init__(self, listeners: Listeners, names: tuple[str, ...], limit: int) -> None:
        if limit < 1:
            raise ValueError("limit must be at least 1")
        self.dropped = 0
        self._listeners = listeners
        self._key = _numbers()
        self._names = frozenset(names)
        self._events: deque[Event] = deque(maxlen=limit)
        self._open = True

    def take(self, event: Event) -> None:
        """Keeps an event with a wanted name."""
        if self._names and event.name not in self._names:
            return
        if len(self._events) == self._events.maxlen:
            self.dropped += 1
        self._events.append(event)
        self.wake()

    def wake(self) -> None:
        """Lets the iteration look again."""

    def close(self) -> None:
        """Ends the delivery; an iteration ends after the kept events."""
        self._open = False
        self._listeners.forget(self)
        self.wake()


class Listeners:
    """The iterations and functions for the events of a client, and the functions for its callbacks."""

    def __init__(self) -> None:
        self.handlers: dict[str, list[Callable[[Event], object]]] = {}
        self.callbacks: dict[str, Callable[[dict[str, Any]], Any]] = {}
        self.repliers: dict[str, tuple[Container[str], Callable[[dict[str, Any]], Any]]] = {}
        # by keys, for many threads may add and forget at once
        self._queues: dict[int, Callable[[], EventQueue | None]] = {}
        self.watches: list[Any] = []
        """What goes on with the next connection: watches with a function, and the offer of a passphrase."""

    def replier(self, name: str, params: Any) -> Callable[[dict[str, Any]], Any] | None:
        """The function for a callback: a session's or a credential's, if the callback names such a function."""
        known, replier = self.repliers.get(name, ((), None))
        if replier is not None and isinstance(params, dict) and params.get("callback", "") in known:
            return replier
        return self.callbacks.get(name)

    def add(self, queue: EventQueue) -> None:
        """Every event goes to the queue from now on, as long as the program keeps a reference to the queue."""
        self._queues[queue._key] = ref(queue)
        # a list of pairs would run the garbage collector, which ends queues while the dictionary is read
        for key, other in self._queues.copy().items():
            if other() is None:
                self._queues.pop(key, None)

    def forget(self, queue: EventQueue) -> None:
        """No event goes to the queue any more."""
        self._queues.pop(queue._key, None)

    def unwatch(self, watch: Any) -> None:
        """The watch goes on no more."""
        self.watches = [other for other in self.watches if other is not watch]

    def _open(self) -> list[EventQueue]:
        return [queue for one in list(self._queues.values()) for queue in (one(),) if queue is not None]

    def _spread(self, name: str, params: Any) -> Event:
        """Gives an event to all queues."""
        event = Event(name, params if isinstance(params, dict) else {})
        for queue in self._open():
            queue.take(event)
        return event

    def _functions(self, name: str) -> list[Callable[[Event], object]]:
        """The functions that want events of that name."""
        return [*self.handlers.get(name, ()), *self.handlers.get("*", ())]

    def remove(self, name: str, function: Callable[[Event], object] | None) -> None:
        """Ends the events of that name for a function, or for all."""
        kept = [] if function is None else [other for other in self.handlers.get(name, ()) if other != function]
        if kept:
            self.handlers[name] = kept
        else:
            self.handlers.pop(name, None)


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
