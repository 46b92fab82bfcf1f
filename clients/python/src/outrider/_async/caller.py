# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The interface of a client that its resources use. Only type checkers load this, so no resource imports a client."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import AbstractAsyncContextManager  # async
from typing import Any, Protocol

from typing_extensions import Unpack

from .._connection.awaiting import AsyncConnection
# sync: from .._connection.waiters import Turn
from .._protocol.exceptions import OutriderError
from .._protocol.options import Item, Options, Timeout
from .._protocol.parameters import Defaults
from .._resources.caller import Leaver
from .events import AsyncClientInbox, AsyncEventStream
from .responses import AsyncResponse


class AsyncCaller(Leaver, Protocol):
    """The interface of a client for its sessions, streams, downloads and credentials."""

    _closed: bool
    _dropped: list[str]
    _defaults: Defaults

    async def invoke(
        self, name: str, params: Mapping[str, Any] | None = None, *, timeout: Timeout | None = None
    ) -> dict[str, Any]: ...

    def events(self, *names: str, timeout: float | None = None, limit: int = 1000) -> AsyncEventStream: ...

    def on_callback(self, name: str, function: Callable[[dict[str, Any]], Any]) -> Any: ...

    def _add_replier(
        self, name: str, functions: Container[str], replier: Callable[[dict[str, Any]], Any]
    ) -> None: ...

    async def many(
        self, requests: Iterable[Item], *, window: int = 64, **options: Unpack[Options]
    ) -> list[AsyncResponse | OutriderError]: ...

    async def start(self, method: str, url: str, **options: Unpack[Options]) -> Any: ...

    async def wait(
        self, request: Any, *, timeout: float | None = None, check: bool | None = None
    ) -> AsyncResponse | None: ...

    async def _send(self, method: str, url: str, options: Mapping[str, Any]) -> AsyncResponse: ...

    async def _result(self, method: str, params: str, seconds: float) -> dict[str, Any]: ...

    async def _live(self) -> AsyncConnection: ...

    def _turn(self, most: int = 1) -> AbstractAsyncContextManager[int]: ...  # async
    # sync: def _turn(self, most: int = 1) -> Turn: ...

    def _start_turn(self) -> AbstractAsyncContextManager[None]: ...  # async
    # sync: def _start_turn(self) -> Turn: ...

    def _feed(self) -> AbstractAsyncContextManager[None]: ...  # async
    # sync: def _feed(self) -> Turn: ...

    def _inbox(self) -> AsyncClientInbox: ...

    def _socket_path(self) -> str | None: ...
