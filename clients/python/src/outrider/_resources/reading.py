# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Streams: the parameters of ``stream.open``, the state between two calls, and connections that carry nothing else."""

from __future__ import annotations

from binascii import a2b_base64

from .._protocol.arguments import phases, present
from .._protocol.exceptions import OutriderError, ServerGone, from_error, from_failure
from .._protocol.frames import call_frame, decode, encode
from .._protocol.hints import Any, Iterator, Leaver, Mapping
from .._protocol.openings import Dropped, ended_by
from .._protocol.parameters import EXACT, FOREVER, Built, Defaults, build_merged, guard_for, merged_but

PIECE = 262_144
"""How many bytes are read at a time, unless told otherwise."""

PATIENCE = 630
"""Seconds to wait for the result of a ``stream.read``, which itself waits a little less for the server."""

WAIT = PATIENCE - 30
"""Seconds that a ``stream.read`` waits for the next item before an empty result."""

ATTACHING = 60.0
"""Seconds in which a live service replies to the ``stream.attach`` of a body to send."""

WHOLE = 8_388_608
"""The most bytes of a kept body that a call can read."""


def data_of(result: Any) -> bytes:
    """The bytes that a call read."""
    data = result.get("base64") or b""
    return data if type(data) is bytes else a2b_base64(data)


def piece_of(result: Any) -> tuple[bytes, bool]:
    """What one ``response.read`` gave, and whether the body ends there."""
    data = data_of(result)
    return data, result["end"] is True or not data


def checked_size(size: int) -> int:
    if not isinstance(size, int) or not 1 <= size <= WHOLE:
        raise ValueError("chunk_size must be between 1 and 8388608 bytes")
    return size


class Reading(Dropped):
    """The calls for a stream, and their results.

    When dropped while ``client`` is set, that client closes the stream.
    """

    __slots__ = ("_failure", "_left", "client", "count", "kind", "moved", "name", "over", "piping", "request", "wishes")

    def __init__(self, result: dict[str, Any], client: Leaver | None = None) -> None:
        self.client = client
        self.request: str = result["request"]
        self.name: str = result["stream"]
        self._left: Iterator[Any] = iter(())
        self._failure: OutriderError | None = None
        self.kind = ""
        self.count = 0
        self.wishes: dict[str, Any] = {}
        self.over = self.moved = False
        # the task that opens the connection for the bytes, in asyncio
        self.piping: Any = None

    def _drop(self) -> None:
        if self.client is not None:
            self.client._leave(closing(self))

    def begin(self, kind: str, **wishes: Any) -> None:
        """Sets the kind of items. The first call decides."""
        wishes = present(**wishes)
        if self.kind and (kind, wishes) != (self.kind, self.wishes):
            raise RuntimeError(f"this stream is being read as {self.kind} already")
        self.kind, self.wishes = kind, wishes

    def params(self, size: int = PIECE) -> dict[str, Any]:
        """Of the next ``stream.read``."""
        return {"stream": self.name, "as": self.kind, "bytes": size, "wait": WAIT, **self.wishes}

    def pieces(self) -> Iterator[Any]:
        """The rest of the last result, item by item; then raises the failure of an early end.

        Items that an iteration leaves stay for the next.
        """
        yield from self._left
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def keep(self, result: dict[str, Any], response: Any) -> None:
        """Takes the items of a result, and its error: of an item, or of the stream."""
        self.over, self.moved = result["end"], True
        if "base64" in result:
            data = data_of(result)
            self.count += len(data)
            # text that holds U+0000 comes as its bytes in UTF-8
            found: list[Any] = [data if self.kind == "bytes" else data.decode("utf-8", "replace")]
        elif "text" in result:
            found = [result["text"]]
        else:
            found = [_value(one, self.kind) for one in result["values"]]
        self._left = iter([one for one in found if one or self.kind not in ("bytes", "text")])
        failure = result.get("error")
        self._failure = None if failure is None else from_failure(failure, response)

    def attach(self) -> bytes:
        """The line that turns a second connection into the bytes."""
        return call_frame(1, "stream.attach", encode({"stream": self.name}))


def pieces(content: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


def _value(value: Any, kind: str) -> Any:
    if kind in ("lines", "frames") and isinstance(value, dict):
        data = a2b_base64(value["base64"])
        return data if kind == "frames" else data.decode("utf-8", "replace")
    return value


def give_up(task: Any) -> None:
    """Cancels a task of asyncio, also in another thread, where a finalizer may run. Its result is not wanted."""
    from asyncio import _get_running_loop

    if task.done():
        # asyncio would warn of an exception that no task has seen
        task.cancelled() or task.exception()
    elif task.get_loop() is _get_running_loop():
        task.cancel()
    else:
        try:
            task.get_loop().call_soon_threadsafe(task.cancel)
        except RuntimeError:
            pass  # its event loop is closed


def closing(reading: Reading) -> list[tuple[str, dict[str, Any]]]:
    """The calls that leave nothing of a stream behind."""
    piping, reading.piping = reading.piping, None
    if piping is not None:
        give_up(piping)
    return ended_by(None if reading.over else reading.name, request=reading.request)


NOT_OF_STREAMS = ("serialize", "handlers", "body_to", "max_inline", "detach", "name", "start_immediately")


def build_stream(method: str, url: str, options: Mapping[str, Any], defaults: Defaults) -> Built:
    """The parameters of ``stream.open``, which returns with the head.

    A number as timeout applies to each phase, since the duration of a stream is unknown.
    """
    options = merged_but(NOT_OF_STREAMS, "a stream", options, defaults)
    timeout = options.get("timeout")
    built = build_merged(method, url, {**options, "timeout": phases(timeout)})
    guard = FOREVER if options.get("retry") else guard_for(timeout)
    return Built(built.params[: -len(EXACT) - 1] + '"wait":"response"}', guard, built.check)


def attached(line: bytes) -> None:
    """Raises the service's error in place of the bytes."""
    message = decode(line.decode())
    if "error" in message:
        raise from_error(message["error"])


def cut(problem: OSError | None = None) -> ServerGone:
    """The service that had the body is not there any more."""
    why = "" if problem is None or not problem.strerror else f": {problem.strerror}"
    return ServerGone(f"the service has gone, and with it the rest of the stream{why}")
