# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Downloads of the awaiting client: ``client.download(url, path)`` and its methods. Loaded on first use."""

from __future__ import annotations

from .._protocol.exceptions import OutriderError
from .._protocol.frames import encode
from .._protocol.parameters import FOREVER, GRACE
from .._resources.downloads import BuiltDownload, build_download, build_resume, result_of_start
from .responses import AsyncResponse

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

    from .caller import AsyncCaller


class AsyncDownloads:
    """Files, for an :class:`~outrider.AsyncClient`; see :class:`outrider._sync.downloads.Downloads`."""

    def __init__(self, client: AsyncCaller) -> None:
        self._client = client
        self._ending: set[Any] = set()

    async def __call__(
        self,
        url: str,
        path: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> AsyncResponse:
        """Downloads a file, and returns when it is there; a cancelled task keeps what has come."""
        built = build_download(url, path, options, self._client._defaults)
        return await self._finished("download.send", built)

    async def start(self, url: str, path: str | os.PathLike[str] | None = None, **options: Any) -> str:
        """Starts a download and returns its handle at once."""
        built = build_download(url, path, options, self._client._defaults)
        return result_of_start(await self._client._result("download.start", built.text(), FOREVER))

    async def resume(
        self,
        source: str | os.PathLike[str],
        **options: Any,
    ) -> AsyncResponse:
        """Goes on with a download: by what :meth:`cancel` gave, by its handle, or by the path of its file."""
        built = build_resume(source, options, self._client._defaults)
        return await self._finished("download.resume", built)

    async def cancel(self, request: str) -> str | None:
        """Ends a started download; what to give to :meth:`resume`, or ``None`` if nothing was kept."""
        answer = await self._client.invoke("request.cancel", {"request": request, "resumeData": True})
        data = answer.get("resumeData")
        return None if data is None else str(data)

    async def _finished(self, method: str, built: BuiltDownload) -> AsyncResponse:
        client = self._client
        if method == "download.send" and built.watch is None:
            response = AsyncResponse(await client._result(method, built.text(), built.guard), client.invoke)
        else:
            response = AsyncResponse(await self._watched(method, built), client.invoke)
        if built.check:
            response.raise_for_error()
        return response

    async def _watched(self, method: str, built: BuiltDownload) -> dict[str, Any]:
        client = self._client
        started = "download.start" if method == "download.send" else method
        if built.watch is None:
            request = result_of_start(await client._result(started, built.text(), FOREVER))
            return await client._result("request.wait", encode({"request": request}), built.guard)
        from .._protocol.progress import Progress

        with built.watch as show:
            async with client.events("event.progress", "event.finish") as events:
                text = built.text("progress", "finish")
                request = result_of_start(await client._result(started, text, FOREVER))
                try:
                    async for event in events:
                        if event.request == request:
                            if event.name == "event.finish":
                                return dict(event.params["response"])
                            outcome: Any = show(Progress(event.params))
                            if hasattr(outcome, "__await__"):
                                await outcome
                        if events.dropped:
                            break
                    return await client._result("request.wait", encode({"request": request}), built.guard)
                except BaseException:
                    # whatever ended the waiting ends the download, which can go on
                    self._abandon(request)
                    raise

    def _abandon(self, request: str) -> None:
        """In a task of its own: a cancelled one cannot wait."""
        from asyncio import ensure_future

        async def cancel() -> None:
            try:
                wish = {"request": request, "resumeData": True}
                await self._client.invoke("request.cancel", wish, timeout=GRACE)
            except OutriderError:
                pass

        task = ensure_future(cancel())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
