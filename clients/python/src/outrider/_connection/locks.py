# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Locks that an exception from a signal handler cannot lose."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Iterator


def atomic_acquire(lock: LockType, seconds: float = 0.0) -> Iterator[bool]:
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
    return map(lock.acquire, (True,), (seconds,)) if seconds else map(lock.acquire, (False,))
