# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Several event loops: clients are spread, and shared parts are on the first loop."""

import contextlib
import socket
import subprocess
import sys
import threading
import time

import contract
import pytest
from cache_server import CacheServer, Reply
from chunk_server import Feeder, pattern
from http_server import Listening
from raw_client import Raw
from request_client import STRANGER, result, until_shared
from socket_service import TERMINATED, running
from stream_client import opened, response

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@contextlib.contextmanager
def serving(place, *arguments):
    """A service with these arguments, by its socket."""
    path = str(place / "s")
    variables = {"TMPDIR": str(place), "OUTRIDER_CACHES": str(place / "caches")}
    with running(path, *arguments, variables=variables, status=TERMINATED):
        yield path


@contextlib.contextmanager
def connected(path, count):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(contract.Wire(path)) for _ in range(count)]


def loops(wire, clients=1):
    """Connections by loop, once the service has that number of connections."""
    deadline = time.monotonic() + 10
    while True:
        found = [loop["clients"] for loop in result(wire.call("server.stats"))["loops"]]
        if sum(found) == clients:
            return found
        assert time.monotonic() < deadline, found


def statuses(wires, send):
    """The statuses of five requests of each client, sent at the same time."""
    numbers = [(wire, [wire.start("data.send", send) for _ in range(5)]) for wire in wires]
    return {result(reply)["status"] for wire, own in numbers for reply in wire.replies(own, 20).values()}


@pytest.fixture
def two(tmp_path):
    """Two clients on different loops."""
    with serving(tmp_path, "--loops", "2") as path, connected(path, 2) as wires:
        for wire in wires:
            wire.path = path
        assert loops(wires[0], 2) == [1, 1]
        yield wires


class Crowd(Listening):
    """Responds after a moment, once so many connections are open, and counts these."""

    def __init__(self, wanted):
        self.open = self.most = 0
        self.wanted = wanted
        super().__init__()

    def serve(self, connection, number):
        with self.changed:
            self.open += 1
            self.most = max(self.most, self.open)
            self.changed.notify_all()
        try:
            reader = connection.makefile("rb")
            while reader.readline():
                while reader.readline().strip():
                    pass
                with self.changed:
                    self.changed.wait_for(lambda: self.most >= self.wanted, 20)
                time.sleep(0.02)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        finally:
            with self.changed:
                self.open -= 1


def test_clients_are_spread_and_leave(tmp_path, origin):
    with serving(tmp_path, "--loops", "3") as path:
        with connected(path, 6) as wires:
            assert loops(wires[0], 6) == [2, 2, 2]
            numbers = [wire.start("data.send", {"url": origin + "/json"}) for wire in wires]
            assert [result(wire.reply(number, 20))["status"] for wire, number in zip(wires, numbers)] == [200] * 6
        with contract.Wire(path) as wire:
            # its loop is the first one without clients, and some of the six may still have been there
            assert sorted(loops(wire)) == [0, 0, 1]


def test_a_service_that_is_not_busy_keeps_to_one_loop(tmp_path):
    with serving(tmp_path, "--loops", "auto") as path, connected(path, 4) as wires:
        # a container may have fewer processors than the machine
        found = loops(wires[0], 4)
        assert found == [4] + [0] * (len(found) - 1)


def test_the_variable_is_taken_and_a_flag_wins(tmp_path, monkeypatch):
    monkeypatch.setenv("OUTRIDER_LOOPS", "2")
    with serving(tmp_path) as path, contract.Wire(path) as wire:
        assert loops(wire) == [0, 1]
    with serving(tmp_path, "--loops", "1") as path, contract.Wire(path) as wire:
        assert loops(wire) == [1]


@pytest.mark.parametrize("word", ["0", "65", "-1", "two", "1.5"])
def test_other_words_are_refused(word):
    tried = subprocess.run([contract.binary(), "serve", f"--loops={word}"], capture_output=True, text=True, timeout=20)
    assert tried.returncode == 2
    assert f"--loops, or OUTRIDER_LOOPS, is {word}, and must be auto or a number from 1 to 64" in tried.stderr


def test_strangers_are_refused_whichever_loop_has_room(tmp_path):
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        command = [contract.binary(), "serve", "--stdio", "--loops", "2", "--starter-socket", str(listener.fileno())]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              pass_fds=[listener.fileno()]) as service:
            for _ in range(3):
                stranger = subprocess.run([sys.executable, "-c", STRANGER, path], capture_output=True, timeout=30)
                assert stranger.stdout == b"0\n", stranger
                with contract.Wire(path) as own:
                    assert loops(own, 2) == [1, 1]
            service.stdin.close()
            assert service.wait(30) == 0


def test_one_cold_url_is_one_request_for_clients_of_all_loops(tmp_path):
    server = CacheServer()
    try:
        all_wait = threading.Event()

        def crowded(number, _):
            all_wait.wait(20)
            return Reply(b"x" * 100_000)

        url, seen = server.script(crowded)
        with serving(tmp_path, "--loops", "2") as path, connected(path, 8) as wires:
            params = {"url": url, "cache": {"name": "docs"}, "serialize": {"as": "text"}}
            numbers = [wire.start("data.send", params) for wire in wires]
            until_shared(wires[0], "docs", 7)
            all_wait.set()
            replies = [result(wire.reply(number, 20)) for wire, number in zip(wires, numbers)]
            assert {reply["body"]["text"] for reply in replies} == {"x" * 100_000}
            assert sorted(reply["cache"].get("collapsed", False) for reply in replies) == [False] + [True] * 7
            assert len(seen) == 1
            # both loops have the response at hand
            assert {result(wire.call("data.send", params))["cache"]["status"] for wire in wires} == {"hit"}
            # two clients go once ten requests share the exchange, and the others get the whole body
            gone = threading.Event()

            def held(number, _):
                assert gone.wait(20)
                return Reply(b"y" * 3_000_000)

            url, seen = server.script(held)
            params = {**params, "url": url, "maxInline": 4_000_000}
            with connected(path, 2) as others:
                for wire in others:
                    wire.start("data.send", params)
                numbers = [wire.start("data.send", params) for wire in wires]
                assert loops(others[0], 10) == [5, 5]
                until_shared(others[0], "docs", 7 + 9)
            assert loops(wires[0], 8) == [4, 4]
            gone.set()
            replies = [result(wire.reply(number, 20)) for wire, number in zip(wires, numbers)]
            assert {len(reply["body"]["text"]) for reply in replies} == {3_000_000} and len(seen) == 1
    finally:
        server.close()


def test_the_limit_of_a_session_holds_over_all_loops(tmp_path):
    with Crowd(1) as server, serving(tmp_path, "--loops", "2") as path, connected(path, 4) as wires:
        result(wires[0].call("session.create", {"name": "narrow", "shared": True, "connectionsPerHost": 1}))
        send = {"url": server.url("/"), "session": "narrow"}
        assert statuses(wires, send) == {200}
        assert server.most == 1


def test_the_limit_of_an_origin_holds_over_all_loops(tmp_path):
    with Crowd(4) as server, serving(tmp_path, "--loops", "2", "--connections-per-host", "4") as path:
        with connected(path, 4) as wires:
            assert statuses(wires, {"url": server.url("/")}) == {200}
            assert server.most == 4


def test_there_are_no_more_loops_than_connections_of_an_origin(tmp_path):
    with serving(tmp_path, "--loops", "8", "--connections-per-host", "2") as path, contract.Wire(path) as wire:
        assert loops(wire) == [0, 1]


def test_a_stream_is_carried_by_a_connection_of_another_loop(two):
    one, _ = two
    size = 3_000_000
    with Feeder() as feeder:
        made = opened(one, feeder.url(f"/length/{size}"))
        # loops are filled evenly: the first and the third connection have different ones
        with Raw(one.path, made["stream"]) as third:
            assert third.reply()["size"] == size
            assert third.rest() == pattern(size)
        assert response(one, made["request"])["ok"]


def test_requests_are_ended_from_another_loop(two, origin):
    one, other = two
    result(one.call("session.create", {"name": "common", "shared": True}))
    send = {"url": origin + "/delay/30", "session": "common"}
    requests = [result(wire.call("data.start", send))["request"] for wire in two]
    assert result(other.call("session.get", {"session": "common"}))["requests"]["active"] == 2
    result(other.call("session.cancelAll", {"session": "common"}))
    ends = [result(wire.call("request.wait", {"request": request})) for wire, request in zip(two, requests)]
    assert [end["error"]["code"] for end in ends] == [1900] * 2


def test_calls_of_a_client_keep_their_order(two):
    """Events of a call come before its reply, and replies to calls without work in the order of the calls."""
    for wire in two:
        numbers = [wire.start("diagnostics.echo", {"number": number}) for number in range(300)]
        heard = [wire.receive(20)["id"] for _ in numbers]
        assert heard == numbers
