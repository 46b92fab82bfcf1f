# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Alamofire's retry policies, asked for their verdict, and at work."""

import contract
import pytest
from capture_server import Capture
from request_client import get, result, until

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

LOST = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\n12345"
BUSY = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def verdict(line, **params):
    """Whether, and after how many seconds."""
    told = result(line.call("evaluate.retry", params))
    return told.get("delay", 0) if told["retry"] else None


@pytest.mark.parametrize(("policy", "delays"), [(True, [0.5, 1, None]), ({"limit": 4}, [0.5, 1, 2, 4, None])])
def test_the_delay_grows_until_the_limit(line, policy, delays):
    """[K1] [K2] [K8] [3.I.1] [3.I.2]"""
    error = "connectionLost"
    assert [verdict(line, retry=policy, method="GET", error=error, retries=n) for n in range(len(delays))] == delays


def test_every_value_of_a_policy_can_be_set(line):
    """[K8]"""
    policy = {"limit": 1, "base": 3, "scale": 2, "methods": ["POST"], "statuses": [418], "errors": ["timedOut"]}
    assert verdict(line, retry=policy, method="POST", error="timedOut", retries=0) == 2
    assert verdict(line, retry=policy, method="POST", error="timedOut", retries=1) is None
    assert verdict(line, retry=policy, method="GET", error="timedOut", retries=0) is None
    assert verdict(line, retry=policy, method="POST", error="connectionLost", retries=0) is None
    assert verdict(line, retry=policy, method="POST", status=418, error="unacceptableStatusCode", retries=0) == 2


@pytest.mark.parametrize(
    ("method", "again"),
    [(method, True) for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE")]
    + [(method, False) for method in ("POST", "PATCH", "QUERY", "get")],
)
def test_only_some_methods_are_repeated(line, method, again):
    """[K1] [K3] [3.I.3]"""
    assert (verdict(line, retry=True, method=method, error="connectionLost", retries=0) is not None) is again


def test_only_some_statuses_are_worth_repeating(line):
    """[K1] [K3] [3.I.4]"""
    again = [
        status
        for status in range(200, 600)
        if verdict(line, retry=True, method="GET", status=status, error="unacceptableStatusCode", retries=0) is not None
    ]
    assert again == [408, 500, 502, 503, 504]


AGAIN = {"nameNotFound", "refused", "unreachable", "connectionLost", "timedOut", "offline", "tlsHandshake", "proxy"}
ENDS = {1900, 1901, 1902}


def test_only_some_failures_are_worth_repeating(line):
    """Of all that there are; what is not says no more than that. [K4] [K5] [3.I.5] [3.I.7]"""
    failures = [failure for failure in contract.FAILURES.values() if failure["code"] not in ENDS]
    for error in sorted(failure.get("reason", failure["kind"]) for failure in failures):
        told = result(line.call("evaluate.retry", {"method": "GET", "error": error, "retries": 0}))
        assert told == ({"retry": True, "delay": 0.5} if error in AGAIN else {"retry": False}), error


def test_a_policy_for_lost_connections(line):
    """Two retries after 0.5 and 1 seconds, as in the other policy. [K7] [3.I.8]"""
    lost = {"retry": "connectionLost", "method": "GET", "retries": 0}
    delays = [verdict(line, **{**lost, "retries": n}, error="connectionLost") for n in range(3)]
    assert delays == [0.5, 1, None]
    for method, again in (("PUT", True), ("TRACE", True), ("POST", False), ("PATCH", False)):
        assert (verdict(line, **{**lost, "method": method}, error="connectionLost") == 0.5) is again
    assert verdict(line, **lost, error="timedOut") is None
    assert verdict(line, **lost, error="unacceptableStatusCode", status=503) is None


def test_retries_at_work(line):
    """Two of them, each with its own time limit; each begins to count anew. [K1] [K6] [3.D.10] [N6] [F12]"""
    with Capture(response=BUSY) as capture:
        response = get(line, capture.url(), validate=True, retry={"scale": 0.001})
        assert response["attempts"] == 3 and response["error"]["code"] == 1600 and capture.requests.qsize() == 3
        response = get(line, capture.url(), retry={"scale": 0.001, "onStatus": True})
        assert response["attempts"] == 3 and response["ok"] and response["status"] == 503
    with Capture(response=LOST) as capture:
        params = {"url": capture.url(), "method": "PUT", "body": {"text": "abc"}, "retry": {"scale": 0.001}}
        number = line.start("data.send", {**params, "events": ["progress", "retry"]})
        events, reply = until(line, number)
        assert result(reply)["attempts"] == 3 and result(reply)["body"]["text"] == "12345"
        assert [event["params"]["attempt"] for event in events if event["method"] == "event.retry"] == [1, 2] or [
            event["params"]["attempt"] for event in events if event["method"] == "event.retry"
        ] == [2, 3]
        sent = [event["params"]["completed"] for event in events if event["params"].get("direction") == "upload"]
        assert max(sent) == 3 and len(sent) >= 2
    response = get(line, "http://127.0.0.1:1/", retry=True, timeout=0.2)
    assert response["error"]["code"] in (1402, 1405)


def test_a_post_is_not_sent_twice(line):
    """Unless the caller says that it may be. [K3]"""
    with Capture(response=BUSY) as capture:
        more = {"method": "POST", "validate": True}
        assert get(line, capture.url(), retry={"scale": 0}, **more)["attempts"] == 1
        assert get(line, capture.url(), retry={"scale": 0, "methods": ["POST"]}, **more)["attempts"] == 3


def test_no_retrier_goes_on_for_ever(line):
    """[J10]"""
    error = line.call("data.send", {"url": "http://127.0.0.1:1/", "retry": {"limit": 101}})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == "/retry/limit"
    response = get(line, "http://127.0.0.1:1/", retry={"limit": 100, "scale": 0})
    assert response["attempts"] <= 101


def test_a_server_that_always_fails(line):
    """Half a second and a second are waited for, at least. [3.I.11] [K2]"""
    with Capture(response=BUSY) as capture:
        number = line.start("data.send", {"url": capture.url(), "validate": True, "retry": True, "events": ["retry"]})
        events, reply = until(line, number)
        assert [one["params"]["delay"] for one in events] == [0.5, 1] and capture.requests.qsize() == 3
        assert result(reply)["attempts"] == 3 and result(reply)["error"]["code"] == 1600
