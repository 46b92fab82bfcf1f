# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Whether a way leads out of this machine, or to a host. Loaded when a program asks."""

from __future__ import annotations

from .._protocol.arguments import present
from .._resources.sockets import Reachability
from .ends import end_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from .caller import AsyncCaller


class AsyncReachabilities:
    """``await client.reachability(host="example.org")`` returns the present state, ``client.reachability.watch()`` each
    change.

    Nothing is sent, unless ``probe="connect"`` opens and closes a connection to ``url``. Do not ask before each
    request: send the request, and look at its failure.
    """

    def __init__(self, client: AsyncCaller) -> None:
        self._client = client

    async def __call__(
        self, url: str | None = None, *, host: str | None = None, probe: str | None = None
    ) -> Reachability:
        """The present state."""
        return Reachability(await self._client.invoke("reachability.status", present(url=url, host=host, probe=probe)))

    async def watch(
        self, url: str | None = None, *, host: str | None = None, probe: str | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[Reachability]:
        """The present state, then each change; ends when there is none for ``timeout`` seconds."""
        events = self._client.events("event.reachability", timeout=timeout)
        try:
            first = await self._client.invoke("reachability.watch", present(url=url, host=host, probe=probe))
        except BaseException:
            events.close()
            raise
        try:
            yield Reachability(first)
            async for event in events:
                if event.params.get("subscription") == first["subscription"]:
                    yield Reachability(event.params)
        finally:
            events.close()
            await end_by(self._client.invoke, "events.unsubscribe", {"subscription": first["subscription"]})
