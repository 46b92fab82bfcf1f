# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Downloads of the awaiting client: ``client.download(url, path)`` and its methods. Loaded on first use."""

from __future__ import annotations

from .._protocol.frames import encode
from .._protocol.parameters import FOREVER
from .._resources.downloads import BuiltDownload, build_download, build_resume
from .responses import AsyncResponse

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

    from .started import AsyncRequest
    from .verbs import AsyncVerbs


class AsyncDownloads:
    """Files, for an :class:`~outrider.AsyncClient`: ``client.download(url, path)`` and its methods."""

    def __init__(self, owner: AsyncVerbs) -> None:
        # a client, or one of its sessions
        self._owner = owner
        self._client = owner._caller()

    async def __call__(self, url: str, path: str | os.PathLike[str] | None = None, **options: Any) -> AsyncResponse:
        """Downloads a file, and returns when the file is complete: see ``path`` and ``size`` of the response.

        Without ``path`` the file goes into ``directory``, or into the working directory, under ``filename`` or the name
        that the server suggests. The service resumes an interrupted download to the same place, unless
        ``resume=False``. A status outside of 200 to 299 raises, unless ``validate`` says otherwise.

        ``replace``             ``True``: replace an existing file
        ``create_directories``  ``True``: create missing directories
        ``checksum``            digests that the file must have: ``{"sha-256": "9f86d0…"}``
        ``segments``            how many parts to ask for at the same time
        ``rate_limit``          the most bytes a second
        ``when_changed``        ``restart`` or ``fail``, if the server now has another file than the part that was kept

        The other options are the same as for :meth:`outrider.AsyncClient.get`; ``progress=True`` is a bar on a
        terminal.
        """
        built = build_download(url, path, await self._owner._own(options), self._client._defaults)
        return await self._finished("download.send", built)

    async def start(self, url: str, path: str | os.PathLike[str] | None = None, **options: Any) -> AsyncRequest:
        """Starts a download and returns at once; options as above. See :class:`outrider.AsyncRequest`."""
        from .started import AsyncRequest, is_known_elsewhere, sweep

        built = build_download(url, path, await self._owner._own(options), self._client._defaults)
        is_known = is_known_elsewhere(self._client, options)

        async def start() -> AsyncRequest:
            await sweep(self._client)
            result = await self._client._result("download.start", built.text(), FOREVER)
            return AsyncRequest(self._client, result, built.check, is_known)

        return await self._owner._starting(start)

    async def resume(self, source: str | os.PathLike[str] | AsyncRequest, **options: Any) -> AsyncResponse:
        """Resumes a download: by the result of :meth:`cancel`, by its request, or by the path of its file.

        ``url`` and ``headers`` may differ.
        """
        source = getattr(source, "handle", source)
        built = build_resume(source, await self._owner._own(options), self._client._defaults)
        return await self._finished("download.resume", built)

    async def cancel(self, request: str | AsyncRequest) -> str | None:
        """Ends a started download; the data for :meth:`resume`, or ``None`` if nothing was kept."""
        handle = request if isinstance(request, str) else request.handle
        result = await self._client.invoke("request.cancel", {"request": handle, "resumeData": True})
        data = result.get("resumeData")
        return None if data is None else str(data)

    async def _finished(self, method: str, built: BuiltDownload) -> AsyncResponse:
        result = await self._owner._within(lambda: self._result(method, built))
        response = AsyncResponse(result, self._client.invoke)
        if built.check:
            response.raise_for_error()
        return response

    async def _result(self, method: str, built: BuiltDownload) -> dict[str, Any]:
        client = self._client
        if method == "download.send" and built.watch is None:
            return await client._result(method, built.text(), built.guard)
        started = "download.start" if method == "download.send" else method
        if built.watch is None:
            request = (await client._result(started, built.text(), FOREVER))["request"]
            return await client._result("request.wait", encode({"request": request}), built.guard)
        from .transfers import shown

        call = (started, built.text("progress", "finish"), FOREVER)
        # a program that stops waiting ends the download, which can be resumed
        _, result = await shown(client, built.watch, call, built.guard, "request.cancel", resumeData=True)
        return result
