# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Events and callbacks of the blocking client: iterated over, or given to functions in a thread of their own.

Loaded with the first event or callback, so that a program without events does not pay for them.
"""

from __future__ import annotations

import os
from _thread import get_ident, start_new_thread
from collections import deque
from itertools import count
from time import monotonic, sleep

from .._connection.blocking import Connection
from .._connection.inbox import CALLBACK_FAILED, Inbox, refusal_frame, reply_frame
from .._connection.waiters import Waiter
from .._protocol.exceptions import OutriderError, ServerGone
from .._protocol.hints import Any, Callable, Iterator
from .._protocol.models import Event
from .._protocol.parameters import FOREVER
from .._resources.events import CANCEL, EventQueue, Listeners, Told, refused

POLITENESS = 0.002
"""Seconds for which the thread of the functions leaves the reading to threads that make calls: a thread that reads
for itself is three times as fast as a thread that is handed its replies."""

MOST_INSIDE = 64
"""How many functions may wait for calls of their own at a time."""

MOST_KEPT = 1000
"""The most events, and the most callbacks, that wait for the thread of the functions."""

_numbers = count(-1000, -1).__next__


class EventStream(EventQueue):
    """The events of a client, in order: ``for event in client.events("event.progress"):``.

    The thread that iterates reads the connection while it waits. At most ``limit`` events are kept; when more
    arrive the oldest is dropped and counted in ``dropped``. The iteration ends when nothing arrived for
    ``timeout`` seconds, and with :class:`~outrider.ServerGone` when the connection ends. Dropping the iteration
    ends the delivery.
    """

    def __init__(
        self, connection: Connection, inbox: ClientInbox, names: tuple[str, ...], timeout: float | None, limit: int
    ) -> None:
        super().__init__(inbox, names, limit)
        self._connection, self._inbox = connection, inbox
        self._timeout = FOREVER if timeout is None else min(timeout, FOREVER)
        self._is_lost = False
        self._waiter = Waiter("")
        self._number = _numbers()
        inbox.add(self)

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        deadline = monotonic() + self._timeout
        while True:
            self._waiter.lock.acquire(False)
            if self._events:
                return self._events.popleft()
            connection = self._connection
            if not self._open and not self._is_lost:
                break
            if connection.dead is not None:
                self._lost()
                raise ServerGone(f"no more events: {connection.dead}")
            if monotonic() >= deadline:
                break
            self._inbox.beside(connection.listen, self._number, self._waiter, deadline)
        raise StopIteration

    def _lost(self) -> None:
        """The connection has ended. Each of several threads learns it."""
        self._is_lost = True
        EventQueue.close(self)

    def wake(self) -> None:
        self._waiter.wake()

    def close(self) -> None:
        """Ends the delivery; an iteration ends after the kept events, also one in another thread."""
        super().close()
        if self._number in self._connection._waiting:
            # it may read, and the reply to a call ends that
            self._connection.post([("server.info", {})])

    def __enter__(self) -> EventStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ClientInbox(Listeners, Inbox):
    """The events and callbacks of a client, and the thread of its functions."""

    def __init__(self) -> None:
        super().__init__()
        self._events: deque[Event] = deque(maxlen=MOST_KEPT)
        self._waiting: deque[tuple[Connection, Any, str, Any]] = deque()
        self._waiter = Waiter("")
        self._served: Connection | None = None
        self._inside: set[int] = set()
        self._absent: list[int] = []
        self._pid = os.getpid()

    # What the connection tells; must not block.

    def event(self, name: str, params: Any, connection: Any = None) -> None:
        if name == CANCEL:
            # a function that runs cannot be cancelled
            for one in [one for one in list(self._waiting) if one[0] is connection and one[1] == params.get("id")]:
                try:
                    self._waiting.remove(one)
                except ValueError:
                    # its thread was faster
                    pass
            return
        event = self._spread(name, params)
        if name in self.handlers or "*" in self.handlers:
            self._events.append(event)
            self._waiter.wake()

    def callback(self, connection: Connection, number: Any, name: str, params: Any) -> bool:
        if self.replier(name, params) is None or len(self._waiting) >= MOST_KEPT:
            return False
        self._waiting.append((connection, number, name, params))
        # What the thread of the functions waits for may be the reply to just this. Nor does it leave a connection that
        # lives for one to a service that is stopping.
        isolated = self._absent or self._serves_another(connection)
        if not (isolated and len(self._inside) < MOST_INSIDE and self._start_aside()):
            self.serve(connection)
            self._waiter.wake()
        return True

    def _serves_another(self, connection: Connection) -> bool:
        served = self._served
        return (
            served is not None and served is not connection and served.dead is None and served.pid == connection.pid
        )

    def _start_aside(self) -> bool:
        """Runs the first waiting callback in a thread of its own, if there is one and can be one."""
        callback = self._next_waiting()
        if callback is None:
            return False
        try:
            start_new_thread(self._aside, callback)
        except RuntimeError:
            self._waiting.appendleft(callback)
            return False
        return True

    def _next_waiting(self) -> tuple[Connection, Any, str, Any] | None:
        try:
            return self._waiting.popleft()
        except IndexError:
            return None

    def closed(self, problem: OutriderError | None = None, connection: Any = None) -> None:
        self._waiter.wake()
        for queue in self._open():
            queue.wake()

    # What the client asks for.

    def renew(self, connection: Connection) -> None:
        """Lets the watches with a function go on with this connection."""
        for watch in self.watches:
            watch.renew(connection)

    def serve(self, connection: Connection) -> None:
        """Makes sure that a thread runs the functions for this connection."""
        if self._pid != connection.pid:
            self._leave_to_parent(connection.pid)
        if self._served is not connection and (self.handlers or self.callbacks or self.repliers):
            # A waiter of its own: the one before may have been made in the process that forked this one.
            self._waiter = waiter = Waiter("")
            self._served = connection
            start_new_thread(self._run, (connection, waiter))

    def _leave_to_parent(self, pid: int) -> None:
        """In a child made by fork: forgets what has come for the parent, whose threads may have held the locks of its
        connection and its iterations."""
        self._pid = pid
        self._events, self._waiting, self._queues = deque(maxlen=MOST_KEPT), deque(), {}
        # a function that forked itself still has its lists
        self._inside, self._absent = set(), []

    def waiting(self) -> int:
        return len(self._waiting) + max(0, len(self._inside) - 1)

    def is_inside(self) -> bool:
        """Whether this thread runs a function that the service has called."""
        return get_ident() in self._inside

    def beside(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Waits for something of the service. Meanwhile other callbacks run in threads of their own."""
        me, absent = get_ident(), self._absent
        if me not in self._inside:
            return call(*arguments)
        absent.append(me)
        try:
            # also those that came before
            while len(self._inside) < MOST_INSIDE and self._start_aside():
                pass
            return call(*arguments)
        finally:
            absent.remove(me)

    def _aside(self, *callback: Any) -> None:
        me = get_ident()
        self._inside.add(me)
        try:
            self._reply(*callback)
        finally:
            self._inside.discard(me)

    def _run(self, connection: Connection, waiter: Waiter) -> None:
        number, me = _numbers(), get_ident()
        self._inside.add(me)
        try:
            while self._served is connection and self._waiter is waiter:
                waiter.lock.acquire(False)
                callback = self._next_waiting()
                if callback is not None:
                    self._reply(*callback)
                elif self._events:
                    self._handle(self._events.popleft())
                elif connection.dead is not None:
                    break
                elif connection.listen(number, waiter, monotonic() + FOREVER) and not self._waiting:
                    sleep(POLITENESS)
        finally:
            self._inside.discard(me)
            if self._waiter is waiter:
                self._served = None

    def _handle(self, event: Event) -> None:
        for function in self._functions(event.name):
            try:
                function(event)
            except BaseException as problem:
                complain(f"the function for {event.name} failed", problem)

    def _reply(self, connection: Connection, number: Any, name: str, params: Any) -> None:
        try:
            replier = self.replier(name, params) or self.callbacks[name]
            given = replier(params if isinstance(params, dict) else {})
            frame = reply_frame(number, {} if given is None else given)
        except BaseException as problem:
            frame = refusal_frame(number, CALLBACK_FAILED, refused(problem))
            if not isinstance(problem, Told):
                complain(f"the function for {name} failed", problem)
        try:
            connection.tell(frame)
        except OutriderError:
            pass


def complain(what: str, problem: BaseException) -> None:
    """Warns of the failure of a function whose exception no caller can catch; if warnings are errors, calls the hook
    for exceptions in threads. Raises nothing, so that the reply can follow the warning."""
    import warnings

    try:
        warnings.warn(f"{what}: {type(problem).__name__}: {problem}", RuntimeWarning, stacklevel=2)
    except BaseException as raised:
        import threading

        raised.__cause__ = problem
        try:
            threading.excepthook(threading.ExceptHookArgs((type(raised), raised, raised.__traceback__, None)))
        except BaseException:
            pass
