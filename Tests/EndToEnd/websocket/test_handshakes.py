# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Opening handshakes follow each other, for each client and host."""

import shutil
import subprocess
import threading
import time

import contract
import pytest
from http_server import Listening
from websocket_server import Deaf, Frames, opened

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


class Slow(Deaf):
    """Takes 100 ms for each handshake once it may go on, and notes how many are under way."""

    def __init__(self):
        self.now, self.most, self.count = 0, 0, 0
        self.go = threading.Event()
        super().__init__()

    def serve(self, connection, number):
        with self.changed:
            self.now += 1
            self.count += 1
            self.most = max(self.most, self.now)
            self.changed.notify_all()
        self.go.wait(20)
        time.sleep(0.1)
        with self.changed:
            self.now -= 1
        super().serve(connection, number)


def test_one_handshake_at_a_time_for_each_client_and_host(listening):
    """RFC 6455 section 4.1 item 2."""
    with Slow() as server, contract.Wire(listening) as wire, contract.Wire(listening) as other:
        params = {"url": server.url("/", "ws"), "wait": False}
        made = [wire.call("websocket.open", params)["result"] for _ in range(6)]
        # one that is cancelled while it waits lets the next one go
        wire.call("request.cancel", {"request": made[2]["request"]})
        server.go.set()
        for index in (0, 1, 3, 4, 5):
            sent = wire.call("websocket.send", {"stream": made[index]["stream"], "text": "x"})
            assert "result" in sent, sent
            wire.call("websocket.ping", {"stream": made[index]["stream"], "timeout": 0.1})
        opened(wire, server.url("/", "ws"))
        assert (server.most, server.count) == (1, 6)
        server.go.clear()
        numbers = [(one, one.start("websocket.open", {"url": server.url("/", "ws")})) for one in (wire, other)]
        with server.changed:
            assert server.changed.wait_for(lambda: server.now == 2, 20)
        server.go.set()
        assert all(one.reply(number)["result"]["stream"] for one, number in numbers)


def test_a_handshake_that_fails_lets_the_next_one_begin(wire):
    with Listening() as server:
        server.serve = lambda connection, number: connection.recv(4096)
        numbers = [wire.start("websocket.open", {"url": server.url("/", "ws")}) for _ in range(4)]
        for number in numbers:
            assert wire.reply(number)["result"]["response"]["error"]["code"] == 1404


def test_a_handshake_that_stalls_names_the_wait_of_others(wire):
    stalled = threading.Event()
    with Listening() as server:
        server.serve = lambda connection, number: stalled.wait(20)
        wire.start("websocket.open", {"url": server.url("/", "ws")})
        late = wire.call("websocket.open", {"url": server.url("/", "ws"), "timeout": {"total": 0.3}})
        error = late["result"]["response"]["error"]
        assert error["code"] == 1405 and "open one after the other" in error["message"], error
        stalled.set()


def test_a_response_of_http_1_0_changes_no_protocol(wire):
    """RFC 9110 section 15.2: HTTP/1.0 has no status 101."""
    with Deaf() as server:
        server.version = b"1.0"
        error = wire.call("websocket.open", {"url": server.url("/", "ws")})["result"]["response"]["error"]
        assert error["code"] == 2000 and "HTTP/1.0" in error["message"], error


class Brief(Listening):
    """Opens WebSockets, and is gone at once."""

    def serve(self, connection, number):
        Frames(connection).accept()


def test_a_connection_that_is_lost_at_once_has_told_its_head(wire):
    """The reply named no response if the next connection had begun before the reply was made."""
    with Brief() as server:
        params = {"url": server.url("/", "ws"), "reconnect": {"delay": 30}}
        for _ in range(100):
            made = opened(wire, **params)
            assert made["response"]["status"] == 101, made
            wire.call("request.cancel", {"request": made["request"]})


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_curl_sends_the_handshake(wire):
    heads = []

    class Heads(Listening):
        def serve(self, connection, number):
            frames = Frames(connection)
            heads.append(frames.head())
            frames.accept(heads[-1])
            frames.send(b"\x81\x02hi")
            connection.close()

    with Heads() as server:
        request = opened(wire, server.url("/", "ws"), protocols=["chat"], headers={"X-Key": "s3cr3t"})["request"]
        command = wire.call("request.curl", {"request": request, "secrets": True})["result"]["command"]
        shown = subprocess.run(["sh", "-c", f"{command} -sS --max-time 30 --noproxy '*'"], capture_output=True)
        masked = wire.call("request.curl", {"request": request})["result"]["command"]
    assert shown.stdout.startswith(b"HTTP/1.1 101 ") and shown.stdout.endswith(b"hi"), shown
    assert len(heads) == 2 and heads[0] == heads[1]
    assert "s3cr3t" not in masked and heads[0]["sec-websocket-key"] in masked
