# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Logging in to credentials of OAuth 2: by a browser, by a pasted address, on another device.

Loaded with ``client.oauth``.
"""

from __future__ import annotations

from ._exceptions import OutriderError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ._async_client import AsyncClient
    from ._client import Client

LOGIN = 1900.0
"""Seconds after which waiting for a login is given up, unless said otherwise: codes of devices last half an hour."""


# What both clients build: nothing here is sent


def beginning(
    credential: str, redirect: str | None, listen: Mapping[str, Any] | None, scope: str | list[str] | None,
    parameters: Mapping[str, str], opens: bool = False,
) -> dict[str, Any]:
    """The parameters of ``oauth.login``."""
    given = {"redirect": redirect, "listen": None if listen is None else dict(listen), "scope": scope,
             "open": True if opens else None}
    found = {name: value for name, value in given.items() if value is not None}
    return {"credential": credential, **found, **({"parameters": dict(parameters)} if parameters else {})}


def device(credential: str, scope: str | list[str] | None) -> dict[str, Any]:
    """The parameters of ``oauth.device``."""
    return {"credential": credential, **({} if scope is None else {"scope": scope})}


def ended(answer: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """How the credential stands after a login; raises :class:`LoginFailed`, or ``TimeoutError``."""
    if answer["pending"]:
        raise TimeoutError(f"nobody has logged in within {seconds:g} s")
    if "error" in answer:
        raise LoginFailed(answer["error"])
    credential: dict[str, Any] = answer["credential"]
    return credential


class LoginFailed(OutriderError):
    """A login that did not succeed: ``reason`` is one word, such as ``access_denied``, ``state_mismatch`` or
    ``expired_token``; the text is a sentence for people."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error["message"], kind=error["kind"], reason=error["reason"])


class Login:
    """A login that has begun: open ``url`` in a browser, then wait for it.

    If the service was to open one, ``opened`` says whether it did, and ``open_error`` why not."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self.url: str = answer["url"]
        self.redirect: str = answer["redirect"]
        self.state: str = answer["state"]
        self.expires_in: float = answer["expiresIn"]
        self.opened: bool | None = answer.get("opened")
        error = answer.get("openError")
        self.open_error: str | None = None if error is None else error["message"]

    def __repr__(self) -> str:
        return f"<Login {self.redirect}>"


class DeviceLogin:
    """A login on another device: show ``user_code`` and ``verification_uri``, then wait for it."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self.user_code: str = answer["userCode"]
        self.verification_uri: str = answer["verificationUri"]
        self.verification_uri_complete: str | None = answer.get("verificationUriComplete")
        self.expires_in: float = answer["expiresIn"]

    def __repr__(self) -> str:
        return f"<DeviceLogin {self.user_code} at {self.verification_uri}>"


# The blocking client


class LoginCalls:
    """What logs a credential in and out."""

    name: str
    _client: Client

    def login(
        self, *, redirect: str | None = None, listen: Mapping[str, Any] | None = None,
        scope: str | list[str] | None = None, open: bool = False, **parameters: str,
    ) -> Login:
        """Begins to log in by a browser; further keywords become parameters of the URL, such as ``prompt="consent"``::

            login = work.login()
            webbrowser.open(login.url)
            work.wait()

        With ``redirect=`` the answer comes to that URI, and :meth:`callback` brings it; with ``open=True`` the service
        opens a browser."""
        params = beginning(self.name, redirect, listen, scope, parameters, open)
        return Login(self._client.invoke("oauth.login", params))

    def callback(self, url: str) -> dict[str, Any]:
        """The address that the browser was sent back to; how the credential stands then."""
        return self._client.invoke("oauth.callback", {"credential": self.name, "url": url})

    def device(self, *, scope: str | list[str] | None = None) -> DeviceLogin:
        """Begins to log in on another device."""
        return DeviceLogin(self._client.invoke("oauth.device", device(self.name, scope)))

    def wait(self, timeout: float = LOGIN) -> dict[str, Any]:
        """Waits until the login has succeeded; how the credential stands then. Raises :class:`LoginFailed`, and
        ``TimeoutError`` after ``timeout`` seconds; the login goes on then."""
        params = {"credential": self.name, "timeout": timeout}
        return ended(self._client.invoke("oauth.wait", params, timeout=timeout + 10), timeout)

    def logout(self) -> dict[str, Any]:
        """Revokes its tokens where the server can, and forgets them; ``{"revoked": bool}``, and ``error`` if not."""
        return self._client.invoke("oauth.revoke", {"credential": self.name})

    def introspect(self) -> dict[str, Any]:
        """What the server says of the access token."""
        found: dict[str, Any] = self._client.invoke("oauth.introspect", {"credential": self.name})["answer"]
        return found


# The awaiting client


class AsyncLoginCalls:
    """As :class:`LoginCalls`, for :class:`~outrider.AsyncClient`."""

    name: str
    _client: AsyncClient

    async def login(
        self, *, redirect: str | None = None, listen: Mapping[str, Any] | None = None,
        scope: str | list[str] | None = None, open: bool = False, **parameters: str,
    ) -> Login:
        """Begins to log in by a browser; see :meth:`LoginCalls.login`."""
        params = beginning(self.name, redirect, listen, scope, parameters, open)
        return Login(await self._client.invoke("oauth.login", params))

    async def callback(self, url: str) -> dict[str, Any]:
        """The address that the browser was sent back to; how the credential stands then."""
        return await self._client.invoke("oauth.callback", {"credential": self.name, "url": url})

    async def device(self, *, scope: str | list[str] | None = None) -> DeviceLogin:
        """Begins to log in on another device."""
        return DeviceLogin(await self._client.invoke("oauth.device", device(self.name, scope)))

    async def wait(self, timeout: float = LOGIN) -> dict[str, Any]:
        """Waits until the login has succeeded; see :meth:`LoginCalls.wait`."""
        params = {"credential": self.name, "timeout": timeout}
        return ended(await self._client.invoke("oauth.wait", params, timeout=timeout + 10), timeout)

    async def logout(self) -> dict[str, Any]:
        """Revokes its tokens where the server can, and forgets them."""
        return await self._client.invoke("oauth.revoke", {"credential": self.name})

    async def introspect(self) -> dict[str, Any]:
        """What the server says of the access token."""
        found: dict[str, Any] = (await self._client.invoke("oauth.introspect", {"credential": self.name}))["answer"]
        return found
