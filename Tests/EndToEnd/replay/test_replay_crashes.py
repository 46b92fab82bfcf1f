# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A service that is killed at any system call of a recording leaves a cassette that can be read."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess

import contract
import pytest
from request_client import get, result

STRACE = shutil.which("strace")
pytestmark = [
    pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it"),
    pytest.mark.skipif(
        STRACE is None or subprocess.run([STRACE, "-f", "true"], capture_output=True).returncode != 0,
        reason="strace cannot trace here",
    ),
]
CALLS = ["openat", "flock", "fstat", "pread64", "ftruncate", "pwrite64", "mkdir", "fdatasync", "close"]
# every system call that concerns the file, in each place; the short form has the writes
WHOLE = bool(os.environ.get("OUTRIDER_EVERY_CALL"))


def record(tape, origin, call, number):
    """Records three requests under a service that is killed at that call; how many were known to be finished."""
    under = (STRACE, "-f", "-qq", "-o", "/dev/null", "-P", tape, "-e", f"trace={','.join(CALLS)}",
             "-e", f"inject={call}:signal=KILL:when={number}")  # fmt: skip
    finished = 0
    wire = contract.Wire(under=under)
    try:
        result(wire.call("replay.start", {"path": tape, "mode": "newEpisodes"}, 20))
        for index in range(3):
            get(wire, f"{origin}/json?{index}")
            finished = result(wire.call("replay.get", {}, 20))["recorded"]
        result(wire.call("replay.stop", {}, 20))
        return 3, True
    except (AssertionError, OSError, contract.Gone):
        return finished, False
    finally:
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            wire.process.kill()
            wire.process.wait(10)
            wire.process.stdin.close()


@pytest.mark.parametrize("call", CALLS if WHOLE else ["pwrite64", "ftruncate", "fdatasync"])
def test_every_finished_entry_can_be_read(tmp_path, origin, call):
    killed = 0
    for number in range(1, 30):
        tape = str(tmp_path / f"{call}-{number}.har")
        finished, whole = record(tape, origin, call, number)
        if not os.path.exists(tape):
            killed += 1
            continue
        with contract.Wire() as wire:
            info = result(wire.call("replay.start", {"path": tape, "mode": "newEpisodes"}))
            assert info["entries"] >= finished and not info["unusable"], (call, number, info)
            for index in range(finished):
                assert get(wire, f"{origin}/json?{index}")["ok"]
            assert result(wire.call("replay.stop", {}))["played"] >= finished
        entries = json.loads(pathlib.Path(tape).read_text())["log"]["entries"]
        assert len(entries) >= finished
        if whole:
            break
        killed += 1
    assert killed > 0 or call not in ("pwrite64", "fdatasync"), f"{call} was never reached"
