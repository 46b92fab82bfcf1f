# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests whose progress is followed. Both clients build them here; this file is loaded when one asks for it."""

from __future__ import annotations

from ._calls import GRACE, UNTIMED_GUARD, build
from ._exceptions import OutriderError
from ._progress import Progress, watcher
from ._responses import AsyncResponse, Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ._async_client import AsyncClient
    from ._calls import Built, Defaults
    from ._client import Client
    from ._progress import Watcher

EVENTS = ("event.progress", "event.finish")
_BODIES = ("file", "files", "data", "json", "parameters")


def with_body(path: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of an upload: with its file, if there is one, and not without any body."""
    whole = {**options} if path is None else {**options, "file": path}
    if all(whole.get(name) is None for name in _BODIES):
        raise TypeError("an upload needs a file, or one of data, json and files")
    return whole


def label(url: str, options: Mapping[str, Any]) -> str:
    """What a bar is called: the file that is sent, else the last part of the path, else the host."""
    file = options.get("file")
    path = str(file) if file is not None else url.partition("?")[0].partition("#")[0]
    name = path.rstrip("/").rpartition("/")[2] or url
    return name if len(name) <= 30 else name[:14] + ".." + name[-14:]


def followed(method: str, url: str, options: Mapping[str, Any], defaults: Defaults) -> tuple[Built, Watcher]:
    """The parameters of a request that tells its progress and its end, and who is told."""
    if options.get("body_to") == "stream":
        raise TypeError('progress waits for the whole body: with body_to="stream" count what iter_bytes() gives')
    options = dict(options)
    watch = watcher(options.pop("progress"), label(url, options))
    wanted = options.get("events")
    if wanted is not True:
        options["events"] = sorted({"progress", "finish", *(wanted or ())})
    return build(method, url, options, defaults), watch


def _is_kept(result: Mapping[str, Any]) -> bool:
    """Whether the service holds something of the response that is still to be fetched."""
    return (result.get("body") or {}).get("kind") in ("stored", "file")


def send(client: Client, method: str, url: str, options: Mapping[str, Any]) -> Response:
    """Sends a request, and calls the function of its ``progress`` in this thread while it waits for the response."""
    built, watch = followed(method, url, options, client._defaults)
    with watch as show, client.events(*EVENTS, timeout=built.guard) as events:
        request = str(client._result("data.start", built.params, UNTIMED_GUARD)["request"])
        result: dict[str, Any] | None = None
        try:
            for event in events:
                if event.request == request:
                    if event.name == "event.finish":
                        result = event.params["response"]
                        break
                    show(Progress(event.params))
                if events.dropped:
                    break
            if result is None:
                result = client.invoke("request.wait", {"request": request}, timeout=built.guard)
        except BaseException:
            _give_up(client, request)
            raise
    if not _is_kept(result):
        client.invoke("request.forget", {"request": request})
    response = Response(result, client.invoke)
    if built.check:
        response.raise_for_error()
    return response


def _give_up(client: Client, request: str) -> None:
    try:
        client.invoke("request.forget", {"request": request}, timeout=GRACE)
    except OutriderError:
        pass


async def send_async(client: AsyncClient, method: str, url: str, options: Mapping[str, Any]) -> AsyncResponse:
    """As :func:`send`; the function may be a coroutine function."""
    built, watch = followed(method, url, options, client._defaults)
    with watch as show:
        return await _answer(client, built, show)


async def _answer(client: AsyncClient, built: Built, show: Callable[[Progress], object]) -> AsyncResponse:
    async with client.events(*EVENTS, timeout=built.guard) as events:
        request = str((await client._result("data.start", built.params, UNTIMED_GUARD))["request"])
        result: dict[str, Any] | None = None
        try:
            async for event in events:
                if event.request == request:
                    if event.name == "event.finish":
                        result = event.params["response"]
                        break
                    outcome: Any = show(Progress(event.params))
                    if hasattr(outcome, "__await__"):
                        await outcome
                if events.dropped:
                    break
            if result is None:
                result = await client.invoke("request.wait", {"request": request}, timeout=built.guard)
        except BaseException:
            _give_up_async(client, request)
            raise
    if not _is_kept(result):
        await client.invoke("request.forget", {"request": request})
    response = AsyncResponse(result, client.invoke)
    if built.check:
        response.raise_for_error()
    return response


def _give_up_async(client: AsyncClient, request: str) -> None:
    """In a task of its own: a cancelled one cannot wait."""
    from asyncio import ensure_future

    async def forget() -> None:
        try:
            await client.invoke("request.forget", {"request": request}, timeout=GRACE)
        except OutriderError:
            pass

    task = ensure_future(forget())
    _TASKS.add(task)
    task.add_done_callback(_TASKS.discard)


_TASKS: set[Any] = set()
