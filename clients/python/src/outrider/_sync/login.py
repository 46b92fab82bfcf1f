# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Logging in to credentials of OAuth 2, for the blocking client."""

from __future__ import annotations

from .._resources.login import LOGIN, DeviceLogin, Login, beginning, device, ended

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .caller import Caller


class LoginCalls:
    """What logs a credential in and out."""

    name: str
    _client: Caller

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
