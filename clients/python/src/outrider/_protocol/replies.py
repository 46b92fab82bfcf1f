# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Pure: the replies to callbacks. Loaded with the first callback."""

from __future__ import annotations

from .frames import encode
from .places import fault, unwritable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

METHOD_NOT_FOUND = -32601
CALLBACK_FAILED = -32021

_ROOM = 20
"""Levels that a reply may have beyond those of a parameter: little of the message is around it."""


def reply_frame(number: Any, result: Mapping[str, Any]) -> bytes:
    """The reply to a callback. Raises :class:`~outrider.InvalidCall` for values that the service could not read."""
    found = fault(result, -_ROOM)
    if found is not None:
        raise unwritable(result, "the answer", found[1])
    return f'{{"jsonrpc":"2.0","id":{encode(number)},"result":{encode(result, "the answer")}}}\n'.encode("ascii")


def refusal_frame(number: Any, code: int, message: str) -> bytes:
    """The reply to a callback that could not be served."""
    error = encode({"code": code, "message": message.encode(errors="backslashreplace").decode()})
    return f'{{"jsonrpc":"2.0","id":{encode(number)},"error":{error}}}\n'.encode("ascii")
