# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Sessions of the awaiting client; see ``_sessions``. Their functions may be coroutine functions."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .._resources.sessions import KINDS, Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Unpack

    from .._protocol.options import Options
    from .._resources.sessions import Codes
    from .caller import AsyncCaller
    from .responses import AsyncResponse


class AsyncSession:
    """As :class:`outrider.Session`, for :class:`~outrider.AsyncClient`. Functions run in the event loop."""

    def __init__(self, client: AsyncCaller, codes: Codes, settings: Mapping[str, Any]) -> None:
        self._client = client
        self._plan = Plan(codes, settings)
        self._made: tuple[Any, str, int] | None = None
        self._making = asyncio.Lock()

    def adapter(self, function: Any = None, *, timeout: float | None = None, once: bool = False) -> Any:
        """Asks the function before each attempt; see :meth:`outrider.Session.adapter`."""
        return self._added("adapt", function, timeout=timeout, once=once)

    def retrier(self, function: Any = None, *, timeout: float | None = None, once: bool = False) -> Any:
        """Asks the function after each failure; see :meth:`outrider.Session.retrier`."""
        return self._added("retry", function, timeout=timeout, once=once)

    def validator(self, function: Any = None, *, timeout: float | None = None) -> Any:
        """Asks the function about each response; see :meth:`outrider.Session.validator`."""
        return self._added("validate", function, timeout=timeout)

    def serializer(self, function: Any = None, *, timeout: float | None = None) -> Any:
        """Asks the function what each body says; see :meth:`outrider.Session.serializer`."""
        return self._added("serialize", function, timeout=timeout)

    def redirector(self, function: Any = None, *, timeout: float | None = None) -> Any:
        """Asks the function about each redirect; see :meth:`outrider.Session.redirector`."""
        return self._added("redirect", function, timeout=timeout)

    def challenge(self, function: Any = None, *, timeout: float | None = None) -> Any:
        """Asks the function for a user name and a password; see :meth:`outrider.Session.challenge`."""
        return self._added("challenge", function, timeout=timeout)

    def _added(self, kind: str, function: Any, **options: Any) -> Any:
        if function is None:
            return lambda given: self._added(kind, given, **options)
        shape, say = KINDS[kind]

        async def answer(params: dict[str, Any]) -> dict[str, Any]:
            asked = shape(params)
            given = self._plan.codes.find(params)(asked)
            if asyncio.iscoroutine(given):
                given = await given
            return say(asked, given)

        self._client.on_callback(f"callback.{kind}", answer)
        return self._plan.add(kind, function, options)

    async def handle(self) -> str:
        """The service's handle for it; made when first needed, and again when the connection is another one."""
        async with self._making:
            connection = await self._client._live()
            made, wanted = self._made, len(self._plan.interceptors)
            if made is None or made[0] is not connection:
                handle = str((await self._client.invoke("session.create", self._plan.params()))["session"])
                self._made = made = (connection, handle, wanted)
            elif made[2] != wanted:
                changes = {"session": made[1], "interceptors": self._plan.interceptors}
                await self._client.invoke("session.update", changes)
                self._made = made = (connection, made[1], wanted)
            return made[1]

    async def request(self, method: str, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends a request of this session; options as for :meth:`outrider.Client.get`."""
        own = self._plan.options(await self.handle(), options, self._client._defaults)
        return await self._client._send(method, url, own)

    async def get(self, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends a GET request of this session."""
        return await self.request("GET", url, **options)

    async def head(self, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends a HEAD request of this session."""
        return await self.request("HEAD", url, **options)

    async def post(self, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends a POST request of this session."""
        return await self.request("POST", url, **options)

    async def put(self, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends a PUT request of this session."""
        return await self.request("PUT", url, **options)

    async def patch(self, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends a PATCH request of this session."""
        return await self.request("PATCH", url, **options)

    async def delete(self, url: str, **options: Unpack[Options]) -> AsyncResponse:
        """Sends a DELETE request of this session."""
        return await self.request("DELETE", url, **options)

    async def cancel_all(self) -> int:
        """Cancels all its requests, and waits until they are over; how many there were."""
        handle = await self.handle()
        return int((await self._client.invoke("session.cancelAll", {"session": handle}))["cancelled"])

    async def close(self) -> None:
        """Ends it in the service; requests that run end with :class:`~outrider.Cancelled`."""
        if self._made is not None:
            made, self._made = self._made, None
            await self._client.invoke("session.close", {"session": made[1]})

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
