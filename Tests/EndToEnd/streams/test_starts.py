# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""How requests with streams start, what the reply tells of them, and their end before the start."""

import contextlib

import contract
import pytest
from chunk_server import Feeder
from redirect_server import Server
from request_client import result
from stream_client import response, whole

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def feeder():
    with Feeder() as feeder:
        yield feeder


@pytest.mark.parametrize("method", ["stream.open", "sse.open", "websocket.open"])
def test_closing_the_stream_of_a_request_that_waits_for_its_start_ends_the_request(wire, feeder, method):
    made = wire.call(method, {"url": feeder.url("/length/1"), "startImmediately": False})["result"]
    assert wire.call("stream.close", {"stream": made["stream"]})["result"] == {}
    ended = wire.call("request.wait", {"request": made["request"], "timeout": 10})["result"]
    assert (ended["ok"], ended["error"]["code"]) == (False, 1900)
    assert feeder.arrived == []


@pytest.mark.parametrize(
    "method, params",
    [
        ("data.send", {"bodyTo": "stream"}),
        ("stream.open", {"wait": "response"}),
        ("sse.open", {"wait": "response"}),
        ("websocket.open", {}),
        ("tcp.open", {}),
    ],
)
def test_a_request_whose_head_is_waited_for_starts_at_once_in_every_session(wire, feeder, method, params):
    """As with `data.send`: the request has no handle yet with which it could be resumed."""
    session = wire.call("session.create", {"startImmediately": False})["result"]["session"]
    place = {"host": "127.0.0.1", "port": feeder.port} if method == "tcp.open" else {"url": feeder.url("/length/1")}
    found = wire.call(method, {**place, **params, "session": session})["result"]
    assert "request" in found and (method != "tcp.open" or found["ok"])


def test_the_head_says_where_redirects_have_led(wire):
    """As the Response at the end: the final URL, the method of the last attempt, and the redirects."""
    with contextlib.closing(Server()) as server:
        first, final = server.url("/to/303?/echo"), server.url()
        hops = [{"status": 303, "from": first, "url": final}]
        post = {"url": first, "method": "POST", "body": {"text": "x"}}
        waiting = wire.call("data.start", post)["result"]["request"]
        made = wire.call("stream.open", {**post, "wait": "response"})["result"]
        told = [
            made["response"],
            wire.call("data.send", {**post, "bodyTo": "stream"})["result"],
            wire.call("request.wait", {"request": waiting, "until": "response"})["result"],
        ]
        whole(wire, made["stream"], key="base64")
        told.append(response(wire, made["request"]))
    for one in told:
        assert (one["url"], one["method"]) == (final, "GET")
        assert [{name: hop[name] for name in hops[0]} for hop in one["redirects"]] == hops


@pytest.mark.parametrize("more", [{"mode": "pull"}, {"mode": "push", "credit": 1000}], ids=["pull", "push"])
def test_the_stream_of_a_request_that_is_forgotten_ends_with_it(wire, more):
    """No event follows the reply, and the stream takes no place."""
    with Feeder() as feeder:
        params = {"url": feeder.url("/length/300000"), **more}
        # a connection may have 256 streams
        for _ in range(300):
            made = result(wire.call("stream.open", params))
            assert result(wire.call("request.forget", {"request": made["request"]})) == {}
            number = wire.start("diagnostics.echo")
            assert wire.receive()["id"] == number
        found = [wire.call(name, {"stream": made["stream"]}) for name in ("stream.read", "stream.close")]
        assert [reply["error"]["code"] for reply in found] == [-32012] * 2
