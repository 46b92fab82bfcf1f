# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What the awaiting drop-ins call: requests in a session of a drop-in, uploads, and the next bytes of a body."""

from __future__ import annotations

from .._async.client import AsyncClient
from .._async.feeding import AsyncFeeder, feed
from .._async.sessions import AsyncSession
from .._protocol.exceptions import HandleError
from .._protocol.hints import Any, AsyncIterable, Awaitable, Callable
from .._resources.feeding import LONGEST, PIECE, Patience
from .exchanges import WAIT, BodyState, Settings, abandoned, arrived, fed, headed

TYPE_CHECKING = False  # async


class AsyncReader(BodyState):
    """A body that is read piece by piece."""

    _invoke_raw: Callable[..., Awaitable[dict[str, Any]]]

    async def next(self, size: int = PIECE) -> bytes:
        """The next bytes, at most ``size``; none at the end. Raises the failure of a body that ended early."""
        data = self.inline(size)
        while not data:
            call = self.call()
            if call is None:
                return b""
            method, params = call
            data = self.take(await self._invoke_raw(method, params, timeout=LONGEST))
            if len(data) > size:
                # libraries ask for single bytes, too, and a call costs more than a piece
                data, self._first = data[:size], memoryview(data)[size:]
        return data


class AsyncSender:
    """Sends requests in the session of a drop-in."""

    settings: Settings
    _session: AsyncSession | None = None
    # sync: client: AsyncClient
    if TYPE_CHECKING:  # async
        @property  # async
        def client(self) -> AsyncClient: ...  # async

    async def exchange(
        self, params: dict[str, Any], body: AsyncIterable[bytes] | None, length: int | None, write: float | None
    ) -> dict[str, Any]:
        """The result of ``data.send``, or of an upload of a body in pieces; raises when no head arrived."""
        if body is not None:
            return await self.upload(params, body, length, write)
        return headed(await self._call("data.send", params), self.client)

    def _own(self) -> AsyncSession:
        """The session of the drop-in, which opens as many connections to a host as the library would."""
        made = self.client.session(connections_per_host=self.settings.connections)
        # one for all threads
        session: AsyncSession = self.__dict__.setdefault("_session", made)
        return session

    async def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Calls in the session of this drop-in, unless the caller named another session."""
        invoke = self.client._invoke_raw
        if "session" in self.settings.members:
            return await invoke(method, params, timeout=LONGEST)
        session = self._session or self._own()
        params["session"] = session._known() or await session._handle()
        try:
            return await invoke(method, params, timeout=LONGEST)
        except HandleError as refused:
            if refused.pointer != "/session":
                raise
        session._lose(params["session"])
        params["session"] = await session._handle()
        return await invoke(method, params, timeout=LONGEST)

    async def upload(
        self, params: dict[str, Any], body: AsyncIterable[bytes], length: int | None, write: float | None
    ) -> dict[str, Any]:
        """As :meth:`exchange`, with a body that is written during the upload."""
        client = self.client
        stream = str((await client.invoke("upload.open"))["stream"])
        fed(params, stream, length)
        feeder, started = AsyncFeeder(client, stream), None
        try:
            started = await self._call("data.start", params)
            request = started

            async def head() -> dict[str, Any] | None:
                return await _next_head(client, request, 0)

            result = await feed(feeder, body, Patience(write), head)
            if result is None:
                feeder.close()
            while result is None:
                result = await _next_head(client, started, WAIT)
            return headed({**result, "feeder": feeder}, client)
        except BaseException:
            feeder.close()
            client._leave(abandoned(stream, started))
            raise


async def _next_head(client: AsyncClient, started: dict[str, Any], wait: float) -> dict[str, Any] | None:
    params = {"request": started["request"], "wait": wait}
    return arrived(started, await client.invoke("events.next", params, timeout=LONGEST))
