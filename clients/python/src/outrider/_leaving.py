# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""For finalizers: tells the service that nobody wants the rest of what was dropped without being closed.

A finalizer may run in any thread at any moment, also in one that holds the locks of the connection, and at the end of
the interpreter: so here nothing waits, nothing is answered, and nothing raises.
"""

from __future__ import annotations

import os
from _socket import MSG_DONTWAIT, MSG_NOSIGNAL

from ._rpc import call_frame, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def leave(client: Any, calls: list[tuple[str, dict[str, Any]]]) -> None:
    """Makes calls for a client that wants no answers."""
    try:
        connection = client._connection
        if connection is None or connection.dead is not None:
            return
        frame = b"".join([call_frame(connection._next(), method, encode(params)) for method, params in calls])
        if not hasattr(connection, "loop"):
            _post(connection, frame)
        elif client._pid == os.getpid():
            connection.loop.call_soon_threadsafe(connection.write, frame)
    except Exception:
        pass


def _post(connection: Any, frame: bytes) -> None:
    """Writes at once if nobody else does; else the thread that reads next writes it."""
    if connection.pid != os.getpid():
        return
    if not connection._writing.acquire(False):
        connection._owed.append(frame)
        return
    try:
        # the kernel takes so little as a whole, or not at all
        connection._stream.send(frame, MSG_DONTWAIT | MSG_NOSIGNAL)
    except BlockingIOError:
        connection._owed.append(frame)
    finally:
        connection._writing.release()
