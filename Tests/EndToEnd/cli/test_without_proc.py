# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The commands in a root directory where /proc is not mounted."""

import os
import select
import subprocess

import contract
import pytest
from shell import LONG, refused

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

NO_PROC = ["unshare", "--mount", "--", "bash", "-c", 'mount -t tmpfs none /proc && exec -a "$0" "$@"']


hidden = pytest.mark.skipif(
    os.geteuid() != 0 or subprocess.run([*NO_PROC, "true", "true"], capture_output=True).returncode != 0,
    reason="only root can hide /proc")


@hidden
def test_a_command_needs_no_proc(origin, tmp_path):
    """The words of the command line are no less there."""
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}

    def without(*words):
        return subprocess.run(
            [*NO_PROC, contract.binary(), contract.binary(), *words], env=environment, capture_output=True,
            timeout=LONG, stdin=subprocess.DEVNULL)

    try:
        for option in ("--stdio", "--spawn"):
            done = without("get", option, origin + "/json")
            assert (done.returncode, done.stdout) == (0, b'{"id":1,"x":0.1}'), done.stderr
    finally:
        assert without("stop").returncode == 0
    assert without("get", b"\xff").returncode == 2
    refused(without("gett"), 2, "gett")


@hidden
def test_a_service_is_this_program_and_keeps_no_file_of_its_caller(tmp_path):
    """The name that a caller gives to the command may be that of another program."""
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            [*NO_PROC, "/bin/false", contract.binary(), "get-socket"], env=environment, capture_output=True,
            timeout=LONG, stdin=subprocess.DEVNULL, pass_fds=[writing])
        os.close(writing)
        assert done.returncode == 0 and str(tmp_path).encode() in done.stdout, done.stderr
        # the end comes when no process has the other side, and the service runs
        assert select.select([reading], [], [], LONG)[0] and os.read(reading, 1) == b""
    finally:
        os.close(reading)
        subprocess.run([contract.binary(), "stop"], env=environment, capture_output=True, timeout=LONG, check=True)
