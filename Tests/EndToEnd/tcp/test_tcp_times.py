# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""TCP streams that are suspended, and that are idle, and connections and reads that wait."""

import base64
import contextlib
import ctypes
import os
import socket
import struct
import threading
import time

import contract
import pytest
from request_client import result
from socket_service import running
from tcp_server import LONG, Host, dial, echo, write

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.mark.parametrize("way", ["request.cancel", "stream.close"])
@pytest.mark.parametrize("how", ["tcp.closeRead", "the peer"])
def test_a_stream_that_has_ended_while_suspended_can_be_cancelled(wire, way, how):
    """Both directions are over, and their end was not told: the request ends with the cancellation."""
    with Host(lambda connection: connection.recv(1) if how == "tcp.closeRead" else None) as host:
        made = dial(wire, host.port)
        stream, request = {"stream": made["stream"]}, {"request": made["request"]}
        result(wire.call("request.suspend", request))
        result(wire.call("stream.finish", stream))
        if how == "tcp.closeRead":
            result(wire.call("tcp.closeRead", stream))
        # neither end is told during the suspension
        time.sleep(0.1)
        result(wire.call(way, request if way == "request.cancel" else stream))
        ended = result(wire.call("request.wait", {**request, "timeout": 10}))
    assert (ended["ok"], ended["error"]["code"]) == (False, 1900)


def test_a_stream_that_only_sends_is_not_idle(wire):
    """`idle` counts bytes in either direction."""

    def act(connection):
        connection.settimeout(LONG)
        while connection.recv(100):
            pass

    with Host(act) as host:
        made = dial(wire, host.port, timeout={"idle": 3})
        stream, request = {"stream": made["stream"]}, {"request": made["request"]}
        end = time.monotonic() + 3.6
        while time.monotonic() < end:
            result(wire.call("stream.write", {**stream, "text": "x"}))
            time.sleep(0.05)
        assert result(wire.call("request.wait", {**request, "timeout": 0.001})).get("pending")
        # and without bytes it ends
        assert result(wire.call("request.wait", {**request, "timeout": 10}))["error"]["code"] == 1405


def test_a_read_waits_no_longer_for_its_turn_than_it_may_wait(wire):
    """And takes nothing from the reads that wait before and behind it."""
    go = threading.Event()

    def serve(connection):
        go.wait(LONG)
        connection.sendall(b"1122")
        connection.recv(1)

    with Host(serve) as host:
        stream = dial(wire, host.port)["stream"]
        first, late, least, last = (
            wire.start("stream.read", {"stream": stream, "bytes": 2, "min": 2, "wait": 60}),
            wire.start("stream.read", {"stream": stream, "wait": 0.1}),
            wire.start("stream.read", {"stream": stream, "min": 5, "wait": 0.1}),
            wire.start("stream.read", {"stream": stream, "bytes": 2, "min": 2, "wait": 60}),
        )
        replies = wire.replies([late, least], 20)
        found = [(replies[one]["result"]["base64"], replies[one]["result"].get("timedOut")) for one in (late, least)]
        assert found == [("", None), ("", True)]
        go.set()
        replies = wire.replies([first, last], 20)
        assert [base64.b64decode(replies[one]["result"]["base64"]) for one in (first, last)] == [b"11", b"22"]


@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_a_unix_socket_whose_queue_is_full_is_waited_for(wire, tmp_path, kind):
    """As by programs that block."""
    name = str(tmp_path / "s") if kind == "path" else f"@outrider-{os.getpid()}-{os.urandom(4).hex()}"
    with socket.socket(socket.AF_UNIX) as busy, contextlib.ExitStack() as held:
        busy.bind(name.replace("@", "\0"))
        busy.listen(1)
        with pytest.raises(BlockingIOError):
            while True:
                filling = held.enter_context(socket.socket(socket.AF_UNIX))
                filling.setblocking(False)
                filling.connect(name.replace("@", "\0"))
        number = wire.start("tcp.open", {"path": name})
        with pytest.raises(TimeoutError):
            wire.receive_line(0.5)
        held.enter_context(contextlib.closing(busy.accept()[0]))
        reply = wire.reply(number, LONG)["result"]
        assert reply["ok"], reply


# the timers of a socket in /proc/net/tcp: bytes are repeated, the peer is asked whether it is there, or has room
REPEATS, ASKS, PROBES = "01", "02", "04"
# from linux/filter.h, and asm/socket.h
RETURN, ATTACH_FILTER = 0x06, 26


def await_timer(process, port, kind, count=0):
    """Until the end that has connected has set this timer, and has sent something again so many times."""
    deadline = time.monotonic() + 10
    place = f":{port:04X}"
    while True:
        with open(f"/proc/{process.pid}/net/tcp") as table:
            rows = [row.split() for row in table]
        timers = [(row[5][:2], int(row[6], 16)) for row in rows if row[2].endswith(place) and row[3] == "01"]
        if len(timers) == 1 and timers[0][0] == kind and timers[0][1] >= count:
            return
        assert time.monotonic() < deadline, timers
        time.sleep(0.02)


def test_a_silent_peer_is_asked_for_a_sign_of_life(wire):
    """The kernel asks, and ends the connection to a host that is gone."""
    with Host(echo) as host:
        dial(wire, host.port)
        await_timer(wire.process, host.port, ASKS)


@pytest.fixture
def ahead(tmp_path, clocks):
    """A service whose clock can be set ahead."""
    path = str(tmp_path / "s")
    with running(path, variables=clocks.environment) as process, contract.Wire(path) as wire:
        yield wire, process


def test_a_peer_that_acknowledges_nothing_is_gone(ahead, clocks):
    """TCP itself repeats bytes for a quarter of an hour, and asks nothing meanwhile."""
    wire, process = ahead
    deaf, over = threading.Event(), threading.Event()

    def act(connection):
        nothing = ctypes.create_string_buffer(struct.pack("HBBI", RETURN, 0, 0, 0))
        program = struct.pack("HP", 1, ctypes.addressof(nothing))
        connection.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER, program)
        deaf.set()
        over.wait(LONG)

    with Host(act) as host:
        made = dial(wire, host.port)
        assert deaf.wait(10)
        write(wire, made["stream"], b"x")
        await_timer(process, host.port, REPEATS, count=1)
        clocks.jump(awake=120)
        ended = result(wire.call("request.wait", {"request": made["request"], "timeout": 10}))
        over.set()
    assert ended["error"]["code"] == 1404 and ended["error"]["message"].endswith("Connection timed out"), ended


def test_a_peer_that_does_not_read_is_not_gone(ahead, clocks):
    wire, process = ahead
    go, count = threading.Event(), 16 << 20
    got = []

    def act(connection):
        go.wait(LONG)
        while piece := connection.recv(1 << 20):
            got.append(len(piece))

    with Host(act) as host:
        stream = dial(wire, host.port)["stream"]
        text = "x" * (4 << 20)
        written = [wire.start("stream.write", {"stream": stream, "text": text}) for _ in range(count >> 22)]
        await_timer(process, host.port, PROBES)
        clocks.jump(awake=120)
        early = wire.replies([wire.start("server.info")])
        go.set()
        wire.replies(set(written) - set(early), LONG)
        result(wire.call("stream.finish", {"stream": stream}))
        host.threads[0].join(LONG)
    assert sum(got) == count
