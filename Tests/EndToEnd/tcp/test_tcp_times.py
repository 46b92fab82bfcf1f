# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""TCP streams that are suspended, and that are idle, and connections and reads that wait."""

import base64
import contextlib
import os
import socket
import threading
import time

import contract
import pytest
from request_client import result
from tcp_server import LONG, Host, dial, echo

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


def test_a_silent_peer_is_asked_for_a_sign_of_life(wire):
    """The kernel asks, and ends the connection to a host that is gone."""
    with Host(echo) as host:
        dial(wire, host.port)
        deadline = time.monotonic() + 10
        place = f":{host.port:04X}"
        while True:
            with open(f"/proc/{wire.process.pid}/net/tcp") as table:
                rows = [row.split() for row in table]
            # the timer of the end that has connected: 02 for the question that is due when nothing comes
            timers = [row[5][:2] for row in rows if row[2].endswith(place) and row[3] == "01"]
            if timers == ["02"]:
                break
            assert time.monotonic() < deadline, timers
            time.sleep(0.02)
