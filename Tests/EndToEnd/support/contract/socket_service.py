# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A service of a test's own at a socket: its process, which ends with the block."""

import contextlib
import os
import signal
import subprocess

import contract

# the exit status of a service that SIGTERM has ended in order
TERMINATED = 128 + signal.SIGTERM


@contextlib.contextmanager
def running(path, *arguments, under=(), variables=(), status=None, start=60.0, end=10, **options):
    """The process of a service that listens at `path`.

    `under` is a command that runs the service, `variables` are added to the environment of the tests, `status` is the
    exit status that the service must end with, `start` and `end` are seconds; `options` go to the process.
    """
    options = {"stdin": subprocess.DEVNULL, "env": {**os.environ, **dict(variables)}, **options}
    process = subprocess.Popen([*under, contract.binary(), "serve", "--socket", str(path), *arguments], **options)
    try:
        contract.await_socket(path, process, start)
        yield process
    finally:
        process.terminate()
        ended = process.wait(end)
        assert status is None or ended == status
