# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Threads that wait for replies on a connection of the blocking client."""

from __future__ import annotations

from _thread import allocate_lock, get_ident
from time import monotonic

from .wire import CALLED_BACK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .wire import Wire

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
    """A place among the requests whose functions the service may call; threads get places in their order.

    A thread with a place waits for no second one, as in a signal handler, and ``is_free`` for none."""

    def __init__(self, connection: Wire, is_free: bool) -> None:
        self._connection = connection
        self._mine = not is_free and get_ident() not in connection.turns

    def __enter__(self) -> None:
        if not self._mine:
            return
        me, turns = get_ident(), self._connection.turns
        lock = allocate_lock()
        lock.acquire()
        try:
            turns[me] = lock
            while list(turns).index(me) >= CALLED_BACK and self._connection.dead is None:
                lock.acquire(True, 0.1)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        if self._mine:
            turns = self._connection.turns
            turns.pop(get_ident(), None)
            for lock in list(turns.values())[CALLED_BACK - 1 : CALLED_BACK]:
                try:
                    lock.release()
                except RuntimeError:
                    # another thread has woken it
                    pass
