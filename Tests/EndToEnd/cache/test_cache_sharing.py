# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests that share one exchange: each has its own time limits, whichever request was sent."""

import threading
import time

import contract
import pytest
from cache_server import Reply
from callback_client import second
from http_server import Listening
from request_client import result, until_shared

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


class Halting(Listening):
    """Sends the head, the first bytes and the rest of a response when it is told to."""

    control = "max-age=600"
    body = b"half"

    def __init__(self):
        self.sent = set()
        super().__init__()

    def let(self, *parts):
        with self.changed:
            self.sent.update(parts)
            self.changed.notify_all()

    def until(self, *parts):
        with self.changed:
            self.changed.wait_for(lambda: self.sent.intersection(parts) or self.ended.is_set(), 60)

    def serve(self, connection, number):
        reader = connection.makefile("rb")
        while line := reader.readline():
            while reader.readline().strip():
                pass
            self.note(self.arrived, line.split(b" ")[1].decode())
            number = len(self.arrived)
            self.until("head", f"head {number}")
            head = f"HTTP/1.1 200 OK\r\nCache-Control: {self.control}\r\nContent-Length: 8\r\n\r\n"
            connection.sendall(head.encode() + self.body)
            self.until("rest", f"rest {number}")
            connection.sendall(b"full")


@pytest.fixture
def halting():
    with Halting() as server:
        yield server


@pytest.fixture
def clients(listening):
    with second(listening) as one, second(listening) as two:
        yield one, two


def start(wire, server, **params):
    given = {"url": server.url("/"), "cache": "shared", "serialize": {"as": "text"}, **params}
    return result(wire.call("data.start", given))["request"]


def end(wire, request):
    return result(wire.call("request.wait", {"request": request}))


def until_responded(wire, request):
    deadline = time.monotonic() + 20
    while result(wire.call("request.get", {"request": request}))["state"] != "responded":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_suspended_request_is_not_ended_by_a_clock_that_others_share(clients, halting):
    one, two = clients
    first = start(one, halting, timeout={"total": 4, "firstByte": 4})
    halting.wait_for("/")
    result(one.call("request.suspend", {"request": first}))
    began = time.monotonic()
    other = start(two, halting)
    until_shared(two, "shared")
    while time.monotonic() - began < 4.3:
        assert result(one.call("request.get", {"request": first}))["state"] == "suspended"
        time.sleep(0.1)
    halting.let("head", "rest")
    assert end(two, other)["body"]["text"] == "halffull"
    result(one.call("request.resume", {"request": first}))
    assert end(one, first)["body"]["text"] == "halffull" and halting.arrived == ["/"]


@pytest.mark.parametrize("which", [0, 1], ids=["first", "second"])
@pytest.mark.parametrize(
    ("limit", "phase"), [({"firstByte": 6}, "firstByte"), ({"idle": 6}, "response"), ({"total": 6}, "total")]
)
def test_each_request_has_its_own_limits(clients, halting, which, limit, phase):
    """The limits of one request end that request, and not the other."""
    limits = [{}, {}]
    # the first request reaches the server, and the second joins, within that time
    limits[which] = {"timeout": limit}
    if phase == "response":
        halting.let("head")
    requests = []
    for wire, given in zip(clients, limits):
        requests.append(start(wire, halting, **given))
        halting.wait_for("/")
    until_shared(clients[1], "shared")
    failed = end(clients[which], requests[which])
    assert failed["error"]["code"] == 1405 and failed["error"]["phase"] == phase, failed
    halting.let("head", "rest")
    assert end(clients[1 - which], requests[1 - which])["body"]["text"] == "halffull"
    assert halting.arrived == ["/"]


@pytest.mark.parametrize("which", [0, 1], ids=["first", "second"])
def test_each_request_has_its_own_least_rate(clients, which):
    """A byte now and then is enough for one request, and too little for the other."""

    class Dripping(Listening):
        def serve(self, connection, number):
            connection.makefile("rb").readline()
            self.note(self.arrived, "/")
            connection.sendall(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 100000\r\n\r\n")
            while not self.ended.wait(0.1):
                connection.sendall(b"x")

    limits = [{}, {}]
    limits[which] = {"timeout": {"idle": 6, "minRate": 1000}}
    with Dripping() as server:
        requests = []
        for wire, given in zip(clients, limits):
            requests.append(start(wire, server, **given))
            server.wait_for("/")
        until_shared(clients[1], "shared")
        failed = end(clients[which], requests[which])
        assert failed["error"]["code"] == 1405 and "minRate wants 1000 a second" in failed["error"]["message"], failed
        other = result(clients[1 - which].call("request.get", {"request": requests[1 - which]}))
        assert other["state"] == "responded"
        result(clients[1 - which].call("request.cancel", {"request": requests[1 - which]}))


def test_a_response_that_is_not_shared_keeps_the_limits_of_its_request(clients, halting):
    """The second request waits for a response that turns out to be for the first alone."""
    halting.control = "no-store"
    one, two = clients
    first = start(one, halting, timeout={"idle": 3})
    halting.wait_for("/")
    other = start(two, halting)
    until_shared(two, "shared")
    halting.let("head")
    failed = end(one, first)
    assert failed["error"]["code"] == 1405 and failed["error"]["phase"] == "response", failed
    halting.wait_for("/", count=2)
    halting.let("rest")
    assert end(two, other)["body"]["text"] == "halffull"


def test_the_suspension_of_a_request_that_left_holds_up_no_other(clients, halting):
    """The response is not shared: it goes to the request that is left, whose exchange another one began."""
    halting.control = "no-store"
    one, two = clients
    first = start(one, halting)
    halting.wait_for("/")
    other = start(two, halting)
    until_shared(two, "shared")
    result(one.call("request.suspend", {"request": first}))
    result(one.call("request.cancel", {"request": first}))
    end(one, first)
    halting.let("head")
    until_responded(two, other)
    halting.let("rest")
    assert end(two, other)["body"]["text"] == "halffull" and halting.arrived == ["/"]


LATE = [
    ("no-cache", {}), ("max-age=0", {}), ("max-age=1, must-revalidate", {}),
    ("max-age=600", {"Cache-Control": "no-cache"}), ("max-age=600", {"Cache-Control": "max-age=1"}),
]  # fmt: skip


@pytest.mark.parametrize(("control", "wish"), LATE)
def test_a_response_on_its_way_is_used_as_a_stored_one_is(clients, halting, control, wish):
    """RFC 9111 sections 4.2.4, 5.2.1 and 5.2.2: what may not be used without the server is asked for."""
    halting.control = control
    halting.let("head")
    one, two = clients
    first = start(one, halting)
    halting.wait_for("/")
    until_responded(one, first)
    time.sleep(2.1)  # clock: the age of a response is counted in seconds
    other = start(two, halting, headers=wish)
    halting.wait_for("/", count=2)
    halting.let("rest")
    assert end(one, first)["body"]["text"] == "halffull"
    told = end(two, other)
    assert told["body"]["text"] == "halffull" and not told["cache"].get("collapsed")


WISHES = [
    {"Cache-Control": "no-cache"}, {"Cache-Control": "max-age=1"}, {"Cache-Control": "min-fresh=60"},
    {"Pragma": "no-cache"},
]  # fmt: skip


@pytest.mark.parametrize("wish", WISHES, ids=str)
def test_what_a_request_asks_of_caches_reaches_the_caches_on_the_way(clients, halting, wish):
    """A request that is on its way without the wish brings whatever response a cache on the way has."""
    one, two = clients
    plain = start(one, halting)
    halting.wait_for("/")
    wishing = start(two, halting, headers=wish)
    halting.wait_for("/", count=2)
    third = start(one, halting)
    until_shared(two, "shared")
    halting.let("head", "rest")
    told = [end(one, plain), end(two, wishing), end(one, third)]
    assert [one["body"]["text"] for one in told] == ["halffull"] * 3
    assert [one["cache"].get("collapsed", False) for one in told] == [False, False, True]
    assert halting.arrived == ["/", "/"]


def test_a_response_on_its_way_is_shared_though_another_wish_waits_behind_it(clients, halting):
    one, two = clients
    halting.let("head 1")
    plain = start(one, halting)
    halting.wait_for("/")
    until_responded(one, plain)
    wishing = start(two, halting, headers={"Cache-Control": "no-cache"})
    halting.wait_for("/", count=2)
    third = start(one, halting)
    until_shared(two, "shared")
    halting.let("rest 1")
    told = [end(one, request) for request in (plain, third)]
    assert [response["body"]["text"] for response in told] == ["halffull"] * 2 and told[1]["cache"]["collapsed"]
    assert result(two.call("request.get", {"request": wishing}))["state"] != "finished"
    halting.let("head", "rest")
    assert end(two, wishing)["ok"] and halting.arrived == ["/", "/"]


@pytest.mark.parametrize("order", [(600, None), (None, 600)], ids=str)
def test_a_stale_response_replaces_a_failure_only_where_the_request_allows_it(clients, server, order):
    asked, may_fail = threading.Semaphore(0), threading.Event()

    def reply(number, _):
        if number == 1:
            return Reply(b"old", fields=(("Cache-Control", "max-age=0"), ("ETag", '"1"')))
        asked.release()
        may_fail.wait(30)
        return Reply(b"failed", status=503)

    url, _ = server.script(reply)

    def params(seconds=None):
        stale = {} if seconds is None else {"staleIfError": seconds}
        return {"url": url, "cache": {"name": "shared", **stale}, "serialize": {"as": "text"}}

    result(clients[0].call("data.send", params()))
    waiting = []
    for wire, seconds in zip(clients, order):
        waiting.append(wire.start("data.send", params(seconds)))
        assert asked.acquire(timeout=10)
    may_fail.set()
    for wire, number, seconds in zip(clients, waiting, order):
        expected = (200, "old") if seconds else (503, "failed")
        told = result(wire.reply(number))
        assert (told["status"], told["body"]["text"]) == expected


def test_a_body_that_ends_late_does_not_replace_a_later_response(clients, halting):
    one, two = clients

    def reply(path):
        return {"url": halting.url(path), "cache": "shared", "serialize": {"as": "text"}}

    halting.let("head")
    first = start(one, halting)
    halting.wait_for("/")
    until_responded(one, first)
    halting.body = b"new!"
    halting.let("rest 2")
    newer = result(two.call("data.send", {**reply("/"), "cache": {"name": "shared", "mode": "reload"}}))
    assert newer["body"]["text"] == "new!full"
    halting.let("rest")
    assert end(one, first)["body"]["text"] == "halffull"
    assert result(two.call("data.send", reply("/")))["body"]["text"] == "new!full" and len(halting.arrived) == 2


def test_no_request_is_told_that_a_body_too_long_for_the_code_is_stored(clients, server):
    """Also if it shares the exchange, and ends before the stale response is looked up once more."""
    one, two = clients
    may_end = threading.Event()

    def reply(number, _):
        if number == 1:
            return Reply(b"old", fields=(("Cache-Control", "max-age=0"), ("ETag", '"1"')))
        may_end.wait(30)
        return Reply(b"x" * ((1 << 20) + 1))

    url, _ = server.script(reply)
    assert result(one.call("data.send", {"url": url, "cache": "shared"}))["cache"]["stored"]
    cache = {"name": "shared", "cacher": {"modify": {"callback": "mine"}}}
    waiting = [wire.start("data.send", {"url": url, "cache": cache, "serialize": {"as": "none"}}) for wire in clients]
    until_shared(two, "shared")
    may_end.set()
    for wire, number in zip(clients, waiting):
        told = result(wire.reply(number))
        assert told["ok"] and not {"stored", "storedAt"}.intersection(told["cache"]), told["cache"]


class Endless(Listening):
    """Sends a body of unknown length, longer than an entry may be, when it is told to."""

    size = 100 << 16

    def __init__(self):
        self.may_send = threading.Event()
        super().__init__()

    def serve(self, connection, number):
        reader = connection.makefile("rb")
        while reader.readline():
            while reader.readline().strip():
                pass
            self.note(self.arrived, "/")
            self.may_send.wait(30)
            connection.sendall(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in range(self.size >> 16):
                connection.sendall(b"10000\r\n" + b"x" * (1 << 16) + b"\r\n")
            connection.sendall(b"0\r\n\r\n")


@pytest.mark.parametrize("leaves", [True, False])
def test_a_request_that_stands_still_does_not_hold_up_another_one(clients, leaves):
    """Whether it leaves at last, or stays suspended."""
    one, two = clients
    with Endless() as server:
        result(one.call("cache.configure", {"cache": "shared", "maxBytes": 1 << 20}))
        # the second request joins, and both have the head, within that time
        cache = {"name": "shared", "collapse": 10 if leaves else 6}
        still = start(one, server, cache=cache, timeout={"idle": 300}, serialize={"as": "none"})
        server.wait_for("/")
        other = start(two, server, cache=cache, timeout={"idle": 300}, serialize={"as": "none"})
        until_shared(two, "shared")
        result(one.call("request.suspend", {"request": still}))
        server.may_send.set()
        # until the window is full, and the other request waits
        before, received = None, 0
        while not received or received != before:
            time.sleep(0.2)
            before, received = received, result(two.call("request.get", {"request": other}))["progress"]["received"]
        if leaves:
            result(one.call("request.cancel", {"request": still}))
        told = result(two.call("request.wait", {"request": other}, 20))
        assert told["ok"] and told["body"]["size"] == server.size and server.arrived == ["/"]
        if not leaves:
            result(one.call("request.resume", {"request": still}))
            assert end(one, still)["error"]["code"] == 1404


def test_a_late_confirmation_does_not_replace_a_later_response(clients, server):
    """The server has confirmed the older response before it had the newer one."""
    one, two = clients
    asked, may_confirm = threading.Event(), threading.Event()

    def reply(number, sent):
        if sent.get("If-None-Match") == '"1"':
            asked.set()
            may_confirm.wait(30)
            return Reply(status=304, fields=(("Cache-Control", "max-age=600"), ("ETag", '"1"')))
        lifetime = 0 if number == 1 else 600
        return Reply(b"%d" % number, fields=(("Cache-Control", f"max-age={lifetime}"), ("ETag", f'"{number}"')))

    url, _ = server.script(reply)

    def fetch(wire, **more):
        params = {"url": url, "cache": {"name": "shared", **more}, "serialize": {"as": "text"}}
        return result(wire.call("data.send", params))["body"]["text"]

    assert fetch(one) == "1"
    waiting = one.start("data.send", {"url": url, "cache": "shared", "serialize": {"as": "text"}})
    assert asked.wait(10)
    assert fetch(two, mode="reload") == "3"
    may_confirm.set()
    assert result(one.reply(waiting))["body"]["text"] == "1"
    assert fetch(two) == "3"
