# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Credentials of OAuth 2, for the awaiting client. Loaded with ``client.oauth``."""

from __future__ import annotations

from .._protocol.arguments import present
from .._protocol.auth import Named
from .._resources.login import LOGIN, DeviceLogin, Login, LoginFailed
from .._resources.oauth import AccessToken, creation, settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .caller import AsyncCaller


class AsyncCredential(Named):
    """A credential that the service keeps::

        work = await client.oauth.create("work", token_url="https://login.example.com/token", client_id="app",
                                         token=tokens, origins="https://api.example.com")
        await client.get("https://api.example.com/me", auth=work)     # refreshed when it is due or refused
        token = await work.token()
        requests.get(url, headers=token.header)                       # for a library that sends its own requests
    """

    def __init__(self, client: AsyncCaller, name: str) -> None:
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
        credential: dict[str, Any] = result["credential"]
        return credential

    async def logout(self) -> dict[str, Any]:
        """Revokes its tokens if the server can, and forgets them; ``{"revoked": bool}``, and ``error`` if not."""
        return await self._client.invoke("oauth.revoke", {"credential": self.name})

    async def introspect(self) -> dict[str, Any]:
        """The state of the access token, from the authorization server."""
        result = await self._client.invoke("oauth.introspect", {"credential": self.name})
        found: dict[str, Any] = result["answer"]
        return found


class AsyncCredentialStore:
    """The credentials of OAuth 2 that the service keeps."""

    def __init__(self, client: AsyncCaller) -> None:
        self._client = client

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
        result = await self._client.invoke("oauth.list", {})
        found: list[dict[str, Any]] = result["credentials"]
        return found

    async def discover(self, issuer: str | None = None, *, resource: str | None = None) -> dict[str, Any]:
        """The metadata of an authorization server (RFC 8414): of ``issuer``, or of the server that ``resource`` names
        (RFC 9728)."""
        if (issuer is None) == (resource is None):
            raise TypeError("give either an issuer or a resource")
        result = await self._client.invoke("oauth.discover", present(issuer=issuer, resource=resource))
        found: dict[str, Any] = result["metadata"]
        return found
