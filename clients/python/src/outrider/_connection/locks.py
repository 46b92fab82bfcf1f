# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Locks that an exception from a signal handler cannot lose."""

from __future__ import annotations

import os
from _thread import TIMEOUT_MAX, RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Iterator
    from typing import Any


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


class Turns:
    """Turns of threads that read the same: what one of them reads ahead is there for the next."""

    def __init__(self) -> None:
        self._locks: dict[int, Any] = {}

    def lock(self) -> Any:
        """The lock of this process: in the parent of a fork, a thread may hold another one. Raises in a signal handler
        or a finalizer that interrupts a turn of its own thread, and would wait for itself."""
        me = os.getpid()
        lock = self._locks.get(me) or self._locks.setdefault(me, RLock())
        if lock._is_owned():
            raise nested("a read")
        return lock


def refuse_nested(connection: Any) -> None:
    """Raises if this thread is in the middle of a call: another thread may wait for what the call reads."""
    if connection is not None and connection._is_nested():
        raise nested("a read")


def nested(what: str) -> RuntimeError:
    """The failure of a wait that would hold up what it waits for."""
    return RuntimeError(
        f"{what} cannot be waited for within another call of the same client and thread: in a"
        " signal handler or a finalizer, use a client or a thread of its own"
    )
