# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The functions of the module at the end of a program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "src"


def run(program: str, service: str, origin: str) -> subprocess.CompletedProcess[str]:
    """A program of its own, with the URL as its argument."""
    environment = {**os.environ, "OUTRIDER_SOCKET": service, "PYTHONPATH": str(SOURCES)}
    words = [sys.executable, "-X", "dev", "-c", program, origin]
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)


def test_what_was_to_run_at_exit_may_make_requests(service: str, origin: str) -> None:
    program = """
import atexit, sys, outrider
atexit.register(lambda: print(outrider.get(sys.argv[1] + "/json").status))
print(outrider.get(sys.argv[1] + "/json").status)
atexit.register(lambda: print(outrider.get(sys.argv[1] + "/json").status))
"""
    done = run(program, service, origin)
    assert (done.returncode, done.stdout.split()) == (0, ["200", "200", "200"])
    assert "Traceback" not in done.stderr and "Error" not in done.stderr


def test_a_thread_that_waits_at_exit_says_nothing(service: str, origin: str) -> None:
    program = """
import atexit, threading, outrider
from outrider import _api
# runs last, and gives the thread the time to say something
atexit.register(lambda: waiting.join(0.5))
outrider.get("http://127.0.0.1:1/", check=False)
client = _api.shared()
waiting = threading.Thread(target=lambda: client.call("diagnostics.sleep", seconds=30), daemon=True)
waiting.start()
while not client._connection._reading.locked():
    pass
"""
    done = run(program, service, origin)
    assert (done.returncode, done.stdout) == (0, "") and "Traceback" not in done.stderr
