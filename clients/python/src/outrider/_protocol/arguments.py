# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Pure: checks of the values that a program passes, where a wrong type is a ``TypeError`` that names the parameter; and
options of a request on top of the options of its session and its client."""

from __future__ import annotations

from .hints import Any, Callable, Iterable, Iterator, Mapping

LONGEST_MESSAGE = 12_000_000
"""The most characters of the parameters of a call; the service takes messages of 16 MiB."""


def present(**values: Any) -> dict[str, Any]:
    """The values that are not ``None``."""
    return {name: value for name, value in values.items() if value is not None}


def member(name: str, form: Callable[[Any], Any] | None = None) -> Callable[[dict[str, Any], Any], None]:
    """Writes an option of a request as that member of its parameters, in the form of the service."""

    def put(spec: dict[str, Any], value: Any) -> None:
        spec[name] = value if form is None else form(value)

    return put


def meant(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """The end of a message about an unknown name: which of the known ones may be meant."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), 1)
    return f"; did you mean {near[0]}?" if near else otherwise


FIXED = {
    **{name: name for name in ("auth", "base_url", "cert", "headers", "params", "timeout", "verify")},
    "proxies": "proxy",
}
"""Attributes that programs set on a session of requests or a client of httpx, and the options in their place."""


def no_attribute(holder: str, name: str) -> AttributeError:
    """The exception for a missing attribute of an object of that class."""
    hint = f": give {FIXED[name]}= to the client, the session or the request" if name in FIXED else ""
    return AttributeError(f"{holder!r} object has no attribute {name!r}{hint}")


def fixed(name: str) -> property:
    """An attribute of ``FIXED``: setting it would have no effect, and a program would go without its credentials."""

    def refuse(holder: object, value: object = None) -> Any:
        raise no_attribute(type(holder).__name__, name)

    return property(refuse, refuse)


def text_of(value: object, name: str) -> str:
    """A string unchanged; otherwise raises a :class:`TypeError` that names the parameter."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, not {type(value).__name__}")
    return value


def each_of(pairs: object, name: str, second: str = "value") -> Iterator[tuple[Any, Any]]:
    """The names and values of a mapping, or of pairs in which a name may occur again, in their order."""
    items = getattr(pairs, "items", None)
    given: Any = items() if callable(items) else pairs
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        raise TypeError(f"{name} must be a mapping or pairs, not {type(pairs).__name__}")
    for pair in given:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"{name} must consist of pairs of name and {second}")
        yield pair[0], pair[1]


def header_list(headers: object, name: str = "headers") -> list[tuple[str, str]]:
    """Fields in their order, a tuple for each, from a mapping or from pairs."""
    fields: list[tuple[str, str]] = []
    for key, value in each_of(headers, name):
        key = text_of(key, f"a name in {name}")
        for one in value if isinstance(value, (tuple, list)) else (value,):
            if one is not None:
                fields.append((key, text_of(one, f"the value of {key} in {name}")))
    return fields


def pairs_of(pairs: object, name: str) -> list[tuple[str, Any]]:
    """The same with names as text, and several values as a list."""
    return [
        (
            str(_textual(key, f"the name {key!r} in {name}")),
            list(value) if isinstance(value, (tuple, set, frozenset)) else value,
        )
        for key, value in each_of(pairs, name)
    ]


def _textual(value: Any, place: str) -> Any:
    """A name or a value of a query or a form, which is text in the end: what JSON cannot hold becomes text here."""
    if isinstance(value, list):
        # None leaves a value out, as in requests
        return [_textual(one, place) for one in value if one is not None]
    if type(value) is int and not -(2**63) <= value < 2**63:
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise TypeError(f"{place} must be text, or bytes in UTF-8") from None
    return value


def named(pairs: object, name: str) -> Any:
    """The same for the service: an object where no name occurs again, else a list."""
    return as_object([(key, _textual(value, f"{name}[{key!r}]")) for key, value in pairs_of(pairs, name)])


def as_object(pairs: list[tuple[str, Any]]) -> Any:
    """Pairs as an object if the meaning is the same, else as a list, which keeps the order."""
    found = dict(pairs)
    return found if len(found) == len(pairs) else [{"name": name, "value": value} for name, value in pairs]


def seconds_of(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number of seconds, not {type(value).__name__}")
    if not value > 0:
        raise ValueError(f"{name} must be more than 0 seconds")
    return value


def timeout_of(value: Any) -> Any:
    """A timeout for the service: seconds, or phases to seconds. A pair, as in requests, is (connect, read)."""
    if value is None:
        return None
    if isinstance(value, tuple):
        if len(value) != 2:
            raise ValueError("a timeout of two parts must be (connect, read)")
        parts = zip(value, (("resolve", "connect", "tls"), ("firstByte", "idle")))
        value = {phase: seconds for seconds, names in parts for phase in names if seconds is not None}
    if isinstance(value, (int, float)):
        return seconds_of(value, "timeout")
    if hasattr(value, "items"):
        return {str(phase): seconds_of(given, f"timeout[{phase!r}]") for phase, given in value.items()}
    raise TypeError("timeout must be a number of seconds, (connect, read), or a mapping of phases to seconds")


def phases(timeout: Any) -> Any:
    """A number as the limit of each phase, because the length of a stream is not known in advance.

    None of them counts while a request waits for a connection: this client ends that.
    """
    given = timeout_of(timeout)
    if isinstance(given, (int, float)) and given != float("inf"):
        return dict.fromkeys(("resolve", "connect", "tls", "firstByte", "idle"), given)
    return given


def is_stopping(message: Mapping[str, Any]) -> bool:
    """Whether the service has refused a call because it takes no more calls."""
    error = message.get("error")
    return isinstance(error, dict) and error.get("code") == -32017


def located(message: Any, params: str) -> Any:
    """A reply to a call; an error names the parameter that the service could not name."""
    error = message.get("error") if type(message) is dict else None
    if isinstance(error, dict) and error.get("code") == -32700:
        from .frames import decode
        from .places import explained

        return explained(message, decode(params))
    if isinstance(error, dict) and error.get("code") == -32010:
        return {**message, "error": _shortened(error, params)}
    return message


def _shortened(error: dict[str, Any], params: str) -> dict[str, Any]:
    """The error of a message over the limit, with a remedy for its longest parameter."""
    from .frames import decode, encode

    given = decode(params)
    longest = max(given, key=lambda name: len(encode(given[name])), default="body")
    if longest in ("body", "parameters"):
        remedy = "send a body of that length as file=, or where the client waits for a response"
        return {**error, "message": f"{error['message']}: {remedy}"}
    name = {"query": "params"}.get(longest, longest)
    remedy = " (send long values in a body)" if longest in ("url", "query", "headers") else ""
    limit = (error.get("data") or {}).get("limit")
    return {**error, "message": f"{name} is too long: a message has at most {limit} bytes{remedy}"}


def comes_in_pieces(data: Any) -> bool:
    """Whether a body is an iterator, or an object to read from that is no file for the service."""
    if hasattr(data, "read") and not hasattr(data, "__aiter__"):
        return path_of(data) is None
    return hasattr(data, "__next__") or hasattr(data, "__aiter__")


def replaced(fields: list[tuple[str, str]], by: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """``fields`` without the names of ``by``, then ``by``."""
    names = {name.lower() for name, _ in by}
    return [field for field in fields if field[0].lower() not in names] + by


def laid(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Options on top of others: fields and names of the query are replaced singly, all others as a whole."""
    made = {**under, **over}
    if "auth" in under and "auth" not in over and _authorized(over):
        del made["auth"]
    if "headers" in under:
        fields = header_list(under["headers"])
        if "auth" in over:
            fields = [field for field in fields if field[0].lower() != "authorization"]
        own_fields = header_list(over.get("headers") or ())
        without = left_out(over.get("headers"))
        made["headers"] = replaced([field for field in fields if field[0].lower() not in without], own_fields)
    if "params" in under and "params" in over:
        own = _pairs(over["params"])
        names = {name for name, _ in own}
        made["params"] = [pair for pair in _pairs(under["params"]) if pair[0] not in names] + own
    return made


def left_out(headers: Any) -> set[str]:
    """The names of fields that are ``None``, as in requests."""
    items = getattr(headers, "items", None)
    pairs: Any = items() if callable(items) else headers if isinstance(headers, (list, tuple)) else ()
    return {name.lower() for name, value in pairs if value is None}


def _authorized(options: Mapping[str, Any]) -> bool:
    return any(name.lower() == "authorization" for name, _ in header_list(options.get("headers") or ()))


def _pairs(params: Any) -> list[tuple[str, Any]]:
    if isinstance(params, str):
        from urllib.parse import parse_qsl

        return parse_qsl(params.lstrip("?"), keep_blank_values=True)
    return pairs_of(params, "params")


def absolute_url(base: Any, url: str) -> str:
    """A URL appended to the base, with a single slash between; a URL with a scheme stays unchanged."""
    scheme, mark, _ = url.partition("://")
    # a path may hold another URL
    if not base or (mark and not set("/?#") & set(scheme)):
        return url
    front = text_of(base, "base_url")
    return front + url if not url or url[0] in "?#" else front.rstrip("/") + "/" + url.lstrip("/")


def absolute(path: Any, name: str = "path") -> str:
    """A path of this program, for the service, which has another working directory; ``~/`` is the user's home."""
    from os import getpid
    from os.path import abspath, expanduser

    place = path.__fspath__() if hasattr(path, "__fspath__") else path
    if not isinstance(place, str):
        raise TypeError(f"{name} must be a path, not {type(place).__name__}")
    # ``~name`` is usual for files that are copies
    place = abspath(expanduser(place) if place.startswith("~/") else place)
    # in the service, these would be descriptors of the service
    place = {"/dev/stdin": "/dev/fd/0", "/dev/stdout": "/dev/fd/1", "/dev/stderr": "/dev/fd/2"}.get(place, place)
    for own, whole in (("/dev/fd/", f"/proc/{getpid()}/fd/"), ("/proc/self/", f"/proc/{getpid()}/")):
        if place.startswith(own):
            return whole + place[len(own) :]
    return place


def path_of(file: Any) -> str | None:
    """The path of an open regular file at its beginning, which the service can then stream by itself.

    Only if reading gives the bytes of that file unchanged. Other objects have the file's name, too, such as the result
    of ``gzip.open``, and wrappers that count or change the bytes.
    """
    import io
    import os
    import stat

    path: Any = None
    if type(file).__name__ == "_TemporaryFileWrapper" and type(file).__module__ == "tempfile":
        # before Python 3.12 the file in it has only a descriptor for a name
        path, file = file.name, file.file
    bare = file.raw if type(file) in (io.BufferedReader, io.BufferedRandom) else file
    if type(bare) is not io.FileIO:
        return None
    path = bare.name if path is None else path
    try:
        if not isinstance(path, str) or not bare.readable() or file.tell() != 0:
            return None
        file.flush()
        here, there = os.fstat(bare.fileno()), os.stat(path)
    except (AttributeError, OSError, TypeError, ValueError):
        return None
    same = stat.S_ISREG(here.st_mode) and os.path.samestat(here, there)
    return absolute(os.path.abspath(path)) if same else None
