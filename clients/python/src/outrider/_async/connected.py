# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The connections of an awaiting client, a connection for each event loop."""

from __future__ import annotations

import asyncio
import os
import socket as sockets
from contextlib import asynccontextmanager

from .._connection.awaiting import CALLBACK_COMES, FEEDING, INSIDE, TURN, AsyncConnection
from .._connection.discovery import Address, end, reach
from .._connection.waiters import CALLED_BACK, REPLIED
from .._protocol.exceptions import ServerGone
from .._protocol.hints import Any, AsyncIterator, Sequence
from .events import AsyncClientInbox


class AsyncConnected(Address):
    """The address of the service, and the open connections, a connection for each event loop.

    A cancelled task cancels its request. A large body that the service keeps is read before the response is returned,
    unless ``body_to`` is given.
    """

    def __init__(
        self, socket: str | os.PathLike[str] | None, stdio: bool, command: Sequence[str] | None, spawn: bool
    ) -> None:
        super().__init__(socket, stdio, command, spawn)
        self._connections: dict[asyncio.AbstractEventLoop, AsyncConnection] = {}
        self._opening: dict[asyncio.AbstractEventLoop, asyncio.Task[AsyncConnection]] = {}
        # those to a service that is stopping
        self._retired: list[AsyncConnection] = []
        self._events = AsyncClientInbox()

    def _retire(self, connection: AsyncConnection) -> None:
        """The service takes no more calls, so the next call goes to the next service. Calls that run still end."""
        if self._child is None and self._connections.get(connection.loop) is connection:
            del self._connections[connection.loop]
            connection.queues = self._events._open()
            self._retired = [one for one in self._retired if one.dead is None] + [connection]

    @asynccontextmanager
    async def _turn(self, most: int = 1) -> AsyncIterator[int]:
        """Waits for a place for a request with functions, and gives the number of places: further ones are half of the
        free ones, at most. Functions themselves wait for none, nor does a task with a place."""
        turns = (await self._live()).turns
        if INSIDE.get() or TURN.get():
            yield min(most, CALLED_BACK)
            return
        async with turns:
            more = min(most - 1, turns._value // 2)
            turns._value -= more
            token = TURN.set(True)
            try:
                yield more + 1
            finally:
                TURN.reset(token)
                for _ in range(more):
                    turns.release()

    @asynccontextmanager
    async def _start_turn(self) -> AsyncIterator[None]:
        """Waits for a place for the start of a request with functions, which has the place until its first callback has
        come; callbacks without a reply have places, too."""
        connection = await self._live()
        turns, loop = connection.turns, connection.loop
        if INSIDE.get() or TURN.get():
            yield
            return
        await turns.acquire()
        try:
            deadline = loop.time() + REPLIED
            while self._events.replying(loop) > turns._value and connection.dead is None and loop.time() < deadline:
                await asyncio.sleep(0.005)
            yield
        finally:
            loop.call_later(CALLBACK_COMES, turns.release)

    @asynccontextmanager
    async def _feed(self) -> AsyncIterator[None]:
        """Waits for a place for a request whose body is written piece by piece. Functions, and requests that such a
        body makes, wait for none."""
        feeds = (await self._live()).feeds
        if INSIDE.get() or FEEDING.get():
            yield
            return
        async with feeds:
            token = FEEDING.set(True)
            try:
                yield
            finally:
                FEEDING.reset(token)

    def _here(self) -> AsyncConnection | None:
        """The live connection of this event loop and this process, if any."""
        connection = self._connections.get(asyncio.get_running_loop())
        return connection if connection is not None and connection.dead is None and self._pid == os.getpid() else None

    async def _live(self) -> AsyncConnection:
        # what belongs to a connection, such as a session, must not be named on the next one
        connection = self._here()
        if connection is not None and not connection.has_ended():
            return connection
        loop = asyncio.get_running_loop()
        opening = self._opening.get(loop)
        if opening is None:
            opening = self._opening[loop] = loop.create_task(self._open(loop))
            opening.add_done_callback(self._opened)
        return await asyncio.shield(opening)

    def _opened(self, task: asyncio.Task[AsyncConnection]) -> None:
        self._opening.pop(task.get_loop(), None)
        if not task.cancelled():
            task.exception()

    async def _open(self, loop: asyncio.AbstractEventLoop) -> AsyncConnection:
        self._expect_open()
        if self._pid != os.getpid():
            # those of the parent are left to it
            self._pid, self._child, self._connections, self._retired = os.getpid(), None, {}, []
            self._events.connections.clear()
            self._opening = {each: task for each, task in self._opening.items() if each is loop}
        for other in [other for other in list(self._connections) if other.is_closed()]:
            # another thread may open, too
            gone = self._connections.pop(other, None)
            if gone is not None:
                gone.drop()
                self._events.connections.discard(gone)
        if self._child is not None:
            raise self._elsewhere(loop)
        stream, name, child = await loop.run_in_executor(
            None, reach, self._socket, self._stdio, self._command, self._spawn
        )
        connection = AsyncConnection(loop, self._events, name)
        connection.socket = sockets.socket(fileno=stream.detach())
        try:
            self._expect_open()
            await loop.create_unix_connection(lambda: connection, sock=connection.socket)
            self._expect_open()
            if child is not None and self._child is not None:
                raise self._elsewhere(loop)
        except BaseException:
            connection.close()
            connection.drop()
            if child is not None:
                loop.run_in_executor(None, end, child)
            raise
        self._connections[loop], self._child = connection, child
        await self._events.renew(connection)
        return connection

    def _elsewhere(self, loop: asyncio.AbstractEventLoop) -> ServerGone:
        """Why there is no second connection to a service that this client started."""
        for other, connection in self._connections.copy().items():
            if other is not loop and connection.dead is None:
                return ServerGone("the service that this client started serves another event loop; make a client here")
        here = self._connections.get(loop)
        why = "its event loop is closed" if here is None else here.dead
        return ServerGone(f"the service that this client started has ended: {why}")

    def _expect_open(self) -> None:
        if self._closed:
            raise ServerGone("this client is closed")

    def _socket_path(self) -> str | None:
        """The path of the service's socket, for another connection; None on stdio."""
        connection = self._here()
        return None if self._stdio or self._command or connection is None else connection.name

    def _inbox(self) -> AsyncClientInbox:
        return self._events

    def _leave(self, calls: list[tuple[str, dict[str, Any]]]) -> None:
        """Makes calls for a resource that was dropped, without waiting for their results.

        The calls go to all connections: the handle belongs to a single connection, and the others do not know the
        handle.
        """
        if self._pid == os.getpid():
            for connection in list(self._connections.values()):
                connection.post(calls)

    async def close(self) -> None:
        """Ends its connections, and the service if this client started the service. Harmless when done twice."""
        self._closed = True
        connections, child = [*self._retired, *self._connections.values()], self._child
        self._retired, self._connections, self._child = [], {}, None
        if self._pid != os.getpid():
            return
        here = asyncio.get_running_loop()
        for connection in connections:
            connection.close() if connection.loop is here else connection.drop()
        await asyncio.sleep(0)
        if child is not None:
            await here.run_in_executor(None, end, child)
