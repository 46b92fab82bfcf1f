# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The few operations in which the awaiting and the blocking variant of a resource differ."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress

from .._protocol.hints import Any, AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator
from .._protocol.openings import Dropped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Handler = TypeVar("Handler", bound=Callable[..., object])
    Replier = TypeVar("Replier", bound=Callable[[dict[str, Any]], Any])
    Reply = Any

SerialLock = asyncio.Lock
begin, wait = asyncio.ensure_future, asyncio.wait

_detached: set[asyncio.Task[object]] = set()


async def settled(value: Any) -> Any:
    """The value that a function of the program returned; the result of its coroutine, if any."""
    return await value if hasattr(value, "__await__") else value


def detach(work: Coroutine[Any, Any, object]) -> None:
    """Runs the coroutine in a task of its own: a task that is being cancelled cannot await."""
    task = asyncio.ensure_future(work)
    # the event loop itself keeps only weak references to tasks
    _detached.add(task)
    task.add_done_callback(_detached.discard)


class iteration(Dropped):
    """The items of several reads, of which the last gives ``None``. A cancelled read leaves its items to the next
    one: after ``wait_for(anext(items), 1)`` the iteration continues. Its end, however it comes, calls ``end``."""

    def __init__(
        self, more: Callable[[], Awaitable[Iterable[Any] | None]], end: Callable[[], None] | None = None
    ) -> None:
        self._more: Callable[[], Awaitable[Iterable[Any] | None]] | None = more
        self._end = end
        self._items: Iterator[Any] = iter(())
        self._has_begun = self._is_reading = False

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        if self._is_reading:
            raise RuntimeError("another task waits for the next item: give each task an iteration of its own")
        self._has_begun = self._is_reading = True
        try:
            while True:
                for item in self._items:
                    self._is_reading = False
                    return item
                items = None if self._more is None else await self._more()
                if items is None:
                    break
                self._items = iter(items)
        except Exception:
            self._is_reading = False
            self._drop()
            raise
        except BaseException:
            self._is_reading = False
            # the exception of a cancelled task knows this frame, and must not keep the iteration
            del self
            raise
        self._is_reading = False
        self._drop()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Ends the iteration, as ``contextlib.aclosing`` does."""
        self._items = iter(())
        self._drop()

    def __del__(self) -> None:
        if self._has_begun:
            super().__del__()

    def _drop(self) -> None:
        end, self._more, self._end = self._end, None, None
        if end is not None:
            end()


async def steps(body: Any) -> AsyncIterator[Any]:
    """The items of an iterable, awaited or not."""
    if hasattr(body, "__aiter__"):
        async for one in body:
            yield one
    else:
        for one in body:
            yield one


class AsyncTurns:
    """One turn at a time, in the order of the tasks: bytes that a task reads ahead are there for the next task. The
    turns of threads are in :class:`Turns`."""

    def __init__(self) -> None:
        self._is_taken = False
        self._waiting: deque[asyncio.Future[bool]] = deque()

    async def take(self, seconds: float | None) -> bool:
        """Waits for the turn, for so many seconds at most; ``False`` if the turn did not come."""
        if not self._is_taken:
            self._is_taken = True
            return True
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
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


def _refuse(turn: asyncio.Future[bool]) -> None:
    if not turn.done():
        turn.set_result(False)
