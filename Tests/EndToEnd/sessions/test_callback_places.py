# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""More callbacks at once than a connection has places: they wait, and none waits for ever."""

import contract
import pytest
from callback_client import callback, reply_to
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

PLACES = 64
CROWD = 150


def test_a_crowd_of_callbacks_waits_for_places(wire, origin):
    params = {"url": origin + "/json", "validate": callback(timeout=60), "handles": False}
    numbers = [wire.start("data.send", params) for _ in range(CROWD)]
    asked, replies, count = [], {}, 0
    while len(replies) < CROWD:
        # the first replies come once all places are taken
        if len(asked) == PLACES or count == CROWD:
            while asked:
                reply_to(wire, asked.pop(), {"valid": True})
        message = wire.receive(30)
        if "method" in message:
            asked.append(message)
            count += 1
        else:
            replies[message["id"]] = result(message)
    assert [replies[number].get("error") for number in numbers] == [None] * CROWD


def test_a_crowd_of_decisions_waits_for_places(wire, origin):
    params = {"url": origin + "/json", "interceptors": [callback(asks=["adapt"], how="pull", timeout=60)]}
    requests = [result(wire.call("data.start", params))["request"] for _ in range(CROWD)]
    decided, open_ones = 0, []
    while decided < CROWD:
        events = result(wire.call("events.next", {"wait": 20}, 30))["events"]
        assert events, f"only {decided} of {CROWD} decisions came"
        open_ones += [one["params"]["decision"] for one in events if one["method"] == "event.decision"]
        assert len(open_ones) <= PLACES
        if len(open_ones) < min(PLACES, CROWD - decided):
            continue
        for decision in open_ones:
            result(wire.call("request.decide", {"decision": decision, "answer": {}}))
        decided, open_ones = decided + len(open_ones), []
    for request in requests:
        assert result(wire.call("request.wait", {"request": request}))["ok"]


def test_code_that_waits_for_a_request_of_its_own_learns_that_all_places_wait(wire, origin):
    """All places belong to callbacks whose code may wait for the next one: that one gives up first."""
    def params(timeout):
        interceptor = callback(asks=["adapt"], timeout=timeout)
        return {"url": origin + "/json", "interceptors": [interceptor], "handles": False}

    outer = [wire.start("data.send", params(120)) for _ in range(PLACES)]
    asked = [wire.receive() for _ in outer]
    assert {message["method"] for message in asked} == {"callback.adapt"}
    inner = wire.start("data.send", params(60))
    cancelled = wire.start("data.send", params(60))
    wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": cancelled}})
    assert wire.receive()["error"]["code"] == -32800
    reply = wire.receive(30)
    assert reply["id"] == inner
    failure = result(reply)["error"]
    assert (failure["code"], failure["underlying"]["code"]) == (1300, -32011)
    for message in asked:
        reply_to(wire, message, {})
    assert all(result(reply)["ok"] for reply in wire.replies(outer).values())
