# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Runs the commands of the binary, for the tests that look at them as a shell does."""

import json
import os
import subprocess

import contract

LONG = 30


def outrider(*words, env=None, stdin=b"", **more):
    """Runs a command to its end; nothing of this user's own settings reaches it."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OUTRIDER", "XDG_"))}
    clean = {key: value for key, value in clean.items() if not key.lower().endswith("_proxy")}
    command = [contract.binary(), *words]
    env = {**clean, **(env or {})}
    return subprocess.run(command, env=env, input=stdin, capture_output=True, timeout=LONG, **more)


def refused(done, status, *words):
    """A failure: nothing on standard output, one sentence with these words on standard error."""
    said = done.stderr.decode()
    assert done.returncode == status, said
    assert done.stdout == b""
    for word in words:
        assert word in said
    return said


def echoed(done):
    """What a server that echoes requests got, with its fields by their names in lower case."""
    assert done.returncode == 0, done.stderr.decode()
    echo = json.loads(done.stdout)
    echo["fields"] = {name.lower(): value for name, value in echo["headers"]}
    return echo
