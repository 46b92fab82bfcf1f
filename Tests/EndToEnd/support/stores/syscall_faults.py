# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Fails system calls of a process, or kills it at one of them: strace does it.

    [*injected("write", "error=ENOSPC", 3, notes), "outrider", …]     from its start
    with watched(process.pid, "write", "signal=KILL", 3, notes): …    from now on, and not those that it starts
"""

import contextlib
import pathlib
import shutil
import subprocess

import pytest

needs_strace = pytest.mark.skipif(
    shutil.which("strace") is None, reason="strace is not here; scripts/setup --test installs it"
)


def words(call, what, number, notes, paths=()):
    """Does so to the nth call of a thread; with paths, of those that concern them."""
    command = ["-o", str(notes), "-e", f"trace={call}"]
    for path in paths:
        command += ["-P", str(path)]
    return [*command, "-e", f"inject={call}:{what}:when={number}"]


def injected(call, what, number, notes, paths=()):
    return ["strace", "-f", "-qq", *words(call, what, number, notes, paths)]


@contextlib.contextmanager
def watched(process, call, what, number, notes, *, children=False):
    """All threads that it has, and will have; with `children` what it starts, too."""
    command = ["strace", "-f", *([] if children else ["-b", "execve"]), "-p", str(process)]
    with subprocess.Popen([*command, *words(call, what, number, notes)], stderr=subprocess.PIPE) as strace:
        line = strace.stderr.readline()
        assert b"attached" in line, line
        try:
            yield
        finally:
            # it ends with the last of them; told to end while they do, it may wait for ever
            with contextlib.suppress(subprocess.TimeoutExpired):
                if pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                    strace.terminate()
                strace.communicate(timeout=5)
            strace.kill()
