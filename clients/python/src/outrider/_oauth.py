# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Credentials of OAuth 2: tokens that the service keeps, refreshes once for everybody, and sends where they may go.

Loaded when ``client.oauth`` is used.
"""

from __future__ import annotations

from itertools import count

from ._login import LoginCalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ._client import Client

_numbers = count(1).__next__


# What both clients build: nothing here is sent


def camel(name: str) -> str:
    """``token_url`` as the service says it: ``tokenUrl``."""
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def tokens(given: Any) -> dict[str, Any]:
    """Tokens in the words of the service.

    Taken are an access token as text, a token and the seconds that it lasts as a tuple, and a mapping: in the words of
    the service, or as authorization servers answer (``access_token``, ``expires_in``, …). ``expires_at`` may be seconds
    since 1970 or a ``datetime``.
    """
    if isinstance(given, str):
        return {"accessToken": given}
    if isinstance(given, tuple):
        token, seconds = given
        return {"accessToken": token, "expiresIn": seconds}
    if not hasattr(given, "items"):
        raise TypeError(f"a token must be a string, (token, seconds) or a mapping, not {type(given).__name__}")
    known = {"accessToken", "refreshToken", "tokenType", "expiresAt", "expiresIn", "scope"}
    said = {camel(name): value for name, value in given.items()}
    found = {name: value for name, value in said.items() if name in known and value is not None}
    if "expiresAt" in found:
        # both are there in what some libraries keep, and only this one still holds
        found.pop("expiresIn", None)
        found["expiresAt"] = moment(found["expiresAt"])
    return found


def moment(given: Any) -> str:
    """A time as the service wants it."""
    if isinstance(given, str):
        return given
    from datetime import datetime, timezone

    is_number = isinstance(given, (int, float))
    time = datetime.fromtimestamp(given, timezone.utc) if is_number else given.astimezone(timezone.utc)
    return str(time.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))


def settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of ``oauth.create`` and ``oauth.set``, without those that are ``None``."""
    params = {camel(name): value for name, value in given.items() if value is not None}
    if "token" in params:
        params["token"] = tokens(params["token"])
    if isinstance(params.get("origins"), str):
        params["origins"] = [params["origins"]]
    for name in ("refreshWindow", "refreshWhen"):
        if hasattr(params.get(name), "items"):
            params[name] = {camel(key): value for key, value in params[name].items()}
    return params


def creation(name: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of ``oauth.create``: the grant is ``refresh`` unless it is named."""
    return {"grant": "refresh", **({} if name is None else {"name": name}), **settings(given)}


def wish(
    credential: str, min_validity: float | None, refused: str | None, timeout: float | None
) -> dict[str, Any]:
    """The parameters of ``oauth.token``."""
    given = {"credential": credential, "minValidity": min_validity, "refused": refused, "timeout": timeout}
    return {name: value for name, value in given.items() if value is not None}


def whose(issuer: str | None, resource: str | None) -> dict[str, Any]:
    """The parameters of ``oauth.discover``."""
    if (issuer is None) == (resource is None):
        raise TypeError("give either an issuer or a resource")
    return {"issuer": issuer} if resource is None else {"resource": resource}


class Asked:
    """A token that is wanted: ``credential``, the ``scope`` it shall have, and the ``reason``: ``missing``,
    ``expired``, ``refused`` or ``asked``."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.credential: str = params["credential"]
        self.reason: str = params["reason"]
        self.scope: list[str] = params["scope"]
        self.expires_at: str | None = params.get("expiresAt")


class LoggedOut(Exception):
    """Raised by a function that refreshes: only a person can help, so that it need not be asked again."""


def refreshed(given: Any) -> dict[str, Any]:
    """What a function that refreshes has returned, for the service."""
    found = tokens(given)
    found.pop("refreshToken", None)
    return {"token": found}


class Refreshers:
    """The functions of one client that refresh, by the names under which the service asks for them."""

    def __init__(self) -> None:
        self.functions: dict[str, Callable[[Asked], Any]] = {}

    def add(self, function: Callable[[Asked], Any]) -> str:
        """Its name."""
        name = f"{getattr(function, '__name__', 'refresh')}#{_numbers()}"
        self.functions[name] = function
        return name

    def find(self, params: Mapping[str, Any]) -> Callable[[Asked], Any]:
        """The function that a question is for."""
        try:
            return self.functions[params["callback"]]
        except KeyError:
            raise LookupError(f"no credential has a function named {params.get('callback')!r}") from None

    def answer(self, params: dict[str, Any]) -> dict[str, Any]:
        """Asks the function."""
        try:
            return refreshed(self.find(params)(Asked(params)))
        except LoggedOut as error:
            return {"error": str(error) or "the user has logged out", "final": True}


class Locked:
    """The store of credentials is locked: ``store`` is its directory, ``failures`` counts wrong answers before."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.store: str = params["store"]
        self.failures: int = params["failures"]


def said(given: Any) -> dict[str, Any]:
    """What a function that knows the passphrase has returned, for the service: ``None`` and ``""`` decline."""
    if given is not None and not isinstance(given, str):
        raise TypeError(f"a passphrase must be a string or None, not {type(given).__name__}")
    return {"passphrase": given} if given else {}


def offer(timeout: float) -> dict[str, Any]:
    """The parameters of ``oauth.offerPassphrase``."""
    return {"callback": "passphrase", "timeout": timeout}


ASKING = 120.0
"""Seconds that a person has for a passphrase, unless said otherwise."""


class AccessToken(str):
    """An access token, with what is known of it: ``type``, ``expires_at`` (RFC 3339, or ``None``), ``scope``, and
    ``missing_scope``: what was asked for, and not granted. Not shown by ``repr``."""

    type: str
    expires_at: str | None
    scope: list[str] | None
    missing_scope: list[str]

    def __new__(cls, answer: Mapping[str, Any]) -> AccessToken:
        made = super().__new__(cls, answer["accessToken"])
        made.type = answer["tokenType"]
        made.expires_at = answer.get("expiresAt")
        made.scope = answer.get("scope")
        made.missing_scope = answer.get("missingScope", [])
        return made

    def __reduce__(self) -> Any:
        known = {"tokenType": self.type, "expiresAt": self.expires_at, "scope": self.scope}
        return AccessToken, ({"accessToken": str(self), "missingScope": self.missing_scope, **known},)

    def __repr__(self) -> str:
        return "<AccessToken>"

    @property
    def header(self) -> dict[str, str]:
        """The field for requests that something else sends."""
        return {"Authorization": f"{self.type} {self!s}"}


class Named:
    """A credential by its name; ``auth=`` of a request takes it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def items(self) -> Any:
        """``auth`` as the service takes it."""
        return {"oauth": self.name}.items()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


# The blocking client


class Credential(Named, LoginCalls):
    """A credential that the service keeps::

        work = client.oauth.create("work", token_url="https://login.example.com/token", client_id="app",
                                   token=tokens, origins="https://api.example.com")
        client.get("https://api.example.com/me", auth=work)       # refreshed when it is due or refused
        requests.get(url, headers=work.token().header)            # for what sends its own requests
    """

    def __init__(self, client: Client, name: str) -> None:
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

    def __init__(self, client: Client) -> None:
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
        self._client.on_callback("callback.passphrase", lambda params: said(asked(Locked(params))))
        self._client.invoke("oauth.offerPassphrase", offer(timeout))
        return function
