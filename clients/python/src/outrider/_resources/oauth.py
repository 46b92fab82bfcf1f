# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Credentials of OAuth 2: the parameters of their methods, access tokens, logins, and functions that refresh."""

from __future__ import annotations

from .._protocol.arguments import present
from .._protocol.exceptions import OutriderError
from .._protocol.hints import Any, Mapping
from .._protocol.parameters import camel as camel


def tokens(given: Any) -> dict[str, Any]:
    """Tokens in the form of the service.

    Accepts an access token as text, a token and its lifetime in seconds as a tuple, and a mapping: with the names of
    the service, or of authorization servers (``access_token``, ``expires_in``, …). ``expires_at`` may be seconds since
    1970 or a ``datetime``.
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
    if found.get("refreshToken") == "":
        del found["refreshToken"]
    if isinstance(lifetime := found.get("expiresIn"), str) and lifetime.isdecimal():
        found["expiresIn"] = int(lifetime)
    if "expiresAt" in found:
        # both are there in what some libraries keep, and only this one still holds
        found.pop("expiresIn", None)
        found["expiresAt"] = moment(found["expiresAt"])
    return found


def moment(given: Any) -> str:
    """A time in the form of the service."""
    if isinstance(given, str):
        return given
    from datetime import datetime, timezone

    is_number = isinstance(given, (int, float))
    time = datetime.fromtimestamp(given, timezone.utc) if is_number else given.astimezone(timezone.utc)
    return str(time.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))


def settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of ``oauth.create`` and ``oauth.set`` that are not ``None``."""
    params = {camel(name): value for name, value in present(**given).items()}
    if "token" in params:
        params["token"] = tokens(params["token"])
    if isinstance(params.get("origins"), str):
        params["origins"] = [params["origins"]]
    for name in ("refreshWindow", "refreshWhen"):
        if hasattr(params.get(name), "items"):
            params[name] = {camel(key): value for key, value in params[name].items()}
    return params


def creation(name: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of ``oauth.create``: the default grant is ``refresh``."""
    return {"grant": "refresh", **present(name=name), **settings(given)}


class Asked:
    """A request for a token: ``credential``, the requested ``scope``, and the ``reason``: ``missing``, ``expired``,
    ``refused`` or ``asked``."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.credential: str = params["credential"]
        self.reason: str = params["reason"]
        self.scope: list[str] = params["scope"]
        self.expires_at: str | None = params.get("expiresAt")


class LoggedOut(Exception):
    """Raised by a refresh function: only a person can help, so that the function is not called again."""


class Locked:
    """The store of credentials is locked: ``store`` is its directory, ``failures`` counts wrong answers before."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.store: str = params["store"]
        self.failures: int = params["failures"]


ASKING = 120.0
"""Seconds that a person has for a passphrase, unless said otherwise."""


class AccessToken(str):
    """An access token and its details: ``type``, ``expires_at`` (RFC 3339, or ``None``), ``scope``, and
    ``missing_scope``: the requested scope that was not granted. Not shown by ``repr``."""

    type: str
    expires_at: str | None
    scope: list[str] | None
    missing_scope: list[str]

    def __new__(cls, result: Mapping[str, Any]) -> AccessToken:
        made = super().__new__(cls, result["accessToken"])
        made.type = result["tokenType"]
        made.expires_at = result.get("expiresAt")
        made.scope = result.get("scope")
        made.missing_scope = result.get("missingScope", [])
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


LOGIN = 1900.0
"""Seconds after which waiting for a login is given up, unless said otherwise: codes of devices last half an hour."""


class LoginFailed(OutriderError):
    """A login that failed: ``reason`` is a word, such as ``access_denied``, ``state_mismatch`` or ``expired_token``;
    the text is a sentence for people."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error["message"], kind=error["kind"], reason=error["reason"])


class Login:
    """A login that has begun: open ``url`` in a browser, then wait for the end.

    With ``open=True``, ``opened`` says whether the service opened a browser, and ``open_error`` why not."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        self.url: str = result["url"]
        self.redirect: str = result["redirect"]
        self.state: str = result["state"]
        self.expires_in: float = result["expiresIn"]
        self.opened: bool | None = result.get("opened")
        error = result.get("openError")
        self.open_error: str | None = None if error is None else error["message"]

    def __repr__(self) -> str:
        return f"<Login {self.redirect}>"


class DeviceLogin:
    """A login on another device: show ``user_code`` and ``verification_uri``, then wait for the end."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        self.user_code: str = result["userCode"]
        self.verification_uri: str = result["verificationUri"]
        self.verification_uri_complete: str | None = result.get("verificationUriComplete")
        self.expires_in: float = result["expiresIn"]

    def __repr__(self) -> str:
        return f"<DeviceLogin {self.user_code} at {self.verification_uri}>"
