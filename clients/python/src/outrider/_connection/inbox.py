# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The place where a connection delivers events and callbacks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._protocol.exceptions import OutriderError


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

    def unasked(self, connection: Any, message: Any) -> bytes:
        """Takes an event or a callback; returns the refusal of a callback that no function replies to."""
        name, params, number = message["method"], message.get("params"), message.get("id")
        if number is None:
            self.event(name, params, connection)
        elif not self.callback(connection, number, name, params):
            from .._protocol.replies import METHOD_NOT_FOUND, refusal_frame

            return refusal_frame(number, METHOD_NOT_FOUND, f"this client has no function for {name}")
        return b""

    def closed(self, problem: OutriderError | None = None, connection: Any = None) -> None:
        """A connection has ended."""
