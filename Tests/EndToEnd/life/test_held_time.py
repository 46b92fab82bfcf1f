# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The limits of a request that has several attempts, redirects and pauses: what counts, and what does not.

A pause here is longer than the limit that it must not count for; nothing else takes time.
"""

import socket
import time
import urllib.parse

import contract
import pytest
from callback_client import reply_to
from capture_server import HELD, Capture
from request_client import get, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

# clock: limits of requests are of the real clock; a slow machine must keep them where they hold
LIMIT, PAUSE = 4.0, 4.5


@pytest.fixture
def line():
    with contract.Wire() as line:
        yield line


@pytest.fixture
def server(home):
    return home


def next_callback(line, kind):
    while "id" not in (message := line.receive(20)) or message.get("method") != f"callback.{kind}":
        pass
    return message


@pytest.mark.parametrize("limit", ["total", "resource"])
def test_neither_asking_nor_suspending_counts_in_a_chain_of_redirects(line, server, limit):
    """[F4] [T8]"""
    last = server.url("/echo")
    url = server.url("/to/302?" + urllib.parse.quote(server.url("/to/302?" + last), safe=""))
    params = {"url": url, "timeout": {limit: LIMIT}, "redirect": {"callback": "lead"}}
    handle = result(line.call("data.start", params))["request"]
    callback = next_callback(line, "redirect")
    time.sleep(PAUSE)
    reply_to(line, callback, {"follow": True})
    callback = next_callback(line, "redirect")
    assert result(line.call("request.suspend", {"request": handle}))["state"] == "suspended"
    reply_to(line, callback, {"follow": True})
    time.sleep(PAUSE)
    line.start("request.resume", {"request": handle})
    response = result(line.call("request.wait", {"request": handle}))
    assert response["ok"] and len(response["redirects"]) == 2, response


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_suspending_stops_the_time_of_a_request_without_a_connection(line, scheme):
    """While it waits for a connection, and in the middle of a handshake. [F4]"""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        session = result(line.call("session.create", {"connectionsPerHost": 1}))["session"]
        params = {"url": f"{scheme}://127.0.0.1:{listener.getsockname()[1]}/", "session": session}
        last = {**params, "timeout": {"total": LIMIT, "tls": LIMIT}}
        if scheme == "http":
            result(line.call("data.start", params))
        handle = result(line.call("data.start", last))["request"]
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(1)
            assert result(line.call("request.suspend", {"request": handle}))["state"] == "suspended"
            time.sleep(PAUSE)
            assert result(line.call("request.get", {"request": handle}))["state"] == "suspended"
            # and goes on
            assert result(line.call("request.resume", {"request": handle}))["state"] != "finished"
            error = result(line.call("request.wait", {"request": handle}))["error"]
        assert error["code"] == 1405 and error["phase"] in ("total", "tls"), error


def test_redirects_that_take_too_long_together_end(line, server):
    """[3.D.8]"""
    with Capture(response=HELD) as silent:
        error = get(line, server.url("/to/302?" + silent.url()), timeout=0.3)["error"]
    assert error["code"] == 1405


def test_all_attempts_together_have_a_limit(line):
    """In the middle of an attempt, and of the delay before the next."""
    with Capture(response=HELD) as silent:
        retry = {"limit": 100, "scale": 0}
        response = get(line, silent.url(), timeout={"total": 0.05, "resource": 1}, retry=retry)
        assert response["error"]["code"] == 1405 and "all its attempts" in response["error"]["message"]
        assert 1 < response["attempts"] <= 20
    delayed = {"limit": 100, "scale": 3600, "maxDelay": 3600}
    response = get(line, "http://127.0.0.1:1/", timeout={"resource": 3}, retry=delayed)
    assert response["error"]["code"] == 1405 and response["attempts"] == 1
    # the cause, which the attempts would take along
    assert "the attempt before the last retry failed: " in response["error"]["message"]
    # it is the limit of a request without retries, too
    with Capture(response=HELD) as silent:
        session = result(line.call("session.create", {"timeout": {"resource": 0.2}}))["session"]
        assert result(line.call("session.get", {"session": session}))["timeout"]["resource"] == 0.2
        assert get(line, silent.url(), session=session)["error"]["code"] == 1405
    assert result(line.call("server.stats"))["requests"]["running"] == 0


@pytest.mark.parametrize("seconds", [0, 604801, "1"])
def test_a_limit_for_all_attempts_is_a_number_of_seconds(line, seconds):
    error = line.call("data.send", {"url": "http://127.0.0.1:1/", "timeout": {"resource": seconds}})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == "/timeout/resource"


@pytest.mark.parametrize("kind", ["retry", "validate"])
def test_a_client_that_thinks_it_over_does_not_run_into_the_limit(line, server, kind):
    """Whatever it is asked."""
    members = {
        "retry": {"interceptors": [{"callback": "x", "asks": ["retry"]}], "validate": {"status": [201]}},
        "validate": {"validate": {"callback": "x"}},
    }
    params = {"url": server.url("/echo"), "timeout": {"total": LIMIT, "resource": LIMIT}, "events": True}
    number = line.start("data.send", {**params, **members[kind]})
    callback = next_callback(line, kind)
    time.sleep(PAUSE)
    reply_to(line, callback, {"retry": False} if kind == "retry" else {"valid": True})
    while "method" in (message := line.receive(20)):
        pass
    assert message["id"] == number
    assert result(message).get("error", {}).get("code") == (1600 if kind == "retry" else None)


def test_nobody_is_asked_more_often_than_the_service_allows():
    """[J10]"""
    with contract.Wire(arguments=("--max-attempts", "3")) as line:
        assert result(line.call("server.info"))["limits"]["attempts"] == 3
        response = get(line, "http://127.0.0.1:1/", retry={"limit": 100, "scale": 0, "errors": ["refused"]})
        assert response["attempts"] == 3 and response["error"]["code"] == 1402
