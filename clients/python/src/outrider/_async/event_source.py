# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Server-sent events of the awaiting client. Loaded when the first event stream is opened."""

from __future__ import annotations

from .._protocol.exceptions import HandleError, ServerGone
from .._resources.event_source import BATCH, PATIENCE, WAIT, Reading, ServerSentEvent, build_sse, events_of, first_id
from .responses import AsyncResponse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from types import TracebackType
    from typing import Any

    from .._protocol.parameters import Built
    from .caller import AsyncCaller


class AsyncEventSource(Reading):
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

    def __init__(
        self,
        client: AsyncCaller,
        url: str,
        options: Mapping[str, Any],
        built: Callable[[], Awaitable[Built]] | None = None,
        call: Callable[[str, str, float], Awaitable[dict[str, Any]]] | None = None,
    ) -> None:
        super().__init__(client, first_id(options))
        self._call = call or client._result
        self._invoke = client.invoke
        self._built = built or build_sse(url, options, client._defaults)  # async
        self.response: AsyncResponse | None = None  # async
        # sync: self._open(built or build_sse(url, options, client._defaults))

    async def _open(self, given: Built | Callable[[], Awaitable[Built]]) -> None:
        built = await given() if callable(given) else given
        result = await self._call("sse.open", built.params, built.guard)
        self.request = result["request"]
        self.stream = result["stream"]
        self.response = AsyncResponse(result["response"], self._invoke)
        """The head of the server's first response, once the stream is open; its body is the events."""
        if not self.response.ok:
            self._refused(self.response.error, built.check)

    async def open(self) -> AsyncEventSource:  # async
        """Opens a closed stream: sends the request, and awaits the response head."""  # async
        if self.response is None:  # async
            await self._open(self._built)  # async
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
                problem = self._ended(result, self.response)
                if problem is not None:
                    raise problem
        finally:
            await self.close()

    async def _read(self, stream: str) -> dict[str, Any]:
        params = {"stream": stream, "bytes": BATCH, "wait": WAIT}
        try:
            return await self._invoke("stream.read", params, timeout=PATIENCE)
        except HandleError:
            if self.stream is None:
                # another thread or task closed it
                return {"values": [], "end": True}
            raise self._lost() from None

    async def close(self) -> None:
        """Wants no more events: the connection is closed. Harmless when done twice, or after the end."""
        stream, self.stream = self.stream, None
        if stream is not None:
            try:
                await self._invoke("stream.close", {"stream": stream})
            except (HandleError, ServerGone):
                pass

    async def __aenter__(self) -> AsyncEventSource:
        return await self.open()  # async
        # sync: return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
