# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Pure: calls that open something, and how to end that if its object or its caller has gone."""

from __future__ import annotations

from .exceptions import OutriderError
from .frames import unpack
from .hints import Any

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
        return ended_by(response=body["response"])
    if method in ("upload.open", *_RUNNING) or body.get("kind") == "stream":
        return ended_by(result.get("stream", body.get("stream")), request=result.get("request"))
    return []


def ended_by(
    stream: str | None = None, response: str | None = None, request: str | None = None
) -> list[tuple[str, dict[str, Any]]]:
    """The calls that end a stream, a kept response and a request."""
    calls = (
        ("stream.close", "stream", stream), ("response.release", "response", response),
        ("request.forget", "request", request),
    )  # fmt: skip
    return [(method, {member: handle}) for method, member, handle in calls if handle is not None]


class Dropped:
    """Something that ends by itself when the program drops it."""

    __slots__ = ()

    def _drop(self) -> None:
        """Ends it, without waiting."""
        raise NotImplementedError

    def __del__(self) -> None:
        try:
            self._drop()
        except Exception:
            # of an object that was never complete, or at the end of the interpreter, when functions may be gone
            pass
