# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What the awaiting drop-ins call: requests in a session of a drop-in, uploads, and the next bytes of a body."""

from __future__ import annotations

from .._async.client import AsyncClient
from .._async.feeding import feed
from .._protocol.exceptions import CallError
from .._protocol.hints import Any, AsyncIterable, Awaitable, Callable
from .._resources.feeding import LONGEST, PIECE, Patience
from .exchanges import WAIT, BodyState, Settings, abandoned, arrived, fed, headed, is_of_session

TYPE_CHECKING = False


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
    """Sends requests in the session of a drop-in, which both variants keep in their own way."""

    settings: Settings
    # sync: client: AsyncClient
    # sync: session: str | None
    if TYPE_CHECKING:

        @property  # async
        def client(self) -> AsyncClient: ...  # async
        @property  # async
        def session(self) -> str | None: ...  # async
        async def begin(self, last: str | None) -> str:
            """Makes the session of the drop-in, which opens as many connections to a host as the library would.

            Those that do so at the same time, after the same ``last`` session, agree on the first one.
            """
            ...

        def _abandon(self, client: AsyncClient, calls: list[tuple[str, dict[str, Any]]]) -> None:
            """Makes the calls that end an upload."""

    async def send(self, params: dict[str, Any]) -> dict[str, Any]:
        """The result of ``data.send``; raises when no head arrived."""
        return headed(await self._call("data.send", params), self.client)

    async def exchange(
        self, params: dict[str, Any], body: AsyncIterable[bytes] | None, length: int | None, write: float | None
    ) -> dict[str, Any]:
        """As :meth:`send`, or with a body in pieces as :meth:`upload`."""
        return await (self.send(params) if body is None else self.upload(params, body, length, write))

    async def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Calls in the session of this drop-in, unless the caller named another session."""
        invoke = self.client._invoke_raw
        if "session" in self.settings.members:
            return await invoke(method, params, timeout=LONGEST)
        session = params["session"] = self.session or await self.begin(None)
        try:
            return await invoke(method, params, timeout=LONGEST)
        except CallError as refused:
            if not is_of_session(refused):
                raise
        params["session"] = await self.begin(session)
        return await invoke(method, params, timeout=LONGEST)

    async def upload(
        self, params: dict[str, Any], body: AsyncIterable[bytes], length: int | None, write: float | None
    ) -> dict[str, Any]:
        """As :meth:`send`, with a body that is written during the upload."""
        client = self.client
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
            self._abandon(client, abandoned(stream, started))
            raise


async def _next_head(client: AsyncClient, started: dict[str, Any], wait: float) -> dict[str, Any] | None:
    params = {"request": started["request"], "wait": wait}
    return arrived(started, await client.invoke("events.next", params, timeout=LONGEST))
