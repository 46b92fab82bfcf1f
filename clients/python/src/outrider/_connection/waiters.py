# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Threads that wait for replies on a connection of the blocking client."""

from __future__ import annotations

from _thread import allocate_lock, get_ident
from time import monotonic, sleep

from .wire import CALLED_BACK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Callable
    from typing import Any

    from .wire import Wire

REPLIED = 30.0
"""Seconds in which a function replies: the default of the service, after which it gives up the callback."""

VIGIL = 1.0
"""Seconds after which a follower checks that another thread reads."""


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


class Turn:
    """A place among the requests whose functions the service may call, or among others; threads get places in their
    order.

    A thread with a place waits for no second one, as in a signal handler, and ``is_free`` for none. Of ``most`` places
    it gets half of the free ones, at most."""

    def __init__(
        self, connection: Wire, is_free: bool, most: int = 1,
        turns: dict[int | tuple[int, int], LockType] | None = None, limit: int = CALLED_BACK,
    ) -> None:
        self._connection = connection
        self._turns = turns = connection.turns if turns is None else turns
        self._limit = limit
        self._mine = not is_free and get_ident() not in turns
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

    def __init__(self, connection: Wire, waiting: Callable[[], int] | None) -> None:
        super().__init__(connection, waiting is None)
        self._waiting = waiting

    def __enter__(self) -> int:
        found, waiting, turns, limit = super().__enter__(), self._waiting, self._turns, self._limit
        try:
            deadline = monotonic() + REPLIED
            # behind the threads with places stand those that wait for one
            while waiting is not None and waiting() + min(len(turns), limit) > limit:
                if self._connection.dead is not None or monotonic() > deadline:
                    break
                sleep(0.005)
        except BaseException:
            self.__exit__()
            raise
        return found
