# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Server-sent events of the blocking client."""

from __future__ import annotations

from .._protocol.exceptions import HandleError, ServerGone
from .._resources.event_source import BATCH, PATIENCE, WAIT, Reading, ServerSentEvent, build_sse, events_of
from .responses import Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType
    from typing import Any

    from .caller import Caller


class EventSource(Reading):
    """The events of a server, as they come. Made by :meth:`Client.sse`, and open from then on::

        for event in client.sse("https://example.org/events"):
            print(event.event, event.data)

        with client.sse(url, json={"model": "m", "stream": True}) as events:     # a model that streams its answer
            for event in events:
                if event.data != "[DONE]":
                    print(event.json()["choices"][0]["delta"].get("content", ""), end="")

    The stream is closed when the loop is left, however that happens. When the connection is lost, the service
    reconnects with the last id, and the loop goes on; a request whose method may not be repeated, such as POST, is not.
    A failure raises the matching :class:`~outrider.ExchangeError`. A server that says that there is no more (status
    204) ends the loop.
    """

    def __init__(self, client: Caller, url: str, options: Mapping[str, Any]) -> None:
        super().__init__(client, options.get("last_event_id") or "")
        self._invoke = client.invoke
        built = build_sse(url, options, client._defaults)
        result = client._result("sse.open", built.params, built.guard)
        self.request = result["request"]
        self.stream = result["stream"]
        self.response = Response(result["response"], self._invoke)
        """The head of the server's first answer; its body is the events."""
        if not self.response.ok:
            self._refused(self.response.error, built.check)

    def __iter__(self) -> Iterator[ServerSentEvent]:
        try:
            while self.stream is not None:
                result = self._read(self.stream)
                values = result["values"]
                if values and not self.last_event_id and not [1 for value in values if type(value) is not str]:
                    yield from map(ServerSentEvent, values)
                elif values:
                    for event in events_of(values, self.last_event_id):
                        self.last_event_id = event.id
                        yield event
                problem = self._ended(result, self.response)
                if problem is not None:
                    raise problem
        finally:
            self.close()

    def _read(self, stream: str) -> dict[str, Any]:
        asked = {"stream": stream, "bytes": BATCH, "wait": WAIT}
        try:
            return self._invoke("stream.read", asked, timeout=PATIENCE)
        except HandleError:
            if self.stream is None:
                # somebody else closed it
                return {"values": [], "end": True}
            raise self._lost() from None

    def close(self) -> None:
        """Wants no more events: the connection is closed. Harmless when done twice, or after the end."""
        stream, self.stream = self.stream, None
        if stream is not None:
            try:
                self._invoke("stream.close", {"stream": stream})
            except (HandleError, ServerGone):
                pass

    def __enter__(self) -> EventSource:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
