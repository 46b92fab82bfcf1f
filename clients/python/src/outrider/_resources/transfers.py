# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests whose progress is followed: their parameters, and their names in a progress bar."""

from __future__ import annotations

from .._protocol.arguments import LONGEST_MESSAGE
from .._protocol.parameters import build
from .bars import watcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .._protocol.parameters import Built, Defaults
    from .._protocol.progress import Watcher


EVENTS = ("event.progress", "event.finish")
_BODIES = ("file", "files", "data", "json", "parameters")


def with_body(path: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of an upload: with its file, if given; a body is required."""
    whole = {**options} if path is None else {**options, "file": path}
    if all(whole.get(name) is None for name in _BODIES):
        raise TypeError("an upload needs a file, or one of data, json and files")
    return whole


def label(url: str, options: Mapping[str, Any]) -> str:
    """The name of a bar: the file that is sent, else the last part of the path, else the host."""
    file = options.get("file")
    path = str(file) if file is not None else url.partition("?")[0].partition("#")[0]
    name = path.rstrip("/").rpartition("/")[2] or url
    return name if len(name) <= 30 else name[:14] + ".." + name[-14:]


def followed(method: str, url: str, options: Mapping[str, Any], defaults: Defaults) -> tuple[Built, Watcher]:
    """The parameters of a request with events of its progress and its end, and the progress bar."""
    if options.get("body_to") == "stream":
        raise TypeError('progress waits for the whole body: with body_to="stream" count what iter_bytes() gives')
    options = dict(options)
    watch = watcher(options.pop("progress"), label(url, options))
    wanted = options.get("events")
    if wanted is not True:
        options["events"] = sorted({"progress", "finish", *(wanted or ())})
    built = build(method, url, options, defaults)
    if len(built.params) > LONGEST_MESSAGE:
        raise TypeError("progress of a body that is too long for a message needs a file: give file=, or no progress=")
    return built, watch


def is_kept(result: Mapping[str, Any]) -> bool:
    """Whether the service holds something of the response that is still to be fetched."""
    return (result.get("body") or {}).get("kind") in ("stored", "file")
