# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Files: ``client.download(url, path)`` and what goes with it. Loaded when the first download is asked for."""

from __future__ import annotations

import os

from ._calls import FOREVER, GRACE, Defaults, spec_for, text_of
from ._exceptions import OutriderError
from ._responses import Response
from ._rpc import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ._client import Client
    from ._progress import Watcher

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
    """A download, ready to be sent: its parameters, how long to wait, whether a failure raises, who is told."""

    __slots__ = ("check", "guard", "params", "watch")

    def __init__(self, params: dict[str, Any], guard: float, check: bool, watch: Watcher | None) -> None:
        self.params = params
        self.guard = guard
        self.check = check
        self.watch = watch

    def text(self, *events: str) -> str:
        """As JSON, with these events besides those that were asked for."""
        wanted = self.params.get("events")
        if events and wanted is not True:
            return encode({**self.params, "events": [*(wanted or ()), *events]})
        return encode(self.params)


def _absolute(path: Any, name: str) -> str:
    return os.path.abspath(os.path.expanduser(text_of(os.fspath(path), name)))


def build_download(url: str, path: Any, options: Mapping[str, Any], defaults: Defaults) -> BuiltDownload:
    """The parameters of ``download.send`` and ``download.start``."""
    given = dict(options)
    watch = _watcher(given, url)
    params = _taken(given)
    directory = given.pop("directory", None)
    place: dict[str, Any] = {_PLACE[name]: given.pop(name) for name in _PLACE if given.get(name) is not None}
    if path is not None and directory is not None:
        raise TypeError("give only one of path and directory")
    if path is not None:
        place["path"] = _absolute(path, "path")
    else:
        place["directory"] = _absolute("." if directory is None else directory, "directory")
    params["destination"] = place
    params.setdefault("resume", True)
    given.setdefault("validate", {"status": ["200..299"]})
    method = text_of(given.pop("method", "GET"), "method").upper()
    spec, guard, check = spec_for(method, text_of(url, "url"), given, defaults)
    return BuiltDownload({**spec, **params}, FOREVER if options.get("timeout") is None else guard, check, watch)


def build_resume(source: Any, options: Mapping[str, Any], defaults: Defaults) -> BuiltDownload:
    """The parameters of ``download.resume``: ``source`` is resume data, a handle, or the path of the file."""
    given = dict(options)
    url = given.pop("url", None)
    watch = _watcher(given, str(url or (source if not str(source).startswith("eyJ") else "download")))
    params = _taken(given)
    spec, guard, check = spec_for("GET", "", given, defaults)
    del spec["url"]
    if url is not None:
        spec["url"] = text_of(url, "url")
    if not isinstance(source, str) or source.startswith(("/", "~")):
        spec["path"] = _absolute(source, "path")
    else:
        spec["request" if source.startswith("req_") else "resumeData"] = source
    return BuiltDownload({**spec, **params}, FOREVER if options.get("timeout") is None else guard, check, watch)


def _watcher(given: dict[str, Any], name: str) -> Watcher | None:
    progress = given.pop("progress", None)
    if not progress:
        return None
    from ._progress import watcher
    from ._transfers import label

    return watcher(progress, label(name, {}))


def _taken(given: dict[str, Any]) -> dict[str, Any]:
    for name in _NOT:
        if given.get(name) is not None:
            raise TypeError(f"a download has no option {name}: its body is a file")
    return {_OWN[name]: given.pop(name) for name in _OWN if given.get(name) is not None}


def result_of_start(result: Mapping[str, Any]) -> str:
    """The handle that ``download.start`` and ``download.resume`` give."""
    return str(result["request"])


class Downloads:
    """Files, for a :class:`~outrider.Client`: ``client.download(url, path)`` and its methods."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __call__(self, url: str, path: str | os.PathLike[str] | None = None, **options: Any) -> Response:
        """Downloads a file, and returns when it is there: ``path`` and ``size`` of the response tell about it.

        Without ``path`` it goes into ``directory``, or into this one, under ``filename`` or the name that the
        server suggests. What an earlier download to the same place has left is gone on with; with
        ``resume=False`` it is not. A status that is none of 200 to 299 raises, unless ``validate`` says otherwise.

        ``replace``             ``True``: take the place of a file that is there
        ``create_directories``  ``True``: make the directories that are missing
        ``checksum``            digests that the file must have: ``{"sha-256": "9f86d0…"}``
        ``segments``            ask for so many parts at the same time
        ``rate_limit``          the most bytes a second
        ``when_changed``        ``restart`` or ``fail``, when the server has something else than was kept

        The other options are those of :meth:`outrider.Client.get`; ``progress=True`` is a bar on a terminal.
        """
        built = build_download(url, path, options, self._client._defaults)
        return self._finished("download.send", built)

    def start(self, url: str, path: str | os.PathLike[str] | None = None, **options: Any) -> str:
        """Starts a download and returns its handle at once; options as above. See :meth:`outrider.Client.wait`."""
        built = build_download(url, path, options, self._client._defaults)
        return result_of_start(self._client._result("download.start", built.text(), FOREVER))

    def resume(self, source: str | os.PathLike[str], **options: Any) -> Response:
        """Goes on with a download: by what :meth:`cancel` gave, by its handle, or by the path of its file.

        ``url`` and ``headers`` may be others.
        """
        built = build_resume(source, options, self._client._defaults)
        return self._finished("download.resume", built)

    def cancel(self, request: str) -> str | None:
        """Ends a started download; what to give to :meth:`resume`, or ``None`` if nothing was kept."""
        data = self._client.invoke("request.cancel", {"request": request, "resumeData": True}).get("resumeData")
        return None if data is None else str(data)

    def _finished(self, method: str, built: BuiltDownload) -> Response:
        client = self._client
        if method == "download.send" and built.watch is None:
            response = Response(client._result(method, built.text(), built.guard), client.invoke)
        else:
            response = Response(self._watched(method, built), client.invoke)
        if built.check:
            response.raise_for_error()
        return response

    def _watched(self, method: str, built: BuiltDownload) -> dict[str, Any]:
        client = self._client
        started = "download.start" if method == "download.send" else method
        if built.watch is None:
            request = result_of_start(client._result(started, built.text(), FOREVER))
            return client._result("request.wait", encode({"request": request}), built.guard)
        from ._progress import Progress

        with built.watch as show, client.events("event.progress", "event.finish") as events:
            request = result_of_start(client._result(started, built.text("progress", "finish"), FOREVER))
            try:
                for event in events:
                    if event.request == request:
                        if event.name == "event.finish":
                            return dict(event.params["response"])
                        show(Progress(event.params))
                    if events.dropped:
                        break
                return client._result("request.wait", encode({"request": request}), built.guard)
            except BaseException:
                # whatever ended the waiting ends the download, which can go on
                try:
                    client.invoke("request.cancel", {"request": request, "resumeData": True}, timeout=GRACE)
                except OutriderError:
                    pass
                raise
