# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A request without listeners goes a shorter way through the service, and comes to the same."""

import itertools

import contract
import pytest
from request_client import result
from subscription_client import subscribe, told, topics

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

# what is another one each time
OWN = ("request", "headers", "redirects")

KINDS = {
    "a response": ("/json", {}),
    "no content": ("/status/204", {}),
    "a bad status": ("/status/404", {}),
    "a compressed response": ("/gzip", {}),
    "redirects": ("/redirect/2", {}),
    "a redirect that is not followed": ("/redirect/1", {"redirect": "none"}),
    "a body": ("/echo", {"method": "POST", "body": {"text": "x" * 5000}, "serialize": {"as": "json"}}),
    "a long body": ("/echo", {"method": "POST", "body": {"text": "x" * 3_000_000}, "bodyTo": "discard"}),
    "a head alone": ("/json", {"method": "HEAD"}),
    "a response too long to come inline": ("/bytes/5000", {"maxInline": 100}),
    "a response too long to be taken": ("/bytes/5000", {"maxBody": 100}),
    "a kept response": ("/bytes/5000", {"bodyTo": "stored"}),
    "a response that is discarded": ("/bytes/5000", {"bodyTo": "discard"}),
    "a response in the wrong shape": ("/bytes/500", {"serialize": {"as": "json"}}),
    "a label and times": ("/json", {"tag": "mine", "metrics": True}),
}


def known(response):
    """What two responses to the same request have in common."""
    response = {name: value for name, value in response.items() if name not in OWN}
    response.pop("metrics", None)
    response["body"].pop("response", None)
    if isinstance(response["body"].get("json"), dict):
        response["body"]["json"].pop("headers", None)
    return response


def both(wire, params):
    """What became of a request with a listener, and of the same without one."""
    subscribe(wire, "*")
    told(wire, "data.send", params)  # opens the connection
    return [told(wire, "data.send", {**params, "events": events}) for events in (["finish"], False)]


def course(events):
    """Their topics in order; in how many pieces a body arrives is the network's affair."""
    return [topic for topic, _ in itertools.groupby(topics(events))]


@pytest.mark.parametrize("kind", KINDS)
def test_whether_somebody_listens_makes_no_difference(wire, origin, kind):
    path, params = KINDS[kind]
    (heard, response), (unheard, same) = both(wire, {"url": origin + path, **params})
    assert known(response) == known(same)
    assert course(heard) == course(unheard)
    assert "attempt.completed" in topics(unheard)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "nothing://here", "http://h/\u0000"])
def test_what_cannot_be_sent_fails_the_same_way(wire, url):
    (heard, response), (unheard, same) = both(wire, {"url": url})
    assert known(response) == known(same)
    assert course(heard) == course(unheard)
    assert response["ok"] is False


@pytest.mark.parametrize("path", ["/reset", "/reset/body", "/close", "/close/body", "/close/chunk", "/broken/text"])
def test_what_breaks_breaks_the_same_way(wire, server, path):
    (heard, response), (unheard, same) = both(wire, {"url": server.url(path)})
    assert known(response) == known(same)
    assert course(heard) == course(unheard)


def test_it_can_be_held_up_and_let_go(wire, server, origin):
    handle = result(wire.call("data.start", {"url": origin + "/json", "startImmediately": False}))["request"]
    for method in ("request.resume", "request.suspend", "request.resume"):
        result(wire.call(method, {"request": handle}))
    assert result(wire.call("request.wait", {"request": handle}))["status"] == 200
    stalled = result(wire.call("data.start", {"url": server.url("/stall/head")}))["request"]
    server.wait_for("/stall/head")
    result(wire.call("request.suspend", {"request": stalled}))
    result(wire.call("request.cancel", {"request": stalled}))
    assert result(wire.call("request.wait", {"request": stalled}))["error"]["kind"] == "explicitlyCancelled"
