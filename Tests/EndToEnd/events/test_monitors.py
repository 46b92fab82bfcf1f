# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Event monitors: what is told, to whom, in which order, and what becomes of it when no client reads it."""

import collections
import time

import contract
import pytest
from request_client import get, memory, result
from subscription_client import pulled, subscribe, told, topics, watched

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

WAY = [
    "request.created", "request.resumed", "request.prepared", "attempt.created", "attempt.resumed",
    "attempt.connecting", "attempt.connected", "attempt.answered", "attempt.received", "attempt.measured",
    "attempt.completed", "request.finished", "request.parsed",
]  # fmt: skip


# What is told, and in which order


def test_a_request_is_followed_from_its_making_to_its_shape(wire, origin):
    """Request events come in the order of its life, each once. [W1] [W3] [3.E.32]"""
    subscription = subscribe(wire, "*")
    events, found = told(wire, "data.send", {"url": origin + "/json", "tag": "mine"}, last="request.parsed")
    assert [one["seq"] for one in events] == list(range(len(events)))
    assert {one["subscription"] for one in events} == {subscription}
    assert {(one["request"], one["tag"]) for one in events} == {(found["request"], "mine")}
    assert topics(events) == WAY
    details = {one["topic"]: one["detail"] for one in events}
    assert details["attempt.connected"] == {"attempt": 1, "reused": False, "remote": origin.removeprefix("http://")}
    assert details["attempt.answered"]["status"] == 200 and details["attempt.received"]["completed"] == 16
    finish = details["request.finished"]
    assert finish["ok"] and finish["status"] == 200 and finish["attempts"] == 1 and 0 < finish["total"] < 60
    assert details["request.parsed"] == {"kind": "json", "size": 16}


def test_a_request_cancelled_while_it_is_sent(wire, server):
    """Cancelling is told of the request, then of its attempt; then it ends as every other. [3.E.36]"""
    subscribe(wire, "*")
    events, found = told(wire, "data.start", {"url": server.url("/stall/head")}, last="attempt.connected")
    request = found["request"]
    server.wait_for("/stall/head")
    more, _ = told(wire, "request.cancel", {"request": request})
    assert topics(more) == ["request.cancelled", "attempt.cancelled", "attempt.measured", "attempt.completed",
                            "request.finished"]
    assert more[-1]["detail"]["error"]["code"] == 1900 and more[-1]["detail"]["ok"] is False


def test_a_request_held_up_and_let_go(wire, server):
    """Suspending and resuming are told of the request and of its attempt."""
    subscription = subscribe(wire, "request.*", "attempt.resumed", "attempt.suspended", pull=True)
    request = result(wire.call("data.start", {"url": server.url("/drip/10"), "startImmediately": False}))["request"]
    wire.call("request.resume", {"request": request})
    server.wait_for("/drip/10")
    wire.call("request.suspend", {"request": request})
    wire.call("request.resume", {"request": request})
    heard = topics(pulled(wire, subscription, "request.finished"))
    assert heard[heard.index("request.suspended"):] == [
        "request.suspended", "attempt.suspended", "request.resumed", "attempt.resumed", "request.finished"]


def test_every_attempt_and_every_redirect_is_told(wire, server, origin):
    """A retry begins a new attempt, a redirect does not. [W2] [W3]"""
    subscribe(wire, "request.retrying", "request.redirected", "request.finished", "attempt.created",
              "attempt.completed", "attempt.answered")
    events, _ = told(wire, "data.send", {"url": origin + "/status/503", "retry": {"limit": 1, "scale": 0.01}})
    assert topics(events) == [
        "attempt.created", "attempt.answered", "attempt.completed", "request.retrying",
        "attempt.created", "attempt.answered", "attempt.completed", "request.finished"]
    assert [one["detail"]["attempt"] for one in events[:-1]] == [1, 1, 1, 1, 2, 2, 2]
    events, _ = told(wire, "data.send", {"url": origin + "/redirect/2"})
    assert topics(events) == [
        "attempt.created", "attempt.answered", "request.redirected", "attempt.answered", "request.redirected",
        "attempt.answered", "attempt.completed", "request.finished"]
    assert events[2]["detail"]["from"].endswith("/redirect/2") and events[2]["detail"]["status"] == 302


# Secrets


def test_nothing_that_is_told_holds_a_secret(wire, origin):
    """Fields, queries and redirects are told with `***` for what looks like a secret."""
    subscription = subscribe(wire, "*", pull=True)
    url = origin + "/redirect/1?api_key=CANARY&page=2"
    headers = {"Authorization": "Bearer CANARY", "X-Auth-Token": "CANARY", "X-Plain": "seen"}
    get(wire, url, headers=headers)
    get(wire, "http://ada:CANARY@127.0.0.1:1/")
    events = pulled(wire, subscription, "request.finished", 2)
    assert "CANARY" not in str(events) and "seen" in str(events)
    made = next(one["detail"] for one in events if one["topic"] == "request.prepared")
    assert made["url"].endswith("?api_key=***&page=2")
    assert {"name": "Authorization", "value": "***"} in made["headers"]


# What may be wished for


BAD = [
    ({}, "/topics"),
    ({"topics": []}, "/topics"),
    ({"topics": "request.*"}, "/topics"),
    ({"topics": ["request.*", "request.finnished"]}, "/topics/1"),
    ({"topics": ["x.*"]}, "/topics/0"),
    ({"topics": [""]}, "/topics/0"),
    ({"topics": ["*"] * 65}, "/topics"),
    ({"topics": ["*"], "queue": 0}, "/queue"),
    ({"topics": ["*"], "queue": 10001}, "/queue"),
    ({"topics": ["*"], "drop": "all"}, "/drop"),
    ({"topics": ["*"], "window": 0}, "/window"),
    ({"topics": ["*"], "session": "default", "request": "req_a"}, "/session"),
    ({"topics": ["*"], "topic": "x"}, "/topic"),
]


@pytest.mark.parametrize(("params", "pointer"), BAD)
def test_what_cannot_be_is_refused_by_name(wire, params, pointer):
    error = wire.call("events.subscribe", params)["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == pointer


def test_a_topic_that_there_is_not_comes_with_its_neighbours(wire):
    error = wire.call("events.subscribe", {"topics": ["atempt.created"]})["error"]
    assert "did you mean attempt.created?" in error["message"] and error["data"]["near"][0] == "attempt.created"
    error = wire.call("events.subscribe", {"topics": ["requests.*"]})["error"]
    assert "did you mean request.*?" in error["message"] and error["data"]["near"] == ["request.*"]


def test_handles_that_name_nothing_are_refused(wire):
    for params in ({"request": "req_0000000000000000"}, {"session": "nothing"}):
        assert wire.call("events.subscribe", {"topics": ["*"], **params})["error"]["code"] == -32012
    for method, more in (("unsubscribe", {}), ("ack", {"seq": 0}), ("next", {})):
        params = {"subscription": "sub_0000000000000000", **more}
        assert wire.call("events." + method, params)["error"]["code"] == -32012


def test_there_are_so_many_subscriptions_and_no_more(wire):
    handles = [subscribe(wire, "request.finished") for _ in range(64)]
    error = wire.call("events.subscribe", {"topics": ["*"]})["error"]
    assert error["code"] == -32011 and error["data"]["limit"] == 64
    assert error["message"].startswith("too many subscriptions: a connection may have 64")
    for handle in handles:
        result(wire.call("events.unsubscribe", {"subscription": handle}))
    assert result(wire.call("server.stats"))["events"]["subscriptions"] == 0
    subscribe(wire, "*")


# Whose doings


def test_a_request_alone(wire, origin):
    """A subscription of one request hears of no other. [W10]"""
    wanted = {"url": origin + "/json", "startImmediately": False}
    first = result(wire.call("data.start", wanted))["request"]
    second = result(wire.call("data.start", wanted))["request"]
    subscribe(wire, "request.*", request=second)
    for request in (first, second):
        number = wire.start("request.resume", {"request": request})
    events, _ = watched(wire, number)
    assert {one["request"] for one in events} == {second}


def test_several_listen_and_hear_the_same(wire, origin):
    """Each subscription has its own queue and its own numbers. [W8] [W9] [3.E.34]"""
    handles = [subscribe(wire, "request.*", pull=True), subscribe(wire, "request.*", "attempt.*", pull=True)]
    get(wire, origin + "/json")
    one, other = (pulled(wire, handle, "request.parsed") for handle in handles)
    assert [(event["topic"], event["at"], event["detail"]) for event in one] == [
        (event["topic"], event["at"], event["detail"]) for event in other if event["topic"].startswith("request.")]
    assert [event["seq"] for event in other] == list(range(len(other))) and len(other) > len(one)


def test_a_session_alone(wire, origin):
    """A subscription of a session hears of its requests, and of itself. [W2]"""
    session = result(wire.call("session.create", {"name": "api"}))["session"]
    own, default = subscribe(wire, "*", session="api", pull=True), subscribe(wire, "*", session="default", pull=True)
    get(wire, origin + "/json", session="api")
    get(wire, origin + "/json")
    wire.call("session.update", {"session": session, "headers": {"X": "1"}})
    wire.call("session.close", {"session": "api"})
    heard = pulled(wire, own, "session.closed")
    assert {one["session"] for one in heard} == {"api"} and len({one.get("request") for one in heard}) == 2
    assert topics(heard)[-2:] == ["session.updated", "session.closed"]
    assert all("session" not in one for one in pulled(wire, default))


def test_nobody_hears_of_what_others_do(listening, origin):
    with contract.Wire(listening) as one, contract.Wire(listening) as other:
        result(one.call("session.create", {"name": "all", "shared": True}))
        mine = subscribe(one, "*", pull=True)
        shared = subscribe(one, "*", session="all", pull=True)
        for session in ("default", "all"):
            get(other, origin + "/json", session=session)
        assert pulled(one, mine) == [] and pulled(one, shared) == []
        get(one, origin + "/json", session="all")
        assert topics(pulled(one, shared, "request.finished"))[0] == "request.created"
        # a session of the same name that is another client's own
        result(one.call("session.create", {"name": "same"}))
        same = subscribe(one, "*", session="same", pull=True)
        result(other.call("session.create", {"name": "same"}))
        result(other.call("session.close", {"session": "same"}))
        assert pulled(one, same) == []
        # what is about the session itself is for all who share it
        result(other.call("session.update", {"session": "all", "headers": {}}))
        assert "session.updated" in topics(pulled(one, shared)) and "session.updated" not in topics(pulled(one, mine))


def test_whoever_takes_over_a_request_hears_of_it(listening, server):
    with contract.Wire(listening) as one, contract.Wire(listening) as other:
        heard = subscribe(other, "request.*", pull=True)
        request = result(one.call("data.start", {"url": server.url("/drip/10"), "detach": True}))["request"]
        result(other.call("request.adopt", {"request": request}))
        assert topics(pulled(other, heard, "request.finished")) == ["request.adopted", "request.finished"]


# Order


def test_the_handle_precedes_its_first_event_whatever_is_under_way(wire, server):
    for _ in range(40):
        result(wire.call("data.start", {"url": server.url("/fine")}))
    for _ in range(20):
        wire.start("data.start", {"url": server.url("/fine")})
        number = wire.start("events.subscribe", {"topics": ["*"]})
        wire.start("data.start", {"url": server.url("/fine")})
        handle, early = None, []
        while handle is None or not early:
            message = wire.receive()
            if message.get("id") == number:
                handle = message["result"]["subscription"]
                assert handle not in early
            elif message.get("method") == "event.monitor":
                early.append(message["params"]["subscription"])


def test_nothing_follows_the_end_of_a_subscription(wire, server):
    for _ in range(20):
        handle = subscribe(wire, "*")
        numbers = [wire.start("data.send", {"url": server.url("/fine")}) for _ in range(10)]
        number, over, replied = wire.start("events.unsubscribe", {"subscription": handle}), False, set()
        while not over or len(replied) < 10:
            message = wire.receive()
            if message.get("id") == number:
                over = True
            elif message.get("id") in numbers:
                replied.add(message["id"])
            elif message.get("method") == "event.monitor":
                assert not over, "an event after the end"


def test_events_keep_their_order_under_load(wire, server):
    """Each request's events come once and in order, whatever others do meanwhile; the counts are exact."""
    subscription = subscribe(wire, "request.created", "attempt.created", "attempt.completed", "request.finished",
                             pull=True, queue=10000)
    for _ in range(5):
        wire.replies([wire.start("data.send", {"url": server.url("/fine")}) for _ in range(100)])
    events = pulled(wire, subscription, "request.finished", 500)
    assert [one["seq"] for one in events] == list(range(2000))
    ways = collections.defaultdict(list)
    for one in events:
        ways[one["request"]].append(one["topic"])
    assert len(ways) == 500 and {tuple(way) for way in ways.values()} == {
        ("request.created", "attempt.created", "attempt.completed", "request.finished")}
    counts = result(wire.call("events.unsubscribe", {"subscription": subscription}))
    assert counts == {"told": 2000, "dropped": 0}


# Coming for them


def test_events_wait_for_whoever_comes(wire, server):
    subscription = subscribe(wire, "request.finished", pull=True, queue=3)
    number = wire.start("events.next", {"subscription": subscription, "wait": 20})
    replies = wire.replies([number, wire.start("data.send", {"url": server.url("/fine")})])
    assert len(replies[number]["result"]["events"]) == 1
    for _ in range(5):
        get(wire, server.url("/fine"))
    found = result(wire.call("events.next", {"subscription": subscription}))
    assert [one["params"]["seq"] for one in found["events"]] == [3, 4, 5]
    assert found["dropped"] == 2 and found["end"] is False
    began = time.monotonic()
    found = result(wire.call("events.next", {"subscription": subscription, "wait": 0.2}))
    assert found == {"events": [], "dropped": 0, "end": False} and time.monotonic() - began >= 0.2


def test_the_newest_go_where_that_is_wanted(wire, server):
    subscription = subscribe(wire, "request.finished", pull=True, queue=2, drop="newest")
    for _ in range(4):
        get(wire, server.url("/fine"))
    found = result(wire.call("events.next", {"subscription": subscription}))
    assert [one["params"]["seq"] for one in found["events"]] == [0, 1] and found["dropped"] == 2


def test_a_call_that_waits_ends_with_its_subscription(wire):
    subscription = subscribe(wire, "*", pull=True)
    first = wire.start("events.next", {"subscription": subscription, "wait": 60})
    second = wire.call("events.next", {"subscription": subscription, "wait": 60})["error"]
    assert second["code"] == -32013 and second["data"]["state"] == "awaited"
    wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": first}})
    assert wire.reply(first)["error"]["code"] == -32800
    third = wire.start("events.next", {"subscription": subscription, "wait": 60})
    replies = wire.replies([third, wire.start("events.unsubscribe", {"subscription": subscription})])
    assert replies[third]["result"] == {"events": [], "dropped": 0, "end": True}


def test_what_is_sent_is_not_fetched(wire):
    subscription = subscribe(wire, "*")
    error = wire.call("events.next", {"subscription": subscription})["error"]
    assert error["code"] == -32013 and error["data"]["state"] == "pushed"
    error = wire.call("events.next", {"subscription": subscription, "request": "req_a"})["error"]
    assert error["code"] == -32602
    error = wire.call("events.ack", {"subscription": subscription, "seq": 0})["error"]
    assert error["code"] == -32013


def test_a_window_holds_events_back_until_they_are_acknowledged(wire, server):
    """At most so many are sent; acknowledging, by a call or a notification, lets the next ones come."""
    subscription = subscribe(wire, "request.finished", window=2)
    numbers = [wire.start("data.send", {"url": server.url("/fine")}) for _ in range(6)]
    seen, replied = [], set()

    def take(until):
        while not until():
            message = wire.receive()
            if message.get("method") == "event.monitor":
                seen.append(message["params"]["seq"])
            elif message.get("id") in numbers:
                replied.add(message["id"])

    take(lambda: len(seen) == 2 and len(replied) == 6)
    assert wire.call("events.ack", {"subscription": subscription, "seq": 5})["error"]["data"]["pointer"] == "/seq"
    assert seen == [0, 1]
    wire.send({"jsonrpc": "2.0", "method": "events.ack", "params": {"subscription": subscription, "seq": 0}})
    take(lambda: len(seen) == 3)
    assert wire.call("diagnostics.echo", {"a": 1})["result"] == {"a": 1} and seen == [0, 1, 2]
    numbers.append(wire.start("events.ack", {"subscription": subscription, "seq": 2}))
    take(lambda: len(seen) == 5)
    assert seen == [0, 1, 2, 3, 4]


# Those who do not take them


def test_a_slow_subscriber_costs_nobody_anything(listening, server):
    """A client that does not read loses events, and nothing else: neither others, nor its own requests, wait. [W1]
    [W11]"""
    with contract.Wire(listening) as slow, contract.Wire(listening) as other:
        subscribe(slow, "*")
        for _ in range(250):
            slow.start("data.start", {"url": server.url("/fine"), "tag": "x" * 4000})
        deadline = time.monotonic() + 60
        while True:
            assert get(other, server.url("/fine"))["ok"]
            stats = result(other.call("server.stats"))
            if stats["requests"]["total"] - stats["requests"]["running"] > 250 and stats["events"]["dropped"] > 0:
                break
            assert time.monotonic() < deadline, stats
        assert stats["requests"]["failed"] == 0
        # what is left comes in order, and says how much is missing
        last, missing = -1, 0
        while missing == 0:
            message = slow.receive()
            if message.get("method") == "event.monitor":
                assert message["params"]["seq"] > last
                last = message["params"]["seq"]
            elif message.get("method") == "event.dropped":
                missing = message["params"]["count"]
        assert slow.receive()["params"]["seq"] == last + missing + 1


def test_memory_stays_flat_for_a_subscriber_that_never_comes(wire, server):
    subscribe(wire, "*", pull=True, queue=10000)
    tag = "x" * 4000
    wire.replies([wire.start("data.send", {"url": server.url("/fine"), "tag": tag}) for _ in range(200)])
    before = memory(wire)
    for _ in range(5):
        wire.replies([wire.start("data.send", {"url": server.url("/fine"), "tag": tag}) for _ in range(200)])
    assert memory(wire) < before + (24 << 20)
    assert result(wire.call("server.stats"))["events"]["dropped"] > 0


def test_a_subscriber_that_leaves_is_forgotten(listening, server):
    with contract.Wire(listening) as other:
        for _ in range(20):
            with contract.Wire(listening) as one:
                subscribe(one, "*")
                subscribe(one, "*", pull=True)
                one.start("data.start", {"url": server.url("/stall/head")})
                assert result(one.call("server.stats"))["events"]["subscriptions"] == 2
            deadline = time.monotonic() + 10
            while result(other.call("server.stats"))["events"]["subscriptions"]:
                assert time.monotonic() < deadline
        stats = result(other.call("server.stats"))
        assert stats["requests"]["running"] == 0 and set(stats["requests"]["states"].values()) == {0}
