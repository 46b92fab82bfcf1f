# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The awaiting half of the drop-ins."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

from .._async.client import AsyncClient
from .._connection.awaiting import FEEDING, AsyncConnection
from .._protocol.hints import Any, AsyncIterable, AsyncIterator
from .async_calls import AsyncReader, AsyncSender
from .exchanges import Full, Settings


class AsyncBody(AsyncReader):
    """The body of a response for code that awaits."""

    def __init__(self, client: AsyncClient, result: dict[str, Any], read: float | None, place: AsyncConnection) -> None:
        self._place: AsyncConnection | None = place
        super().__init__(client, client.invoke, result, read)
        self._invoke_raw = client._invoke_raw

    def _drop(self) -> None:
        super()._drop()
        place, self._place = self._place, None
        if place is not None:
            give_back(place)


def give_back(place: AsyncConnection) -> None:
    """Ends a place for a body; from any thread."""
    if place.loop is asyncio._get_running_loop():
        place.bodies.release()
    elif not place.loop.is_closed():
        place.loop.call_soon_threadsafe(place.bodies.release)


class AsyncLink(AsyncSender):
    """An awaiting client of the service with the settings of a drop-in."""

    def __init__(self, settings: Settings, client: AsyncClient | None) -> None:
        self.settings = settings
        self.given = client
        self._made: AsyncClient | None = None

    @property
    def client(self) -> AsyncClient:
        """The given client, or this drop-in's own client, made on first use."""
        if self.given is not None:
            return self.given
        made = self._made
        if made is None:
            self._made = made = AsyncClient(socket=self.settings.socket)
        return made

    @asynccontextmanager
    async def place(self, pool: float | None) -> AsyncIterator[AsyncConnection]:
        """Waits for a place for the body of a response, at most ``pool`` seconds; gives the connection that has it. The
        body ends the place, or a failure before the body."""
        client = self.client
        connection = client._here() or await client._live()
        taking = connection.bodies.acquire()
        try:
            await (asyncio.wait_for(taking, pool) if connection.bodies.locked() else taking)
        except asyncio.TimeoutError:
            raise Full(pool or 0.0) from None
        try:
            yield connection
        except BaseException:
            give_back(connection)
            raise

    async def upload(
        self, params: dict[str, Any], body: AsyncIterable[bytes], length: int | None, write: float | None
    ) -> dict[str, Any]:
        """As :meth:`exchange`, with a body that is written during the upload."""
        client = self.client
        connection = client._here() or await client._live()
        if FEEDING.get():
            # made by the body of another upload, which keeps its place meanwhile
            return await super().upload(params, body, length, write)
        async with connection.uploads:
            token = FEEDING.set(True)
            try:
                return await super().upload(params, body, length, write)
            finally:
                FEEDING.reset(token)

    async def close(self) -> None:
        """Closes the client of this drop-in's own. A later request makes a new client."""
        made, self._made = self._made, None
        session = self.__dict__.pop("_session", None)
        if session is not None:
            # requests that are under way still end well, and their exceptions may hold the session for long
            session._drop()
        if made is not None:
            await made.close()
