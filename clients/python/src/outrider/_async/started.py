# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests that were started and run on. Loaded when the first request is started."""

from __future__ import annotations

from .._protocol.progress import Progress, progress_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .caller import AsyncCaller
    from .responses import AsyncResponse


class AsyncRequest:
    """A request in the background; made by :meth:`outrider.AsyncClient.start`::

        request = await client.start("POST", url, file="disk.img")
        await request.suspend()
        print(await request.progress("upload"))
        await request.resume()
        response = await request.response()

    ``handle`` is the service's name for the request, for :meth:`outrider.AsyncClient.call` and in events.
    """

    def __init__(self, client: AsyncCaller, handle: str, check: bool) -> None:
        self._client = client
        self._check = check
        self.handle = handle

    async def response(self) -> AsyncResponse:
        """Waits for the response, as long as the request may take."""
        response = await self._client.wait(self.handle, check=self._check)
        assert response is not None
        return response

    async def wait(self, timeout: float | None = None) -> AsyncResponse | None:
        """The response; ``None`` if there is none after ``timeout`` seconds."""
        return await self._client.wait(self.handle, timeout=timeout, check=self._check)

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
        return str((await self._client.invoke(method, {"request": self.handle}))["state"])

    async def info(self) -> dict[str, Any]:
        """All that the service tells of the request: ``request.get``."""
        return await self._client.invoke("request.get", {"request": self.handle})

    async def progress(self, direction: str = "download") -> Progress:
        """How much of the body has come; with ``upload``, how much has been sent."""
        return progress_of(await self.info(), direction)

    def __repr__(self) -> str:
        return f"<AsyncRequest {self.handle}>"
