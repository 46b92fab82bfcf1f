# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""``client.oauth`` of the awaiting client: credentials, and functions of the program that serve them."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from .._protocol.exceptions import OutriderError
from .._protocol.frames import encode, unpack
from .._resources.oauth import ASKING, Asked, Locked, LoggedOut, Refreshers, offer, passphrase_result, refreshed
from .._resources.watching import SUBSCRIBING
from .credentials import AsyncCredentialStore
from .variant import settled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._connection.awaiting import AsyncConnection
    from .caller import AsyncCaller
    from .credentials import AsyncCredential


class AsyncCredentials(AsyncCredentialStore):
    """Credentials of OAuth 2: ``client.oauth``."""

    def __init__(self, client: AsyncCaller) -> None:
        super().__init__(client)
        self._refreshers = Refreshers()

    async def refresher(
        self, function: Callable[[Asked], Any], name: str | None = None, **given: Any
    ) -> AsyncCredential:
        """A credential whose tokens come from a function of this program, or a coroutine function; see
        :meth:`outrider._sync.oauth.Credentials.refresher`."""
        self._client._add_replier("callback.refresh", self._refreshers.functions, self._reply)
        return await self.create(name, grant="callback", callback=self._refreshers.add(function), **given)

    async def _reply(self, params: dict[str, Any]) -> dict[str, Any]:
        try:
            return refreshed(await settled(self._refreshers.find(params)(Asked(params))))
        except LoggedOut as error:
            return {"error": str(error) or "the user has logged out", "final": True}

    async def passphrase(self, function: Callable[[Locked], Any], *, timeout: float = ASKING) -> None:
        """Lets the service call a function of this program, or a coroutine function, for the passphrase of the store;
        see :meth:`outrider._sync.oauth.Credentials.passphrase`."""

        inbox = self._client._inbox()
        mine = _Offer(timeout)

        async def reply(params: dict[str, Any]) -> dict[str, Any]:
            result = passphrase_result(await settled(function(Locked(params))))
            if not result:
                inbox.unwatch(mine)
            return result

        self._client.on_callback("callback.passphrase", reply)
        await self._client.invoke("oauth.offerPassphrase", offer(timeout))
        inbox.watches = [*[other for other in inbox.watches if not isinstance(other, _Offer)], mine]


class _Offer:
    """An offer of a passphrase, which the next connection of its event loop repeats."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()

    async def renew(self, connection: AsyncConnection) -> None:
        """Offers on another connection, after the end of the last one."""
        if self._loop is connection.loop:
            with suppress(OutriderError):
                unpack(await connection.call("oauth.offerPassphrase", encode(offer(self._timeout)), SUBSCRIBING))
