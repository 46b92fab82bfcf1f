# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""``client.oauth`` of the blocking client: credentials, and functions of the program that serve them."""

from __future__ import annotations

import os
from contextlib import suppress

from .._protocol.exceptions import OutriderError
from .._protocol.frames import encode, unpack
from .._resources.oauth import ASKING, Locked, Refreshers, offer, passphrase_result
from .._resources.watching import SUBSCRIBING
from .credentials import CredentialStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._connection.blocking import Connection
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
        then the function is not called again before a new offer. After a restart of the service the next call of the
        client offers again."""
        if function is None:
            return lambda given: self.passphrase(given, timeout=timeout)
        asked, inbox = function, self._client._inbox()
        mine = _Offer(timeout)

        def reply(params: dict[str, Any]) -> dict[str, Any]:
            result = passphrase_result(asked(Locked(params)))
            if not result:
                inbox.unwatch(mine)
            return result

        self._client.on_callback("callback.passphrase", reply)
        self._client.invoke("oauth.offerPassphrase", offer(timeout))
        inbox.watches = [*[other for other in inbox.watches if not isinstance(other, _Offer)], mine]
        return function


class _Offer:
    """An offer of a passphrase, which the next connection repeats."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._pid = os.getpid()

    def renew(self, connection: Connection) -> None:
        """Offers on another connection, after the end of the last one."""
        if self._pid == os.getpid():
            with suppress(OutriderError):
                unpack(connection.call("oauth.offerPassphrase", encode(offer(self._timeout)), SUBSCRIBING))
