# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The awaiting half of the drop-ins."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from .._async.client import AsyncClient
from .._async.feeding import feed
from .._connection.awaiting import FEEDING
from .._protocol.exceptions import CallError
from .._resources.feeding import LONGEST, PIECE, Patience
from .bodies import WAIT, BodyState, abandoned, arrived, ending, headed, is_of_session
from .parameters import fed

if TYPE_CHECKING:
    from collections.abc import AsyncIterable

    from .._connection.awaiting import AsyncConnection
    from .parameters import Settings


class AsyncBody(BodyState):
    """The body of a response for code that awaits."""

    def __init__(
        self, client: AsyncClient, result: dict[str, Any], read: float | None, place: AsyncConnection
    ) -> None:
        self._place: AsyncConnection | None = place
        super().__init__(client, client.invoke, result, read)
        self._invoke_raw = client._invoke_raw

    async def next(self, size: int = PIECE) -> bytes:
        """The next bytes, at most ``size``; none at the end. Raises the failure of a body that ended early."""
        data = self.inline(size)
        while not data:
            call = self.call(size)
            if call is None:
                return b""
            method, params = call
            data = self.take(await self._invoke_raw(method, params, timeout=LONGEST))
        return data

    def _forget(self) -> None:
        super()._forget()
        place, self._place = self._place, None
        if place is not None:
            give_back(place)


def give_back(place: AsyncConnection) -> None:
    """Ends a place for a body; from any thread."""
    if place.loop is asyncio._get_running_loop():
        place.bodies.release()
    elif not place.loop.is_closed():
        place.loop.call_soon_threadsafe(place.bodies.release)


class AsyncLink:
    """An awaiting client of the service with the settings of a drop-in."""

    def __init__(self, settings: Settings, client: AsyncClient | None) -> None:
        self.settings = settings
        self.given = client
        self._made: AsyncClient | None = None
        # a session belongs to a connection, and there is one for each event loop
        self._sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, str] = WeakKeyDictionary()

    @property
    def client(self) -> AsyncClient:
        """The given client, or this drop-in's own client, made on first use."""
        if self.given is not None:
            return self.given
        made = self._made
        if made is None:
            self._made = made = AsyncClient(socket=self.settings.socket)
        return made

    async def place(self, pool: float | None) -> AsyncConnection:
        """Waits for a place for the body of a response, at most ``pool`` seconds; returns the connection that has it.

        Raises :class:`asyncio.TimeoutError`."""
        client = self.client
        connection = client._here() or await client._live()
        taking = connection.bodies.acquire()
        await (asyncio.wait_for(taking, pool) if connection.bodies.locked() else taking)
        return connection

    async def send(self, params: dict[str, Any]) -> dict[str, Any]:
        """The result of ``data.send``; raises when no head arrived."""
        return headed(await self._call("data.send", params), self.client)

    async def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Calls in the session of this drop-in, unless the caller named another session."""
        invoke = self.client.invoke
        if "session" in self.settings.members:
            return await invoke(method, params, timeout=LONGEST)
        session = self._sessions.get(asyncio.get_running_loop())
        session = params["session"] = session or await self._begin(None)
        try:
            return await invoke(method, params, timeout=LONGEST)
        except CallError as refused:
            if not is_of_session(refused):
                raise
        params["session"] = await self._begin(session)
        return await invoke(method, params, timeout=LONGEST)

    async def _begin(self, last: str | None) -> str:
        """A session that opens as many connections to a host as the library would.

        Tasks that make one at the same time, after the same ``last`` session, agree on the first one.
        """
        client, loop = self.client, asyncio.get_running_loop()
        result = await client.invoke("session.create", {"connectionsPerHost": self.settings.connections})
        made = str(result["session"])
        session = self._sessions.get(loop)
        if session == last or session is None:
            self._sessions[loop] = session = made
        else:
            client._leave(ending([made]))
        return session

    async def upload(
        self, params: dict[str, Any], body: AsyncIterable[bytes], length: int | None, write: float | None
    ) -> dict[str, Any]:
        """As :meth:`send`, with a body that is written during the upload."""
        client = self.client
        connection = client._here() or await client._live()
        if FEEDING.get():
            # made by the body of another upload, which keeps its place meanwhile
            return await self._upload(client, params, body, length, write)
        async with connection.uploads:
            token = FEEDING.set(True)
            try:
                return await self._upload(client, params, body, length, write)
            finally:
                FEEDING.reset(token)

    async def _upload(
        self,
        client: AsyncClient,
        params: dict[str, Any],
        body: AsyncIterable[bytes],
        length: int | None,
        write: float | None,
    ) -> dict[str, Any]:
        stream = str((await client.invoke("upload.open"))["stream"])
        fed(params, stream, length)
        started = None
        try:
            started = await self._call("data.start", params)
            request = started

            async def head() -> dict[str, Any] | None:
                return await _next_head(client, request, 0)

            result = await feed(client.invoke, stream, body, Patience(write), head)
            while result is None:
                result = await _next_head(client, started, WAIT)
            return headed(result, client)
        except BaseException:
            client._leave(abandoned(stream, started))
            raise

    async def close(self) -> None:
        """Closes the client of this drop-in's own. A later request makes a new client."""
        made, self._made = self._made, None
        sessions, self._sessions = dict(self._sessions), WeakKeyDictionary()
        if made is not None:
            await made.close()
        elif self.given is not None and sessions:
            self.given._leave(ending(sessions.values()))


async def _next_head(client: AsyncClient, started: dict[str, Any], wait: float) -> dict[str, Any] | None:
    params = {"request": started["request"], "wait": wait}
    return arrived(started, await client.invoke("events.next", params, timeout=LONGEST))
