# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Server-sent events of the awaiting client."""

from __future__ import annotations

from .._protocol.exceptions import HandleError, ServerGone
from .._resources.event_source import BATCH, PATIENCE, WAIT, Reading, build_sse, events_of
from .responses import AsyncResponse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from types import TracebackType
    from typing import Any

    from .._resources.event_source import ServerSentEvent
    from .caller import AsyncCaller


class AsyncEventSource(Reading):
    """The events of a server, as they come: ``async for event in client.sse(url):``.

    It is opened by ``async with``, by :meth:`open`, or by the loop. The rest is as for :class:`~outrider.EventSource`.
    """

    def __init__(self, client: AsyncCaller, url: str, options: Mapping[str, Any]) -> None:
        super().__init__(client, options.get("last_event_id") or "")
        self._open = client._result
        self._invoke = client.invoke
        self._built = build_sse(url, options, client._defaults)
        self.response: AsyncResponse | None = None
        """The head of the server's first answer, once it is open; its body is the events."""

    async def open(self) -> AsyncEventSource:
        """Opens the stream, unless it has been opened: sends the request, and awaits the head of its answer."""
        if self.response is not None:
            return self
        result = await self._open("sse.open", self._built.params, self._built.guard)
        self.request = result["request"]
        self.stream = result["stream"]
        self.response = AsyncResponse(result["response"], self._invoke)
        if not self.response.ok:
            self._refused(self.response.error, self._built.check)
        return self

    async def __aiter__(self) -> AsyncIterator[ServerSentEvent]:
        await self.open()
        try:
            while self.stream is not None:
                result = await self._read(self.stream)
                for event in events_of(result["values"], self.last_event_id):
                    self.last_event_id = event.id
                    yield event
                problem = self._ended(result, self.response)
                if problem is not None:
                    raise problem
        finally:
            await self.close()

    async def _read(self, stream: str) -> dict[str, Any]:
        asked = {"stream": stream, "bytes": BATCH, "wait": WAIT}
        try:
            return await self._invoke("stream.read", asked, timeout=PATIENCE)
        except HandleError:
            if self.stream is None:
                # somebody else closed it
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
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
