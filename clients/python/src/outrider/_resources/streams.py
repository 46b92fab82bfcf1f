# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Streams: the parameters of ``stream.open``, and the response head of both kinds of stream."""

from __future__ import annotations

from .._protocol.arguments import phases
from .._protocol.exceptions import ServerGone, from_error
from .._protocol.frames import decode
from .._protocol.parameters import EXACT, FOREVER, Built, build_merged, guard_for, merged

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
    for name in _NOT_OF_STREAMS:
        if options.get(name) is not None:
            raise TypeError(f"a stream has no option {name}")
    options = {name: given for name, given in merged(options, defaults).items() if name not in _NOT_OF_STREAMS}
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


class Head:
    """The response head in the streams of both clients."""

    response: Any

    def _charset(self) -> str | None:
        """UTF-8 in place of a charset that a server has made up."""
        from .lines import usable

        named = self.response.encoding if hasattr(self, "response") else "utf-8"
        charset = usable(named)
        return None if charset == named else charset

    @property
    def status(self) -> int | None:
        """The status code; ``None`` when no head arrived."""
        status: int | None = self.response.status
        return status

    @property
    def headers(self) -> Any:
        """The fields of the head."""
        return self.response.headers

    @property
    def ok(self) -> bool:
        """Whether there is an acceptable head with a status below 400."""
        ok: bool = self.response.ok
        return ok

    def raise_for_status(self) -> None:
        """Raises :class:`~outrider.StatusError` for a status of 400 and above, and for any other failure."""
        self.response.raise_for_status()
