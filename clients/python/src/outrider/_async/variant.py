# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The few operations in which the awaiting and the blocking variant of a resource differ."""

from __future__ import annotations

import asyncio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from typing import Any, TypeVar

    Handler = TypeVar("Handler", bound=Callable[..., object])
    Replier = TypeVar("Replier", bound=Callable[[dict[str, Any]], Any])
    Reply = Any

SerialLock = asyncio.Lock

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


async def steps(body: Any) -> AsyncIterator[Any]:
    """The items of an iterable, awaited or not."""
    if hasattr(body, "__aiter__"):
        async for one in body:
            yield one
    else:
        for one in body:
            yield one
