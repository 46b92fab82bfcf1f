# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Pure: calls that open something, and how to end that if the caller has gone. Loaded with the first such caller."""

from __future__ import annotations

from .exceptions import OutriderError
from .frames import unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_RUNNING = ("data.start", "download.start", "sse.open", "stream.open", "tcp.open", "upload.start", "websocket.open")
_SUBSCRIBING = ("events.subscribe", "reachability.watch")


def opens(method: str, params: str) -> bool:
    """Whether a call may open something that its caller has to end."""
    if '"detach":' in params:
        return False
    return method in ("data.send", "session.create", "upload.open", *_RUNNING, *_SUBSCRIBING)


def endings(method: str, message: Any) -> list[tuple[str, dict[str, Any]]]:
    """The calls that end what the reply to such a call names."""
    try:
        result = unpack(message)
    except OutriderError:
        return []
    body = result.get("body") or {}
    if method in _SUBSCRIBING:
        return [("events.unsubscribe", {"subscription": result["subscription"]})]
    if method == "session.create":
        return [("session.close", {"session": result["session"]})]
    if method == "data.send" and body.get("kind") == "stored":
        return [("response.release", {"response": body["response"]})]
    calls: list[tuple[str, dict[str, Any]]] = []
    if method in ("upload.open", *_RUNNING) or body.get("kind") == "stream":
        stream = result.get("stream", body.get("stream"))
        if stream is not None:
            calls.append(("stream.close", {"stream": stream}))
        if "request" in result:
            calls.append(("request.forget", {"request": result["request"]}))
    return calls
