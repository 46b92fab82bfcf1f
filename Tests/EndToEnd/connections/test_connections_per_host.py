# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""How many connections to one origin there are, and who gets them."""

import contextlib
import http.server
import threading
import time

import contract
import pytest
import tls_server
from tcp_server import Host

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


class Slow(http.server.BaseHTTPRequestHandler):
    """Responds to each request when the server lets it, and counts the requests that are there at once."""

    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        with self.server.lock:
            self.server.connections += 1

    def do_GET(self):
        server = self.server
        with server.lock:
            server.now += 1
            server.most = max(server.most, server.now)
            server.paths.append(self.path)
        server.turns.acquire()
        with server.lock:
            server.now -= 1
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def slow():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow, bind_and_activate=False)
    server.request_queue_size, server.daemon_threads = 256, True
    server.server_bind()
    server.server_activate()
    server.lock, server.turns = threading.Lock(), threading.Semaphore(0)
    server.now = server.most = server.connections = 0
    server.paths = []
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with contextlib.closing(server.socket):
        yield server
        server.turns.release(10_000)
        server.shutdown()


def await_now(server, count):
    end = time.monotonic() + 20
    while server.now < count and time.monotonic() < end:
        time.sleep(0.01)
    return server.now


def until_waiting(wire, count):
    """Until so many requests wait for a connection."""
    end = time.monotonic() + 20
    while (waiting := wire.call("server.stats")["result"]["pool"]["waiting"]) != count:
        assert time.monotonic() < end, waiting


def start(wire, server, count, name, **more):
    return [wire.start("data.send", {"url": f"{server.url}/{name}/{n}", **more}) for n in range(count)]


def test_64_at_once_and_no_connection_without_a_request(service, slow):
    with contract.Wire(service) as wire:
        start(wire, slow, 10, "few")
        assert await_now(slow, 10) == 10 and slow.connections == 10
        numbers = start(wire, slow, 100, "many")
        assert await_now(slow, 64) == 64
        until_waiting(wire, 46)
        slow.turns.release(1000)
        wire.replies(numbers, 20)
    assert slow.most == slow.connections == 64


def test_a_request_behind_a_stalled_opening_says_what_it_waits_for(wire):
    """Not for one of 64 connections, of which there is one."""
    began = threading.Event()

    def stall(connection):
        began.set()
        while connection.recv(65536):
            pass

    with Host(stall) as host:
        url = f"https://127.0.0.1:{host.port}/"
        first = wire.start("data.send", {"url": url})
        assert began.wait(20)
        late = wire.call("data.send", {"url": url, "timeout": {"total": 0.2}})["result"]["error"]
        assert late["code"] == 1405 and "the connection that another request is opening" in late["message"], late
    assert not wire.replies([first])[first]["result"]["ok"]


def test_a_stalled_opening_does_not_hold_the_other_requests(trusting, certificates):
    """As with one stuck server of several behind a name: after a second, a waiting request opens another connection."""
    began, over = threading.Event(), threading.Event()
    speaks = tls_server.context(certificates, "good")

    def serve(connection):
        if not began.is_set():
            began.set()
            return over.wait(60)
        with speaks.wrap_socket(connection, server_side=True) as secure:
            while secure.recv(65536):
                secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    with Host(serve) as host:
        url = f"https://127.0.0.1:{host.port}/"
        first = trusting.start("data.send", {"url": url})
        assert began.wait(20)
        others = [trusting.start("data.send", {"url": url}) for _ in range(3)]
        assert all(reply["result"]["ok"] for reply in trusting.replies(others, 20).values())
        over.set()
        trusting.replies([first], 20)


def test_a_session_keeps_to_its_own_limit(service, slow):
    with contract.Wire(service) as wire:
        session = wire.call("session.create", {"connectionsPerHost": 6})["result"]["session"]
        own = start(wire, slow, 20, "own", session=session)
        others = start(wire, slow, 20, "other")
        assert await_now(slow, 26) == 26
        assert sum("own" in one for one in slow.paths) == 6
        slow.turns.release(1000)
        wire.replies(others + own, 20)
        assert slow.most == 26


def test_clients_take_turns(service, slow):
    """A client with many requests does not keep a client with few of them waiting."""
    with contract.Wire(service) as many, contract.Wire(service) as few:
        start(many, slow, 300, "many")
        assert await_now(slow, 64) == 64
        numbers = start(few, slow, 5, "few")
        # of one client 256 requests run at a time
        until_waiting(few, 256 + 5 - 64)
        slow.turns.release(6)
        end = time.monotonic() + 20
        while sum("few" in one for one in slow.paths) < 5 and time.monotonic() < end:
            time.sleep(0.01)
        assert sum("few" in one for one in slow.paths) == 5
        slow.turns.release(1000)
        assert all(reply["result"]["ok"] for reply in few.replies(numbers, 20).values())
