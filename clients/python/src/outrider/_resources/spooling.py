# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Long bodies by way of private files of the service: their bytes need neither base64 nor JSON.

The length of a body is not known before its request. So a client remembers the URLs that gave long bodies, without
their queries, and the folders in which two URLs did; and asks for the next body of each in a private file. The file is
read and released before the program gets the response, which is the same as without the file. A short body makes the
client forget its URL and its folder.
"""

from __future__ import annotations

from .reading import whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .responses import ResponseData

LONG = 1 << 16
"""Bytes from which a body is long."""

INLINE = 1 << 20
"""Bytes up to which the service sends a body with its response, unless told otherwise."""

_URLS = 256
"""The most URLs that a client remembers."""

_OF_FILES = (1411, 1422)
"""Codes of failures, beside those from 1800 on, that a request may owe to its file alone."""


class Spooling:
    """The URLs whose bodies were long when they last came."""

    __slots__ = ("_first", "_most", "_urls")

    def __init__(self) -> None:
        self._urls: dict[str, None] = {}
        self._first: dict[str, str] = {}
        self._most = _URLS

    def expects(self, url: str) -> bool:
        """Whether the next body of that URL is probably long: its last one was, or two others of its folder were."""
        key = url.partition("?")[0]
        return key in self._urls or key.rpartition("/")[0] + "/*" in self._urls

    def note(self, url: str, size: int) -> None:
        """Remembers, or forgets, a URL and its folder by the length of its body."""
        key = url.partition("?")[0]
        folder = key.rpartition("/")[0] + "/*"
        if size < LONG:
            for known in (self._urls, self._first):
                known.pop(key, None)
                known.pop(folder, None)
        elif self._most:
            if len(self._urls) >= self._most:
                self._urls, self._first = {}, {}
            self._urls[key] = None
            if self._first.setdefault(folder, key) != key:
                self._urls[folder] = None

    def stop(self) -> None:
        """Remembers no URL any more: there is no room for files, or they are not visible here."""
        self._urls, self._first, self._most = {}, {}, 0


def in_file(params: str) -> str:
    """The parameters of a request, whose body is wanted in a private file."""
    return params[:-1] + ',"bodyTo":"file"}'


def is_fault_of_file(failure: dict[str, Any] | None) -> bool:
    """Whether a request may have failed only because its body was to become a file."""
    code = 0 if failure is None else int(failure.get("code", 0))
    return code >= 1800 or code in _OF_FILES


def adopted(response: ResponseData) -> bool:
    """Makes the body in a private file what it would be without: bytes that came with the response, or, beyond 1 MiB,
    a stored body. False if the bytes have to be read from the service, because the file is not visible here."""
    body = response.body
    path = body.get("path")
    if body.get("kind") != "file" or path is None:
        return True
    content = whole(path, body["size"]) if body["size"] <= INLINE else None
    response._content = content
    kept = {name: value for name, value in body.items() if name != "path"}
    if content is None:
        response._spooled = path
        response.raw["body"] = {**kept, "kind": "stored"}
        return bool(body["size"] > INLINE)
    kept.pop("response")
    response.raw["body"] = InlineBody({**kept, "kind": "base64" if content else "none"}, content)
    return True


class InlineBody(dict):  # type: ignore[type-arg]
    """A body as the service gives it in base64, which is made when it is asked for."""

    def __init__(self, members: dict[str, Any], content: bytes) -> None:
        super().__init__(members)
        self._content = content

    def __missing__(self, name: str) -> Any:
        if name != "base64" or self["kind"] != "base64":
            raise KeyError(name)
        from binascii import b2a_base64

        self[name] = b2a_base64(self._content, newline=False).decode("ascii")
        return self[name]

    def __reduce__(self) -> Any:
        return InlineBody, (dict(self), self._content)
