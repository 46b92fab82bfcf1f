# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What a resource needs of its client. Only type checkers load this, so that no resource imports a client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from .._connection.blocking import Connection
from .._protocol.options import Timeout
from .._protocol.parameters import Defaults
from .._resources.caller import Leaver
from .events import EventStream, Subscriptions
from .responses import Response


class Caller(Leaver, Protocol):
    """A client, as its sessions, streams, downloads and credentials know it."""

    _defaults: Defaults

    def invoke(
        self, name: str, params: Mapping[str, Any] | None = None, *, timeout: Timeout | None = None
    ) -> dict[str, Any]: ...

    def _send(self, method: str, url: str, options: Mapping[str, Any]) -> Response: ...

    def events(self, *names: str, timeout: float | None = None, limit: int = 1000) -> EventStream: ...

    def on_callback(self, name: str, function: Callable[[dict[str, Any]], Any]) -> Any: ...

    def _result(self, method: str, params: str, seconds: float) -> dict[str, Any]: ...

    def _live(self) -> Connection: ...

    def _inbox(self) -> Subscriptions: ...
