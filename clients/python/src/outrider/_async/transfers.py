# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests whose progress is followed by the awaiting client. Loaded when one asks for it."""

from __future__ import annotations

from .._protocol.exceptions import OutriderError
from .._protocol.parameters import GRACE, UNTIMED_GUARD
from .._protocol.progress import Progress
from .._resources.transfers import EVENTS, followed, is_kept
from .responses import AsyncResponse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .._protocol.parameters import Built
    from .caller import AsyncCaller


async def send(client: AsyncCaller, method: str, url: str, options: Mapping[str, Any]) -> AsyncResponse:
    """As :func:`send`; the function may be a coroutine function."""
    built, watch = followed(method, url, options, client._defaults)
    with watch as show:
        return await _answer(client, built, show)


async def _answer(client: AsyncCaller, built: Built, show: Callable[[Progress], object]) -> AsyncResponse:
    async with client.events(*EVENTS, timeout=built.guard) as events:
        request = str((await client._result("data.start", built.params, UNTIMED_GUARD))["request"])
        result: dict[str, Any] | None = None
        try:
            async for event in events:
                if event.request == request:
                    if event.name == "event.finish":
                        result = event.params["response"]
                        break
                    outcome: Any = show(Progress(event.params))
                    if hasattr(outcome, "__await__"):
                        await outcome
                if events.dropped:
                    break
            if result is None:
                result = await client.invoke("request.wait", {"request": request}, timeout=built.guard)
        except BaseException:
            _give_up_async(client, request)
            raise
    if not is_kept(result):
        await client.invoke("request.forget", {"request": request})
    response = AsyncResponse(result, client.invoke)
    if built.check:
        response.raise_for_error()
    return response


def _give_up_async(client: AsyncCaller, request: str) -> None:
    """In a task of its own: a cancelled one cannot wait."""
    from asyncio import ensure_future

    async def forget() -> None:
        try:
            await client.invoke("request.forget", {"request": request}, timeout=GRACE)
        except OutriderError:
            pass

    task = ensure_future(forget())
    _TASKS.add(task)
    task.add_done_callback(_TASKS.discard)


_TASKS: set[Any] = set()
