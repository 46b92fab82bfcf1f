# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What requests keep beside long bodies counts to the budget, until the requests are forgotten."""

import contextlib

import contract
import pytest
from budget import LEAST, MIB, memory, origins, services, until
from request_client import result

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
