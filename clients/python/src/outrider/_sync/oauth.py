# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Credentials of OAuth 2, for the blocking client: ``client.oauth``. Loaded on first use."""

from __future__ import annotations

from .._protocol.auth import Named
from .._resources.oauth import (
    ASKING,
    AccessToken,
    Locked,
    Refreshers,
    creation,
    offer,
    passphrase_result,
    settings,
    whose,
    wish,
)
from .login import LoginCalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._resources.oauth import Asked
    from .caller import Caller


# The blocking client


class Credential(Named, LoginCalls):
    """A credential that the service keeps::

        work = client.oauth.create("work", token_url="https://login.example.com/token", client_id="app",
                                   token=tokens, origins="https://api.example.com")
        client.get("https://api.example.com/me", auth=work)       # refreshed when it is due or refused
        requests.get(url, headers=work.token().header)            # for what sends its own requests
    """

    def __init__(self, client: Caller, name: str) -> None:
        super().__init__(name)
        self._client = client

    def token(
        self, *, min_validity: float | None = None, refused: str | None = None, timeout: float | None = None
    ) -> AccessToken:
        """An access token that lasts ``min_validity`` seconds (60 unless said), refreshed if need be: once for all that
        ask, in all programs. ``refused`` is one that a server has just refused."""
        return AccessToken(self._client.invoke("oauth.token", wish(self.name, min_validity, refused, timeout)))

    def refresh(self) -> dict[str, Any]:
        """Refreshes it, whatever the token that is there is worth; how it stands then."""
        return self._client.invoke("oauth.refresh", {"credential": self.name})

    def info(self) -> dict[str, Any]:
        """How it stands, in the words of ``oauth.get``."""
        return self._client.invoke("oauth.get", {"credential": self.name})

    def set(self, **given: Any) -> dict[str, Any]:
        """Changes settings or tokens; see ``oauth.set``."""
        return self._client.invoke("oauth.set", {"credential": self.name, **settings(given)})

    def delete(self, *, revoke: bool = False) -> None:
        """Forgets it; with ``revoke`` the authorization server is told, too."""
        self._client.invoke("oauth.delete", {"credential": self.name, "revoke": revoke})


class Credentials:
    """Credentials of OAuth 2: ``client.oauth``."""

    def __init__(self, client: Caller) -> None:
        self._client = client
        self._refreshers = Refreshers()

    def create(self, name: str | None = None, **given: Any) -> Credential:
        """Makes a credential, or changes the one of that name; the keywords are those of ``oauth.create``:
        ``grant`` (``refresh`` unless named), ``client_id``, ``client_secret``, ``token_url`` or ``issuer``, ``token``,
        ``origins``, ``scope``, ``hold``, ``refresh_window``, ``refresh_when``, ``on_refresh_failure``, ``persist`` …"""
        return Credential(self._client, str(self._client.invoke("oauth.create", creation(name, given))["credential"]))

    def get(self, name: str) -> Credential:
        """The credential of that name; nothing is asked yet."""
        return Credential(self._client, name)

    def list(self) -> list[dict[str, Any]]:
        """All credentials, in the words of ``oauth.list``; those that the service knows, while the store is locked."""
        found: list[dict[str, Any]] = self._client.invoke("oauth.list", {})["credentials"]
        return found

    def discover(self, issuer: str | None = None, *, resource: str | None = None) -> dict[str, Any]:
        """What an authorization server says of itself, in the words of RFC 8414: the one that is named, or the one that
        a resource names (RFC 9728)."""
        found: dict[str, Any] = self._client.invoke("oauth.discover", whose(issuer, resource))["metadata"]
        return found

    def refresher(self, name: str | None = None, **given: Any) -> Callable[[Callable[[Asked], Any]], Credential]:
        """A credential whose tokens a function of this program gets; as a decorator, which gives the credential::

            @client.oauth.refresher("work", origins="https://api.example.com")
            def work(asked):
                return fetch_token(), 3600

        The function returns an access token, a token and its seconds, or a mapping; it is asked once for all that wait.
        Its exceptions are told as failures of the refresh; :class:`LoggedOut` says that only a person can help."""

        def made(function: Callable[[Asked], Any]) -> Credential:
            self._client.on_callback("callback.refresh", self._refreshers.answer)
            return self.create(name, grant="callback", callback=self._refreshers.add(function), **given)

        return made

    def passphrase(
        self, function: Callable[[Locked], str | None] | None = None, *, timeout: float = ASKING
    ) -> Any:
        """Has a function of this program asked for the passphrase of the store, when it is locked; as a decorator::

            @client.oauth.passphrase
            def ask(locked):
                return getpass.getpass(f"Passphrase of {locked.store}: ")

        It is asked once for all programs, and the store is open until the machine stops. ``None`` declines: then it is
        not asked again before it is offered again."""
        if function is None:
            return lambda given: self.passphrase(given, timeout=timeout)
        asked = function
        self._client.on_callback("callback.passphrase", lambda params: passphrase_result(asked(Locked(params))))
        self._client.invoke("oauth.offerPassphrase", offer(timeout))
        return function
