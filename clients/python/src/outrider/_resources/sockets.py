# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""WebSockets, server-sent events, TCP connections and the way out of this machine: parameters and results, without any
call."""

from __future__ import annotations

from binascii import a2b_base64

from .._protocol.arguments import absolute, header_list, timeout_of
from .._protocol.exceptions import RequestTimeout, StreamError, from_failure
from .._protocol.frames import decode, encode, in_base64
from .._protocol.hints import Any, Iterator, Mapping
from .._protocol.parameters import FOREVER, Built, Defaults, camel, merged_but, spec_for
from .reading import NOT_OF_STREAMS

_NOT = (
    "serialize", "handlers", "body_to", "max_inline", "json", "data", "file", "files", "compress", "expect_continue",
    "validate", "max_body", "progress",
)  # fmt: skip
_OF_WEBSOCKETS = ("protocols", "compression", "max_message", "backlog", "overflow", "ping", "reconnect", "greeting")

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
    own = {camel(name): given.pop(name) for name in _OF_WEBSOCKETS if name in given}
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


def build_tcp(host: str | None, port: int | None, path: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of ``tcp.open``; a path ``@name`` is an abstract socket."""
    spec: dict[str, Any] = {"host": host, "port": port}
    if path is not None:
        spec = {"path": path if isinstance(path, str) and path.startswith("@") else absolute(path)}
    for name, value in options.items():
        if name not in ("tls", "proxy", "session", "timeout", "addresses", "retry", "tag"):
            raise TypeError(f"a TCP connection has no option {name}")
        if value is not None:
            spec[name] = value
    if "timeout" in spec:
        spec["timeout"] = timeout_of(spec["timeout"])
    if "proxy" in spec:
        from .._protocol.access import proxy_parameter

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


BATCH = 49_152
"""The most bytes of the event stream per read. A result of that length takes a single system call."""

EVENT_WAIT = 60.0
"""Seconds that a read waits for an event; then the client reads again."""

EVENT_PATIENCE = 2 * EVENT_WAIT
"""Seconds in which a service that is alive replies to a read."""

NO_MORE = 2012
"""The failure code for the end of all events. Here the code is no error."""

_OF_EVENTS = {"last_event_id": "lastEventId", "reconnect": "reconnect", "max_event": "maxEventBytes"}


class ServerSentEvent:
    """An event: ``event`` is its type, ``data`` its text, ``id`` the last id that the server gave (or ``""``).

    ``retry`` is the reconnection time in seconds that the server sent with this event; the service already respects
    this time.
    """

    __slots__ = ("data", "event", "id", "retry")

    def __init__(self, data: str, event: str = "message", id: str = "", retry: float | None = None) -> None:
        self.data = data
        self.event = event
        self.id = id
        self.retry = retry

    def json(self) -> Any:
        """The data as a JSON value. Raises :class:`ValueError` for other data."""
        return decode(self.data)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ServerSentEvent):
            return NotImplemented
        return (self.data, self.event, self.id, self.retry) == (other.data, other.event, other.id, other.retry)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        parts = [f"data={self.data!r}", f"event={self.event!r}"]
        parts += [f"id={self.id!r}"] if self.id else []
        parts += [f"retry={self.retry!r}"] if self.retry is not None else []
        return f"ServerSentEvent({', '.join(parts)})"


def build_sse(url: str, options: Mapping[str, Any], defaults: Defaults) -> Built:
    """The parameters of ``sse.open``."""
    options = merged_but(NOT_OF_STREAMS, "an event stream", options, defaults)
    own = {name: options[name] for name in _OF_EVENTS if options.get(name) is not None}
    rest = {name: value for name, value in options.items() if name not in _OF_EVENTS and name != "method"}
    # without a method the service takes POST where there is a body, and GET elsewhere
    spec, guard, check = spec_for(options.get("method") or "GET", url, rest)
    for name, value in own.items():
        spec[_OF_EVENTS[name]] = dict(value) if hasattr(value, "items") else value
    reconnect = spec.get("reconnect")
    if isinstance(reconnect, dict) and reconnect.get("initial"):
        guard = FOREVER
    spec.update(mode="pull", compact=True, wait="response")
    return Built(encode(spec, "the request"), guard, check)


def first_id(options: Mapping[str, Any]) -> str:
    """The id that the stream begins with, by the option or by the header."""
    headers = options.get("headers") or ()
    found = [value for name, value in header_list(headers) if name.lower() == "last-event-id"]
    return str(options.get("last_event_id") or (found[0] if found else ""))


def events_of(values: list[Any], last_id: str) -> Iterator[ServerSentEvent]:
    """The events of a read. Most have only data, and come as a string."""
    for value in values:
        if type(value) is str:
            yield ServerSentEvent(value, "message", last_id)
        else:
            last_id = value.get("id", last_id)
            yield ServerSentEvent(value["data"], value.get("event", "message"), last_id, value.get("retry"))
