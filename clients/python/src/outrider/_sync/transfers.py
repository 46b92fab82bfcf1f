# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests whose progress is followed by the blocking client. Loaded when one asks for it."""

from __future__ import annotations

from .._protocol.exceptions import OutriderError
from .._protocol.parameters import GRACE, UNTIMED_GUARD
from .._protocol.progress import Progress
from .._resources.transfers import EVENTS, followed, is_kept
from .responses import Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .caller import Caller


def send(client: Caller, method: str, url: str, options: Mapping[str, Any]) -> Response:
    """Sends a request, and calls the function of its ``progress`` in this thread while it waits for the response."""
    built, watch = followed(method, url, options, client._defaults)
    with watch as show, client.events(*EVENTS, timeout=built.guard) as events:
        request = str(client._result("data.start", built.params, UNTIMED_GUARD)["request"])
        result: dict[str, Any] | None = None
        try:
            for event in events:
                if event.request == request:
                    if event.name == "event.finish":
                        result = event.params["response"]
                        break
                    show(Progress(event.params))
                if events.dropped:
                    break
            if result is None:
                result = client.invoke("request.wait", {"request": request}, timeout=built.guard)
        except BaseException:
            _give_up(client, request)
            raise
    if not is_kept(result):
        client.invoke("request.forget", {"request": request})
    response = Response(result, client.invoke)
    if built.check:
        response.raise_for_error()
    return response


def _give_up(client: Caller, request: str) -> None:
    try:
        client.invoke("request.forget", {"request": request}, timeout=GRACE)
    except OutriderError:
        pass


