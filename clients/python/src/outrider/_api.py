# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""``outrider.get(…)`` and its like, for scripts: a client for the whole program, made at the first request."""

from __future__ import annotations

from _thread import allocate_lock

from ._sync.client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from typing import Any

    from typing_extensions import Unpack

    from ._protocol.exceptions import OutriderError
    from ._protocol.options import Item, Options, SSEOptions
    from ._sync.event_source import EventSource
    from ._sync.responses import Response
    from ._sync.router import Router
    from ._sync.sessions import Session
    from ._sync.streams import Stream
    from ._sync.websockets import WebSocket

_lock = allocate_lock()
_client: Client | None = None


def shared() -> Client:
    """The client behind these functions."""
    global _client
    client = _client
    if client is None:
        with _lock:
            if _client is None:
                import atexit

                _client = Client()
                atexit.register(_leave)
            client = _client
    return client


def _leave() -> None:
    """At exit. Later code gets a client of its own; threads in a call end with the process."""
    global _client
    client, _client = _client, None
    connection = None if client is None else client._connection
    if client is not None and (connection is None or not connection._reading.locked()):
        client.close()


def get(url: str, **options: Unpack[Options]) -> Response:
    """Sends a GET request; the options are the same as for :meth:`outrider.Client.get`."""
    return shared().get(url, **options)


def head(url: str, **options: Unpack[Options]) -> Response:
    """Sends a HEAD request."""
    return shared().head(url, **options)


def options(url: str, **options: Unpack[Options]) -> Response:
    """Sends an OPTIONS request."""
    return shared().options(url, **options)


def post(url: str, **options: Unpack[Options]) -> Response:
    """Sends a POST request, usually with ``json=``, ``data=``, ``file=`` or ``files=``."""
    return shared().post(url, **options)


def put(url: str, **options: Unpack[Options]) -> Response:
    """Sends a PUT request."""
    return shared().put(url, **options)


def patch(url: str, **options: Unpack[Options]) -> Response:
    """Sends a PATCH request."""
    return shared().patch(url, **options)


def delete(url: str, **options: Unpack[Options]) -> Response:
    """Sends a DELETE request."""
    return shared().delete(url, **options)


def request(method: str, url: str, **options: Unpack[Options]) -> Response:
    """Sends a request with any method."""
    return shared().request(method, url, **options)


def upload(url: str, path: Any = None, *, method: str = "POST", **options: Unpack[Options]) -> Response:
    """Sends the file of that path, or another body, usually with ``progress=True``."""
    return shared().upload(url, path, method=method, **options)


def download(url: str, path: str | os.PathLike[str] | None = None, **options: Any) -> Response:
    """Downloads a file, or resumes an interrupted download; see :class:`outrider._sync.downloads.Downloads`."""
    return shared().download(url, path, **options)


def many(requests: Iterable[Item], *, window: int = 64, **options: Unpack[Options]) -> list[Response | OutriderError]:
    """Sends many requests at once; see :meth:`outrider.Client.many`."""
    return shared().many(requests, window=window, **options)


def sse(url: str, **options: Unpack[SSEOptions]) -> EventSource:
    """Opens an event stream; see :meth:`outrider.Client.sse`."""
    return shared().sse(url, **options)


def router(name: str, *, client: Client | None = None, **options: Any) -> Router:
    """The router of that name, or a new one with ``base_url``; see :meth:`outrider.Client.router`.

    Default: the client of ``outrider.get``.
    """
    return (shared() if client is None else client).router(name, **options)


def session(**settings: Any) -> Session:
    """Requests that share settings; see :class:`outrider.Session`."""
    return shared().session(**settings)


def stream(url: str, *, method: str = "GET", **options: Unpack[Options]) -> Stream:
    """Sends a request and streams the body; see :meth:`outrider.Client.stream`."""
    return shared().stream(url, method=method, **options)


def websocket(url: str, **options: Any) -> WebSocket:
    """Opens a WebSocket; see :meth:`outrider.Client.websocket`."""
    return shared().websocket(url, **options)
