# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Decisions that wait for their client, events that wait, and clients that leave before they have decided."""

import time

import contract
import pytest
from callback_client import callback, converse, second, sent
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

WAYS = ["request", "pull"]


def test_the_first_decision_counts(wire, origin):
    spec = {"url": origin + "/echo", "interceptors": [callback(how="pull", asks=["adapt"])]}
    request = wire.call("data.start", spec)["result"]["request"]
    event = wire.call("events.next", {"request": request})["result"]["events"][0]
    decision = event["params"]["decision"]
    assert wire.call("request.decide", {"decision": decision, "answer": {"headers": {"X": "1"}}})["result"] == {}
    assert wire.call("request.decide", {"decision": decision, "answer": {}})["error"]["code"] in (-32012, -32013)
    assert sent(wire.call("request.wait", {"request": request})["result"])[0]["X"] == "1"
    assert wire.call("request.decide", {"decision": decision, "answer": {}})["error"]["code"] == -32012
    assert wire.call("request.decide", {"decision": "dec_nothing", "error": "x"})["error"]["code"] == -32012


def test_decisions_of_calls_that_wait_are_those_of_the_connection(wire, origin):
    spec = {"url": origin + "/echo", "interceptors": [callback(how="pull", asks=["adapt"])]}
    number = wire.start("data.send", spec)
    event = result(wire.reply(wire.start("events.next", {})))["events"][0]
    assert event["params"]["call"] == number
    wire.send({"jsonrpc": "2.0", "id": "d", "method": "request.decide",
               "params": {"decision": event["params"]["decision"], "answer": {"headers": {"X": "1"}}}})
    assert sent(result(wire.replies(["d", number])[number]))[0]["X"] == "1"


def test_decisions_are_sent_where_such_events_are_wanted(wire, origin):
    spec = {"url": origin + "/echo", "events": ["decision"], "interceptors": [callback(how="pull", asks=["adapt"])]}
    number = wire.start("data.send", spec)
    event = wire.receive()
    assert event["method"] == "event.decision" and event["params"]["call"] == number
    decided = wire.start("request.decide", {"decision": event["params"]["decision"], "answer": {}})
    assert wire.replies([decided, number])[number]["result"]["ok"]


# Clients that leave


def test_a_client_that_leaves_takes_its_requests_with_it(listening, origin):
    with second(listening) as wire, second(listening) as watcher:
        wire.start("data.send", {"url": origin + "/json", "interceptors": [callback()]})
        assert wire.receive()["method"] == "callback.adapt"
        assert watcher.call("server.stats")["result"]["requests"]["running"] == 1
        wire.socket.close()
        wire.socket = None
        deadline = time.monotonic() + 10
        while watcher.call("server.stats")["result"]["requests"]["running"] and time.monotonic() < deadline:
            pass
        assert watcher.call("server.stats")["result"]["requests"]["running"] == 0


def test_a_half_closed_client_cannot_reply(listening, origin):
    import socket

    for how in WAYS:
        with second(listening) as wire:
            spec = {"url": origin + "/json", "interceptors": [callback(how=how, asks=["adapt"])]}
            number = wire.start("data.send", spec)
            wire.socket.shutdown(socket.SHUT_WR)
            message = wire.receive()
            if "method" in message:
                message = wire.receive()
            assert message["id"] == number
            error = message["result"]["error"]
            assert error["code"] == 1300 and error["underlying"]["code"] == -32022, message


def test_what_was_detached_goes_on_without_its_client(listening, origin):
    with second(listening) as wire, second(listening) as other:
        spec = {"url": "http://127.0.0.1:1/", "detach": True, "interceptors": [callback(asks=["retry"])]}
        number = wire.start("data.start", spec)
        messages = [wire.receive(), wire.receive()]
        request = next(one["result"]["request"] for one in messages if one.get("id") == number)
        wire.socket.close()
        wire.socket = None
        response = result(other.call("request.wait", {"request": request}, 15.0))
        assert response["error"]["code"] == 1402 and response["attempts"] == 1


def test_events_that_wait_are_bounded_and_counted(wire, server):
    spec = {"url": server.url("/fine"), "events": {"kinds": True, "pull": True}}
    request = wire.call("data.start", spec)["result"]["request"]
    wire.call("request.wait", {"request": request})
    reply = wire.call("events.next", {"request": request, "max": 2})["result"]
    assert len(reply["events"]) == 2 and not reply["end"]
    rest = wire.call("events.next", {"request": request})["result"]
    names = [event["params"]["seq"] for event in reply["events"] + rest["events"]]
    assert names == list(range(len(names))) and rest["end"] and rest["dropped"] == 0
    assert rest["events"][-1]["method"] == "event.finish"
    assert wire.call("events.next", {"request": request})["result"] == {"events": [], "dropped": 0, "end": True}


def test_a_request_without_events_or_decisions_has_nothing_to_wait_for(wire):
    """The reply comes at once, so without `end` a client that polls would poll without a pause."""
    request = wire.call("data.start", {"url": "http://127.0.0.1:1/", "startImmediately": False})["result"]["request"]
    assert wire.call("events.next", {"request": request})["result"] == {"events": [], "dropped": 0, "end": True}


@pytest.mark.parametrize("window", [None, 10])
def test_an_event_that_the_client_cannot_read_is_dropped(wire, window):
    """An error in its place would come again and again, since no client could acknowledge the event."""
    wire.call("server.hello", {"maxMessageBytes": 4096})
    topics = {"topics": ["request.created"], "pull": True, **({"window": window} if window else {})}
    handle = result(wire.call("events.subscribe", topics))["subscription"]
    for url in ("http://127.0.0.1:1/?" + "q" * 5000, "http://127.0.0.1:1/"):
        wire.call("data.send", {"url": url})
    found, dropped = [], 0
    while not found:
        taken = result(wire.call("events.next", {"subscription": handle, "wait": 5}))
        found, dropped = taken["events"], dropped + taken["dropped"]
    assert [event["params"]["seq"] for event in found] == [1] and dropped == 1
    assert result(wire.call("events.unsubscribe", {"subscription": handle})) == {"told": 2, "dropped": 1}


@pytest.mark.parametrize("of_request", [True, False])
def test_a_decision_that_the_client_cannot_read_fails_its_request(wire, of_request):
    """The request waited for the deadline of a callback that its client had never seen."""
    wire.call("server.hello", {"maxMessageBytes": 4096})
    spec = {"url": "http://127.0.0.1:1/?" + "q" * 5000,
            "interceptors": [callback(how="pull", asks=["adapt"], timeout=600)]}
    request = result(wire.call("data.start", spec))["request"]
    taken = result(wire.call("events.next", {"request": request} if of_request else {}))
    assert taken["events"] == [] and taken["dropped"] == 1, taken
    # the response names the long URL
    wire.call("server.hello", {"maxMessageBytes": 1 << 20})
    error = result(wire.call("request.wait", {"request": request, "timeout": 10}, 20))["error"]
    assert error["code"] == 1300 and "maxMessageBytes" in error["underlying"]["message"], error


def test_long_decisions_wait_for_their_client_together(wire, origin):
    """A later decision pushed the earlier ones out of the queue, and their requests waited for the deadline."""
    spec = {"url": origin + "/bytes/700000", "events": ["decision"],
            "serialize": {"callback": "mine", "decide": "pull", "timeout": 600}}
    calls = [wire.start("data.send", spec) for _ in range(3)]
    for _ in calls:
        assert wire.receive()["method"] == "event.decision"  # told when it is in the queue
    taken = []
    while len(taken) < 3:
        reply = result(wire.call("events.next", {"wait": 0.1}))
        assert reply["events"] and reply["dropped"] == 0, reply["dropped"]
        taken += reply["events"]
    assert sorted(event["params"]["call"] for event in taken) == sorted(calls)
    for event in taken:
        wire.call("request.decide", {"decision": event["params"]["decision"], "answer": {"value": 1}})


def test_decisions_that_are_over_take_no_memory(wire):
    """They stayed in the queue of the connection, for a client that fetches those of its requests alone."""
    spec = {"url": "http://127.0.0.1:1/", "headers": {"X": "y" * 20_000},
            "interceptors": [callback(how="pull", asks=["adapt"], timeout=0.3)]}
    calls = [wire.start("data.send", spec) for _ in range(20)]
    for reply in wire.replies(calls, 30).values():
        assert result(reply)["error"]["code"] == 1300
        # the request itself takes memory, too
        result(wire.call("request.forget", {"request": reply["result"]["request"]}))
    end = time.monotonic() + 10
    while result(wire.call("server.stats"))["memory"]["held"]:
        assert time.monotonic() < end, "decisions that are over are still held"
        time.sleep(0.02)


def test_waiting_for_events_can_be_cancelled(wire):
    number = wire.start("events.next", {"wait": 600})
    wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
    assert wire.receive()["error"]["code"] == -32800
    assert converse(wire, "events.next", {"wait": 0}, {})[0]["result"] == {"events": [], "dropped": 0, "end": False}
