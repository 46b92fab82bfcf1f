# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Logging in to credentials of OAuth 2, for the awaiting client."""

from __future__ import annotations

from .._resources.login import LOGIN, DeviceLogin, Login, beginning, device, ended

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .caller import AsyncCaller


class AsyncLoginCalls:
    """As :class:`LoginCalls`, for :class:`~outrider.AsyncClient`."""

    name: str
    _client: AsyncCaller

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
