# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests of another library as parameters of ``data.send``, and the state of a response and its body.

The service sends the header fields of that request and no others, follows no redirect, and gives the body as the server
sent it: redirects, cookies, authentication and Content-Encoding stay with the library.
"""

from __future__ import annotations

import os
from time import monotonic

from .._protocol.arguments import present
from .._protocol.exceptions import ProtocolError, RequestTimeout, from_failure
from .._protocol.hints import Any, Callable, Iterable, Iterator, Leaver, Mapping
from .._protocol.openings import Dropped, ended_by
from .._resources.feeding import LONGEST, PIECE, seconds
from .._resources.reading import WAIT as WAIT, data_of
from .._resources.responses import ResponseData


def abandoned(stream: str, started: dict[str, Any] | None) -> list[tuple[str, dict[str, Any]]]:
    """The calls that end an upload by ``stream``, and its request with the stream of the response."""
    return ended_by(stream) + ([] if started is None else ended_by(started["stream"], request=started["request"]))


def arrived(started: dict[str, Any], result: dict[str, Any]) -> dict[str, Any] | None:
    """The events of a started request, from ``events.next``, in the form of a result of ``data.send``; ``None`` before
    the head."""
    for event in result["events"]:
        params = event["params"]
        if event["method"] == "event.finish":
            return {**params["response"], "request": started["request"]}
        if event["method"] == "event.response":
            body = {"kind": "stream", "stream": started["stream"]}
            head = {"status": params["status"], "headers": params["headers"]}
            return {**head, "body": body, "request": started["request"]}
    if result["end"]:
        raise ProtocolError("the service told neither the head nor the end of a request")
    return None


class Head:
    """The head of a response, and the known part of the body, from a result of ``data.send``."""

    def __init__(self, result: dict[str, Any]) -> None:
        self.status: int = result["status"]
        self.fields: list[tuple[str, str]] = [
            (field["name"], _as_received(field["value"])) for field in result.get("headers") or ()
        ]
        self.version: str = result.get("httpVersion") or "1.1"
        cache = result.get("cache")
        if cache and cache["status"] not in ("bypass", "miss") and "forward" not in cache:
            # taken when they came: the jar of the library would go back to their older values
            self.fields = [field for field in self.fields if field[0].lower() not in ("set-cookie", "set-cookie2")]

    @property
    def reason(self) -> str:
        """The reason phrase that belongs to the status; the service does not report the phrase that was sent."""
        from http.client import responses

        return responses.get(self.status, "")


def _as_received(value: str) -> str:
    """A field in the form of :mod:`http.client`: a character for each byte."""
    return value if value.isascii() else value.encode("utf-8", "surrogatepass").decode("latin-1")


def headed(result: dict[str, Any], client: Any) -> dict[str, Any]:
    """The result, after a head; raises why none arrived. A failure after the head appears while the body is read."""
    failure = result.get("error")
    if result.get("status") is not None or failure is None:
        return result
    if "request" in result:
        client._leave([("request.forget", {"request": result["request"]})])
    raise from_failure(failure, ResponseData(result, client.invoke))


class BodyState(Dropped):
    """The received part of a response's body, and how to read more; bytes as the server sent them.

    A body that is dropped before its end cancels its request.
    """

    def __init__(self, owner: Leaver, call: Callable[..., Any], result: dict[str, Any], read: float | None) -> None:
        body = result["body"]
        self._owner = owner
        self._call = call
        self._result = result
        # a view: its rest is no copy, and libraries take ten kilobytes at a time
        self._first = memoryview(data_of(body) if body["kind"] == "base64" else b"")
        self._stream: str | None = body.get("stream")
        self._request: str | None = result.get("request")
        self._stored: str | None = body.get("response")
        self._offset = 0
        self._silence = seconds(read)
        self._since: float | None = None
        self._failure = result.get("error")
        # of a server that responded before the end of the upload: without the connection the request would end
        self._feeder = result.get("feeder")
        if self._stream is None and self._stored is None:
            self._drop()

    @property
    def ready(self) -> int:
        """The number of bytes that have come, and were not read."""
        return len(self._first)

    def inline(self, size: int) -> bytes:
        """The rest of the bytes that came with the head, at most ``size`` of them."""
        data, self._first = self._first[:size].tobytes(), self._first[size:]
        return data

    def call(self) -> tuple[str, dict[str, Any]] | None:
        """The method and the parameters of the call that reads the next piece; ``None`` at the end.

        Raises the failure of a body that ended early.
        """
        if self._stream is not None:
            if self._since is None:
                self._since = monotonic()
            wait = min(max(self._since + self._silence - monotonic(), 0.0), WAIT)
            return "stream.read", {"stream": self._stream, "bytes": PIECE, "wait": wait}
        if self._stored is not None:
            return "response.read", {"response": self._stored, "offset": self._offset, "bytes": PIECE}
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise from_failure(failure, ResponseData(self._result, self._call))
        return None

    def take(self, result: dict[str, Any]) -> bytes:
        """The bytes that such a call gave; maybe none. Raises after too long a silence of the server."""
        data = data_of(result)
        self._offset += len(data)
        if self._stream is None:
            if result["end"] is True or not data:
                self._drop()
            return data
        if result["end"]:
            self._stream = None
            self._failure = result.get("error")
            self._drop()
        if data:
            self._since = None
        elif self._stream is not None and self._since is not None and monotonic() - self._since >= self._silence:
            self._drop()
            text = f"reading the body: the server sent nothing for {self._silence:g} seconds (raise the read timeout)"
            raise RequestTimeout.late(text, phase="response")
        return data

    def _drop(self) -> None:
        calls = ended_by(self._stream, self._stored, self._request)
        self._stream = self._stored = self._request = None
        if self._feeder is not None:
            self._feeder.close()
        if calls:
            self._owner._leave(calls)

    def leave(self) -> None:
        """Ends the body. Waits for nothing."""
        self._first = memoryview(b"")
        self._failure = None
        self._drop()


INLINE = 1 << 20
"""The most bytes of a request's body that are sent within the message; more are written to a stream."""

_CONNECTION_FIELDS = ("connection", "content-length", "keep-alive", "proxy-connection", "transfer-encoding")


class Full(Exception):
    """All places for bodies are taken, and none has ended in time."""

    def __str__(self) -> str:
        return f"too many responses are open, and none ended for {self.args[0]:g} seconds"


class Unsupported(ValueError):
    """A wish of the program that the service cannot fulfil; the message names a remedy."""


class Settings:
    """The settings of every request of a drop-in, and the address of the service."""

    def __init__(
        self, socket: str | os.PathLike[str] | None, session: str | None, credential: str | None,
        retry: bool | Mapping[str, Any] | None, priority: str | None, tag: str | None, connections: int,
    ) -> None:
        if not 1 <= connections <= 1000:
            raise ValueError("connections must be between 1 and 1000")
        self.socket = None if socket is None else os.fspath(socket)
        self.credential = credential
        self.connections = connections
        self.members = present(session=session, retry=retry, priority=priority, tag=tag)

    def params(
        self, method: str, url: str, fields: Iterable[tuple[str, bytes]], limits: Mapping[str, float],
        proxy: str | None, stream: bool,
    ) -> dict[str, Any]:
        """The parameters of ``data.send`` for a request without a body."""
        host = authority(url).lower()
        headers = [{"name": name, "value": _text(name, value)} for name, value in _own(fields, host)]
        params: dict[str, Any] = {
            **self.members,
            "url": _address(url),
            "method": method,
            "headers": headers,
            "timeout": limits,
            "redirect": "none",
            "serialize": {"as": "base64"},
            "defaultHeaders": False,
            "decode": False,
            "allowGetBody": True,
            "handles": False,
        }
        if stream:
            flowing(params)
        if proxy is not None:
            params["proxy"] = proxy
        if self.credential is not None and not any(one["name"].lower() == "authorization" for one in headers):
            # as auth, the token would be required: a redirect to another origin would fail
            params["interceptors"] = [{"oauth": self.credential}]
        return params


def _own(fields: Iterable[tuple[str, bytes]], host: str) -> Iterator[tuple[str, bytes]]:
    """The fields, except fields that follow from the URL, the body and the connection."""
    for name, value in fields:
        known = name.lower()
        if known in _CONNECTION_FIELDS or (known == "host" and value.decode("latin-1").lower() == host):
            continue
        yield name, value


def _text(name: str, value: bytes) -> str:
    try:
        return value.decode("utf-8").strip(" \t")
    except UnicodeDecodeError:
        raise Unsupported(
            f"header {name}: the value is not UTF-8, and the service sends no other text (encode the value as UTF-8)"
        ) from None


def authority(url: str) -> str:
    """Host and port of a URL as they stand in the field Host: the default port is left out."""
    scheme, _, rest = url.partition("://")
    found = _until(rest, "/?#").rpartition("@")[2]
    default = {"http": ":80", "https": ":443"}.get(scheme.lower(), "")
    return found[: -len(default)] if default and found.endswith(default) else found


def _address(url: str) -> str:
    """A URL without user, password and fragment: none of them is sent to a server."""
    scheme, mark, rest = url.partition("#")[0].partition("://")
    whole = _until(rest, "/?")
    return scheme + mark + whole.rpartition("@")[2] + rest[len(whole) :]


def _until(text: str, ends: str) -> str:
    places = [place for place in map(text.find, ends) if place >= 0]
    return text[: min(places)] if places else text


def limits(connect: float | None, read: float | None) -> dict[str, float]:
    """The timeouts of the libraries in the form of the service, which has no value for "never"."""
    opening = dict.fromkeys(("resolve", "connect", "tls"), seconds(connect))
    return {**opening, **dict.fromkeys(("firstByte", "idle"), seconds(read)), "total": LONGEST}


def flowing(params: dict[str, Any]) -> None:
    """Asks for the head of the response, and for the body as a stream; the request must be forgotten then."""
    params["bodyTo"] = "stream"
    params["handles"] = True


def fed(params: dict[str, Any], stream: str, length: int | None) -> None:
    """Takes the body of a request from ``stream``, and delivers the head by ``events.next``.

    The service counts the pauses of a streamed body as silence of the server. So ``idle`` is not limited here: the
    reader and the writer watch their own waits.
    """
    params["body"] = {"stream": stream} if length is None else {"stream": stream, "length": length}
    params["events"] = {"kinds": ["response", "finish"], "pull": True}
    params["timeout"] = {**params["timeout"], "idle": LONGEST}
    flowing(params)
