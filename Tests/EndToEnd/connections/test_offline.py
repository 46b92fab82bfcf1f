# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests of a machine that has no network, and of one that gets it back."""

import time

import contract
import pytest
from network_namespace import island
from request_client import get, result
from subscription_client import pulled, subscribe, topics

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def alone():
    """A place without a network, and a service there."""
    with island() as place:
        if not place.exists:
            pytest.skip("no namespace can be made here: user namespaces are not permitted")
        with contract.Wire(under=place.inside) as wire:
            place.wire = wire
            place.switch(False)
            yield place


def waiting(wire, requests):
    """Until all of them have been sent once and failed: each then waits."""
    for request in requests:
        while result(wire.call("request.get", {"request": request}))["attempts"] == 0:
            time.sleep(0.01)


def test_without_a_network_a_request_says_so(alone):
    """For addresses and names alike. [AB1] [K4]"""
    for url in (alone.url, "http://[2001:db8::1]/", "http://example.org/"):
        error = get(alone.wire, url)["error"]
        assert error["code"] == 1412 and error["retryable"] and "no network" in error["message"], error


def test_requests_wait_for_the_network_and_go_together(alone):
    """One attempt failed, one succeeds; nothing is tried in vain meanwhile. [X8] [X9] [X10] [3.T.7] [3.T.10]"""
    params = {"url": alone.url + "/json", "interceptors": [{"offline": {"wait": 60}}]}
    requests = [result(alone.wire.call("data.start", params))["request"] for _ in range(4)]
    waiting(alone.wire, requests)
    alone.switch(True)
    for request in requests:
        response = result(alone.wire.call("request.wait", {"request": request}))
        assert response["ok"] and response["attempts"] == 2, response
    # a second wave, in another form
    alone.switch(False)
    result(alone.wire.call("session.flush"))
    request = result(alone.wire.call("data.start", {"url": alone.url + "/json", "retry": {"offline": {"wait": 60}}}))
    waiting(alone.wire, [request["request"]])
    alone.switch(True)
    assert result(alone.wire.call("request.wait", request))["ok"]


def test_a_network_that_does_not_come_leaves_the_failure_as_it_was(alone):
    """[X8] [X9] [3.T.8]"""
    for offline in ({"wait": 0.1}, {"wait": 0}, False):
        response = get(alone.wire, alone.url, interceptors=[{"offline": offline}])
        assert response["error"]["code"] == 1412 and response["attempts"] == 1


def test_waiting_for_a_network_is_told_once(alone):
    """However often it is looked for. [X8] [W2]"""
    subscription = subscribe(alone.wire, "request.offline", "request.finished", pull=True)
    get(alone.wire, alone.url, interceptors=[{"offline": {"wait": 0.1}}])
    assert topics(pulled(alone.wire, subscription)) == ["request.offline", "request.finished"]


def test_waiting_for_a_network_can_be_cancelled(alone):
    """[F10] [J9]"""
    params = {"url": alone.url, "interceptors": [{"offline": {"wait": 3600}}]}
    request = result(alone.wire.call("data.start", params))["request"]
    waiting(alone.wire, [request])
    result(alone.wire.call("request.cancel", {"request": request}))
    response = result(alone.wire.call("request.wait", {"request": request}))
    assert response["error"]["code"] == 1900 and response["attempts"] == 1


def test_the_route_to_the_place_of_connect_to_counts(alone):
    """No route leads to the host of the URL here; the request waited for one to the end."""
    place = alone.url.removeprefix("http://")
    params = {"url": "http://192.0.2.1/json", "connectTo": place, "retry": {"offline": {"wait": 60}}}
    request = result(alone.wire.call("data.start", params))["request"]
    waiting(alone.wire, [request])
    alone.switch(True)
    response = result(alone.wire.call("request.wait", {"request": request, "timeout": 20}, 30))
    assert response["ok"] and response["attempts"] == 2, response


def test_other_failures_wait_for_no_network(alone):
    """[X9] [3.T.13]"""
    alone.switch(True)
    response = get(alone.wire, "http://127.0.0.1:1/", interceptors=[{"offline": {"wait": 60}}])
    assert response["error"]["code"] == 1402 and response["attempts"] == 1
