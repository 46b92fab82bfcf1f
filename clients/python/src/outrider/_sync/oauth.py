# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""``client.oauth`` of the blocking client: credentials, and functions of the program that serve them."""

from __future__ import annotations

from .._resources.oauth import ASKING, Locked, Refreshers, offer, passphrase_result
from .credentials import CredentialStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._resources.oauth import Asked
    from .caller import Caller
    from .credentials import Credential


class Credentials(CredentialStore):
    """Credentials of OAuth 2: ``client.oauth``."""

    def __init__(self, client: Caller) -> None:
        super().__init__(client)
        self._refreshers = Refreshers()

    def refresher(self, name: str | None = None, **given: Any) -> Callable[[Callable[[Asked], Any]], Credential]:
        """A credential whose tokens come from a function of this program; a decorator gives the credential::

            @client.oauth.refresher("work", origins="https://api.example.com")
            def work(asked):
                return fetch_token(), 3600

        The function returns an access token, a token and its seconds, or a mapping; called once for all waiting
        requests. Its exceptions are failures of the refresh; :class:`LoggedOut` says that only a person can help."""

        def made(function: Callable[[Asked], Any]) -> Credential:
            self._client._add_replier("callback.refresh", self._refreshers.functions, self._refreshers.reply)
            return self.create(name, grant="callback", callback=self._refreshers.add(function), **given)

        return made

    def passphrase(
        self, function: Callable[[Locked], str | None] | None = None, *, timeout: float = ASKING
    ) -> Any:
        """Lets the service call a function of this program for the passphrase of a locked store; as a decorator::

            @client.oauth.passphrase
            def ask(locked):
                return getpass.getpass(f"Passphrase of {locked.store}: ")

        The function is called once for all programs, and the store is open until the machine stops. ``None`` declines:
        then the function is not called again before a new offer."""
        if function is None:
            return lambda given: self.passphrase(given, timeout=timeout)
        asked = function
        self._client.on_callback("callback.passphrase", lambda params: passphrase_result(asked(Locked(params))))
        self._client.invoke("oauth.offerPassphrase", offer(timeout))
        return function
