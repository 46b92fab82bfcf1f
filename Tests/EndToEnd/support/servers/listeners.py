# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Ports of programs, and the end of a listener whose connections a thread accepts."""

import contextlib
import os
import pathlib
import random
import socket
import sys
import time

given = set()


def free_port():
    """A port that the system gives only to a program with its number, to be listened on later.

    One that the system chose may have gone to another socket by then: each of the tests opens thousands."""
    lowest = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    # each process of a run has ports of its own, and gives none of them twice
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    ports = range(max(1025, lowest - 12000), lowest)[worker % 16 :: 16]
    ports = [port for port in ports if port not in given]
    for port in random.SystemRandom().sample(ports, min(100, len(ports))):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            given.add(port)
            return port
    # where the system may give all ports
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


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
