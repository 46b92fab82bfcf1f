# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Pure: the place of a value that the service cannot read. Loaded with the first such value, or the first ``json=``."""

from __future__ import annotations

from .exceptions import InvalidCall
from .hints import Any

_DEEPEST = 100
"""Levels of a value that fit into a message with certainty: the service reads 128 of a message."""

_GREATEST = 2**63


def is_plain(items: Any, levels: int = _DEEPEST) -> bool:
    """Whether values of the usual types can be read: the fast way; false also where only :func:`fault` can tell."""
    for item in items:
        kind = type(item)
        if kind is str:
            if not (item.isascii() or _is_unicode(item)):
                return False
        elif kind is int:
            if not -_GREATEST <= item < _GREATEST:
                return False
        elif kind is dict:
            if not (levels and is_plain(item, 0) and is_plain(item.values(), levels - 1)):
                return False
        elif kind is list:
            if not (levels and is_plain(item, levels - 1)):
                return False
        elif kind is not bool and item is not None and not (kind is float and item - item == 0):
            return False
    return True


def fault(value: Any, depth: int = 0) -> tuple[str, str] | None:
    """The place of the first fault, as an RFC 6901 pointer, and the fault; ``None`` if there is no fault."""
    kind = type(value)
    if kind is str or isinstance(value, str):
        return None if value.isascii() or _is_unicode(value) else ("", "the text holds a lone surrogate")
    if isinstance(value, int):
        return None if -_GREATEST <= value < _GREATEST else ("", "the integer has more than 64 bits (give it as text)")
    if isinstance(value, float):
        return None if value - value == 0 else ("", f"{value} is no number in JSON")
    if isinstance(value, (dict, list, tuple)):
        return _within(value, depth)
    return None if value is None else ("", f"{kind.__name__} has no form in JSON")


def _within(value: Any, depth: int) -> tuple[str, str] | None:
    if depth >= _DEEPEST:
        return "", f"more than {_DEEPEST} levels"
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(key, str) and not _is_unicode(key):
            return "", f"the name {key!a} holds a lone surrogate"
        found = fault(item, depth + 1)
        if found is not None:
            name = str(key).replace("~", "~0").replace("/", "~1")
            return f"/{name}{found[0]}", found[1]
    return None


def unwritable(value: Any, name: str, problem: str) -> InvalidCall:
    """The exception for a value that is not sent; ``pointer`` says which part of the value is meant."""
    place, why = fault(value) or ("", problem)
    where = f"{place}: " if place else ""
    if place and name.startswith(("the request", "the options", "the WebSocket")):
        from .wording import sentence

        where = sentence({"message": where}, {"pointer": place})
    return InvalidCall(f"{name} cannot be written as JSON: {where}{why}", data={"pointer": place} if place else None)


def explained(message: Any, params: Any) -> Any:
    """The reply that tells of a parse error, and can only name a byte of the call, with the name of the parameter."""
    found = fault(params)
    if found is None or not found[0]:
        return message
    place, why = found
    remedy = " (give a smaller one)" if "integer" in why else ""
    problem = {"code": -32602, "message": f"{place}: {why}{remedy}", "data": {"pointer": place}}
    return {**message, "error": problem}


def check_surrogates(value: Any, name: str) -> None:
    """Raises for a value with half of a surrogate pair: the service could only name a byte of its JSON text."""
    found = fault(value)
    if found is not None and "surrogate" in found[1]:
        raise unwritable(value, name, "")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
