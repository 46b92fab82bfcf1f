# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests whose progress is followed. Loaded with the first such request."""

from __future__ import annotations

from .._protocol.exceptions import OutriderError
from .._protocol.parameters import GRACE, UNTIMED_GUARD
from .._protocol.progress import Progress
from .._resources.transfers import EVENTS, followed, is_kept
from .responses import AsyncResponse
from .variant import detach, settled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .caller import AsyncCaller


async def send(client: AsyncCaller, method: str, url: str, options: Mapping[str, Any]) -> AsyncResponse:
    """Sends a request, and calls the function of its ``progress`` while the response is waited for."""
    built, watch = followed(method, url, options, client._defaults)
    with watch as show:
        async with client.events(*EVENTS, timeout=built.guard) as events:
            started = await client._result("data.start", built.params, UNTIMED_GUARD)
            request = str(started["request"])
            result: dict[str, Any] | None = None
            try:
                async for event in events:
                    if event.request == request:
                        if event.name == "event.finish":
                            result = event.params["response"]
                            break
                        await settled(show(Progress(event.params)))
                    if events.dropped:
                        break
                if result is None:
                    result = await client.invoke("request.wait", {"request": request}, timeout=built.guard)
            except BaseException:
                detach(_forget(client, request))
                raise
    if not is_kept(result):
        await client.invoke("request.forget", {"request": request})
    response = AsyncResponse(result, client.invoke)
    response._follow(client)
    if built.check:
        response.raise_for_error()
    return response


async def _forget(client: AsyncCaller, request: str) -> object:
    try:
        return await client.invoke("request.forget", {"request": request}, timeout=GRACE)
    except OutriderError:
        return None
