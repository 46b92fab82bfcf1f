# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The place where a connection delivers events and callbacks, and the replies to callbacks."""

from __future__ import annotations

from .._protocol.exceptions import OutriderError
from .._protocol.frames import encode
from .._protocol.hints import Any, Mapping

METHOD_NOT_FOUND = -32601
CALLBACK_FAILED = -32021

_ROOM = 20
"""Levels that a reply may have beyond those of a parameter: little of the message is around it."""


class Inbox:
    """Receives events and callbacks. The default inbox drops events and refuses callbacks; clients replace the inbox on
    demand."""

    def event(self, name: str, params: Any, connection: Any = None) -> None:
        """Takes an event of a connection. Must not block and must not call the service."""

    def callback(self, connection: Any, number: Any, name: str, params: Any) -> bool:
        """Takes a callback; false if no function replies. Must not block and must not call the service."""
        return False

    def is_inside(self) -> bool:
        """Whether this thread runs a function that the service has called."""
        return False

    def waiting(self) -> int:
        """How many callbacks wait for a thread, or run beside the thread of the functions."""
        return 0

    def unasked(self, connection: Any, message: Any) -> bytes:
        """Takes an event or a callback; returns the refusal of a callback that no function replies to."""
        name, params, number = message["method"], message.get("params"), message.get("id")
        if number is None:
            self.event(name, params, connection)
        elif not self.callback(connection, number, name, params):
            return refusal_frame(number, METHOD_NOT_FOUND, f"this client has no function for {name}")
        return b""

    def closed(self, problem: OutriderError | None = None, connection: Any = None) -> None:
        """A connection has ended."""


def reply_frame(number: Any, result: Mapping[str, Any]) -> bytes:
    """The reply to a callback. Raises :class:`~outrider.InvalidCall` for values that the service could not read."""
    from .._protocol.places import fault, unwritable

    found = fault(result, -_ROOM)
    if found is not None:
        raise unwritable(result, "the answer", found[1])
    return f'{{"jsonrpc":"2.0","id":{encode(number)},"result":{encode(result, "the answer")}}}\n'.encode("ascii")


def refusal_frame(number: Any, code: int, message: str) -> bytes:
    """The reply to a callback that could not be served."""
    error = encode({"code": code, "message": message.encode(errors="backslashreplace").decode()})
    return f'{{"jsonrpc":"2.0","id":{encode(number)},"error":{error}}}\n'.encode("ascii")
