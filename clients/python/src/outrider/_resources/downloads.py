# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Downloads: the parameters of ``download.send``, ``download.start`` and ``download.resume``."""

from __future__ import annotations

import os

from .._protocol.arguments import absolute, absolute_url, text_of
from .._protocol.frames import encode
from .._protocol.hints import Any, Mapping
from .._protocol.models import Watcher
from .._protocol.parameters import FOREVER, Defaults, camel, merged_but, spec_for

_OWN = ("checksum", "verify_digest", "segments", "rate_limit", "resume", "if_range", "when_changed")
_PLACE = ("filename", "replace", "create_directories")
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


def build_download(url: str, path: Any, options: Mapping[str, Any], defaults: Defaults) -> BuiltDownload:
    """The parameters of ``download.send`` and ``download.start``."""
    if defaults.options.get("validate") is None:
        options = {"validate": {"status": ["200..299"]}, **options}
    given = merged_but(_NOT, "a download", options, defaults)
    watch = _watcher(given, url)
    params = _taken(given, _OWN)
    directory = given.pop("directory", None)
    place = _taken(given, _PLACE)
    if path is not None and directory is not None:
        raise TypeError("give only one of path and directory")
    if path is not None:
        # abspath drops the slash
        if text_of(os.fspath(path), "path").endswith("/"):
            raise ValueError(f"path names a directory: {path!r}; give it as directory, or add the name of the file")
        place["path"] = absolute(path, "path")
    else:
        place["directory"] = absolute("." if directory is None else directory, "directory")
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
    given = merged_but(_NOT, "a download", options, defaults)
    given["params"] = options.get("params")
    url = given.pop("url", None)
    watch = _watcher(given, str(url or (source if not str(source).startswith("eyJ") else "download")))
    params = _taken(given, _OWN)
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
        spec["path"] = absolute(source, "source")
    return BuiltDownload({**spec, **params}, FOREVER if options.get("timeout") is None else guard, check, watch)


def _watcher(given: dict[str, Any], name: str) -> Watcher | None:
    progress = given.pop("progress", None)
    if not progress:
        return None
    from .bars import label, watcher

    return watcher(progress, label(name, {}))


def _taken(given: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {camel(name): given.pop(name) for name in names if given.get(name) is not None}
