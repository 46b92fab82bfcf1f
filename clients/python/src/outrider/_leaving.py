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
        connections = getattr(client, "_connections", None)
        if connections is None:
            _post(client._connection, calls)
        elif client._pid == os.getpid():
            # a handle is of one of them; the others do not know it
            for loop, connection in list(connections.items()):
                if connection.dead is None and not loop.is_closed():
                    loop.call_soon_threadsafe(connection.write, _frame(connection, calls))
    except Exception:
        pass


def _frame(connection: Any, calls: list[tuple[str, dict[str, Any]]]) -> bytes:
    return b"".join([call_frame(connection._next(), method, encode(params)) for method, params in calls])


def _post(connection: Any, calls: list[tuple[str, dict[str, Any]]]) -> None:
    """Writes at once if nobody else does; else the thread that reads next writes it."""
    if connection is None or connection.dead is not None or connection.pid != os.getpid():
        return
    frame = _frame(connection, calls)
    mine = False
    try:
        [mine] = map(connection._writing.acquire, (False,))
        if mine:
            # the kernel takes so little as a whole, or not at all
            connection._stream.send(frame, MSG_DONTWAIT | MSG_NOSIGNAL)
        else:
            connection._owed.append(frame)
    except BlockingIOError:
        connection._owed.append(frame)
    finally:
        if mine:
            connection._writing.release()
