# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Calls to the service, which find the next service if no service has read them."""

from __future__ import annotations

import os
from asyncio import sleep  # async

# sync: from time import sleep
from .._connection.discovery import PAUSES
from .._connection.wire import Unsent
from .._protocol.arguments import is_stopping
from .._protocol.exceptions import OutriderError, ServerNotFound
from .._protocol.frames import HELLO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from subprocess import Popen
    from typing import Any

    from .._connection.awaiting import AsyncConnection


class AsyncCalls:
    """The address of the service, and calls on its connection."""

    def __init__(
        self, socket: str | os.PathLike[str] | None, stdio: bool, command: Sequence[str] | None, spawn: bool
    ) -> None:
        self._socket = None if socket is None else os.fspath(socket)
        self._command = None if command is None else list(command)
        self._stdio = stdio
        self._spawn = spawn
        self._child: Popen[bytes] | None = None
        self._pid = os.getpid()
        self._closed = False
        # the started requests that were dropped while they ran
        self._dropped: list[str] = []

    def __getstate__(self) -> Any:
        raise TypeError("a client cannot be copied or pickled: make one with the same arguments in each process")

    def _here(self) -> AsyncConnection | None:
        raise NotImplementedError

    async def _live(self) -> AsyncConnection:
        raise NotImplementedError

    def _retire(self, connection: AsyncConnection) -> None:
        raise NotImplementedError

    async def _say(self, method: str, params: str, seconds: float) -> Any:
        connection = self._here() or await self._live()
        try:
            message = await connection.call(method, params, seconds)
        except Unsent:
            connection, message = await self._again(lambda other: other.call(method, params, seconds))
        if type(message) is dict and is_stopping(message):
            self._retire(connection)
        return message

    async def _say_all(self, method: str, params: Sequence[str], window: int, seconds: float) -> list[Any]:
        connection = await self._live()
        if connection.greeting:
            # of a batch, a service that ends may have read a part: so first one call finds a service that answers
            try:
                await self._say("server.hello", HELLO, seconds)
            except (ServerNotFound, Unsent):
                raise
            except OutriderError as problem:
                return [problem] * len(params)
            connection = await self._live()
        try:
            replies = await connection.batch(method, params, window, seconds)
        except Unsent:
            connection, replies = await self._again(lambda other: other.batch(method, params, window, seconds))
        if any(type(one) is dict and is_stopping(one) for one in replies):
            self._retire(connection)
        return replies

    async def _again(self, work: Callable[[AsyncConnection], Awaitable[Any]]) -> tuple[AsyncConnection, Any]:
        """The same on the connection to the next service."""
        for pause in PAUSES:
            connection = await self._live()
            try:
                return connection, await work(connection)
            except Unsent:
                await sleep(pause)
        connection = await self._live()
        return connection, await work(connection)
