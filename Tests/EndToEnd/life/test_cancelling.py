# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests that are cancelled, left behind, or detached."""

import json
import socket
import time

import contract
import pytest
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


PHASES = ["/stall/", "/stall/head", "/stall/middle", "/endless/", "/drip/1000"]


@pytest.mark.parametrize("path", PHASES)
def test_a_cancelled_call_ends_its_request(wire, server, path):
    """[AC2]"""
    number = wire.start("data.send", {"url": server.url(path + ("x" if path.endswith("ss/") else ""))})
    server.wait_for(path + ("x" if path.endswith("ss/") else ""))
    wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
    assert wire.reply(number, 3)["error"]["code"] == -32800
    assert wire.call("server.stats")["result"]["requests"]["running"] == 0


@pytest.mark.parametrize("path", PHASES)
def test_a_cancelled_request_ends_its_call(wire, server, path):
    """[F6] [F8]"""
    server.gone.clear()
    seen = server.arrived.count(path)
    number = wire.start("data.send", {"url": server.url(path), "events": ["state"], "bodyTo": "discard"})
    server.wait_for(path, seen + 1)
    handle = wire.receive()["params"]["request"]
    cancelled = wire.start("request.cancel", {"request": handle})
    replies = wire.replies([number, cancelled], 5)
    assert replies[cancelled]["result"]["state"] == "cancelled"
    assert replies[number]["result"]["error"]["code"] == 1900
    if path != "/drip/1000":
        server.wait_gone(path)
    assert result(wire.call("request.get", {"request": handle}))["state"] == "cancelled"


def test_cancelling_while_waiting_for_a_connection(wire, server):
    session = result(wire.call("session.create", {"connectionsPerHost": 6}))["session"]
    stalled = {"url": server.url("/stall/"), "session": session}
    running = [wire.start("data.send", stalled) for _ in range(6)]
    number = wire.start("data.send", {"url": server.url("/fine/never"), "session": session})
    wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
    assert wire.reply(number)["error"]["code"] == -32800
    for number in running:
        wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
    wire.replies(running)
    # the place goes to the next request
    assert result(wire.call("data.send", {"url": server.url("/fine/later"), "session": session}))["ok"]
    assert "/fine/never" not in server.arrived


def test_a_stopping_service_does_not_blame_the_client(server):
    """Only what the client cancelled is cancelled by the client."""
    with contract.Wire() as wire:
        begun = [wire.start("data.send", {"url": server.url("/stall/")}) for _ in range(2)]
        handle = wire.call("data.start", {"url": server.url("/stall/")})["result"]["request"]
        begun.append(wire.start("request.wait", {"request": handle}))
        wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": begun[0]}})
        assert wire.reply(begun[0])["error"]["code"] == -32800
        wire.call("server.stop", {"grace": 0.05})
        replies = wire.replies(begun[1:])
        assert [replies[number]["error"]["code"] for number in begun[1:]] == [-32017, -32017], replies


def test_nor_does_it_blame_the_token_that_a_call_waits_for(server, monkeypatch, tmp_path):
    monkeypatch.setenv("OUTRIDER_CREDENTIALS", str(tmp_path))
    with contract.Wire() as wire:
        spec = {"grant": "clientCredentials", "clientId": "a", "clientSecret": "b", "tokenUrl": server.url("/stall/")}
        credential = wire.call("oauth.create", spec)["result"]["credential"]
        begun = [wire.start(method, {"credential": credential}) for method in ("oauth.token", "oauth.refresh")]
        wire.call("server.stop", {"grace": 0.05})
        replies = wire.replies(begun)
        assert [replies[number]["error"]["code"] for number in begun] == [-32017, -32017], replies


SLEEP = {"method": "diagnostics.sleep", "params": {"seconds": 60}}


def cancel(number, target):
    return {"id": number, "method": "$/cancelRequest", "params": {"id": target}}


def told(wire, *messages, replies):
    """The codes or results of replies by id. The contract has no result for cancelling."""
    for message in messages:
        wire.send_text(json.dumps({"jsonrpc": "2.0", **message}))
    found = [json.loads(wire.receive_line()) for _ in range(replies)]
    return {one["id"]: one.get("error", {}).get("code", one.get("result")) for one in found}


def test_cancelling_as_a_call_has_a_reply_of_its_own(wire):
    assert told(wire, {"id": 7, **SLEEP}, cancel(8, 7), replies=2) == {7: -32800, 8: {}}
    assert told(wire, cancel(7, 99), cancel(8, 1.5), cancel(9, None), replies=3) == {7: {}, 8: -32602, 9: -32602}


def test_cancelling_as_a_call_gives_no_id_two_replies(wire):
    assert told(wire, {"id": 7, **SLEEP}, {"id": 8, **SLEEP}, cancel(7, 8), replies=1) == {None: -32600}
    assert told(wire, cancel(9, 7), cancel(10, 8), replies=4) == {7: -32800, 8: -32800, 9: {}, 10: {}}
    assert told(wire, {"id": 7, **SLEEP}, cancel(7, 7), replies=1) == {7: -32800}


@pytest.mark.parametrize("path", ["/stall/", "/stall/middle", "/endless/"])
def test_a_client_that_vanishes_takes_its_request_along(listening, server, path):
    server.gone.clear()
    seen = server.arrived.count(path)
    with contract.Wire(listening) as wire:
        wire.start("data.send", {"url": server.url(path)})
        wire.start("data.start", {"url": server.url(path)})
        server.wait_for(path, seen + 2)
    server.wait_gone(path)
    with contract.Wire(listening) as other:
        end = time.monotonic() + 5
        while other.call("server.stats")["result"]["requests"]["running"]:
            assert time.monotonic() < end, "requests of a client that is gone still run"
            time.sleep(0.02)


def test_half_close_serves_the_calls_before(listening, server):
    with contract.Wire(listening) as wire:
        number = wire.start("data.send", {"url": server.url("/drip/15")})
        wire.socket.shutdown(socket.SHUT_WR)
        assert wire.reply(number)["result"]["body"]["text"] == "." * 15


def test_a_detached_request_outlives_its_client(listening, server):
    """[A5] [F3] [AC2]"""
    with contract.Wire(listening) as wire:
        handle = result(wire.call("data.start", {"url": server.url("/drip/20"), "detach": True}))["request"]
    with contract.Wire(listening) as other:
        result(other.call("request.adopt", {"request": handle}))
        found = result(other.call("request.list", {"scope": "detached"}))["requests"]
        assert [one["request"] for one in found] == [handle] and found[0]["detached"] is True
        response = result(other.call("request.wait", {"request": handle}))
        assert response["ok"] and response["body"]["text"] == "." * 20


def test_handles_are_private(listening, server):
    """[F20]"""
    with contract.Wire(listening) as wire, contract.Wire(listening) as other:
        handle = result(wire.call("data.start", {"url": server.url("/fine")}))["request"]
        for method in ("request.get", "request.cancel", "request.curl", "request.wait"):
            assert other.call(method, {"request": handle})["error"]["code"] == -32012
        assert result(other.call("request.list", {"scope": "all"}))["requests"] == []


@pytest.mark.parametrize("method", ["request.cancel", "session.cancelAll"])
def test_cancelling_ends_the_callback_that_follows_the_exchange(wire, origin, method):
    handlers = [{"id": "mine", "serialize": {"callback": "mine"}}]
    spec = {"url": origin + "/json", "handlers": handlers, "events": ["finish"]}
    number = wire.start("data.start", spec)
    messages = [wire.receive(), wire.receive()]
    request = next(one["result"]["request"] for one in messages if one.get("id") == number)
    assert {"callback.serialize"} == {one["method"] for one in messages if "method" in one}
    cancel = wire.start(method, {"request": request} if method == "request.cancel" else {})
    told = {one.get("method", one.get("id")): one for one in (wire.receive(), wire.receive(), wire.receive())}
    assert set(told) == {"$/cancelRequest", "event.finish", cancel}
    assert told["event.finish"]["params"]["response"]["error"]["code"] == 1900
    response = result(wire.call("request.wait", {"request": request}))
    assert response["error"]["code"] == 1900 and response["status"] == 200
