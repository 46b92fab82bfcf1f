# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Calls that are cancelled: what they have made goes, and no event follows the end of the call."""

import time

import contract
import pytest
from request_client import read_all, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

# more than the service keeps without counting
LONG = "/bytes/100000"


def cancel(wire, number, silent=True):
    if silent:
        wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    else:
        wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})


def until(wire, holds):
    """All messages until the statistics are as wanted, and a round trip later."""
    told, end = [], time.monotonic() + 15
    for last in (False, True):
        while True:
            asked = wire.start("server.stats")
            while (message := wire.receive()).get("id") != asked:
                told.append(message)
            if last or holds(result(message)):
                break
            assert time.monotonic() < end, message
            time.sleep(0.02)
    return told


def is_at_rest(stats):
    return stats["calls"]["running"] == 1 and stats["requests"]["running"] == 0


@pytest.mark.parametrize("kind", ["stored", "file"])
@pytest.mark.parametrize("method", ["data.send", "upload.send"])
def test_the_body_of_a_response_without_a_receiver_is_deleted(wire, server, kind, method):
    """The exchange is over, and the client's own code still works on the response."""
    params = {"url": server.url(LONG), "bodyTo": kind, "handlers": [{"id": "a", "serialize": {"callback": "mine"}}]}
    if method == "upload.send":
        params |= {"method": "GET", "allowGetBody": True, "body": {"text": ""}}
    number = wire.start(method, params)
    while wire.receive().get("method") != "callback.serialize":
        pass
    cancel(wire, number)
    told = until(wire, lambda stats: is_at_rest(stats) and stats["memory"]["held"] == 0)
    assert number not in [message.get("id") for message in told]
    info = result(wire.call("request.list", {"scope": "all"}))["requests"]
    handle = next(one["request"] for one in info)
    note = result(wire.call("request.wait", {"request": handle}))["body"]
    assert "response" not in note and "path" not in note, note


@pytest.mark.parametrize("claim", ["detach", "wait"])
def test_a_body_that_another_call_may_read_stays(listening, server, claim):
    with contract.Wire(listening) as wire:
        handlers = [{"id": "a", "serialize": {"callback": "mine"}}]
        params = {"url": server.url(LONG), "bodyTo": "stored", "events": ["state"], "handlers": handlers}
        number = wire.start("data.send", params)
        while (message := wire.receive()).get("method") != "callback.serialize":
            request = message["params"]["request"]
        if claim == "detach":
            result(wire.call("request.detach", {"request": request, "name": "kept"}))
            cancel(wire, number)
            until(wire, is_at_rest)
            note = result(wire.call("request.wait", {"request": request}))["body"]
        else:
            waiting = wire.start("request.wait", {"request": request})
            # the wait is under way behind the reply to a later call
            wire.call("server.stats")
            cancel(wire, number)
            note = wire.replies([waiting])[waiting]["result"]["body"]
            until(wire, lambda stats: stats["calls"]["running"] == 1)
        assert len(read_all(wire, note["response"])) == 100_000


def test_no_event_comes_of_a_request_whose_start_is_cancelled(monkeypatch, tmp_path, server):
    """The call waits for its cache, and is cancelled before that is open."""
    monkeypatch.setenv("OUTRIDER_CACHES", str(tmp_path / "caches"))
    with contract.Wire() as wire:
        for index in range(8):
            params = {"url": server.url("/bytes/1000"), "events": ["state", "finish"], "workDoneToken": "bar"}
            number = wire.start("data.start", {**params, "cache": {"name": f"cache{index}"}})
            cancel(wire, number)
            told = until(wire, is_at_rest)
            # the call may have been faster
            assert not told or any(message.get("id") == number for message in told), told


OPENINGS = {
    "stream.open": {"url": "/stall/", "wait": "response", "workDoneToken": "bar"},
    "data.send": {"url": "/stall/", "bodyTo": "stream", "workDoneToken": "bar"},
    "sse.open": {"url": "/stall/", "wait": "response", "workDoneToken": "bar"},
    "websocket.open": {"url": "/stall/", "wait": True, "workDoneToken": "bar"},
    "tcp.open": {"tls": {}},
}


@pytest.mark.parametrize("method", OPENINGS)
@pytest.mark.parametrize("silent", [True, False])
def test_no_event_follows_the_end_of_a_cancelled_opening(wire, server, method, silent):
    params = {**OPENINGS[method], "events": ["state"]}
    host, _, port = server.url("").removeprefix("http://").rstrip("/").partition(":")
    if "url" in params:
        params["url"] = server.url(params["url"]).replace("http:", "ws:" if method.startswith("web") else "http:")
    else:
        params |= {"host": host, "port": int(port)}
    number = wire.start(method, params)
    while wire.receive().get("params", {}).get("state") != "resumed":
        pass
    cancel(wire, number, silent)
    told = until(wire, is_at_rest)
    ends = [index for index, message in enumerate(told) if message.get("id") == number]
    assert len(ends) == (not silent), told
    after = told[ends[0] + 1 :] if ends else []
    assert not after, after
    assert all(told[index]["error"]["code"] == -32800 for index in ends)
    bar = [message["params"]["value"]["kind"] for message in told if message.get("method") == "$/progress"]
    assert bar.count("end") == ("workDoneToken" in params), told
    assert result(wire.call("request.list", {"scope": "all"}))["requests"] == []
