# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Threads that wait for replies on a connection of the blocking client, for their turns, and for locks."""

from __future__ import annotations

import os
from _thread import TIMEOUT_MAX, LockType, RLock, allocate_lock, get_ident
from time import monotonic, sleep

from .._protocol.exceptions import RequestTimeout
from .._protocol.frames import quote
from .._protocol.hints import Any, Iterator, Sequence

CALLED_BACK = 56
"""The most requests of sessions with functions at a time. Requests of functions have the rest of the 64 places."""

REPLIED = 30.0
"""Seconds in which a function replies: the default of the service, after which it gives up the callback."""

ON_GREENLETS = str(get_ident.__module__).startswith("gevent")
"""Whether gevent had replaced the threads when this module was loaded, and with them the locks of the connections."""

VIGIL = 1.0
"""Seconds after which a follower checks that another thread reads."""


def atomic_acquire(lock: LockType | RLock, seconds: float = 0.0) -> Iterator[bool]:
    """Acquires ``lock`` in the same step in which the result is assigned::

        mine = False
        try:
            [mine] = atomic_acquire(lock)
            ...
        finally:
            if mine:
                lock.release()

    A signal handler may raise between any two steps of the main thread. After ``mine = lock.acquire(False)`` that can
    happen when the lock is taken and ``mine`` is still false: the lock would be lost. The iterator that this function
    returns acquires the lock only when the assignment unpacks its value, and the interpreter runs no signal handler
    between the two. The lock is tried once, or waited for at most ``seconds``.
    """
    return map(lock.acquire, (True,), (min(seconds, TIMEOUT_MAX),)) if seconds else map(lock.acquire, (False,))


def reentrant_lock() -> Any:
    """A lock that its thread, or greenlet, may take again."""
    if not ON_GREENLETS:
        return RLock()
    # gevent replaces the lock of threading, and leaves that of _thread
    import threading

    return threading.RLock()


class Waiter:
    """A waiting thread, and its reply."""

    __slots__ = ("lock", "message", "method")

    def __init__(self, method: str) -> None:
        self.method = method
        self.message: Any = None
        self.lock = allocate_lock()
        self.lock.acquire()

    def deliver(self, number: int, message: Any) -> None:
        """Takes the reply, and wakes the thread."""
        self.message = message
        self.wake()

    def wake(self) -> None:
        """Lets the thread look again. Waking a thread twice is the same as once."""
        if self.lock.locked():
            try:
                self.lock.release()
            except RuntimeError:
                pass

    def sleep(self, deadline: float) -> None:
        """Sleeps until woken, until the deadline, or until the next check for a leader."""
        self.lock.acquire(True, min(VIGIL, max(0.0, deadline - monotonic())))


class Batch(Waiter):
    """A thread that waits for many replies, whose places in the list are known by their numbers."""

    __slots__ = ("left", "places", "replies")

    def __init__(self, method: str, size: int) -> None:
        super().__init__(method)
        self.places: dict[int, int] = {}
        self.replies: list[Any] = [None] * size
        self.left = size

    def deliver(self, number: int, message: Any) -> None:
        """Puts the reply into its place, and wakes the thread."""
        self.replies[self.places.pop(number)] = message
        self.left -= 1
        self.wake()


def batch_frames(batch: Any, params: Sequence[str], start: int, upto: int, waiting: Any, number: Any) -> bytes:
    """Some calls of a batch, which waits for their replies then."""
    middle = f',"method":{quote(batch.method)},"params":'
    frames = []
    for place in range(start, upto):
        one = number()
        batch.places[one] = place
        waiting[one] = batch
        frames.append(f'{{"jsonrpc":"2.0","id":{one}{middle}{params[place]}}}\n')
    return "".join(frames).encode("ascii")


class Turn:
    """A place among the requests whose functions the service may call, or among others; threads get places in their
    order.

    A thread with a place waits for no second one, as in a signal handler, and a function that the service has called
    for none. Of ``most`` places a thread gets half of the free ones, at most."""

    def __init__(
        self, connection: Any, most: int = 1, turns: dict[int | tuple[int, int], LockType] | None = None,
        limit: int = CALLED_BACK,
    ) -> None:
        self._connection = connection
        self._turns: dict[int | tuple[int, int], LockType] = connection.turns if turns is None else turns
        self._limit = limit
        self._mine = not connection.inbox.is_inside() and get_ident() not in self._turns
        self._most = most
        self._more: list[tuple[int, int]] = []

    def __enter__(self) -> int:
        if not self._mine:
            return min(self._most, self._limit)
        me, turns, limit = get_ident(), self._turns, self._limit
        lock = allocate_lock()
        lock.acquire()
        try:
            turns[me] = lock
            while list(turns).index(me) >= limit and self._connection.dead is None:
                lock.acquire(True, 0.1)
            for place in range(1, min(self._most, (limit - len(turns)) // 2 + 1)):
                self._more.append((me, place))
                turns[me, place] = lock
        except BaseException:
            self.__exit__()
            raise
        # other threads may have taken some of them at the same time
        mine = list(turns)[:limit]
        return 1 + sum([key in mine for key in self._more])

    def __exit__(self, *_: object) -> None:
        if self._mine:
            turns, limit = self._turns, self._limit
            turns.pop(get_ident(), None)
            for place in self._more:
                turns.pop(place, None)
            for lock in list(turns.values())[limit - 1 - len(self._more) : limit]:
                try:
                    lock.release()
                except RuntimeError:
                    # another thread has woken it
                    pass


class StartTurn(Turn):
    """A place for the start of a request; callbacks that wait for their function have places, too."""

    def __enter__(self) -> int:
        found, inbox, turns, limit = super().__enter__(), self._connection.inbox, self._turns, self._limit
        try:
            deadline = monotonic() + REPLIED
            # behind the threads with places stand those that wait for one
            while not inbox.is_inside() and inbox.waiting() + min(len(turns), limit) > limit:
                if self._connection.dead is not None or monotonic() > deadline:
                    break
                sleep(0.005)
        except BaseException:
            self.__exit__()
            raise
        return found


class Turns:
    """Turns of threads that read the same: what one of them reads ahead is there for the next."""

    def __init__(self) -> None:
        self._locks: dict[int, Any] = {}

    def lock(self) -> Any:
        """The lock of this process: in the parent of a fork, a thread may hold another one. Raises in a signal handler
        or a finalizer that interrupts a turn of its own thread, and would wait for itself."""
        me = os.getpid()
        lock = self._locks.get(me) or self._locks.setdefault(me, reentrant_lock())
        if lock._is_owned():
            raise nested("a read")
        return lock


def refuse_nested(connection: Any) -> None:
    """Raises if this thread is in the middle of a call: another thread may wait for what the call reads."""
    if connection is not None and connection._is_nested():
        raise nested("a read")


def late(method: str) -> RequestTimeout:
    """The exception for a call without a reply."""
    return RequestTimeout.late(f"the service sent no reply to {method or 'the call'} in time; the call was cancelled")


def nested(what: str) -> RuntimeError:
    """The failure of a wait that would hold up what it waits for."""
    return RuntimeError(
        f"{what} cannot be waited for within another call of the same client and thread: in a"
        " signal handler or a finalizer, use a client or a thread of its own"
    )
