# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""``client.oauth`` of the awaiting client: credentials, and functions of the program that serve them."""

from __future__ import annotations

import asyncio  # async

# sync: import os
from .._protocol.exceptions import OutriderError
from .._protocol.frames import encode, unpack
from .._resources.events import Functions
from .._resources.oauth import ASKING, Asked, Locked, LoggedOut, tokens
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
        self._refreshers = Functions("credential")

    # sync: def refresher(
    # sync:     self, name: str | None = None, **given: Any
    # sync: ) -> Callable[[Callable[[Asked], Any]], Credential]:
    # sync:     """A credential whose tokens come from a function of this program; a decorator gives the credential::
    # sync:
    # sync:         @client.oauth.refresher("work", origins="https://api.example.com")
    # sync:         def work(asked):
    # sync:             return fetch_token(), 3600
    # sync:
    # sync:     The function returns an access token, a token and its seconds, or a mapping; called once for all waiting
    # sync:     requests. Its exceptions are failures of the refresh; :class:`LoggedOut` says that only a person can
    # sync:     help."""
    # sync:     return lambda function: self._refresher(function, name, given)
    # sync:
    async def refresher(  # async
        self, function: Callable[[Asked], Any], name: str | None = None, **given: Any  # async
    ) -> AsyncCredential:  # async
        """As :meth:`outrider._sync.oauth.Credentials.refresher`; also for a coroutine function."""  # async
        return await self._refresher(function, name, given)  # async

    async def _refresher(
        self, function: Callable[[Asked], Any], name: str | None, given: dict[str, Any]
    ) -> AsyncCredential:
        self._client._add_replier("callback.refresh", self._refreshers.functions, self._reply)
        return await self.create(name, grant="callback", callback=self._refreshers.add(function), **given)

    async def _reply(self, params: dict[str, Any]) -> dict[str, Any]:
        try:
            found = tokens(await settled(self._refreshers.find(params)(Asked(params))))
        except LoggedOut as error:
            return {"error": str(error) or "the user has logged out", "final": True}
        found.pop("refreshToken", None)
        return {"token": found}

    # sync: def passphrase(
    # sync:     self, function: Callable[[Locked], str | None] | None = None, *, timeout: float = ASKING
    # sync: ) -> Any:
    # sync:     """Lets the service call a function of this program for the passphrase of a locked store; a decorator::
    # sync:
    # sync:         @client.oauth.passphrase
    # sync:         def ask(locked):
    # sync:             return getpass.getpass(f"Passphrase of {locked.store}: ")
    # sync:
    # sync:     The function is called once for all programs, and the store is open until the machine stops. ``None``
    # sync:     declines: then the function is not called again before a new offer. After a restart of the service the
    # sync:     next call of the client offers again."""
    # sync:     if function is None:
    # sync:         return lambda given: self.passphrase(given, timeout=timeout)
    async def passphrase(self, function: Callable[[Locked], Any], *, timeout: float = ASKING) -> None:  # async
        """As :meth:`outrider._sync.oauth.Credentials.passphrase`; also for a coroutine function."""  # async
        asked, inbox, mine = function, self._client._inbox(), _Offer(timeout)

        async def reply(params: dict[str, Any]) -> dict[str, Any]:
            given = await settled(asked(Locked(params)))
            if given is not None and not isinstance(given, str):
                raise TypeError(f"a passphrase must be a string or None, not {type(given).__name__}")
            if given:
                return {"passphrase": given}
            inbox.unwatch(mine)
            return {}

        self._client.on_callback("callback.passphrase", reply)
        await self._client.invoke("oauth.offerPassphrase", mine.params)
        inbox.watches = [*[other for other in inbox.watches if not isinstance(other, _Offer)], mine]
        # sync: return function


class _Offer:
    """An offer of a passphrase, which the next connection repeats: of its event loop, or of its process."""

    def __init__(self, timeout: float) -> None:
        self.params = {"callback": "passphrase", "timeout": timeout}
        self._loop = asyncio.get_running_loop()  # async
        # sync: self._pid = os.getpid()

    async def renew(self, connection: AsyncConnection) -> None:
        """Offers on another connection, after the end of the last one."""
        if self._loop is not connection.loop:  # async
        # sync: if self._pid != os.getpid():
            return
        try:
            unpack(await connection.call("oauth.offerPassphrase", encode(self.params), SUBSCRIBING))
        except OutriderError:
            pass
