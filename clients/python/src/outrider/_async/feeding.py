# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests whose body comes piece by piece. Loaded when a program sends such a body."""

from __future__ import annotations

from contextlib import closing, suppress
from os import getpid
from time import monotonic

from .._protocol.exceptions import CallError, HandleError, OutriderError, ServerGone
from .._protocol.hints import Any, Awaitable, Callable, Mapping
from .._protocol.parameters import UNTIMED_GUARD, build
from .._resources.feeding import IN_MESSAGES, Patience, bodies_of, fed, filed, is_spent, pieces, unhurried, written
from .._resources.responses import is_kept
from .calls import AsyncCalls
from .responses import AsyncResponse
from .variant import steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .pipe import AsyncRawBody


class AsyncFeeder:
    """The way of a body to the service: messages, and after some of them a connection of its own."""

    def __init__(self, client: AsyncCalls, stream: str) -> None:
        self._client = client
        self._stream = stream
        self._path = client._socket_path()
        self._left = IN_MESSAGES
        self._raw: AsyncRawBody | None = None
        self._pid = getpid()

    async def write(self, piece: memoryview, wait: float) -> tuple[memoryview, int]:
        """The rest of a piece, and the room for more; no room if the service takes nothing for ``wait`` seconds."""
        self._check_process()
        # an empty piece only asks for the room of the message before
        if piece and self._left <= 0 and self._path is not None:
            from .pipe import open_raw_body

            path, self._path = self._path, None
            # if the service refuses another connection, the rest goes in messages
            with suppress(OutriderError):
                self._raw = await open_raw_body(path, self._stream)
        if self._raw is not None:
            size = await self._raw.write(piece, wait)
            return piece[size:], size
        self._left -= len(piece)
        taken = await self._client.invoke("stream.write", written(self._stream, piece, wait), timeout=60)
        return piece[:0], taken["room"]

    async def finish(self, wait: float) -> bool:
        """Ends the body. Returns whether the service has all of it, after ``wait`` seconds at most."""
        self._check_process()
        if self._raw is not None:
            return await self._raw.finish(wait)
        with suppress(HandleError):
            await self._client.invoke("stream.finish", {"stream": self._stream}, timeout=60)
        return True

    def _check_process(self) -> None:
        """Raises in a child made by fork, whose part of the body would count as the parent's."""
        if self._pid != getpid():
            raise ServerGone("the connection for the body belongs to the parent process (send the request again)")

    def close(self) -> None:
        """Ends the connection, and the request unless the service has the whole body."""
        if self._raw is not None:
            self._raw.close()


async def feed(
    feeder: AsyncFeeder, body: Any, patience: Patience, ended: Callable[[], Awaitable[dict[str, Any] | None]]
) -> dict[str, Any] | None:
    """Writes a body until its end. Returns the result of ``ended`` if the request ended, or responded, before.

    A :class:`HandleError` of a call means that the request takes no more of the body, and its response says why. One
    of the program's own iterator is the program's.
    """
    async for given in steps(body):
        for piece in pieces(given):
            patience.begin()
            rest, room = memoryview(piece), 0
            while rest or room == 0:
                try:
                    rest, room = await feeder.write(rest, patience.wait)
                except (HandleError, BrokenPipeError, ConnectionResetError):
                    return None
                if room == 0:
                    found = await ended()
                    if found is not None:
                        return found
                patience.note(room)
    while not await feeder.finish(patience.wait):
        found = await ended()
        if found is not None:
            return found
    return None


async def send(client: AsyncCalls, method: str, url: str, options: Mapping[str, Any]) -> AsyncResponse:
    """Sends a request with a body from an iterator of bytes or text, or with a long one."""
    if options.get("body_to") == "stream":
        raise TypeError(
            'data that comes piece by piece, or is very long, needs its whole response: leave body_to="stream" out'
        )
    began = monotonic()
    async with client._feed():
        result, is_checked = await _sent(client, method, url, options)
    response = AsyncResponse(result, client._invoke_raw)
    response._seconds = monotonic() - began
    response._follow(client)
    return response.raise_for_error() if is_checked else response


async def _sent(client: AsyncCalls, method: str, url: str, options: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """The result, and whether a failure raises."""
    bodies = bodies_of(options)
    streams: list[str] = []
    leavings: list[tuple[str, dict[str, Any]]] = []
    try:
        for _ in bodies:
            streams.append(str((await client.invoke("upload.open"))["stream"]))
            leavings.append(("stream.close", {"stream": streams[-1]}))
        timeout = unhurried(options, client._defaults)
        built = build(method, url, {**fed(options, streams), "timeout": timeout}, client._defaults)
        request = str((await client._result("data.start", built.params, UNTIMED_GUARD))["request"])
        leavings.append(("request.forget", {"request": request}))

        async def ended() -> dict[str, Any] | None:
            result = await client._invoke_raw("request.wait", {"request": request, "timeout": 0})
            return None if result.get("pending") else result

        for stream, body in zip(streams, bodies):
            with closing(AsyncFeeder(client, stream)) as feeder:
                if await feed(feeder, body, Patience(None), ended):
                    break
        result = await client._invoke_raw("request.wait", {"request": request}, timeout=built.guard)
        if is_spent(result):
            result = await _repeated(client, method, url, options, leavings) or result
    except BaseException:
        client._leave(leavings)
        raise
    if not is_kept(result):
        client._leave(leavings[-1:])
    return result, built.check


async def _repeated(
    client: AsyncCalls, method: str, url: str, options: Mapping[str, Any], leavings: list[tuple[str, dict[str, Any]]]
) -> dict[str, Any] | None:
    """The result of the same request whose body the service can send again; ``None`` if the service cannot.

    The last of ``leavings`` is the request that the result is of.
    """
    with filed(options) as changed:
        if changed is None:
            return None
        built = build(method, url, changed, client._defaults)
        try:
            request = str((await client._result("data.start", built.params, UNTIMED_GUARD))["request"])
        except CallError:
            # a service that may not read the files of this process
            return None
        leavings.insert(-1, ("request.forget", {"request": request}))
        result = await client._invoke_raw("request.wait", {"request": request}, timeout=built.guard)
        reason = (result.get("error") or {}).get("reason")
        done = leavings.pop(-2 if reason == "bodyUnreadable" else -1)
        client._leave([done])
        return None if reason == "bodyUnreadable" else result
