# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Threads without work end after ten seconds, whatever the calendar says meanwhile."""

import pathlib
import time

import contract
import pytest
from socket_service import running

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def service(tmp_path, clocks):
    path = str(tmp_path / "s")
    with running(path, variables={**clocks.environment, "TMPDIR": str(tmp_path)}) as process:
        yield path, process


def threads(process):
    """Those that work on files; the runtime has threads of its own, which rest by the calendar."""
    tasks = pathlib.Path(f"/proc/{process.pid}/task").iterdir()
    return {task.name for task in tasks if (task / "comm").read_text() == "files\n"}


def test_a_calendar_that_is_set_ahead_does_not_lengthen_the_rest_of_threads(service, clocks, tmp_path):
    path, process = service
    (tmp_path / "body").write_bytes(b"x" * 1000)
    before = threads(process)
    clocks.jump(wall=3600)
    with contract.Wire(path) as wire:
        # a thread of its own opens the file
        wire.call("upload.send", {"url": "http://127.0.0.1:1/", "body": {"file": str(tmp_path / "body")}})
    new = threads(process) - before
    assert new
    end = time.monotonic() + 30
    while new & threads(process):
        assert time.monotonic() < end, "a thread without work goes on"
        time.sleep(0.2)
