# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests of a machine that has no network, and of one that gets it back."""

import subprocess
import time

import contract
import pytest
from network_namespace import FAR, island
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


def test_ports_that_are_used_up_are_no_missing_network(alone):
    alone.switch(True)
    few = 'echo "20000 20001" > /proc/sys/net/ipv4/ip_local_port_range'
    if subprocess.run([*alone.inside, "sh", "-c", few], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("the system's settings cannot be written here")
    held = [result(alone.wire.call("data.start", {"url": alone.url + "/delay/60"}))["request"] for _ in range(2)]
    deadline = time.monotonic() + 30
    while {result(alone.wire.call("request.get", {"request": one}))["state"] for one in held} != {"sent"}:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    error = get(alone.wire, alone.url)["error"]
    assert error["reason"] == "unreachable" and error["retryable"] and "port is free" in error["message"], error


def test_a_version_of_ip_that_is_off_lacks_no_port(alone):
    alone.switch(True)
    off = "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6"
    if subprocess.run([*alone.inside, "sh", "-c", off], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("the system's settings cannot be written here")
    error = get(alone.wire, "http://[::1]:9/")["error"]
    assert error["reason"] == "unreachable" and "[::1]:9 cannot be reached" in error["message"], error


def test_a_response_from_an_address_that_is_gone_is_lost(alone):
    """Nothing arrives there any more, and TCP says so only after two minutes."""
    alone.switch(True)
    with alone.far() as url:
        request = result(alone.wire.call("data.start", {"url": url, "timeout": {"idle": 100}}))
        result(alone.wire.call("request.wait", {**request, "until": "response"}, 30))
        silent = result(alone.wire.call("data.start", {"url": f"{url}/silent", "timeout": 100}))
        deadline = time.monotonic() + 30
        while result(alone.wire.call("request.get", silent))["state"] != "sent":
            assert time.monotonic() < deadline
            time.sleep(0.01)
        alone.leave()
        ended, unanswered = [result(alone.wire.call("request.wait", one, 60)) for one in (request, silent)]
    assert (ended["error"]["code"], ended["error"]["retryable"], ended["body"]["text"]) == (1404, True, "far"), ended
    text = f"{FAR} was lost without an answer: this machine has lost its address"
    assert unanswered["error"]["message"].endswith(text), unanswered


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
