# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Pure: a request of another library becomes the parameters of ``data.send``.

The service sends the header fields of that request and no others, follows no redirect, and gives the body as the server
sent it: redirects, cookies, authentication and Content-Encoding stay with the library.
"""

from __future__ import annotations

import os

from .._protocol.arguments import present
from .._resources.feeding import LONGEST, seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

INLINE = 1 << 20
"""The most bytes of a request's body that are sent within the message; more are written to a stream."""

_CONNECTION_FIELDS = ("connection", "content-length", "keep-alive", "proxy-connection", "transfer-encoding")


class Unsupported(ValueError):
    """A wish of the program that the service cannot fulfil; the message names a remedy."""


class Settings:
    """The settings of every request of a drop-in, and the address of the service."""

    def __init__(
        self,
        socket: str | os.PathLike[str] | None,
        session: str | None,
        credential: str | None,
        retry: bool | Mapping[str, Any] | None,
        priority: str | None,
        tag: str | None,
        connections: int,
    ) -> None:
        if not 1 <= connections <= 1000:
            raise ValueError("connections must be between 1 and 1000")
        self.socket = None if socket is None else os.fspath(socket)
        self.session = session
        self.credential = credential
        self.connections = connections
        self.members = present(session=session, retry=retry, priority=priority, tag=tag)

    def params(
        self,
        method: str,
        url: str,
        fields: Iterable[tuple[str, bytes]],
        limits: Mapping[str, float],
        proxy: str | None,
        stream: bool,
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
    opening, silence = seconds(connect), seconds(read)
    return {
        "resolve": opening,
        "connect": opening,
        "tls": opening,
        "firstByte": silence,
        "idle": silence,
        "total": LONGEST,
    }


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
