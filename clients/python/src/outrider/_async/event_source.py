# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Server-sent events of the awaiting client. Loaded when the first event stream is opened."""

from __future__ import annotations

from .._protocol.exceptions import HandleError, ServerGone, from_failure
from .._protocol.openings import Dropped
from .._resources.sockets import BATCH, EVENT_PATIENCE, EVENT_WAIT, NO_MORE, ServerSentEvent, events_of
from .ends import AsyncClosing, end_by
from .responses import AsyncResponse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from typing import Any

    from .._protocol.exceptions import OutriderError
    from .._protocol.parameters import Opened
    from .calls import AsyncCalls


class AsyncEventSource(Dropped, AsyncClosing):
    """The events of a server, as they come. Made by :meth:`AsyncClient.sse`::

        async for event in client.sse("https://example.org/events"):
            print(event.event, event.data)

        async with client.sse(url, json={"model": "m", "stream": True}) as events:     # a model that streams its text
            async for event in events:
                if event.data != "[DONE]":
                    print(event.json()["choices"][0]["delta"].get("content", ""), end="")

    The blocking variant opens at once; the other by ``async with``, by :meth:`open`, or by the loop.

    The stream closes at the end of the loop, however the loop ends. After a lost connection, the service reconnects
    with the last id, and the loop continues; but not for a method that may not be repeated, such as POST. A failure
    raises the matching :class:`~outrider.ExchangeError`. Status 204, for no more events, ends the loop.
    """

    def __init__(self, client: AsyncCalls, opening: Callable[[], Awaitable[Opened]], last_event_id: str) -> None:
        self.stream: str | None = None
        """The handle of the stream; ``None`` before the opening, and after the end."""
        self.last_event_id = last_event_id
        """The id of the last event that was given; open another source with ``last_event_id=`` to go on from there."""
        self.error: OutriderError | None = None
        """Why the stream ended early, after the end."""
        self.request: str | None = None
        """The handle of the request."""
        self._client = client
        self._invoke = client.invoke
        self._opening = opening  # async
        self.response: AsyncResponse | None = None  # async
        # sync: self._open(opening)

    def _drop(self) -> None:
        if self.stream is not None:
            self._client._leave([("stream.close", {"stream": self.stream})])

    async def _open(self, opening: Callable[[], Awaitable[Opened]]) -> None:
        built, result = await opening()
        self.request = result["request"]
        self.stream = result["stream"]
        self.response = AsyncResponse(result["response"], self._invoke)
        """The head of the server's first response, once the stream is open; its body is the events."""
        if not self.response.ok:
            # there are no events
            self.error = self.response.error
            await self.close()
            if built.check and self.error is not None and self.error.code != NO_MORE:
                raise self.error

    async def open(self) -> AsyncEventSource:  # async
        """Opens a closed stream: sends the request, and awaits the response head."""  # async
        if self.response is None:  # async
            await self._open(self._opening)  # async
        return self  # async

    async def __aiter__(self) -> AsyncIterator[ServerSentEvent]:
        await self.open()  # async
        try:
            while self.stream is not None:
                result = await self._read(self.stream)
                values = result["values"]
                # sync: if values and not self.last_event_id and not [1 for value in values if type(value) is not str]:
                # sync:     yield from map(ServerSentEvent, values)
                # sync:     values = []
                for event in events_of(values, self.last_event_id):
                    self.last_event_id = event.id
                    yield event
                if result["end"] is True:
                    self.stream = None
                    if result.get("error") is not None:
                        self.error = from_failure(result["error"], self.response)
                        if self.error.code != NO_MORE:
                            raise self.error
        finally:
            await self.close()

    async def _read(self, stream: str) -> dict[str, Any]:
        params = {"stream": stream, "bytes": BATCH, "wait": EVENT_WAIT}
        try:
            return await self._invoke("stream.read", params, timeout=EVENT_PATIENCE)
        except HandleError:
            if self.stream is None:
                # another thread or task closed it
                return {"values": [], "end": True}
            self.stream = None
            raise ServerGone("the service lost the event stream: open it again with last_event_id") from None

    async def close(self) -> None:
        """Wants no more events: the connection is closed. Harmless when done twice, or after the end."""
        stream, self.stream = self.stream, None
        if stream is not None:
            await end_by(self._invoke, "stream.close", {"stream": stream})

    async def __aenter__(self) -> AsyncEventSource:  # async
        return await self.open()  # async
