# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Turns of tasks that read the same connection. The turns of threads are in :class:`Turns`."""

from __future__ import annotations

from asyncio import Future, get_running_loop
from collections import deque
from contextlib import suppress


class AsyncTurns:
    """One turn at a time, in the order of the tasks: bytes that a task reads ahead are there for the next task."""

    def __init__(self) -> None:
        self._is_taken = False
        self._waiting: deque[Future[bool]] = deque()

    async def take(self, seconds: float | None) -> bool:
        """Waits for the turn, for so many seconds at most; ``False`` if the turn did not come."""
        if not self._is_taken:
            self._is_taken = True
            return True
        loop = get_running_loop()
        turn: Future[bool] = loop.create_future()
        timer = None if seconds is None else loop.call_later(max(0.0, seconds), _refuse, turn)
        self._waiting.append(turn)
        try:
            return await turn
        except BaseException:
            if turn.done() and not turn.cancelled() and turn.result():
                self.release()
            raise
        finally:
            # `release` has removed a granted turn
            with suppress(ValueError):
                self._waiting.remove(turn)
            if timer is not None:
                timer.cancel()

    def release(self) -> None:
        """Gives the turn to the next waiting task."""
        while self._waiting:
            turn = self._waiting.popleft()
            # the event loop of a waiting task may have ended
            if not turn.done() and not turn.get_loop().is_closed():
                turn.set_result(True)
                return
        self._is_taken = False


def _refuse(turn: Future[bool]) -> None:
    if not turn.done():
        turn.set_result(False)
