# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Downloads of the blocking client: ``client.download(url, path)`` and its methods. Loaded on first use."""

from __future__ import annotations

from .._protocol.exceptions import OutriderError
from .._protocol.frames import encode
from .._protocol.parameters import FOREVER, GRACE
from .._resources.downloads import BuiltDownload, build_download, build_resume, result_of_start
from .responses import Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

    from .caller import Caller


class Downloads:
    """Files, for a :class:`~outrider.Client`: ``client.download(url, path)`` and its methods."""

    def __init__(self, client: Caller) -> None:
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
        from .._protocol.progress import Progress

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
