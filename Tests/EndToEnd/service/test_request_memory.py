# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What requests keep beside long bodies counts to the budget, until the requests are forgotten."""

import contextlib
import threading

import contract
import pytest
from budget import LEAST, MIB, memory, origins, services, until
from request_client import result
from websocket_server import Deaf

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

origin, other, service = origins(), origins(), services()
KEPT = {
    "fields": {"headers": {f"X-{number:04}": "x" * 50 for number in range(800)}},
    "a long field": {"headers": {"X-Long": "x" * 60_000}},
    "a query": {"query": {f"q{number}": "x" * 20 for number in range(1000)}},
    "parameters": {"parameters": {"a": [1] * 4000}},
    "a short body": {"method": "POST", "body": {"text": "x" * 60_000}},
    "options": {"validate": {"contentType": [f"text/x-{number}" for number in range(4000)]}},
}


@pytest.fixture
def clients(service):
    with contextlib.ExitStack() as held:
        yield [held.enter_context(contract.Wire(service)) for _ in range(3)]


def started(wire, origin, **more):
    """The handle of a request that waits, or the error."""
    reply = wire.call("data.start", {"url": origin.url + "/hold", **more}, 20)
    return reply["result"]["request"] if "result" in reply else reply["error"]


def filled(wire, origin, most, **more):
    """Requests until one is refused: their handles, and the error."""
    handles = []
    for _ in range(most):
        found = started(wire, origin, **more)
        if isinstance(found, dict):
            return handles, found
        handles.append(found)
    return handles, None


@pytest.mark.parametrize("kind", KEPT)
def test_requests_that_wait_are_counted_until_they_are_forgotten(service, clients, origin, other, kind):
    """Each client has its megabyte; the rest shares half of the budget, and is refused with the remedy."""
    made, refusals = [], []
    for wire in clients:
        handles, refusal = filled(wire, origin, 200, **KEPT[kind])
        made.append(handles)
        refusals.append(refusal)
    for refusal in refusals:
        assert refusal["code"] == -32011 and refusal["data"]["what"] == "memory", refusal
        assert "--memory" in refusal["message"], refusal
    now = memory(service)
    assert LEAST // 4 < now["held"] <= LEAST // 2 + 3 * MIB and now["refused"] == 3, now
    # each can do something all the same
    for wire in clients:
        assert result(wire.call("data.send", {"url": other.url + "/size/2"}, 20))["status"] == 200
    # what is forgotten makes room
    for handle in made[0]:
        result(clients[0].call("request.forget", {"request": handle}, 20))
    assert not isinstance(started(clients[0], origin, **KEPT[kind]), dict)
    for wire in clients[1:]:
        wire.__exit__(None, None, None)
    until(service, lambda now: now["held"] <= MIB)


def test_events_that_wait_are_counted_until_they_are_fetched(service, clients, origin):
    """For want of memory events are dropped and counted; the end of a request never is."""
    wire = clients[0]
    kinds = ["redirect", "response"]
    ended = {"url": origin.url + "/hops/20", "events": {"kinds": [*kinds, "finish"], "pull": True}}
    handles = []
    for number in range(60):
        params = ended if number == 59 else {**ended, "events": {"kinds": kinds, "pull": True}}
        handles.append(result(wire.call("data.start", params, 20))["request"])
        if number == 0:
            # it ends while there is room for all its events
            result(wire.call("request.wait", {"request": handles[0]}, 20))
    for handle in handles:
        result(wire.call("request.wait", {"request": handle}, 20))
    now = memory(service)
    assert LEAST // 8 < now["held"] <= LEAST // 2 + 3 * MIB, now
    found = result(wire.call("events.next", {"request": handles[-1], "max": 100}, 20))
    assert found["events"][-1]["method"] == "event.finish" and found["dropped"] > 0, found["dropped"]
    first = result(wire.call("events.next", {"request": handles[0], "max": 100}, 20))
    assert len(first["events"]) == 21 and first["dropped"] == 0
    for handle in handles:
        result(wire.call("request.forget", {"request": handle}, 20))
    until(service, lambda now: now["held"] <= MIB)


def test_events_of_a_subscription_are_counted_until_they_are_acknowledged(service, clients, origin):
    """Events that were given, too, since they are given again."""
    wire = clients[0]
    topics = {"topics": ["attempt.answered"], "pull": True, "window": 1000}
    names = [result(wire.call("events.subscribe", topics))["subscription"] for _ in range(10)]
    for _ in range(5):
        assert result(wire.call("data.send", {"url": origin.url + "/hops/0"}, 20))["ok"]
    taken = [result(wire.call("events.next", {"subscription": name, "max": 100}))["events"] for name in names]
    assert all(len(events) == 5 for events in taken)
    held = memory(service)["held"]
    assert held > 10 * 5 * 45_000, held
    for name, events in zip(names, taken, strict=True):
        result(wire.call("events.ack", {"subscription": name, "seq": events[-1]["params"]["seq"]}))
    until(service, lambda now: now["held"] <= MIB)


def test_cookies_of_sessions_are_counted_until_the_sessions_close(service, clients):
    """Without room the cookies that are longest unused go."""
    wire = clients[0]
    sessions = [result(wire.call("session.create", {"cookies": True}))["session"] for _ in range(4)]
    for session in sessions:
        for part in range(10):
            cookies = [{"name": "a", "value": "v" * 4000, "domain": f"h{part}-{n}.test"} for n in range(80)]
            result(wire.call("cookies.set", {"session": session, "cookies": cookies}, 20))
    now = memory(service)
    assert LEAST // 8 < now["held"] <= LEAST // 2 + 2 * MIB, now
    left = [result(wire.call("cookies.list", {"session": name, "domain": "h9-79.test"})) for name in sessions]
    assert len(left[0]["cookies"]) == 1
    for session in sessions:
        result(wire.call("session.close", {"session": session}))
    until(service, lambda now: now["held"] <= MIB)


def test_secrets_of_a_cassette_are_counted_until_it_is_stopped(service, clients, origin, tmp_path):
    """Each secret is held in many forms; a cassette whose secrets find no room records no more."""
    wire = clients[0]
    result(wire.call("replay.start", {"path": str(tmp_path / "c.har"), "mode": "all"}))
    for number in range(80):
        # the request itself is too short to be counted
        body = {"json": {"password": f"{number:02}<&>" * 800}}
        assert result(wire.call("data.send", {"url": origin.url, "method": "POST", "body": body}, 20))["ok"]
    found = result(wire.call("replay.get", {}, 60))
    assert 2 <= found["recorded"] < 80 and "--memory" in found["failure"]["message"], found
    now = memory(service)
    assert LEAST // 8 < now["held"] <= LEAST // 2 + 2 * MIB, now
    result(wire.call("replay.stop", {}, 20))
    until(service, lambda now: now["held"] <= MIB)


@pytest.mark.parametrize("way", ["sse.open", "stream.open"])
def test_what_has_come_of_an_item_is_counted(service, clients, origin, way):
    """A line or an event whose end does not come."""
    wire = clients[0]
    params = {"url": origin.url + "/half", "wait": "response", **({"as": "lines"} if way == "stream.open" else {})}
    streams = [result(wire.call(way, params, 20))["stream"] for _ in range(5)]
    until(service, lambda now: now["held"] > 5 * 700_000)
    for stream in streams:
        result(wire.call("stream.close", {"stream": stream}, 20))
    until(service, lambda now: now["held"] <= MIB)


def test_messages_that_wait_for_the_client_of_a_websocket_are_counted(service, clients):
    """Without memory the service reads no more, whatever the backlog, and loses no message."""
    wire = clients[0]
    params = {"backlog": 16 * MIB, "compression": False}
    with Deaf() as server:
        server.frames = (b"\x81\x7e" + (60_000).to_bytes(2, "big") + b"x" * 60_000) * 100
        url = server.url("/", "ws")
        streams = [result(wire.call("websocket.open", {"url": url, **params}))["stream"] for _ in range(3)]
        found = until(service, lambda now: now["held"] > LEAST // 8)
        for stream in streams:
            count = 0
            while count < 100:
                values = result(wire.call("stream.read", {"stream": stream, "wait": 20}, 30))["values"]
                assert values
                count += len(values)
            found = max(found, memory(service), key=lambda now: now["highest"])
    assert found["highest"] <= LEAST // 2 + 2 * MIB, found
    until(service, lambda now: now["held"] <= MIB)


def test_short_messages_that_wait_for_the_server_of_a_websocket_are_counted(service, clients):
    wire = clients[0]
    with Deaf() as server:
        server.full = threading.Event()
        url = server.url("/", "ws")
        stream = result(wire.call("websocket.open", {"url": url, "compression": False}))["stream"]
        sent, refusal = 0, None
        while refusal is None and sent < 400:
            reply = wire.call("websocket.send", {"stream": stream, "text": "x" * 60_000, "wait": 0}, 20)
            refusal = reply.get("error")
            sent += refusal is None
        assert refusal["code"] == -32011 and refusal["data"]["what"] == "memory" and sent > 20, (refusal, sent)
        assert LEAST // 8 < memory(service)["held"] <= LEAST // 2 + 2 * MIB
        server.full.set()
        until(service, lambda now: now["held"] <= MIB)
        assert result(wire.call("websocket.send", {"stream": stream, "text": "more"}))["sent"] == 1


def test_a_call_that_waits_is_counted_and_a_short_request_is_not(service, clients, origin):
    numbers = [
        wire.start("data.send", {"url": origin.url + "/hold", **more, "handles": False})
        for wire, more in zip(clients, ({}, KEPT["fields"], KEPT["a long field"]), strict=True)
    ]
    found = until(service, lambda now: now["held"] > 128 << 10 and len(now["shares"]) == 2)
    assert found["held"] < 256 << 10, found
    origin.release.set()
    for wire, number in zip(clients, numbers, strict=True):
        assert result(wire.reply(number, 20))["status"] == 200
    until(service, lambda now: now["held"] == 0)


def test_requests_in_a_row_never_find_the_memory_full(service, clients, origin):
    """The requests of ended calls stay for a while, but not in the way of new ones; short ones stay all."""
    wire = clients[0]
    short = [result(wire.call("data.send", {"url": origin.url + "/size/2"}, 20))["request"] for _ in range(3)]
    handles = [
        result(wire.call("data.send", {"url": origin.url + "/size/2", **KEPT["fields"]}, 20))["request"]
        for _ in range(120)
    ]
    now = memory(service)
    assert 128 << 10 < now["held"] <= 512 << 10 and now["refused"] == 0, now
    for handle in (*short, handles[-1]):
        assert result(wire.call("request.get", {"request": handle}, 20))["request"] == handle
    assert wire.call("request.get", {"request": handles[0]}, 20)["error"]["code"] == -32012


def test_streams_are_counted_like_other_requests(service, clients, origin):
    """A stream of events, and a WebSocket."""
    wire, refusals = clients[0], []
    for method, scheme in (("sse.open", "http"), ("stream.open", "http")):
        for _ in range(100):
            url = scheme + origin.url[4:] + "/hold"
            reply = wire.call(method, {"url": url, **KEPT["fields"]}, 20)
            if "error" in reply:
                refusals.append(reply["error"]["data"]["what"])
                break
    assert refusals == ["memory"] * 2
