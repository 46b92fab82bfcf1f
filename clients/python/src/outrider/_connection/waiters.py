# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Threads that wait for replies on a connection of the blocking client."""

from __future__ import annotations

from _thread import allocate_lock
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
