# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Credentials of OAuth 2, for the awaiting client: ``client.oauth``. Loaded on first use."""

from __future__ import annotations

import asyncio

from .._protocol.auth import Named
from .._resources.oauth import (
    ASKING,
    AccessToken,
    Asked,
    Locked,
    LoggedOut,
    Refreshers,
    creation,
    offer,
    passphrase_result,
    refreshed,
    settings,
    whose,
    wish,
)
from .login import AsyncLoginCalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .caller import AsyncCaller


class AsyncCredential(Named, AsyncLoginCalls):
    """As :class:`outrider.Credential`, for :class:`~outrider.AsyncClient`."""

    def __init__(self, client: AsyncCaller, name: str) -> None:
        super().__init__(name)
        self._client = client

    async def token(
        self, *, min_validity: float | None = None, refused: str | None = None, timeout: float | None = None
    ) -> AccessToken:
        """An access token; see :meth:`outrider.Credential.token`."""
        return AccessToken(await self._client.invoke("oauth.token", wish(self.name, min_validity, refused, timeout)))

    async def refresh(self) -> dict[str, Any]:
        """Refreshes it, whatever the token that is there is worth; how it stands then."""
        return await self._client.invoke("oauth.refresh", {"credential": self.name})

    async def info(self) -> dict[str, Any]:
        """How it stands, in the words of ``oauth.get``."""
        return await self._client.invoke("oauth.get", {"credential": self.name})

    async def set(self, **given: Any) -> dict[str, Any]:
        """Changes settings or tokens; see ``oauth.set``."""
        return await self._client.invoke("oauth.set", {"credential": self.name, **settings(given)})

    async def delete(self, *, revoke: bool = False) -> None:
        """Forgets it; with ``revoke`` the authorization server is told, too."""
        await self._client.invoke("oauth.delete", {"credential": self.name, "revoke": revoke})


class AsyncCredentials:
    """Credentials of OAuth 2: ``client.oauth``."""

    def __init__(self, client: AsyncCaller) -> None:
        self._client = client
        self._refreshers = Refreshers()

    async def create(self, name: str | None = None, **given: Any) -> AsyncCredential:
        """Makes a credential, or changes the one of that name; see :meth:`outrider._sync.oauth.Credentials.create`."""
        answer = await self._client.invoke("oauth.create", creation(name, given))
        return AsyncCredential(self._client, str(answer["credential"]))

    def get(self, name: str) -> AsyncCredential:
        """The credential of that name; nothing is asked yet."""
        return AsyncCredential(self._client, name)

    async def list(self) -> list[dict[str, Any]]:
        """All credentials, in the words of ``oauth.list``; those that the service knows, while the store is locked."""
        found: list[dict[str, Any]] = (await self._client.invoke("oauth.list", {}))["credentials"]
        return found

    async def discover(self, issuer: str | None = None, *, resource: str | None = None) -> dict[str, Any]:
        """What an authorization server says of itself; see :meth:`outrider._sync.oauth.Credentials.discover`."""
        found: dict[str, Any] = (await self._client.invoke("oauth.discover", whose(issuer, resource)))["metadata"]
        return found

    async def refresher(
        self, function: Callable[[Asked], Any], name: str | None = None, **given: Any
    ) -> AsyncCredential:
        """A credential whose tokens a function of this program gets, or a coroutine function; see
        :meth:`outrider._sync.oauth.Credentials.refresher`."""
        self._client.on_callback("callback.refresh", self._answer)
        return await self.create(name, grant="callback", callback=self._refreshers.add(function), **given)

    async def _answer(self, params: dict[str, Any]) -> dict[str, Any]:
        try:
            given = self._refreshers.find(params)(Asked(params))
            return refreshed(await given if asyncio.iscoroutine(given) else given)
        except LoggedOut as error:
            return {"error": str(error) or "the user has logged out", "final": True}

    async def passphrase(self, function: Callable[[Locked], Any], *, timeout: float = ASKING) -> None:
        """Has a function of this program, or a coroutine function, asked for the passphrase of the store; see
        :meth:`outrider._sync.oauth.Credentials.passphrase`."""

        async def answer(params: dict[str, Any]) -> dict[str, Any]:
            given = function(Locked(params))
            return passphrase_result(await given if asyncio.iscoroutine(given) else given)

        self._client.on_callback("callback.passphrase", answer)
        await self._client.invoke("oauth.offerPassphrase", offer(timeout))
