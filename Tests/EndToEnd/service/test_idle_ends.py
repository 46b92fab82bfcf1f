# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A service that ends when idle, with a manager that starts the next one: no client notices."""

import collections
import contextlib
import random
import select
import socket
import subprocess
import sys
import threading
import time

import contract
import pytest
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

ACTIVATED = """import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.argv[2], sys.argv[2:])"""


class Manager:
    """Starts a service for the next client, as systemd does, or whenever none is there."""

    def __init__(self, path, holds, *arguments):
        self.path = path
        self.statuses = collections.Counter()
        self.is_clean = False
        self.is_over = threading.Event()
        self.socket = None
        if holds:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.bind(path)
            self.socket.listen(64)
        self.command = [contract.binary(), "serve", *arguments]
        self.thread = threading.Thread(target=self.serve)

    def serve(self):
        while not self.is_over.is_set():
            if not self.socket:
                done = subprocess.run([*self.command, "--socket", self.path], timeout=60)
            elif not select.select([self.socket], [], [], 0.1)[0]:
                continue
            else:
                number = self.socket.fileno()
                starter = [sys.executable, "-S", "-c", ACTIVATED, str(number)]
                done = subprocess.run([*starter, *self.command], pass_fds=[number], timeout=60)
            self.statuses[done.returncode] += 1
        self.is_clean = True

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join(60)
        if self.socket:
            self.socket.close()


def connected(path):
    """A client, once a service is there."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return contract.Wire(path)
        except (FileNotFoundError, ConnectionRefusedError):
            assert time.monotonic() < deadline
            time.sleep(0.002)


@pytest.mark.parametrize("holds", [True, False], ids=["held", "own"])
def test_a_client_of_the_last_moment_is_served(tmp_path, holds):
    """The service ends 0.05 to 0.075 s after its last client, and the next clients come about then."""
    path, pauses = str(tmp_path / "s"), random.Random(1)
    with Manager(path, holds, "--idle-exit", "0.05", "--loops", "2") as manager:
        for _ in range(40):
            with contextlib.ExitStack() as stack:
                for wire in [stack.enter_context(connected(path)) for _ in range(2)]:
                    assert result(wire.call("diagnostics.echo", {"a": 1}, 30)) == {"a": 1}
            time.sleep(0.05 + pauses.random() * 0.03)
    assert manager.is_clean and set(manager.statuses) == {0}
