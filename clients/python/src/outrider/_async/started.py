# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests that were started and run on. Loaded when the first request is started."""

from __future__ import annotations

from .._protocol.exceptions import CallError
from .._protocol.openings import Dropped, endings
from .._protocol.parameters import merged
from .._protocol.progress import Progress, progress_of
from .._resources.responses import Kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .caller import AsyncCaller
    from .responses import AsyncResponse


class AsyncRequest(Dropped):
    """A request in the background; made by :meth:`outrider.AsyncClient.start`::

        request = await client.start("POST", url, file="disk.img")
        await request.suspend()
        print(await request.progress("upload"))
        await request.resume()
        response = await request.response()

    A request that is dropped runs on, unless ``body_to="stream"`` was given. The service forgets the request after its
    end, at a later ``start`` or after ten minutes, once it is dropped together with its response. With a ``name`` or
    ``events``, detached, or with a look at its :attr:`handle`, it stays as other requests do.
    """

    def __init__(self, client: AsyncCaller, result: Mapping[str, Any], check: bool, is_known: bool = False) -> None:
        self._client = client
        self._check = check
        self._handle = str(result["request"])
        # only this object and its response can read the stream of a body, and the end comes only when it has been read
        self._is_streamed = self._is_over = "stream" in result
        self._kept = Kept(client, endings("data.start", {"result": result}))
        if is_known:
            self._kept.client = None

    def _drop(self) -> None:
        if not self._is_over and self._kept.client is not None:
            self._kept.client = None
            self._client._dropped.append(self._handle)

    @property
    def handle(self) -> str:
        """The service's name for the request, for :meth:`outrider.AsyncClient.call` and in events."""
        self._kept.client = None
        return self._handle

    async def response(self) -> AsyncResponse:
        """Waits for the response, as long as the request may take."""
        response = await self._client.wait(self, check=self._check)
        assert response is not None
        return response

    async def wait(self, timeout: float | None = None) -> AsyncResponse | None:
        """The response; ``None`` if there is none after ``timeout`` seconds."""
        return await self._client.wait(self, timeout=timeout, check=self._check)

    async def suspend(self) -> str:
        """Lets the request pause: nothing more is sent or read. Returns its state, ``suspended``."""
        return await self._state("request.suspend")

    async def resume(self) -> str:
        """Lets a request go on, or begin with ``start_immediately=False``. Returns its state."""
        return await self._state("request.resume")

    async def cancel(self) -> str:
        """Cancels the request, and returns its state. Waiting calls raise :class:`~outrider.Cancelled`."""
        return await self._state("request.cancel")

    async def _state(self, method: str) -> str:
        return str((await self._client.invoke(method, {"request": self._handle}))["state"])

    async def info(self) -> dict[str, Any]:
        """All that the service tells of the request: ``request.get``."""
        return await self._client.invoke("request.get", {"request": self._handle})

    async def progress(self, direction: str = "download") -> Progress:
        """How much of the body has come; with ``upload``, how much has been sent."""
        return progress_of(await self.info(), direction)

    def __repr__(self) -> str:
        return f"<AsyncRequest {self._handle}>"


def is_known_elsewhere(client: AsyncCaller, options: Mapping[str, Any]) -> bool:
    """Whether a request has a name, events, or a life beyond its connection, and so stays though its object goes."""
    given = merged(options, client._defaults)
    return any(given.get(name) for name in ("detach", "events", "name"))


async def sweep(client: AsyncCaller) -> None:
    """Lets the service forget requests that were dropped while they ran, and have ended since."""
    for _ in client._dropped[:2]:
        try:
            handle = client._dropped.pop(0)
            state = (await client.invoke("request.get", {"request": handle}))["state"]
        except (IndexError, CallError):
            # another thread was faster, or the service knows the request no more
            continue
        if state in ("finished", "cancelled"):
            client._leave([("request.forget", {"request": handle})])
        else:
            client._dropped.append(handle)
