# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Streams: the parameters of ``stream.open``, and connections that carry nothing else."""

from __future__ import annotations

from .._protocol.arguments import phases
from .._protocol.exceptions import ServerGone, from_error
from .._protocol.frames import decode
from .._protocol.parameters import EXACT, FOREVER, Built, build_merged, guard_for, merged_but

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .._protocol.parameters import Defaults


_NOT_OF_STREAMS = ("serialize", "handlers", "body_to", "max_inline", "detach", "name", "start_immediately")


def build_stream(method: str, url: str, options: Mapping[str, Any], defaults: Defaults) -> Built:
    """The parameters of ``stream.open``, which returns with the head.

    A number as timeout applies to each phase, since the duration of a stream is unknown.
    """
    options = merged_but(_NOT_OF_STREAMS, "a stream", options, defaults)
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
