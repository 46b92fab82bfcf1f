# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Clients that connect and say nothing do not lock others out, and a want of descriptors costs no processor time."""

import contextlib
import json
import os
import resource
import socket
import subprocess
import time

import contract
import pytest
from request_client import processor_seconds

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

PLACES = 256


@pytest.fixture
def crowded(tmp_path, clocks):
    """A service whose places are all taken by silent clients, but for one client that works."""
    path = str(tmp_path / "s")
    process = subprocess.Popen(
        [contract.binary(), "serve", "--socket", path, "--max-clients", str(PLACES)],
        stdin=subprocess.DEVNULL,
        env={**os.environ, **clocks.environment},
    )
    with contextlib.ExitStack() as stack:
        stack.callback(process.wait, 10)
        stack.callback(process.terminate)
        contract.await_socket(path, process)
        worker = stack.enter_context(contract.Wire(path))
        assert worker.call("server.info")["result"]["limits"]["connections"] == PLACES
        silent = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(PLACES - 1)]
        for number, client in enumerate(silent):
            client.connect(path)
            client.settimeout(10)
            if number == 0:
                client.sendall(b'{"jsonrpc": "2.0", "id": 1, "method": ')  # the beginning of a message is not one
        yield path, worker, silent


def refused(path):
    """What a new client hears before it is disconnected."""
    with contract.Wire(path) as wire:
        line = json.loads(wire.receive_line())
        with pytest.raises(contract.Gone):
            wire.receive_line()
        return line["error"]


def test_silent_clients_give_way_after_ten_seconds(crowded, clocks):
    path, worker, silent = crowded
    error = refused(path)
    assert error["code"] == -32011 and error["data"] == {"what": "connections"}
    clocks.jump(boot=11)
    # each new client takes the place of the oldest silent one, which hears why
    with contract.Wire(path) as first, contract.Wire(path) as second:
        assert "result" in first.call("server.info") and "result" in second.call("server.info")
        for client in silent[:2]:
            said = b""
            while piece := client.recv(4096):
                said += piece
            gone = json.loads(said)
            assert gone["id"] is None and gone["error"]["code"] == -32011
            assert gone["error"]["message"] == (
                "no message came within 10.0 s, and another client needs the place (connect again)"
            )
        # all others are still there
        silent[2].setblocking(False)
        with pytest.raises(BlockingIOError):
            silent[2].recv(1)
        assert "result" in worker.call("server.info")


def test_clients_that_have_spoken_keep_their_places(crowded, clocks):
    path, worker, silent = crowded
    for client in silent[1:]:
        client.sendall(b'{"jsonrpc": "2.0", "id": 1, "method": "server.info"}\n')
        assert client.recv(1 << 16)
    clocks.jump(boot=3600)
    with contract.Wire(path) as wire:
        assert "result" in wire.call("server.info")
        assert silent[0].recv(1 << 16)
        assert refused(path)["code"] == -32011
    assert "result" in worker.call("server.info")


def test_places_are_a_quarter_of_the_descriptors(tmp_path):
    for files, places in (((500, 4000), 1000), ((200, 200), 64)):
        path = str(tmp_path / "s")
        process = subprocess.Popen(
            [contract.binary(), "serve", "--socket", path], stdin=subprocess.DEVNULL,
            preexec_fn=lambda files=files: resource.setrlimit(resource.RLIMIT_NOFILE, files))
        contract.await_socket(path, process)
        with contract.Wire(path) as wire:
            assert wire.call("server.info")["result"]["limits"]["connections"] == places
        process.terminate()
        process.wait(10)


def test_without_descriptors_the_listener_rests(tmp_path):
    """A socket that stays readable keeps no processor busy, and its clients come in when a descriptor is free."""
    path = str(tmp_path / "s")
    process = subprocess.Popen([contract.binary(), "serve", "--socket", path], stdin=subprocess.DEVNULL)
    with contextlib.ExitStack() as stack:
        stack.callback(process.wait, 10)
        stack.callback(process.terminate)
        contract.await_socket(path, process)
        worker = stack.enter_context(contract.Wire(path))
        assert "result" in worker.call("server.info")
        used, (_, most) = len(os.listdir(f"/proc/{process.pid}/fd")), resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (used, most))
        waiting = [stack.enter_context(contract.Wire(path)) for _ in range(8)]
        numbers = [wire.start("server.info") for wire in waiting]
        before = processor_seconds(process.pid)
        time.sleep(1.2)  # clock: libdispatch looks at its threads once a second, and must need no descriptor then
        assert processor_seconds(process.pid) - before < 0.2
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (most, most))
        for wire, number in zip(waiting, numbers):
            assert "result" in wire.reply(number)
        assert "result" in worker.call("server.info")
