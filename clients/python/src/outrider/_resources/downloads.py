# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Downloads: the parameters of ``download.send``, ``download.start`` and ``download.resume``."""

from __future__ import annotations

import os

from .._protocol.arguments import text_of
from .._protocol.frames import encode
from .._protocol.layers import absolute_url
from .._protocol.parameters import FOREVER, Defaults, merged, spec_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .._protocol.progress import Watcher


_OWN = {
    "checksum": "checksum",
    "verify_digest": "verifyDigest",
    "segments": "segments",
    "rate_limit": "rateLimit",
    "resume": "resume",
    "if_range": "ifRange",
    "when_changed": "whenChanged",
}
_PLACE = {"filename": "filename", "replace": "replace", "create_directories": "createDirectories"}
_NOT = ("body_to", "max_inline", "serialize")


class BuiltDownload:
    """A download, ready to be sent: its parameters, the wait, whether a failure raises, and the progress bar."""

    __slots__ = ("check", "guard", "params", "watch")

    def __init__(self, params: dict[str, Any], guard: float, check: bool, watch: Watcher | None) -> None:
        self.params = params
        self.guard = guard
        self.check = check
        self.watch = watch

    def text(self, *events: str) -> str:
        """As JSON, with these events besides the requested events."""
        wanted = self.params.get("events")
        if events and wanted is not True:
            return encode({**self.params, "events": [*(wanted or ()), *events]})
        return encode(self.params)


def _absolute(path: Any, name: str) -> str:
    return os.path.abspath(os.path.expanduser(text_of(os.fspath(path), name)))


def build_download(url: str, path: Any, options: Mapping[str, Any], defaults: Defaults) -> BuiltDownload:
    """The parameters of ``download.send`` and ``download.start``."""
    if defaults.options.get("validate") is None:
        options = {"validate": {"status": ["200..299"]}, **options}
    given = _merged(options, defaults)
    watch = _watcher(given, url)
    params = _taken(given)
    directory = given.pop("directory", None)
    place: dict[str, Any] = {_PLACE[name]: given.pop(name) for name in _PLACE if given.get(name) is not None}
    if path is not None and directory is not None:
        raise TypeError("give only one of path and directory")
    if path is not None:
        # abspath drops the slash
        if text_of(os.fspath(path), "path").endswith("/"):
            raise ValueError(f"path names a directory: {path!r}; give it as directory, or add the name of the file")
        place["path"] = _absolute(path, "path")
    else:
        place["directory"] = _absolute("." if directory is None else directory, "directory")
    plan = defaults.sessions.get(given.get("session", ""))
    params["destination"] = place if plan is None else {**place, **plan.callbacks.get("destination", {})}
    params.setdefault("resume", True)
    method = text_of(given.pop("method", "GET"), "method").upper()
    spec, guard, check = spec_for(method, text_of(url, "url"), given)
    return BuiltDownload({**spec, **params}, FOREVER if options.get("timeout") is None else guard, check, watch)


def build_resume(source: Any, options: Mapping[str, Any], defaults: Defaults) -> BuiltDownload:
    """The parameters of ``download.resume``: ``source`` is resume data, a handle, or the path of the file."""
    if source is None or source == "":
        raise TypeError(f"source must be resume data or a path, not {source!r}: if nothing was kept, start again")
    given = _merged(options, defaults)
    given["params"] = options.get("params")
    url = given.pop("url", None)
    watch = _watcher(given, str(url or (source if not str(source).startswith("eyJ") else "download")))
    params = _taken(given)
    spec, guard, check = spec_for("GET", "", {**given, "base_url": None})
    del spec["url"]
    if url is not None:
        spec["url"] = absolute_url(given.get("base_url"), text_of(url, "url"))
    if isinstance(source, str) and source.startswith("req_"):
        spec["request"] = source
    elif isinstance(source, str) and source.startswith("eyJ"):
        # base64 of {"
        spec["resumeData"] = source
    else:
        spec["path"] = _absolute(source, "source")
    return BuiltDownload({**spec, **params}, FOREVER if options.get("timeout") is None else guard, check, watch)


def _watcher(given: dict[str, Any], name: str) -> Watcher | None:
    progress = given.pop("progress", None)
    if not progress:
        return None
    from .bars import watcher
    from .transfers import label

    return watcher(progress, label(name, {}))


def _merged(options: Mapping[str, Any], defaults: Defaults) -> dict[str, Any]:
    for name in _NOT:
        if options.get(name) is not None:
            raise TypeError(f"a download has no option {name}: its body is a file")
    return {name: value for name, value in merged(options, defaults).items() if name not in _NOT}


def _taken(given: dict[str, Any]) -> dict[str, Any]:
    return {_OWN[name]: given.pop(name) for name in _OWN if given.get(name) is not None}


def result_of_start(result: Mapping[str, Any]) -> str:
    """The handle that ``download.start`` and ``download.resume`` give."""
    return str(result["request"])
