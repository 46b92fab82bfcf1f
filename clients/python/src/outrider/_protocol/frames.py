# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Pure: values to bytes and bytes to messages. No socket, no lock, no clock.

The C parts of the standard library's ``json`` are used without the package around them, because importing
that package costs more time than a whole call does; where they are missing, the package itself is used.
"""

from __future__ import annotations

from binascii import a2b_base64

from .exceptions import InvalidCall, ProtocolError, from_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

PROTOCOL = 1
"""The version of the wire protocol that this client speaks."""

METHOD_NOT_FOUND = -32601
CALLBACK_FAILED = -32021


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


def encode(value: Any, name: str = "params") -> str:
    """``value`` as compact ASCII JSON. ``name`` is the parameter for the error."""
    try:
        return _encode(value)
    except RecursionError:
        raise InvalidCall(f"{name} contains itself, or is nested too deeply") from None
    except (TypeError, ValueError) as problem:
        raise InvalidCall(f"{name} cannot be written as JSON: {problem}") from None


def decode(text: str) -> Any:
    """A JSON value and nothing else. Raises :class:`ValueError`."""
    text = text.strip(" \t\r\n")
    try:
        value, stop = scan(text, 0)
    except (StopIteration, SystemError):
        # CPython 3.10 and 3.11 have no exception to raise where nobody has imported json
        raise ValueError(f"not JSON: {text[:80]!r}") from None
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
    if stop != len(text):
        raise ValueError(f"text after the JSON value: {text[stop : stop + 80]!r}")
    return value


def json_text(content: bytes) -> str:
    """JSON as text: UTF-8, or the encoding of its first bytes. Raises :class:`UnicodeDecodeError`."""
    head = content[:4]
    if 0 not in head and head[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-8")
    from json import detect_encoding

    return content.decode(detect_encoding(content))


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


def cancel_frame(number: int) -> bytes:
    """The notification that ends call ``number``."""
    return b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%d}}\n' % number


def answer_frame(number: Any, result: Mapping[str, Any]) -> bytes:
    """The reply to a callback. Raises :class:`~outrider.InvalidCall` for values that the service could not read."""
    _readable(result, "the answer")
    return f'{{"jsonrpc":"2.0","id":{encode(number)},"result":{encode(result, "the answer")}}}\n'.encode("ascii")


def _readable(value: Any, name: str) -> None:
    """Refuses JSON that Python writes but other parsers reject: half a character, and integers beyond 64 bits."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidCall(f"{name} holds half a character (a lone surrogate): {value[:80]!a}") from None
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InvalidCall(f"{name} is an integer beyond 64 bits with a sign: give it as text")
    elif isinstance(value, dict):
        for key, one in value.items():
            _readable(key, f"a name in {name}")
            _readable(one, f"{name}/{key}")
    elif isinstance(value, (list, tuple)):
        for place, one in enumerate(value):
            _readable(one, f"{name}/{place}")


def refusal_frame(number: Any, code: int, message: str) -> bytes:
    """The answer to a callback that could not be served."""
    error = encode({"code": code, "message": message.encode(errors="backslashreplace").decode()})
    return f'{{"jsonrpc":"2.0","id":{encode(number)},"error":{error}}}\n'.encode("ascii")


def messages(lines: bytes) -> list[Any]:
    """All messages in ``lines``, which are complete. One pass of the scanner reads them all.

    Raises :class:`~outrider.ProtocolError` when anything in it is not a JSON object.
    """
    try:
        text = lines.decode()
        last = len(lines) - 1
        if lines.find(b"\n") == last:
            value, stop = scan(text, 0)
            if stop == last and type(value) is dict:
                return [value]
        else:
            found, stop = scan("[" + text[:-1].replace("\n", ",") + "]", 0)
            if stop == len(text) + 1 and not [one for one in found if type(one) is not dict]:
                return found  # type: ignore[no-any-return]
    except (ValueError, StopIteration, RecursionError, SystemError):
        pass
    return _carefully(lines)


_ANSWER = b'{"jsonrpc":"2.0","id":'
_GOOD = b',"result":{"ok":true,'
_BODY = b'"body":{"kind":"'
_CONTENT = b'"base64":"'
# copying fewer bytes costs less than a view
_LONG = 1 << 16


def arrivals(lines: bytes) -> list[tuple[Any, Any]]:
    """All messages in ``lines``, which are complete, with the numbers of their calls.

    The result of a successful exchange stays in bytes: :func:`unpack` parses the bytes on first access. That keeps a
    thousand results from becoming twenty thousand objects.
    """
    found: list[tuple[Any, Any]] = []
    if lines.startswith(_ANSWER) and lines.find(b"\n") == len(lines) - 1:
        comma = lines.find(b",", 22)
        if lines.startswith(_GOOD, comma) and lines[22:comma].isdigit():
            return [(int(lines[22:comma]), lines)]
    if lines.find(_GOOD, 22, 64) < 0 and lines.find(b"\n") == len(lines) - 1:
        # one long answer is not copied for nothing
        return [(message.get("id"), message) for message in messages(lines)]
    for line in lines.split(b"\n"):
        if line.startswith(_ANSWER):
            comma = line.find(b",", 22)
            if line.startswith(_GOOD, comma) and line[22:comma].isdigit():
                found.append((int(line[22:comma]), line))
                continue
        if line:
            found.extend([(message.get("id"), message) for message in messages(line + b"\n")])
    return found


def unpack(message: Any) -> dict[str, Any]:
    """The result in an answer, or the exception for its error; the answer may be in bytes still."""
    if type(message) is bytes:
        message = messages(message if message[-1:] == b"\n" else message + b"\n")[0]
    return result_of(message)


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


def _carefully(lines: bytes) -> list[Any]:
    """As :func:`messages`, line by line: blank lines are skipped, white space is allowed, faults are named."""
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


def result_of(message: Any) -> dict[str, Any]:
    """The result in an answer, or the exception for its error."""
    if "error" in message:
        raise from_error(message["error"])
    result = message.get("result")
    if not isinstance(result, dict):
        raise ProtocolError("the service answered with neither a result nor an error")
    return result
