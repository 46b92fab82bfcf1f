# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Pure: values to bytes and bytes to messages. No socket, no lock, no clock.

The C parts of the standard library's ``json`` are used without the package around them, because importing
that package costs more time than a whole call does; where they are missing, the package itself is used.
"""

from __future__ import annotations

import gc
from binascii import a2b_base64, b2a_base64
from io import BytesIO

from .exceptions import InvalidCall, ProtocolError, from_error
from .hints import Any, Callable

PROTOCOL = 1
"""The version of the wire protocol that this client speaks."""

MESSAGE_LIMIT = 256 * 1024 * 1024
"""No message of the service is longer; a peer that sends a longer message is not the service."""

# copying fewer bytes costs less than a view
_LONG = 1 << 16


def _refuse(value: object) -> Any:
    """Called by the encoder for values without a form in JSON."""
    raise TypeError(f"{type(value).__name__} has no form in JSON")


class _ScannerSettings:
    """The context of the C scanner: plain JSON, nothing converted."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int

    @staticmethod
    def parse_constant(name: str) -> Any:
        raise ValueError(f"{name} is not JSON")


def _accelerated() -> tuple[Callable[[str, int], tuple[Any, int]], Callable[[Any], str], Callable[[str], str]]:
    from _json import (  # type: ignore[import-not-found, unused-ignore]
        encode_basestring_ascii,
        make_encoder,
        make_scanner,
    )

    chunks = make_encoder(None, _refuse, encode_basestring_ascii, None, ":", ",", False, False, False)

    def encode(value: Any) -> str:
        return "".join(chunks(value, 0))

    scan = make_scanner(_ScannerSettings())  # type: ignore[arg-type, unused-ignore]
    if scan(encode({"a": [1, 2.5, "\u00e9", None, True]}), 0)[0] != {"a": [1, 2.5, "\u00e9", None, True]}:
        raise ImportError("the accelerators do not behave as expected")
    return scan, encode, encode_basestring_ascii


def _portable() -> tuple[Callable[[str, int], tuple[Any, int]], Callable[[Any], str], Callable[[str], str]]:
    from json import JSONDecoder, JSONEncoder
    from json.encoder import encode_basestring_ascii

    encoder = JSONEncoder(separators=(",", ":"), allow_nan=False, default=_refuse)
    return JSONDecoder().raw_decode, encoder.encode, encode_basestring_ascii


try:
    scan, _encode, quote = _accelerated()
except (ImportError, TypeError, AttributeError, ValueError):
    scan, _encode, quote = _portable()


def encode(value: Any, name: str = "params", as_text: bool = False) -> str:
    """``value`` as compact ASCII JSON. ``name`` is the parameter for the error.

    The service refuses lone surrogates in a message, but not in the text of a body.
    """
    try:
        text = _encode(value)
    except RecursionError:
        raise InvalidCall(f"{name} contains itself, or is nested too deeply") from None
    except (TypeError, ValueError) as problem:
        from .places import unwritable

        raise unwritable(value, name, str(problem)) from None
    if "\\ud" in text and not as_text:
        from .places import check_surrogates

        check_surrogates(value, name)
    return text


def decode(text: str) -> Any:
    """A JSON value and nothing else. Raises :class:`ValueError`."""
    text = text.strip(" \t\r\n")
    # what is read holds no circle: a collector that runs again and again meanwhile takes a quarter of the time
    is_held = len(text) > _LONG and gc.isenabled()
    try:
        if is_held:
            gc.disable()
        value, stop = scan(text, 0)
    except (StopIteration, SystemError):
        # CPython 3.10 and 3.11 have no exception to raise where json is not imported
        raise ValueError(f"not JSON: {text[:80]!r}") from None
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
    finally:
        if is_held:
            gc.enable()
    if stop != len(text):
        raise ValueError(f"text after the JSON value: {text[stop : stop + 80]!r}")
    return value


def rewritten(value: Any) -> str:
    """A value that was read, as JSON again; numbers that were too large for a float, too."""
    try:
        return encode(value)
    except InvalidCall:
        import re
        from json import dumps

        text = dumps(value, separators=(",", ":"))
        return re.sub(r'"(?:[^"\\]|\\.)*"|Infinity', lambda m: "1e999" if m[0] == "Infinity" else m[0], text)


def call_frame(number: int, method: str, params: str) -> bytes:
    """A call as a line. ``params`` is JSON text already."""
    return f'{{"jsonrpc":"2.0","id":{number},"method":{quote(method)},"params":{params}}}\n'.encode("ascii")


def event_frame(method: str, params: str) -> bytes:
    """A notification as a line. ``params`` is JSON text already."""
    return f'{{"jsonrpc":"2.0","method":{quote(method)},"params":{params}}}\n'.encode("ascii")


HELLO = '{"rawBodies":true,"maxInline":8388608}'
GREETING = event_frame("server.hello", HELLO)
"""Goes before the first call: bodies may come as raw bytes, up to 8 MiB with the reply. An older service ignores it."""


def cancel_frame(number: int) -> bytes:
    """The notification that ends call ``number``."""
    return b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%d}}\n' % number


_REPLY = b'{"jsonrpc":"2.0","id":'
_RAW = b'{"raw":'
_GOOD = b',"result":{"ok":true,'
_BODY = b'"body":{"kind":"'
_CONTENT = b'"base64":"'
_TOO_LONG = f"the service sent a message of more than {MESSAGE_LIMIT} bytes"


class Incoming:
    """Cuts the bytes of the service into messages.

    A message is a line. The line of a raw reply says at its start how many bytes of a body follow the line, so that
    bytes of a body are never taken for a message. A body that comes in pieces is put together in the memory that its
    reader gets, without a copy.
    """

    __slots__ = ("_body", "_line", "_pieces", "_view", "missing", "size")

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._line = b""
        self._body = BytesIO()
        self._view = memoryview(b"")
        self.size = 0
        """How many bytes of an incomplete line are kept."""
        self.missing = 0
        """How many bytes of a body are still to come; 0 within a line."""

    def copy(self) -> Incoming:
        """The same state, for bytes that are only looked at. A body has other bytes."""
        made = Incoming()
        made._pieces, made._line, made.size = self._pieces[:], self._line, self.size
        made._reserve(self.missing)
        return made

    def room(self) -> memoryview:
        """Where the missing bytes go: :meth:`filled` is called with the count of those that came."""
        return self._view[-self.missing :]

    def filled(self, count: int) -> list[tuple[Any, Any]]:
        """The raw reply that is complete now that so many bytes are in the room, as :meth:`take` gives it."""
        self.missing -= count
        if self.missing:
            return []
        self._view.release()
        body, self._body = self._body.getvalue(), BytesIO()
        return [self._whole(body)]

    def _reserve(self, count: int) -> None:
        self._body = BytesIO(bytes(count))
        self._view = self._body.getbuffer()
        self.missing = count

    def _put(self, piece: memoryview) -> list[tuple[Any, Any]]:
        self.room()[: len(piece)] = piece
        return self.filled(len(piece))

    def take(self, data: bytes) -> list[tuple[Any, Any]]:
        """The messages that end in ``data``, with the numbers of their calls; the rest is kept.

        The result of a successful exchange stays in bytes: :func:`unpack` parses the bytes on first access. That keeps
        a thousand results from becoming twenty thousand objects. A raw reply is a pair: such a line, and the body.
        """
        found: list[tuple[Any, Any]] = []
        start = 0
        if self.missing:
            start = min(self.missing, len(data))
            found = self._put(memoryview(data)[:start])
        elif self.size:
            self._keep(data)
            if b"\n" not in data:
                return found
            data, self._pieces, self.size = b"".join(self._pieces), [], 0
        elif data.startswith(_REPLY) and data.find(b"\n") == len(data) - 1:
            return _read(data)
        size = len(data)
        while start < size:
            end = data.find(b"\n", start)
            if end < 0:
                self._keep(data[start:])
                break
            # one long message is not copied for nothing
            line = data if end - start == size - 1 else data[start:end]
            start = end + 1
            if line.startswith(b" "):
                # the service keeps some readers waiting with white space
                line = line.lstrip(b" ")
            if line.startswith(_RAW):
                end = start + self._begin(line)
                if end <= size:
                    found.append(self._whole(data[start:end]))
                else:
                    self._reserve(end - start)
                    self._put(memoryview(data)[start:])
                start = end
            elif line:
                found.extend(_read(line))
        return found

    def _keep(self, data: bytes) -> None:
        self._pieces.append(data)
        self.size += len(data)
        if self.size > MESSAGE_LIMIT:
            raise ProtocolError(_TOO_LONG)

    def _begin(self, line: bytes) -> int:
        """A line says that a body follows. Gives the length of the body."""
        comma = line.find(b",", len(_RAW), len(_RAW) + 12)
        count = line[len(_RAW) : comma]
        if comma < 0 or not count.isdigit():
            raise ProtocolError(f"the service did not say how long a body is: {line[:80]!r}")
        if int(count) > MESSAGE_LIMIT:
            raise ProtocolError(_TOO_LONG)
        self._line = b"{" + line[comma + 1 :]
        return int(count)

    def _whole(self, body: bytes) -> tuple[Any, Any]:
        """The raw reply whose body is complete."""
        line, self._line = self._line, b""
        [(number, message)] = _read(line)
        if type(message) is bytes:
            return number, (message, body)
        _put_raw(message.get("result"), body)
        return number, message


def _read(line: bytes) -> list[tuple[Any, Any]]:
    if line.startswith(_REPLY):
        comma = line.find(b",", 22)
        if line.startswith(_GOOD, comma) and line[22:comma].isdigit():
            return [(int(line[22:comma]), line)]
    return [(message.get("id"), message) for message in _parsed(line)]


def _parsed(line: bytes) -> list[Any]:
    """The message in a line: the fast way."""
    try:
        message, stop = scan(line.decode(), 0)
        # all that the service writes is ASCII
        if type(message) is dict and (stop == len(line) or line[stop:] == b"\n"):
            return [message]
    except (ValueError, StopIteration, RecursionError, SystemError):
        pass
    return messages(line)


def _put_raw(result: Any, content: bytes) -> None:
    """Puts raw bytes where they belong, as they are: into a body, or into a piece of a body."""
    body = result.get("body") if type(result) is dict else None
    if type(body) is dict and body.get("kind") == "raw":
        body["kind"], body["base64"] = "base64", content
    elif type(result) is dict and "end" in result:
        result.pop("raw", None)
        result["base64"] = content
    else:
        raise ProtocolError("the service sent bytes that belong to no body")


def in_base64(content: bytes | bytearray | memoryview) -> str:
    """Bytes as text in JSON."""
    return b2a_base64(content, newline=False).decode("ascii")


def unpack(message: Any, in_python: bool = True) -> dict[str, Any]:
    """The result in a reply, or the exception for its error; the reply may be in bytes still."""
    if type(message) is tuple:
        result = unpack(message[0], in_python)
        _put_raw(result, message[1])
        return result
    if type(message) is bytes:
        [message] = _parsed(message)
    return result_of(message, in_python)


def told(message: Any, in_python: bool = True) -> dict[str, Any]:
    """As :func:`unpack`, for programs: all in the form of the protocol without raw bytes."""
    result = unpack(message, in_python)
    for part in (result, result.get("body")):
        if type(part) is dict and type(part.get("base64")) is bytes:
            part["base64"] = in_base64(part["base64"])
    return result


def is_stored(message: Any) -> bool:
    """Whether the service may keep the body of a result, which is not parsed for that: no text in JSON holds a bare
    quotation mark."""
    return b'"kind":"stored"' in message if type(message) is bytes else type(message) is dict


def packed_body(line: bytes) -> bytes | None:
    """The body in an unparsed result, without parsing the rest; ``None`` if the body is not in base64.

    No text in JSON holds a bare quotation mark, so a match can only be a name, and no earlier member has this name.
    """
    body = line.find(_BODY) + len(_BODY)
    if not line.startswith(b'base64"', body):
        return None
    start = line.find(_CONTENT, body) + len(_CONTENT)
    end = line.index(b'"', start)
    return a2b_base64(line[start:end] if end - start < _LONG else memoryview(line)[start:end])


def messages(lines: bytes) -> list[Any]:
    """All messages in ``lines``, which are complete: blank lines are skipped, white space is allowed.

    Raises :class:`~outrider.ProtocolError` when anything in it is not a JSON object.
    """
    found = []
    for line in lines.split(b"\n"):
        if not line.strip():
            continue
        try:
            message = decode(line.decode())
        except ValueError as problem:
            raise ProtocolError(f"the service sent what is not JSON: {problem}") from None
        if type(message) is not dict:
            raise ProtocolError(f"the service sent a message that is not an object: {line[:80]!r}")
        found.append(message)
    return found


def result_of(message: Any, in_python: bool = True) -> dict[str, Any]:
    """The result in a reply, or the exception for its error."""
    if "error" in message:
        raise from_error(message["error"], in_python)
    result = message.get("result")
    if not isinstance(result, dict):
        raise ProtocolError("the service replied with neither a result nor an error")
    return result
