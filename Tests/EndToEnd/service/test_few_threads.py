# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A service that cannot start one of its threads replies, or ends: it never waits for a thread that is not there."""

import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import subprocess

import contract
import pytest

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

CALL = {"jsonrpc": "2.0", "id": 1, "method": "diagnostics.echo", "params": {"a": 1}}


@pytest.fixture(scope="module")
def threadless(tmp_path_factory):
    """The library that refuses a thread."""
    compiler = shutil.which("clang") or shutil.which("cc")
    assert compiler, "no C compiler"
    library = tmp_path_factory.mktemp("threadless") / "threadless.so"
    source = pathlib.Path(__file__).parent / "threadless.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
    return str(library)


def served(threadless, number, **more):
    """How a service on stdio ends whose thread of that number is refused."""
    environment = {**os.environ, "LD_PRELOAD": threadless, "OUTRIDER_TEST_THREAD": str(number), **more}
    # a crash of the event loop's own thread needs no backtrace
    environment["SWIFT_BACKTRACE"] = "enable=no"
    line = json.dumps(CALL).encode() + b"\n"
    return subprocess.run(
        [contract.binary(), "serve", "--stdio"], input=line, env=environment, capture_output=True, timeout=60)


def test_a_service_without_one_of_its_threads_replies_or_ends(threadless):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(lambda number: served(threadless, number), range(1, 25)))
    # those of the check at the start are the first
    first = next(number for number, done in enumerate(ends, 1) if done.returncode == 0)
    refusals = 0
    for number, done in enumerate(ends, 1):
        if done.returncode == 0:
            assert json.loads(done.stdout)["result"] == {"a": 1}, number
        elif b"no room for the threads" in done.stderr:
            assert (done.returncode, done.stdout) == (1, b""), done
            refusals += number > first
        else:
            # the thread of the event loop itself, or one of the system's: traps
            assert -done.returncode in (signal.SIGILL, signal.SIGTRAP, signal.SIGABRT), (number, done)
            assert done.stdout == b"", (number, done)
    assert refusals > 0


def test_a_service_without_room_for_threads_says_so(threadless):
    """Its event loop trapped, or libdispatch waited without end for a thread."""
    for number in range(1, 5):
        done = served(threadless, number, OUTRIDER_TEST_NO_MORE="1")
        assert (done.returncode, done.stdout) == (1, b""), (number, done)
        assert b"no room for the threads" in done.stderr and b"ulimit -u" in done.stderr, (number, done)
