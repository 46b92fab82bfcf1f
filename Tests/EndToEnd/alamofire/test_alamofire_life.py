# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Alamofire's cases of the life of a request: states, repeated commands, ends."""

import time

import contract
import pytest
from capture_server import HELD, Capture
from code_client import call_with_code
from request_client import get, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def line():
    with contract.Wire() as line:
        yield line


@pytest.fixture
def server(home):
    return home


def create(line, **settings):
    return result(line.call("session.create", settings))["session"]


def start(line, url, **params):
    return result(line.call("data.start", {"url": url, **params}))["request"]


def wait(line, handle, seconds=10.0):
    return result(line.call("request.wait", {"request": handle}, seconds))


def on_the_wire(line, handle):
    """Until it has been sent."""
    while result(line.call("request.get", {"request": handle}))["state"] in ("created", "resumed", "adapted"):
        time.sleep(0.005)


def told(line, params, cancelled_when=None):
    """Starts a request; its events to the end, its response, its handle."""
    number = line.start("data.start", {"events": ["state", "response", "finish"], **params})
    handle, events = result(line.reply(number))["request"], []
    line.start("request.resume", {"request": handle})
    while not events or events[-1] != "event.finish":
        message = line.receive(10)
        if "method" not in message:
            continue
        events.append(message["params"].get("state", message["method"]))
        if events[-1] == cancelled_when:
            line.start("request.cancel", {"request": handle})
    return events, message["params"]["response"], handle


def test_each_state_comes_once(line, server):
    """Whether it starts by itself, or its session starts nothing. [3.E.1] [3.E.2] [3.E.17] [3.E.32]"""
    idle = create(line, startImmediately=False)
    for more in ({}, {"session": idle, "startImmediately": True}):
        events, response, handle = told(line, {"url": server.url(), **more})
        assert events == ["created", "resumed", "sent", "responded", "event.response", "finished", "event.finish"]
        assert response["ok"] and result(line.call("request.get", {"request": handle}))["state"] == "finished"


@pytest.mark.parametrize("immediately", [True, False])
def test_resuming_a_hundred_times_sends_once(line, server, immediately):
    """[3.E.4] [3.E.5] [3.E.9]"""
    handle = start(line, server.url("/echo?once"), startImmediately=immediately)
    for _ in range(100):
        result(line.call("request.resume", {"request": handle}))
    response = wait(line, handle)
    assert response["status"] == 200 and response["attempts"] == 1 and server.counts["/echo"] == 1


def test_cancelling_a_hundred_times_ends_once(line):
    """[3.E.7] [3.E.11]"""
    with Capture(response=HELD) as capture:
        handle = start(line, capture.url(), startImmediately=False, events=["state", "finish"])
        result(line.call("request.resume", {"request": handle}))
        on_the_wire(line, handle)
        numbers = [line.start("request.cancel", {"request": handle}) for _ in range(100)]
        events, replies = [], 0
        while replies < len(numbers) or "event.finish" not in events:
            message = line.receive(10)
            if "method" in message:
                events.append(message["params"].get("state", message["method"]))
            else:
                replies += 1
        assert events[-2:] == ["cancelled", "event.finish"] and events.count("cancelled") == 1
        assert wait(line, handle)["error"]["code"] == 1900


def test_cancelled_before_it_starts(line, server):
    """[3.E.10]"""
    handle = start(line, server.url("/echo"), startImmediately=False)
    result(line.call("request.cancel", {"request": handle}))
    result(line.call("request.resume", {"request": handle}))
    response = wait(line, handle)
    assert response["error"]["code"] == 1900 and response["attempts"] == 0 and not server.seen


def test_cancelling_is_the_end_for_every_handler(line):
    """[3.E.13]"""
    handlers = [{"id": "text", "serialize": {"as": "text"}}, {"id": "json", "serialize": {"as": "json"}}]
    with Capture(response=HELD) as capture:
        handle = start(line, capture.url(), handlers=handlers)
        on_the_wire(line, handle)
        result(line.call("request.cancel", {"request": handle}))
        response = wait(line, handle)
    assert response["error"]["code"] == 1900
    assert [(one["id"], one["ok"], one["error"]["code"]) for one in response["results"]] == [
        ("text", False, 1900), ("json", False, 1900)
    ]  # fmt: skip


def test_who_asks_again_causes_no_traffic(line, server):
    """[3.E.14] [F3]"""
    handle = start(line, server.url("/echo"), bodyTo="stored")
    kept = wait(line, handle)["body"]["response"]
    assert wait(line, handle)["body"]["response"] == kept
    for shape in ("json", "text"):
        told = result(line.call("response.serialize", {"response": kept, "serialize": {"as": shape}}))
        assert told["ok"] and told["body"]["kind"] == shape
    assert server.counts["/echo"] == 1


def test_cancelling_after_the_end_changes_nothing(line, server):
    """[3.E.16]"""
    always = {"callback": "always", "asks": ["retry"]}
    reply, callbacks = call_with_code(line, "data.send", {"url": server.url(), "interceptors": [always]}, {})
    handle = result(reply)["request"]
    assert result(line.call("request.cancel", {"request": handle}))["state"] == "finished" and not callbacks
    assert wait(line, handle)["ok"]


@pytest.mark.parametrize(("method", "code"), [("session.close", 1902), ("session.cancelAll", 1900)])
def test_a_hundred_requests_end_together(line, method, code):
    """Each of them, and nothing stays. [3.E.18] [3.E.21] [3.E.26]"""
    with Capture(response=HELD) as capture:
        session = create(line)
        handles = [start(line, capture.url(), session=session) for _ in range(100)]
        result(line.call(method, {"session": session}))
        assert [wait(line, handle)["error"]["code"] for handle in handles] == [code] * 100
    stats = result(line.call("server.stats"))
    assert stats["requests"]["running"] == 0 and stats["pool"]["connections"] == 0, stats


def test_all_of_a_session_are_suspended(line):
    """[3.E.20]"""
    with Capture(response=HELD) as capture:
        session = create(line)
        handles = [start(line, capture.url(), session=session) for _ in range(10)]
        assert result(line.call("session.suspendAll", {"session": session})) == {"suspended": 10}
        assert [result(line.call("request.get", {"request": one}))["state"] for one in handles] == ["suspended"] * 10


def test_cancelled_in_the_middle_of_a_retry(line):
    """[3.E.25]"""
    busy = b"HTTP/1.1 401 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    with Capture(response=HELD) as silent, Capture(response=busy) as capture:
        session = create(line)
        # the second attempt goes to the server that keeps silent
        once = {"callback": "once"}
        params = {"url": capture.url(), "session": session, "validate": True, "interceptors": [once]}
        number = line.start("data.send", params)
        while "id" not in (message := line.receive(10)) or "method" in message:
            attempt = message["params"]["attempt"]
            again = message["method"] == "callback.retry"
            reply = {"retry": True} if again else {"url": silent.url()} if attempt == 2 else {}
            line.send({"jsonrpc": "2.0", "id": message["id"], "result": reply})
            if attempt == 2:
                silent.take()
                line.start("session.cancelAll", {"session": session})
                break
        response = result(line.reply(number))
        assert response["error"]["code"] == 1900 and response["attempts"] == 2
        assert result(line.call("session.get", {"session": session}))["requests"]["active"] == 0


def test_the_head_comes_first(line, server):
    """[3.E.28]"""
    number = line.start("data.send", {"url": server.url("/many/300000"), "events": ["response", "progress"]})
    events = []
    while "method" in (message := line.receive(10)):
        events.append(message)
    response = result(message)
    assert message["id"] == number and [one["method"] for one in events].index("event.response") == 0
    assert events[0]["params"]["headers"] == response["headers"] and events[0]["params"]["status"] == 200


def test_a_head_that_is_allowed(line, server):
    """[3.E.29]"""
    params = {"url": server.url("/many/1000"), "disposition": {"callback": "look"}}
    reply, _ = call_with_code(line, "data.send", params, {"callback.disposition": lambda _: {"allow": True}})
    assert result(reply)["ok"] and result(reply)["body"]["size"] == 1000


def test_progress_never_falls(line, server):
    """[3.E.31]"""
    number = line.start("data.send", {"url": server.url("/many/1024"), "events": ["progress"]})
    parts = []
    while "method" in (message := line.receive(10)):
        parts.append(message["params"].get("fraction"))
    assert message["id"] == number and parts and parts == sorted(parts) and parts[-1] == 1


def test_cancelled_before_it_was_started(line):
    """It was not resumed, and no event says so. [F6]"""
    handle = start(line, "http://127.0.0.1:1/", startImmediately=False, events=["state"])
    number = line.start("request.cancel", {"request": handle})
    states = []
    while not states or states[-1] != "cancelled":
        message = line.receive(10)
        if "method" in message:
            states.append(message["params"]["state"])
        else:
            assert message["id"] == number
    assert states == ["created", "cancelled"]


def test_cancelled_while_it_waits_to_be_sent_again(line):
    """Only what was sent is listed."""
    with Capture(response=b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n") as capture:
        handle = start(line, capture.url(), retry={"scale": 30, "onStatus": True})
        while result(line.call("request.get", {"request": handle}))["state"] != "retrying":
            time.sleep(0.005)
        line.call("request.cancel", {"request": handle})
        wait(line, handle)
    known = result(line.call("request.get", {"request": handle}))
    assert [(one["attempt"], one["status"]) for one in known["requests"]] == [(1, 503)]


def test_cancelled_when_it_was_sent(line):
    """[3.E.36]"""
    with Capture(response=HELD) as capture:
        events, _, handle = told(line, {"url": capture.url(), "startImmediately": False}, cancelled_when="sent")
        assert events == ["created", "resumed", "sent", "cancelled", "event.finish"]
        known = result(line.call("request.get", {"request": handle}))
        assert known["state"] == "cancelled" and len(known["metrics"]) == 1


def test_the_short_description(line, server):
    """[3.E.37]"""
    request = get(line, server.url("/echo"))["request"]
    text = result(line.call("request.describe", {"request": request, "style": "short"}))["text"]
    assert text == f"GET {server.url('/echo')} (200)"
