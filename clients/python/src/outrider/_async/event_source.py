# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Server-sent events of the awaiting client. Loaded when the first event stream is opened."""

from __future__ import annotations

from asyncio import Future  # async

from .._protocol.exceptions import HandleError, OutriderError, ServerGone, from_failure
from .._protocol.hints import Any, AsyncIterator, Awaitable, Callable, Iterator
from .._protocol.openings import Dropped
from .._protocol.parameters import Built, Opened
from .._resources.reading import give_up  # async
from .._resources.sockets import BATCH, EVENT_PATIENCE, EVENT_WAIT, NO_MORE, ServerSentEvent, events_of
from .calls import AsyncCalls
from .ends import AsyncClosing, end_by
from .responses import AsyncResponse
from .variant import begin, iteration, wait  # async

# sync: from .variant import iteration


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
        self._ended: dict[str, Any] | None = None
        self._client = client
        self._invoke = client._invoke_raw
        self._opening = opening  # async
        # the task that opens the stream, for all tasks that wait: a waiting task may be cancelled  # async
        self._opens: Future[Opened] | None = None  # async
        self.response: AsyncResponse | None = None  # async
        # sync: self._open(*opening())

    def _drop(self) -> None:
        stream = self._taken()
        if stream is not None:
            self._client._leave([("stream.close", {"stream": stream})])

    def _taken(self) -> str | None:
        """The stream, which is to be closed, if any."""
        stream, self.stream = self.stream, None
        opens, self._opens = self._opens, None  # async
        if opens is not None:  # async
            give_up(opens)  # async
            if opens.done() and not opens.cancelled() and opens.exception() is None:  # async
                stream = opens.result()[1]["stream"]  # async
        return stream

    def _open(self, built: Built, result: dict[str, Any]) -> None:
        self.request = result["request"]
        self.stream = result["stream"]
        self.response = AsyncResponse(result["response"], self._invoke)
        """The head of the server's first response, once the stream is open; its body is the events."""
        if not self.response.ok:
            # there are no events
            self.error = self.response.error
            # waits for nothing, since a cancelled task would lose the error
            self._drop()
            if built.check and self.error is not None and self.error.code != NO_MORE:
                raise self.error

    async def open(self) -> AsyncEventSource:  # async
        """Opens a closed stream: sends the request, and awaits the response head.  # async
        The call after a cancelled one continues; :meth:`close` cancels the request."""  # async
        if self.response is None:  # async
            if self._opens is None or self._opens.cancelled():  # async
                self._opens = begin(self._opening())  # async
            opens = self._opens  # async
            # cancels nothing  # async
            await wait((opens,))  # async
            try:  # async
                if self._opens is opens:  # async
                    self._opens = None  # async
                    self._open(*opens.result())  # async
                elif not opens.cancelled():  # async
                    # another task has seen the opening first  # async
                    opens.result()  # async
            finally:  # async
                # the exception of the task knows this frame  # async
                del opens  # async
        return self  # async

    def __aiter__(self) -> AsyncIterator[ServerSentEvent]:
        return iteration(self._more, self._drop)  # async
        # sync: return iteration(self._more, self.close)

    async def _more(self) -> Iterator[ServerSentEvent] | None:
        await self.open()  # async
        if self.stream is None:
            return None
        ended, self._ended = self._ended, None
        if ended is not None:
            self.stream = None
            if ended.get("error") is not None:
                self.error = from_failure(ended["error"], self.response)
                if self.error.code != NO_MORE:
                    raise self.error
            return None
        result = await self._read(self.stream)
        if result["end"] is True:
            # its failure is raised after its events
            self._ended = result
        values = result["values"]
        if not self.last_event_id and not [1 for value in values if type(value) is not str]:
            return map(ServerSentEvent, values)
        return self._numbered(values)

    def _numbered(self, values: list[Any]) -> Iterator[ServerSentEvent]:
        for event in events_of(values, self.last_event_id):
            self.last_event_id = event.id
            yield event

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
        stream = self._taken()
        if stream is not None:
            await end_by(self._invoke, "stream.close", {"stream": stream})

    async def __aenter__(self) -> AsyncEventSource:  # async
        try:  # async
            return await self.open()  # async
        except BaseException:  # async
            self._drop()  # async
            raise  # async
