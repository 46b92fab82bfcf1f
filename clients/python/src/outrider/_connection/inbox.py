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

    def closed(self, problem: OutriderError | None = None, connection: Any = None) -> None:
        """A connection has ended."""
