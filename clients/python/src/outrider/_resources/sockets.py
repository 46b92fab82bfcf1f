# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""WebSockets, TCP connections and the way out of this machine: parameters and results, without any call."""

from __future__ import annotations

from binascii import a2b_base64

from .._protocol.arguments import timeout_of
from .._protocol.exceptions import RequestTimeout, StreamError, from_failure
from .._protocol.frames import encode, in_base64
from .._protocol.parameters import Built, camel, merged_but, spec_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .._protocol.parameters import Defaults

_NOT = (
    "serialize", "handlers", "body_to", "max_inline", "json", "data", "file", "files", "compress", "expect_continue",
    "validate", "max_body", "progress",
)  # fmt: skip
_OWN = ("protocols", "compression", "max_message", "backlog", "overflow", "ping", "reconnect", "greeting")

ORDERLY = (1000, 1001, 1005)
"""Codes with which a WebSocket ends as planned: normal, going away, none (RFC 6455 section 7.4)."""


class WebSocketClosed(StreamError):
    """The WebSocket is closed: ``close_code`` and ``close_reason`` come from the peer (RFC 6455 section 7.4); ``clean``
    tells whether both sides sent a Close frame."""

    def __init__(self, close: Mapping[str, Any]) -> None:
        self.close_code: int = close.get("code", 1006)
        self.close_reason: str = close.get("reason", "")
        self.clean: bool = close.get("clean", False)
        text = f"the WebSocket is closed with {self.close_code}"
        super().__init__(f"{text}: {self.close_reason}" if self.close_reason else text, kind="webSocket")


def build_websocket(url: str, options: Mapping[str, Any], defaults: Defaults) -> Built:
    """The parameters of ``websocket.open``."""
    given = merged_but(_NOT, "a WebSocket", options, defaults)
    if options.get("http2") is None:
        # the client's default is for its requests: a handshake is one of HTTP/1.1
        given.pop("http2", None)
    own = {camel(name): given.pop(name) for name in _OWN if name in given}
    if "greeting" in own:
        own["greeting"] = [dict(one) if hasattr(one, "items") else sent_message(one) for one in own["greeting"]]
    spec, guard, check = spec_for("GET", url, given)
    spec.update(own)
    spec.update(mode="pull", compact=True)
    return Built(encode(spec, "the WebSocket"), guard, check)


def sent_message(message: Any) -> dict[str, Any]:
    """The parameters of a message of ``send``: ``str`` or bytes, as on the connection for messages."""
    if isinstance(message, str):
        return {"text": message}
    if isinstance(message, (bytes, bytearray, memoryview)):
        return {"base64": in_base64(message)}
    raise TypeError(f"a message must be str or bytes, not {type(message).__name__} (send_json takes other values)")


def checked_close(code: int, reason: str) -> dict[str, Any]:
    """The content of a Close frame (RFC 6455 section 7.4); raises :class:`ValueError` if none can carry it."""
    if not (1000 <= code <= 1003 or 1007 <= code <= 1014 or 3000 <= code <= 4999):
        raise ValueError(f"code must be 1000 to 1003, 1007 to 1014, or 3000 to 4999, not {code}")
    if len(reason.encode()) > 123:
        raise ValueError("reason must have at most 123 bytes in UTF-8")
    return {"code": code, "reason": reason}


def message_of(value: Any) -> Any:
    """A message in the sender's type: ``str`` or ``bytes``."""
    if isinstance(value, str):
        return value
    if "base64" in value:
        data = a2b_base64(value["base64"])
        return data.decode() if value.get("isText") else data
    return value["text"]


def build_tcp(host: str | None, port: int | None, path: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of ``tcp.open``."""
    spec: dict[str, Any] = {"path": path} if path is not None else {"host": host, "port": port}
    for name, value in options.items():
        if name not in ("tls", "proxy", "session", "timeout", "addresses", "retry", "tag"):
            raise TypeError(f"a TCP connection has no option {name}")
        if value is not None:
            spec[name] = value
    if "timeout" in spec:
        spec["timeout"] = timeout_of(spec["timeout"])
    if "proxy" in spec:
        from .._protocol.proxies import proxy_parameter

        spec["proxy"] = proxy_parameter(spec["proxy"])
    return {**spec, "mode": "pull", "as": "bytes"}


def opened(result: dict[str, Any]) -> dict[str, Any]:
    """The result of ``tcp.open`` or ``tcp.startTls``; raises its failure."""
    if result.get("ok") is False or "error" in result:
        raise from_failure(result["error"], None)
    return result


def late(what: str, seconds: float) -> RequestTimeout:
    """The exception for a wait without a message."""
    return RequestTimeout.late(f"{what}: nothing came within {seconds:g} seconds")


class Reachability:
    """Whether a route exists: ``status`` is ``reachable``, ``unreachable`` or ``unknown``; ``interface`` is the name of
    its first interface, ``kind`` the kind of interface (``ethernet``, ``wifi``, ``loopback``…)."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        interface = result.get("interface") or {}
        self.status: str = result["status"]
        self.interface: str | None = interface.get("name")
        self.kind: str | None = interface.get("kind")
        self.ipv4: bool = result.get("ipv4", False)
        self.ipv6: bool = result.get("ipv6", False)

    def __bool__(self) -> bool:
        return self.status != "unreachable"

    def __repr__(self) -> str:
        return f"<Reachability {self.status}>"
