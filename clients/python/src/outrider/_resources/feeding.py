# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Bodies of requests that are written piece by piece: the part of both clients that makes no call."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from itertools import chain
from time import monotonic

from .._protocol.arguments import timeout_of
from .._protocol.exceptions import LimitError, RequestTimeout
from .._protocol.forms import Fed, Form, form_text
from .._protocol.frames import encode, in_base64
from .._protocol.hints import Any, Callable, Iterable, Iterator, Mapping
from .._protocol.parameters import Defaults, merged
from .._protocol.places import check_surrogates

BYTES, TEXT = "application/octet-stream", "text/plain; charset=utf-8"
FIELDS = "application/x-www-form-urlencoded; charset=utf-8"

PIECE = 262_144
"""The bytes of a body per call."""

IN_MESSAGES = 1 << 20
"""The bytes of a body before the client opens a connection for the others."""

LONG = 8 << 20
"""The most bytes of a body that is read at once, to be sent in a message."""

MOST_FED = 200
"""The most parts of a form that are written piece by piece though they are short."""

MOST_STREAMS = 256
"""The most parts of a form that are written piece by piece: a connection may have so many streams."""

MOST_INLINE = 16_000_000
"""The most characters of all other parts of a form; the service takes messages of 16 MiB."""

MOST_AGAIN = 256 << 20
"""The most bytes of a body that is copied, so that the service can send the body again."""

LONGEST = 86_400.0
"""Seconds of the longest timeout that the service takes; stands for no timeout."""


def seconds(timeout: float | None) -> float:
    """A timeout within the range of the service."""
    return LONGEST if timeout is None else min(max(timeout, 0.001), LONGEST)


def octets(content: Any) -> bytes:
    """Bytes, or text as UTF-8. ``bytes`` alone would turn an integer into so many zeros."""
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, bytes):
        return content
    try:
        return bytes(memoryview(content))
    except TypeError:
        raise TypeError(f"bytes or text is sent, not {type(content).__name__}") from None


def pieces(content: Any) -> Iterator[bytes]:
    """Bytes, or text as UTF-8, in the pieces in which a body is written."""
    content = octets(content)
    for start in range(0, len(content), PIECE):
        yield content[start : start + PIECE]


class Long:
    """A body that is too long for a message, with the number of its bytes if known, and its default Content-Type.

    ``again`` gives the body once more, from its beginning; ``None`` if the program cannot do that.
    """

    def __init__(
        self, body: Any, length: int | None, kind: str = BYTES, again: Callable[[], Iterable[Any]] | None = None
    ) -> None:
        self._body = body
        self.length = length
        self.kind = kind
        self.again = again

    def __iter__(self) -> Iterator[Any]:
        return iter(self._body)

    @classmethod
    def of(cls, content: bytes | bytearray, kind: str = BYTES) -> Long:
        """A body from memory."""
        return cls((content,), len(content), kind, lambda: (content,))


class LongForm(Form):
    """The parts of a form, of which the long ones are written piece by piece, and so many others that the message has
    room for the rest."""

    def __init__(self, form: Form) -> None:
        super().__init__(form)
        texts = [{"text": part.get("text", "")} for part in form]
        check_surrogates({"body": {"multipart": texts}}, "the request")
        given = {place: part for place, part in enumerate(form) if "text" in part or "base64" in part}
        contents = {
            place: part["text"].encode() if "text" in part else part["base64"] for place, part in given.items()
        }
        written = {
            place: len(encode(part["text"])) if "text" in part else (len(part["base64"]) + 2) // 3 * 4
            for place, part in given.items()
        }
        rest = sum(written.values())
        fed: list[int] = []
        for place in sorted(contents, key=written.__getitem__, reverse=True):
            is_long = len(contents[place]) > PIECE
            if len(fed) < (MOST_STREAMS if is_long else MOST_FED) and (is_long or rest > LONG):
                fed.append(place)
                rest -= written[place]
        if rest > MOST_INLINE:
            raise LimitError(
                f"files and data have too many long parts in memory: {len(fed)} of them can be sent in pieces, and the"
                " rest is too long for a message (give files by their paths, which the service reads)",
                code=-32010,
            )
        self._places = sorted(fed)
        self.bodies = [Long.of(contents[place]) for place in self._places]

    def fed(self, streams: list[str]) -> Form:
        """The form with the streams of the service in place of the long parts."""
        return self._with([{"stream": stream, "length": body.length} for stream, body in zip(streams, self.bodies)])

    def filed(self, paths: list[str]) -> Form:
        """The form with files in place of the long parts, which do not get the names of these files."""
        return self._with([{"file": path, **_bare(self[place])} for path, place in zip(paths, self._places)])

    def _with(self, contents: list[dict[str, Any]]) -> Form:
        made = Form(self)
        for place, content in zip(self._places, contents):
            kept = {name: value for name, value in self[place].items() if name not in ("text", "base64")}
            made[place] = {**kept, **content}
        return made


def _bare(part: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a part from a file that stay as they were, in their order: the service adds no file name to a
    Content-Disposition. The name is escaped as the service does it."""
    headers = part.get("headers", [])
    if "filename" in part or any(field["name"].lower() == "content-disposition" for field in headers):
        return {}
    name = re.sub("\r\n|\r|\n", "%0D%0A", part["name"]).replace('"', "%22")
    own = [{"name": "Content-Disposition", "value": f'form-data; name="{name}"'}]
    if "mimeType" in part and not any(field["name"].lower() == "content-type" for field in headers):
        own.append({"name": "Content-Type", "value": part["mimeType"]})
    return {"headers": [*own, *headers]}


def long_body(options: Mapping[str, Any]) -> dict[str, Any] | None:
    """The options with a body from memory that is written piece by piece; ``None`` if they have no such body."""
    data = options.get("data")
    if isinstance(options.get("files"), Form):
        return {**options, "files": LongForm(options["files"])}
    if isinstance(data, (str, bytes, bytearray, memoryview)):
        kind, content = TEXT if isinstance(data, str) else BYTES, octets(data)
    elif data is None and options.get("json") is not None:
        kind, content = "application/json", encode(options["json"], "json", as_text=True).encode()
    elif hasattr(data, "items") or isinstance(data, (tuple, list)):
        text = form_text(data)
        if text is None:
            return None
        kind, content = FIELDS, text.encode()
    else:
        return None
    return {**options, "data": Long.of(content, kind), "json": None}


def bodies_of(options: Mapping[str, Any]) -> list[Any]:
    """The bodies that are written piece by piece."""
    form = options.get("files")
    return form.bodies if isinstance(form, LongForm) else [options["data"]]


def fed(options: Mapping[str, Any], streams: list[str]) -> dict[str, Any]:
    """The options with the streams of the service in place of these bodies."""
    form = options.get("files")
    if isinstance(form, LongForm):
        return {**options, "files": form.fed(streams)}
    data = options["data"]
    if not isinstance(data, Long):
        return {**options, "data": Fed(streams[0])}
    return {**options, "data": Fed(streams[0], data.length), "content_type": options.get("content_type") or data.kind}


def is_spent(result: Mapping[str, Any]) -> bool:
    """Whether a redirect, a login or a retry failed because the body was to be sent again."""
    return (result.get("error") or {}).get("reason") == "bodyUnreadable" and result.get("status") is not None


@contextmanager
def filed(options: Mapping[str, Any]) -> Iterator[dict[str, Any] | None]:
    """The options with files in memory in place of the long bodies: the service sends a file as often as it must.

    ``None`` if a body cannot be read again, or is too long for a copy.
    """
    descriptors: list[int] = []
    try:
        yield _filed(options, descriptors)
    finally:
        for number in descriptors:
            os.close(number)


def _filed(options: Mapping[str, Any], descriptors: list[int]) -> dict[str, Any] | None:
    paths = []
    left = MOST_AGAIN
    for body in bodies_of(options):
        if not isinstance(body, Long) or body.again is None:
            return None
        number = os.memfd_create("outrider")
        descriptors.append(number)
        paths.append(f"/proc/{os.getpid()}/fd/{number}")
        with open(number, "wb", closefd=False) as file:
            for given in body.again():
                for piece in pieces(given):
                    left -= len(piece)
                    if left < 0:
                        return None
                    file.write(piece)
    form = options.get("files")
    if isinstance(form, LongForm):
        return {**options, "files": form.filed(paths)}
    kind = options.get("content_type") or options["data"].kind
    return {**options, "data": None, "file": paths[0], "content_type": kind}


def begun(data: Any) -> Any:
    """A body that comes piece by piece, after a look at its beginning: text, bytes or the fields of a form are short
    enough for a message; all else, long text and long bytes too, is to be iterated over."""
    if isinstance(data, str):
        check_surrogates({"body": {"text": data}}, "the request")
        return Long.of(data.encode(), TEXT)
    if isinstance(data, (bytes, bytearray, memoryview)):
        return Long.of(octets(data) if isinstance(data, memoryview) else data)
    if hasattr(data, "__aiter__"):
        return data
    if hasattr(data, "read"):
        return _read_from(data)
    if not hasattr(data, "__next__"):
        return data
    for first in data:
        return [first, *data] if isinstance(first, (tuple, list)) else chain((first,), data)
    return []


def _read_from(file: Any) -> Any:
    """The content of an object to read from; a :class:`Long` if there is much of it."""
    here, rest = _place(file)
    pieces: list[Any] = []
    count = 0
    while count < LONG:
        try:
            piece = file.read(LONG - count)
        except TypeError:
            # of a class whose read() takes no number
            return file.read()
        if not piece:
            return (pieces[0][:0] if pieces else piece or b"").join(pieces)
        pieces.append(piece)
        count += len(piece)
    again = None if here is None else lambda: _again(file, here)
    if isinstance(pieces[0], str):
        return Long(_all_of(pieces, file), None, TEXT, again)
    return Long(_all_of(pieces, file), rest, BYTES, again)


def _again(file: Any, here: int) -> Iterator[Any]:
    file.seek(here)
    return _all_of([], file)


def _all_of(pieces: list[Any], file: Any) -> Iterator[Any]:
    while pieces:
        yield pieces.pop(0)
    while piece := file.read(PIECE):
        yield piece


def _place(file: Any) -> tuple[int | None, int | None]:
    """The position in a file, and the number of bytes that are left to read; ``None`` if the object does not tell."""
    try:
        here = file.tell()
        end = file.seek(0, 2)
        file.seek(here)
        return int(here), int(end) - int(here)
    except (AttributeError, OSError, TypeError, ValueError):
        return None, None


def written(stream: str, piece: bytes | memoryview, wait: float) -> dict[str, Any]:
    """The parameters of a ``stream.write``."""
    return {"stream": stream, "base64": in_base64(piece), "wait": wait}


def unhurried(options: Mapping[str, Any], defaults: Defaults) -> dict[str, Any]:
    """The timeout of a request whose body comes piece by piece: pauses of the program are no silence of the server."""
    timeout = timeout_of(merged(options, defaults).get("timeout"))
    phases = dict(timeout) if isinstance(timeout, dict) else {} if timeout is None else {"total": seconds(timeout)}
    return {"idle": LONGEST, "total": LONGEST, **phases}


class Patience:
    """How long a writer waits for a server that takes nothing of a body."""

    def __init__(self, timeout: float | None) -> None:
        self._limit = seconds(timeout)
        self._since = monotonic()
        self.wait = min(self._limit, 0.5)
        """The wait of a ``stream.write`` in seconds: short, so that the end of the request is noticed."""

    def begin(self) -> None:
        """The time that the program takes for the next piece does not count."""
        self._since = monotonic()

    def note(self, room: int) -> None:
        """Raises :class:`~outrider.RequestTimeout` when there has been no room for too long."""
        now = monotonic()
        if room > 0:
            self._since = now
        elif now - self._since >= self._limit:
            text = f"sending the body: the server took nothing for {self._limit:g} seconds (raise the write timeout)"
            raise RequestTimeout.late(text, phase="request")
