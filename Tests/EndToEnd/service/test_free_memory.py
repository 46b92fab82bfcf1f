# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What many requests have taken goes back to the system when their client leaves."""

import json
import pathlib
import re
import socket
import threading
import time

import contract
import pytest
import socket_service

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

#: a client may have so many requests under handles
MOST = 4096


@pytest.fixture
def service(tmp_path):
    path = str(tmp_path / "s")
    with socket_service.running(path, variables={"TMPDIR": str(tmp_path)}) as process:
        yield path, process


def resident(process):
    """Bytes of the heap and the stacks in memory: pages of the program come and go."""
    rollup = pathlib.Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    return int(re.search(r"Anonymous:\s+(\d+)", rollup).group(1)) * 1024


def fill(path, url):
    """A client with the most requests that may be kept for it, all of which have ended."""
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    client.settimeout(60)
    calls = b"".join(
        json.dumps({"jsonrpc": "2.0", "id": number, "method": "data.start", "params": {"url": url}}).encode() + b"\n"
        for number in range(MOST))
    writer = threading.Thread(target=client.sendall, args=(calls,), daemon=True)
    writer.start()
    with client.makefile("rb") as lines:
        for _ in range(MOST):
            assert "request" in json.loads(lines.readline())["result"]
    writer.join(10)
    until(lambda: running(path) == 0)
    return client


def running(path):
    with contract.Wire(path) as wire:
        return wire.call("server.stats")["result"]["requests"]["running"]


def until(right, seconds=30):
    end = time.monotonic() + seconds
    while not right():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_memory_of_ended_requests_goes_back_when_their_client_leaves(service):
    path, process = service
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/"
    before = resident(process)
    with fill(path, url):
        most = resident(process)
        assert most - before > 8 << 20
    # a rest comes before
    until(lambda: resident(process) < before + (most - before) / 3)
