# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The end of a listener whose connections a thread accepts."""

import contextlib
import socket
import sys
import time


def shut(listener):
    """Closes a listener, and wakes the thread that waits in accept(), which close() alone does not.

    When the process is stopped and goes on, such a call begins anew with the next listener that has its number, and
    takes a connection from another server."""
    with contextlib.suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def forgotten(seconds=5.0):
    """The functions whose threads wait at a listener that is closed; threads that end get some time."""
    limit = time.monotonic() + seconds
    while found := [
        f"{frame.f_back.f_code.co_filename}:{frame.f_back.f_lineno}" for frame in sys._current_frames().values()
        if frame.f_code is socket.socket.accept.__code__ and frame.f_locals["self"].fileno() < 0
    ]:
        if time.monotonic() > limit:
            break
        time.sleep(0.01)
    return found
