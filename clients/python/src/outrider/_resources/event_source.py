# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Server-sent events: their form in Python, the parameters of ``sse.open``, and the state between two reads."""

from __future__ import annotations

from .._protocol.arguments import header_list
from .._protocol.frames import decode, encode
from .._protocol.parameters import FOREVER, Built, merged_but, spec_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from .._protocol.parameters import Defaults


BATCH = 49_152
"""The most bytes of the event stream per read. A result of that length takes a single system call."""

WAIT = 60.0
"""Seconds that a read waits for an event; then the client reads again."""

PATIENCE = 2 * WAIT
"""Seconds in which a service that is alive replies to a read."""

NO_MORE = 2012
"""The failure code for the end of all events. Here the code is no error."""

_OWN = {"last_event_id": "lastEventId", "reconnect": "reconnect", "max_event": "maxEventBytes"}
_OTHERS = ("serialize", "handlers", "body_to", "max_inline", "detach", "name", "start_immediately")


class ServerSentEvent:
    """An event: ``event`` is its type, ``data`` its text, ``id`` the last id that the server gave (or ``""``).

    ``retry`` is the reconnection time in seconds that the server sent with this event; the service already respects
    this time.
    """

    __slots__ = ("data", "event", "id", "retry")

    def __init__(self, data: str, event: str = "message", id: str = "", retry: float | None = None) -> None:
        self.data = data
        self.event = event
        self.id = id
        self.retry = retry

    def json(self) -> Any:
        """The data as a JSON value. Raises :class:`ValueError` for other data."""
        return decode(self.data)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ServerSentEvent):
            return NotImplemented
        return (self.data, self.event, self.id, self.retry) == (other.data, other.event, other.id, other.retry)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        parts = [f"data={self.data!r}", f"event={self.event!r}"]
        parts += [f"id={self.id!r}"] if self.id else []
        parts += [f"retry={self.retry!r}"] if self.retry is not None else []
        return f"ServerSentEvent({', '.join(parts)})"


def build_sse(url: str, options: Mapping[str, Any], defaults: Defaults) -> Built:
    """The parameters of ``sse.open``."""
    options = merged_but(_OTHERS, "an event stream", options, defaults)
    own = {name: options[name] for name in _OWN if options.get(name) is not None}
    rest = {name: value for name, value in options.items() if name not in _OWN and name != "method"}
    # without a method the service takes POST where there is a body, and GET elsewhere
    spec, guard, check = spec_for(options.get("method") or "GET", url, rest)
    for name, value in own.items():
        spec[_OWN[name]] = dict(value) if hasattr(value, "items") else value
    reconnect = spec.get("reconnect")
    if isinstance(reconnect, dict) and reconnect.get("initial"):
        guard = FOREVER
    spec.update(mode="pull", compact=True, wait="response")
    return Built(encode(spec, "the request"), guard, check)


def first_id(options: Mapping[str, Any]) -> str:
    """The id that the stream begins with, by the option or by the header."""
    headers = options.get("headers") or ()
    found = [value for name, value in header_list(headers) if name.lower() == "last-event-id"]
    return str(options.get("last_event_id") or (found[0] if found else ""))


def events_of(values: list[Any], last_id: str) -> Iterator[ServerSentEvent]:
    """The events of a read. Most have only data, and come as a string."""
    for value in values:
        if type(value) is str:
            yield ServerSentEvent(value, "message", last_id)
        else:
            last_id = value.get("id", last_id)
            yield ServerSentEvent(value["data"], value.get("event", "message"), last_id, value.get("retry"))
