# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""``outrider.get(…)`` and its like, for scripts: a client for the whole program, made at the first request."""

from __future__ import annotations

import os
from _thread import allocate_lock

from ._protocol.hints import Any
from ._sync.client import Client
from ._sync.responses import Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._sync.router import Router

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


def download(url: str, path: str | os.PathLike[str] | None = None, **options: Any) -> Response:
    """Downloads a file, or resumes an interrupted download; see :class:`outrider._sync.transfers.Downloads`."""
    return shared().download(url, path, **options)


def router(name: str, *, client: Client | None = None, **options: Any) -> Router:
    """The router of that name, or a new one with ``base_url``; see :meth:`outrider.Client.router`.

    Default: the client of ``outrider.get``.
    """
    return (shared() if client is None else client).router(name, **options)


if TYPE_CHECKING:
    delete, get, head, options = shared().delete, shared().get, shared().head, shared().options
    patch, post, put, request = shared().patch, shared().post, shared().put, shared().request
    many, upload = shared().many, shared().upload
    session, sse, stream, websocket = shared().session, shared().sse, shared().stream, shared().websocket
else:

    def __getattr__(name):
        """The method of that name of the shared client, as a function."""

        def function(*given, **named):
            return getattr(shared(), name)(*given, **named)

        function.__name__ = function.__qualname__ = name
        function.__doc__ = getattr(Client, name).__doc__
        # a pickle of the function names it by its place in this module
        globals()[name] = function
        return function
