# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The limits of a session that two clients use, whatever these do with their requests."""

import threading
import time

import contract
import pytest
from callback_client import second
from http_server import Listening
from request_client import get, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


class Holding(Listening):
    """Responds to each request when it is told to, and at once what it was told of before."""

    def __init__(self):
        self.free = set()
        self.status = {}
        super().__init__()

    def let(self, *paths):
        with self.changed:
            self.free.update(paths)
            self.changed.notify_all()

    def serve(self, connection, number):
        reader = connection.makefile("rb")
        while line := reader.readline():
            path = line.split(b" ")[1].decode()
            while reader.readline().strip():
                pass
            self.note(self.arrived, path)
            with self.changed:
                self.changed.wait_for(lambda path=path: path in self.free or self.ended.is_set(), 30)
            status = self.status.get(path, "200 OK")
            connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 4\r\n\r\nfine".encode())


@pytest.fixture
def server():
    with Holding() as server:
        yield server


@pytest.fixture
def clients(listening):
    """Two clients that share a session of one request at a time."""
    with second(listening) as one, second(listening) as two:
        result(one.call("session.create", {"name": "narrow", "shared": True, "limits": {"concurrent": 1}}))
        yield one, two
        two.call("session.close", {"session": "narrow"})


def start(wire, server, path, **params):
    return result(wire.call("data.start", {"url": server.url(path), "session": "narrow", **params}))["request"]


def state(wire, request):
    return result(wire.call("request.get", {"request": request}))["state"]


def counts(wire):
    return result(wire.call("session.get", {"session": "narrow"}))["requests"]


def reach(wire, **wanted):
    """Waits until the session counts so."""
    deadline = time.monotonic() + 10
    while not wanted.items() <= (found := counts(wire)).items():
        assert time.monotonic() < deadline, found


def end(wire, request):
    return result(wire.call("request.wait", {"request": request}))


def made_room(clients, server):
    """Of two requests the first is suspended, and the second runs in its place."""
    one, two = clients
    first = start(one, server, "/first")
    server.wait_for("/first")
    result(one.call("request.suspend", {"request": first}))
    other = start(two, server, "/other")
    server.wait_for("/other")
    return first, other


# Coming back


def test_who_is_resumed_waits_for_room_and_comes_before_others(clients, server):
    """However often it is resumed, and by whom."""
    one, two = clients
    first, other = made_room(clients, server)
    third = start(two, server, "/third", priority="high")
    for _ in range(3):
        assert result(one.call("request.resume", {"request": first})) == {"state": "suspended"}
    result(two.call("session.resumeAll", {"session": "narrow"}))
    assert counts(one) == {"active": 3, "running": 1, "waiting": 2}
    server.let("/first", "/other")
    assert end(two, other)["ok"] and end(one, first)["ok"]
    server.wait_for("/third")
    server.let("/third")
    assert end(two, third)["ok"]
    assert server.arrived == ["/first", "/other", "/third"]
    reach(one, active=0, running=0, waiting=0)


def test_who_waits_to_come_back_can_be_suspended_again(clients, server):
    one, two = clients
    first, other = made_room(clients, server)
    result(one.call("request.resume", {"request": first}))
    result(one.call("request.suspend", {"request": first}))
    assert counts(one)["waiting"] == 0
    server.let("/first", "/other", "/third")
    assert end(two, other)["ok"]
    assert end(two, start(two, server, "/third"))["ok"]
    assert state(one, first) == "suspended"
    result(one.call("request.resume", {"request": first}))
    assert end(one, first)["ok"]
    reach(one, active=0, running=0, waiting=0)


@pytest.mark.parametrize("how, code", [("request.cancel", 1900), ("session.cancelAll", 1900), ("session.close", 1902)])
def test_who_waits_to_come_back_can_be_ended(clients, server, how, code):
    one, two = clients
    first, other = made_room(clients, server)
    result(one.call("request.resume", {"request": first}))
    result(one.call(how, {"request": first} if how == "request.cancel" else {"session": "narrow"}))
    assert end(one, first)["error"]["code"] == code
    if how == "request.cancel":
        server.let("/other", "/next")
        assert end(two, other)["ok"] and end(two, start(two, server, "/next"))["ok"]
        reach(one, active=0, running=0, waiting=0)


def test_a_cancelled_request_reports_the_attempt_that_waited_for_room(clients, server):
    one, two = clients
    first, second = start(one, server, "/first"), start(two, server, "/second")
    reach(one, running=1, waiting=1)
    result(two.call("request.cancel", {"request": second}))
    assert end(two, second)["attempts"] == 1
    assert result(two.call("request.get", {"request": second}))["attempts"] == 1
    server.let("/first")
    assert end(one, first)["ok"]


def test_more_room_is_for_who_waits_to_come_back(clients, server):
    one, two = clients
    first, other = made_room(clients, server)
    result(one.call("request.resume", {"request": first}))
    result(two.call("session.update", {"session": "narrow", "limits": {"concurrent": 2}}))
    reach(one, running=2, waiting=0)
    server.let("/first")
    assert end(one, first)["ok"]
    server.let("/other")
    assert end(two, other)["ok"]


def test_suspending_and_resuming_all_keeps_the_limit(clients, server):
    """Ten of each client, all suspended and resumed again and again: one at a time, and every one in the end."""
    one, two = clients
    paths = [f"/{number}" for number in range(10)]
    requests = [(wire, start(wire, server, path)) for path in paths for wire in clients]
    server.let(*paths)
    for _ in range(20):
        result(one.call("session.suspendAll", {"session": "narrow"}))
        assert counts(two)["running"] <= 1
        result(two.call("session.resumeAll", {"session": "narrow"}))
        assert counts(two)["running"] <= 1
    assert all(end(wire, request)["ok"] for wire, request in requests)
    reach(one, active=0, running=0, waiting=0)


# What else takes and makes room


def test_a_client_that_leaves_makes_room_for_the_other(listening, server):
    """What it had running, waiting, suspended and on its way back."""
    with second(listening) as two:
        with second(listening) as one:
            result(one.call("session.create", {"name": "narrow", "shared": True, "limits": {"concurrent": 1}}))
            first, _ = made_room((one, one), server)
            start(one, server, "/waiting")
            result(one.call("request.resume", {"request": first}))
            mine = start(two, server, "/mine")
            assert counts(two) == {"active": 4, "running": 1, "waiting": 3}
        server.wait_for("/mine")
        assert counts(two) == {"active": 1, "running": 1, "waiting": 0}
        server.let("/mine")
        assert end(two, mine)["ok"] and "/waiting" not in server.arrived


def test_between_two_attempts_a_request_takes_no_room(clients, server):
    one, two = clients
    server.status["/fails"] = "503 Busy"
    server.let("/fails", "/other")
    request = start(one, server, "/fails", retry={"limit": 1, "scale": 60, "base": 2})
    server.wait_for("/fails")
    assert get(two, server.url("/other"), session="narrow")["ok"]
    assert state(one, request) == "retrying"
    result(one.call("request.cancel", {"request": request}))


def test_a_request_that_is_suspended_while_it_waits_is_passed_over(clients, server):
    one, two = clients
    first = start(one, server, "/first")
    server.wait_for("/first")
    waits, last = start(one, server, "/waits"), start(two, server, "/last")
    result(one.call("request.suspend", {"request": waits}))
    server.let("/first", "/last", "/waits")
    assert end(one, first)["ok"] and end(two, last)["ok"]
    assert state(one, waits) == "suspended" and "/waits" not in server.arrived
    result(one.call("request.resume", {"request": waits}))
    assert end(one, waits)["ok"]


def test_the_priority_of_one_client_counts_against_the_other(clients, server):
    """A crowd that is not in a hurry holds up no client that is."""
    one, two = clients
    crowd = [start(one, server, f"/low/{number}", priority="low") for number in range(20)]
    server.wait_for("/low/0")
    urgent = start(two, server, "/urgent", priority="high")
    server.let("/urgent", *(f"/low/{number}" for number in range(20)))
    assert end(two, urgent)["ok"] and server.arrived.index("/urgent") <= 2
    assert all(end(one, request)["ok"] for request in crowd)
    assert [path for path in server.arrived if "low" in path] == [f"/low/{number}" for number in range(20)]


def test_a_crowd_of_the_past_holds_up_no_request(clients, server):
    """A low priority has one turn of about seventeen, however many of its requests came before."""
    one, two = clients
    before = [start(one, server, f"/before/{number}", priority="low") for number in range(20)]
    server.let(*(f"/before/{number}" for number in range(20)))
    assert all(end(one, request)["ok"] for request in before)
    first = start(one, server, "/first")
    server.wait_for("/first")
    crowd = [start(two, server, f"/high/{number}", priority="high") for number in range(40)]
    low = start(one, server, "/low", priority="low")
    server.let("/first", "/low", *(f"/high/{number}" for number in range(40)))
    assert end(one, first)["ok"] and end(one, low)["ok"] and all(end(two, request)["ok"] for request in crowd)
    assert server.arrived.index("/low") - server.arrived.index("/first") <= 18


def test_two_clients_share_the_rate(clients, server):
    one, two = clients
    limits = {"rate": {"requests": 4, "seconds": 0.4}}
    result(one.call("session.update", {"session": "narrow", "limits": limits}))
    server.let("/")
    began = time.monotonic()
    numbers = {wire: [wire.start("data.send", {"url": server.url("/"), "session": "narrow"}) for _ in range(8)]
               for wire in clients}  # fmt: skip
    for wire, mine in numbers.items():
        assert all(result(reply)["ok"] for reply in wire.replies(mine).values())
    # four at once, and three times more after four tenths of a second each
    assert time.monotonic() - began >= 1.2


def test_random_deeds_of_two_clients_never_exceed_the_limit_and_lose_nobody(listening, clients, server):
    """The service says itself how many run: while both of them suspend, resume and cancel."""
    one, two = clients
    result(one.call("session.update", {"session": "narrow", "limits": {"concurrent": 3}}))
    server.let(*(f"/{number}" for number in range(40)))
    seen, over = [], threading.Event()

    def watch():
        with second(listening) as wire:
            while not over.is_set():
                seen.append(counts(wire)["running"])

    watcher = threading.Thread(target=watch)
    watcher.start()
    requests = [(wire, start(wire, server, f"/{number}")) for number in range(40) for wire in clients]
    deeds = ["request.suspend", "request.resume", "request.suspend", "request.resume", "request.cancel"]
    for number, (wire, request) in enumerate(requests * 5):
        wire.call(deeds[number * 7 // 3 % len(deeds)], {"request": request})
    for wire, request in requests:
        wire.call("request.resume", {"request": request})
    ends = [end(wire, request) for wire, request in requests]
    over.set()
    watcher.join()
    assert {response.get("error", {}).get("code") for response in ends} <= {None, 1900}
    assert seen and max(seen) <= 3
    reach(one, active=0, running=0, waiting=0)
