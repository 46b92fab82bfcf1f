# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""``client.oauth`` of the awaiting client: credentials of OAuth 2, and functions of the program that serve them."""

from __future__ import annotations

import asyncio  # async

from .._connection.awaiting import AsyncConnection

# sync: import os
from .._protocol.arguments import present
from .._protocol.access import Named
from .._protocol.exceptions import OutriderError
from .._protocol.frames import encode, unpack
from .._protocol.hints import Any, Callable, Mapping
from .._resources.events import SUBSCRIBING, Functions
from .._resources.oauth import (
    ASKING, LOGIN, AccessToken, Asked, DeviceLogin, Locked, LoggedOut, Login, LoginFailed, creation, settings, tokens,
)
from .calls import AsyncCalls
from .variant import settled


class AsyncCredential(Named):
    """A credential that the service keeps::

        work = await client.oauth.create("work", token_url="https://login.example.com/token", client_id="app",
                                         token=tokens, origins="https://api.example.com")
        await client.get("https://api.example.com/me", auth=work)     # refreshed when it is due or refused
        token = await work.token()
        requests.get(url, headers=token.header)                       # for a library that sends its own requests
    """

    def __init__(self, client: AsyncCalls, name: str) -> None:
        super().__init__(name)
        self._client = client

    async def token(
        self, *, min_validity: float | None = None, refused: str | None = None, timeout: float | None = None
    ) -> AccessToken:
        """An access token that lasts ``min_validity`` seconds (default 60), refreshed if need be: once for all callers,
        in all programs. ``refused`` is a token that a server has just refused."""
        params = present(credential=self.name, minValidity=min_validity, refused=refused, timeout=timeout)
        return AccessToken(await self._client.invoke("oauth.token", params))

    async def refresh(self) -> dict[str, Any]:
        """Refreshes the token, even if the current token is still valid; returns the new state."""
        return await self._client.invoke("oauth.refresh", {"credential": self.name})

    async def info(self) -> dict[str, Any]:
        """Its state, in the words of ``oauth.get``."""
        return await self._client.invoke("oauth.get", {"credential": self.name})

    async def set(self, **given: Any) -> dict[str, Any]:
        """Changes settings or tokens; see ``oauth.set``."""
        return await self._client.invoke("oauth.set", {"credential": self.name, **settings(given)})

    async def delete(self, *, revoke: bool = False) -> None:
        """Deletes the credential; with ``revoke`` the tokens are revoked at the authorization server, too."""
        await self._client.invoke("oauth.delete", {"credential": self.name, "revoke": revoke})

    async def login(
        self, *, redirect: str | None = None, listen: Mapping[str, Any] | None = None,
        scope: str | list[str] | None = None, open: bool = False, **parameters: str,
    ) -> Login:
        """Starts a login in a browser; further keywords become parameters of the URL, such as ``prompt="consent"``::

            login = await work.login()
            webbrowser.open(login.url)
            await work.wait()

        With ``redirect=`` the result goes to that URI; pass the URL to :meth:`callback`. With ``open=True`` the service
        opens a browser."""
        params = present(
            credential=self.name, redirect=redirect, listen=None if listen is None else dict(listen), scope=scope,
            open=open or None, parameters=parameters or None,
        )  # fmt: skip
        return Login(await self._client.invoke("oauth.login", params))

    async def callback(self, url: str) -> dict[str, Any]:
        """Takes the address that the browser was sent back to; returns the state of the credential."""
        return await self._client.invoke("oauth.callback", {"credential": self.name, "url": url})

    async def device(self, *, scope: str | list[str] | None = None) -> DeviceLogin:
        """Begins to log in on another device."""
        return DeviceLogin(await self._client.invoke("oauth.device", present(credential=self.name, scope=scope)))

    async def wait(self, timeout: float = LOGIN) -> dict[str, Any]:
        """Waits until the login has succeeded; returns the state of the credential. Raises :class:`LoginFailed`, and
        ``TimeoutError`` after ``timeout`` seconds; the login goes on then."""
        params = {"credential": self.name, "timeout": timeout}
        result = await self._client.invoke("oauth.wait", params, timeout=timeout + 10)
        if result["pending"]:
            raise TimeoutError(f"login not completed within {timeout:g} s")
        if "error" in result:
            raise LoginFailed(result["error"])
        return dict(result["credential"])

    async def logout(self) -> dict[str, Any]:
        """Revokes its tokens if the server can, and forgets them; ``{"revoked": bool}``, and ``error`` if not."""
        return await self._client.invoke("oauth.revoke", {"credential": self.name})

    async def introspect(self) -> dict[str, Any]:
        """The state of the access token, from the authorization server."""
        return dict((await self._client.invoke("oauth.introspect", {"credential": self.name}))["answer"])


class AsyncCredentials:
    """The credentials of OAuth 2 that the service keeps: ``client.oauth``."""

    def __init__(self, client: AsyncCalls) -> None:
        self._client = client
        self._refreshers = Functions("credential")

    async def create(self, name: str | None = None, **given: Any) -> AsyncCredential:
        """Creates a credential, or changes the credential of that name; the keywords are the parameters of
        ``oauth.create``: ``grant`` (default ``refresh``), ``client_id``, ``client_secret``, ``token_url`` or
        ``issuer``, ``token``, ``origins``, ``scope``, ``hold``, ``refresh_window``, ``refresh_when``,
        ``on_refresh_failure``, ``persist`` …"""
        result = await self._client.invoke("oauth.create", creation(name, given))
        return AsyncCredential(self._client, str(result["credential"]))

    def get(self, name: str) -> AsyncCredential:
        """The credential of that name, without a call to the service."""
        return AsyncCredential(self._client, name)

    async def list(self) -> list[dict[str, Any]]:
        """All credentials, as in ``oauth.list``; while the store is locked, only the loaded credentials."""
        return [*(await self._client.invoke("oauth.list", {}))["credentials"]]

    async def discover(self, issuer: str | None = None, *, resource: str | None = None) -> dict[str, Any]:
        """The metadata of an authorization server (RFC 8414): of ``issuer``, or of the server that ``resource`` names
        (RFC 9728)."""
        if (issuer is None) == (resource is None):
            raise TypeError("give either an issuer or a resource")
        result = await self._client.invoke("oauth.discover", present(issuer=issuer, resource=resource))
        return dict(result["metadata"])

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
