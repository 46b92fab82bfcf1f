# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests that run on after their start, downloads, and progress. Loaded with the first of them."""

from __future__ import annotations

import os

from .._protocol.exceptions import CallError, OutriderError
from .._protocol.frames import encode
from .._protocol.hints import Any, Mapping
from .._protocol.models import Progress, Watcher, progress_of
from .._protocol.openings import Dropped, endings
from .._protocol.parameters import FOREVER, GRACE, UNTIMED_GUARD, merged
from .._resources.bars import EVENTS, followed
from .._resources.downloads import BuiltDownload, build_download, build_resume
from .._resources.responses import Kept, is_kept
from .calls import AsyncCalls
from .responses import AsyncResponse
from .variant import detach, settled
from .verbs import AsyncVerbs


async def send(client: AsyncCalls, method: str, url: str, options: Mapping[str, Any]) -> AsyncResponse:
    """Sends a request, and calls the function of its ``progress`` while the response is waited for."""
    built, watch = followed(method, url, options, client._defaults)
    call = ("data.start", built.params, UNTIMED_GUARD)
    request, result = await shown(client, watch, call, built.guard, "request.forget", timeout=built.guard)
    if not is_kept(result):
        await client.invoke("request.forget", {"request": request})
    response = AsyncResponse(result, client._invoke_raw)
    response._follow(client)
    return response.raise_for_error() if built.check else response


async def shown(
    client: AsyncCalls, watch: Watcher, call: tuple[str, str, float], guard: float, leaving: str,
    timeout: float | None = None, **leavings: Any,
) -> tuple[str, dict[str, Any]]:
    """Starts a request by a call, and shows its progress. Returns its handle and its result; a program that stops
    waiting makes the call ``leaving``."""
    with watch as show:
        async with client.events(*EVENTS, timeout=timeout) as events:
            request = str((await client._result(*call))["request"])
            try:
                async for event in events:
                    if event.request == request:
                        if event.name == "event.finish":
                            return request, dict(event.params["response"])
                        await settled(show(Progress(event.params)))
                    if events.dropped:
                        break
                return request, await client._result("request.wait", encode({"request": request}), guard)
            except BaseException:
                detach(_left(client, leaving, {"request": request, **leavings}))
                raise


async def _left(client: AsyncCalls, method: str, params: dict[str, Any]) -> object:
    try:
        return await client.invoke(method, params, timeout=GRACE)
    except OutriderError:
        return None


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

    def __init__(self, client: AsyncCalls, result: Mapping[str, Any], check: bool, is_known: bool = False) -> None:
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


def is_known_elsewhere(client: AsyncCalls, options: Mapping[str, Any]) -> bool:
    """Whether a request has a name, events, or a life beyond its connection, and so stays though its object goes."""
    given = merged(options, client._defaults)
    return any(given.get(name) for name in ("detach", "events", "name"))


async def sweep(client: AsyncCalls) -> None:
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
        response = AsyncResponse(result, self._client._invoke_raw)
        return response.raise_for_error() if built.check else response

    async def _result(self, method: str, built: BuiltDownload) -> dict[str, Any]:
        client = self._client
        if method == "download.send" and built.watch is None:
            return await client._result(method, built.text(), built.guard)
        started = "download.start" if method == "download.send" else method
        if built.watch is None:
            request = (await client._result(started, built.text(), FOREVER))["request"]
            return await client._result("request.wait", encode({"request": request}), built.guard)
        call = (started, built.text("progress", "finish"), FOREVER)
        # a program that stops waiting ends the download, which can be resumed
        _, result = await shown(client, built.watch, call, built.guard, "request.cancel", resumeData=True)
        return result
