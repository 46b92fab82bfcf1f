# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What is told of a request while it runs, and what is known of it afterwards."""

import base64

import contract
import pytest
from request_client import get, result, until

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


# Events


def test_events_of_a_call_precede_its_reply(wire, server):
    number = wire.start("data.send", {"url": server.url("/fine"), "events": True, "tag": "mine"})
    events, reply = until(wire, number)
    assert [one["params"]["seq"] for one in events] == list(range(len(events)))
    assert all(one["params"]["call"] == number and one["params"]["tag"] == "mine" for one in events)
    assert {one["params"]["request"] for one in events} == {reply["result"]["request"]}
    names = [one["params"].get("state", one["method"]) for one in events]
    assert names == ["created", "resumed", "sent", "responded", "event.response", "event.progress", "finished"]
    with pytest.raises(TimeoutError):
        wire.receive(0.2)


def test_the_handle_precedes_its_events_and_finish_is_the_last(wire, server):
    number = wire.start("data.start", {"url": server.url("/fine"), "events": True})
    first = wire.receive()
    assert first["id"] == number
    events = [wire.receive()]
    while events[-1]["method"] != "event.finish":
        events.append(wire.receive())
    assert [one["params"]["seq"] for one in events] == list(range(len(events)))
    assert all("call" not in one["params"] for one in events)
    assert events[-1]["params"]["response"]["body"]["text"] == "fine"
    assert events[-2]["params"]["state"] == "finished"


def test_progress_is_seldom_and_its_last_is_the_whole(wire, server):
    wire.call("server.hello", {"progressInterval": 0.2})
    number = wire.start("data.send", {"url": server.url("/drip/30"), "events": ["progress"]})
    events, reply = until(wire, number)
    assert reply["result"]["ok"] and 2 <= len(events) <= 8
    completed = [one["params"]["completed"] for one in events]
    assert completed == sorted(completed) and completed[-1] == 30
    assert events[-1]["params"]["total"] == 30 and events[-1]["params"]["fraction"] == 1


def test_uploads_make_progress_too(wire, server):
    body = {"base64": base64.b64encode(bytes(1 << 20)).decode()}
    number = wire.start("data.send", {"url": server.url("/deaf/0.5"), "method": "POST", "body": body, "timeout": 5,
                                      "events": ["progress"]})
    events, _ = until(wire, number)
    assert events and all(one["params"]["direction"] == "upload" for one in events)
    assert all(one["params"]["total"] == 1 << 20 for one in events)


def test_a_failed_start_finishes_with_its_failure(wire):
    wire.start("data.start", {"url": "http://127.0.0.1:99999/", "events": ["finish"]})
    wire.receive()
    assert wire.receive()["params"]["response"]["error"]["code"] == 1100


# Handles


def test_a_request_of_a_call_is_known_for_a_while(wire, server):
    headers = {"Authorization": "Bearer secret"}
    handle = get(wire, server.url("/fine"), headers=headers, tag="one")["request"]
    known = result(wire.call("request.get", {"request": handle}))
    assert known["state"] == "finished" and known["response"]["status"] == 200 and known["tag"] == "one"
    command = result(wire.call("request.curl", {"request": handle}))["command"]
    assert command.startswith("curl ") and "secret" not in command and server.url("/fine") in command
    for _ in range(300):
        get(wire, server.url("/fine"))
    assert wire.call("request.get", {"request": handle})["error"]["code"] == -32012
    assert len(result(wire.call("request.list"))["requests"]) <= 256


def test_without_handles_equal_calls_give_equal_results(wire, server):
    responses = [get(wire, server.url("/fine"), handles=False) for _ in range(2)]
    assert responses[0] == responses[1] and "request" not in responses[0]


def test_waiting_for_the_head_alone(wire, server):
    handle = result(wire.call("data.start", {"url": server.url("/drip/20")}))["request"]
    head = result(wire.call("request.wait", {"request": handle, "until": "response"}))
    assert head["status"] == 200 and head["body"]["size"] == 0
    whole = result(wire.call("request.wait", {"request": handle}))
    assert whole["body"]["text"] == "." * 20
    assert result(wire.call("request.wait", {"request": handle})) == whole


def test_many_at_once_all_get_results(wire, server):
    numbers = [wire.start("data.send", {"url": server.url(f"/fine/{index}")}) for index in range(200)]
    replies = wire.replies(numbers)
    texts = [replies[number]["result"]["body"]["text"] for number in numbers]
    assert texts == [str(index) for index in range(200)]
    stats = wire.call("server.stats")["result"]
    assert stats["requests"]["running"] == 0 and stats["requests"]["total"] >= 200


def test_metrics_are_told_when_asked_for(wire, server):
    first = get(wire, server.url("/fine"), metrics=True)["metrics"]
    second = get(wire, server.url("/fine"), metrics=True)["metrics"]["attempts"][0]
    assert first["total"] > 0 and first["attempts"][0]["reused"] is False and "connect" in first["attempts"][0]
    assert second["reused"] is True and "connect" not in second and second["bodyBytes"] == 4
    assert "metrics" not in get(wire, server.url("/fine"))


def test_detaching_needs_a_socket(wire, server):
    error = wire.call("data.start", {"url": server.url("/fine"), "detach": True})["error"]
    assert error["code"] == -32014 and error["data"]["pointer"] == "/detach"


# Nothing behind the end


class Listener:
    """Keeps all that comes, in order."""

    def __init__(self, wire):
        self.wire, self.seen = wire, []

    def wait(self, number):
        while not self.seen or self.seen[-1].get("id") != number:
            self.seen.append(self.wire.receive())
        return self.seen[-1]

    def late(self, ends):
        """The events of something behind the message that ends it; `ends` has what it is called by the id of that."""
        self.wait(self.wire.start("diagnostics.sleep", {"seconds": 0.2}))
        over, late = set(), []
        for one in self.seen:
            if "method" not in one:
                over.add(ends.get(one["id"]))
            elif {one["params"].get("call"), one["params"].get("request")} & over - {None}:
                late.append(one["method"])
        assert set(ends.values()) <= over
        return late


def test_nothing_follows_the_reply_to_a_call_that_was_cancelled(wire, server):
    """Whenever the cancelling comes: the events are told by another thread than the reply."""
    late = []
    for round_ in range(30):
        listener, numbers = Listener(wire), []
        for at in range(20):
            numbers.append(wire.start("data.send", {"url": server.url("/drip/20"), "events": True}))
            for _ in range((round_ + at) % 4):
                listener.wait(wire.start("diagnostics.echo", {"at": at}))
            wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": numbers[-1]}})
        late += listener.late({number: number for number in numbers})
    assert late == []


def test_nothing_follows_the_reply_that_forgets_a_request(wire, server):
    late = []
    for _ in range(10):
        listener, ends = Listener(wire), {}
        for _ in range(10):
            number = wire.start("data.start", {"url": server.url("/drip/20"), "events": True, "workDoneToken": "bar"})
            handle = listener.wait(number)["result"]["request"]
            ends[wire.start("request.forget", {"request": handle})] = handle
        late += listener.late(ends)
    assert late == []
