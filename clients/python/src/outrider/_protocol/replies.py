# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Pure: the replies to callbacks. Loaded with the first callback."""

from __future__ import annotations

from .exceptions import InvalidCall
from .frames import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

METHOD_NOT_FOUND = -32601
CALLBACK_FAILED = -32021


def reply_frame(number: Any, result: Mapping[str, Any]) -> bytes:
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
    """The reply to a callback that could not be served."""
    error = encode({"code": code, "message": message.encode(errors="backslashreplace").decode()})
    return f'{{"jsonrpc":"2.0","id":{encode(number)},"error":{error}}}\n'.encode("ascii")
