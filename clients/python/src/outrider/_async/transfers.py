# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests whose progress is followed. Loaded with the first such request."""

from __future__ import annotations

from .._protocol.exceptions import OutriderError
from .._protocol.frames import encode
from .._protocol.parameters import GRACE, UNTIMED_GUARD
from .._protocol.progress import Progress
from .._resources.transfers import EVENTS, followed, is_kept
from .responses import AsyncResponse
from .variant import detach, settled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .._protocol.progress import Watcher
    from .caller import AsyncCaller


async def send(client: AsyncCaller, method: str, url: str, options: Mapping[str, Any]) -> AsyncResponse:
    """Sends a request, and calls the function of its ``progress`` while the response is waited for."""
    built, watch = followed(method, url, options, client._defaults)
    call = ("data.start", built.params, UNTIMED_GUARD)
    request, result = await shown(client, watch, call, built.guard, "request.forget", timeout=built.guard)
    if not is_kept(result):
        await client.invoke("request.forget", {"request": request})
    response = AsyncResponse(result, client.invoke)
    response._follow(client)
    if built.check:
        response.raise_for_error()
    return response


async def shown(
    client: AsyncCaller, watch: Watcher, call: tuple[str, str, float], guard: float, leaving: str,
    timeout: float | None = None, **leavings: Any,
) -> tuple[str, dict[str, Any]]:
    """Starts a request by a call, and shows its progress. Returns its handle and its result; a program that stops
    waiting makes the call ``leaving``."""
    with watch as show:
        async with client.events(*EVENTS, timeout=timeout) as events:
            request = str((await client._result(*call))["request"])
            try:
                async for event in events:
                    if event.request == request:
                        if event.name == "event.finish":
                            return request, dict(event.params["response"])
                        await settled(show(Progress(event.params)))
                    if events.dropped:
                        break
                return request, await client._result("request.wait", encode({"request": request}), guard)
            except BaseException:
                detach(_left(client, leaving, {"request": request, **leavings}))
                raise


async def _left(client: AsyncCaller, method: str, params: dict[str, Any]) -> object:
    try:
        return await client.invoke(method, params, timeout=GRACE)
    except OutriderError:
        return None
