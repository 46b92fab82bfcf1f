# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The time of a request is over before its client has given credit for all that came."""

import socket
import time

import contract
import pytest
from chunk_server import Feeder
from stream_client import data, events, opened
from tcp_server import Host, dial
from websocket_server import Acting
from websocket_server import opened as opened_socket

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def feeder():
    with Feeder() as feeder:
        yield feeder


@pytest.mark.parametrize("params", [{}, {"wait": "response"}, {"also": [{"mode": "push"}]}])
def test_it_waits_for_no_credit_and_stops_no_other_call(wire, feeder, params):
    """A cancelled task waited for credit in a circle: no call of any client had a reply."""
    made = opened(
        wire,
        feeder.url("/length/100000"),
        mode="push",
        credit=1,
        timeout={"resource": 1},
        events=["finish"],
        **params,
    )
    found = events(wire, until="event.finish")
    ends = [params for name, params in found if name == "end"]
    assert {end["stream"] for end in ends} == {made["stream"], *made.get("also", [])}
    assert {end["error"]["code"] for end in ends} == {1405}
    sent = sum(len(data(params)) for name, params in found if name == "data")
    assert sent == sum(end["size"] for end in ends) <= 1
    assert found[-1][1]["response"]["error"]["code"] == 1405
    assert wire.call("diagnostics.echo", {"a": 1})["result"] == {"a": 1}


def two_lines(connection):
    """The second has no end but that of the stream."""
    connection.sendall(b"a\nb")
    connection.shutdown(socket.SHUT_WR)
    while connection.recv(4096):
        pass


@pytest.mark.parametrize("limit", [None, 2])
def test_a_tcp_stream_over_in_both_directions_ends_without_its_last_credit(wire, limit):
    """Its request could not end: nothing cancelled the wait for the credit of the last line."""
    with Host(two_lines) as host:
        more = {"timeout": {"resource": limit}} if limit else {}
        made = dial(wire, host.port, mode="push", credit=1, events=["finish"], **{"as": "lines"}, **more)
        wire.start("stream.finish", {"stream": made["stream"]})
        told = [{}]
        # with a limit it may be over before
        while not limit and told[-1].get("params", {}).get("kind") != "writeClosed":
            told.append(wire.receive())
        if not limit:
            wire.start("request.cancel", {"request": made["request"]})
        while told[-1].get("method") != "event.finish":
            told.append(wire.receive())
    code = 1405 if limit else 1900
    assert told[-1]["params"]["response"]["error"]["code"] == code
    assert [one["params"]["error"]["code"] for one in told if one.get("method") == "event.end"] == [code]


def test_no_event_of_a_tcp_stream_follows_its_end(wire):
    """A request that was cancelled before the credit of the last line told the end of reading behind event.end."""
    with Host(two_lines) as host:
        made = dial(wire, host.port, mode="push", credit=1, events=["finish"], **{"as": "lines"})
        told = [wire.receive()]
        while told[-1].get("method") != "event.text":
            told.append(wire.receive())
        time.sleep(0.2)  # clock: nothing tells that the service has seen the end of the peer
        wire.start("request.cancel", {"request": made["request"]})
        while told[-1].get("method") != "event.finish":
            told.append(wire.receive())
        number = wire.start("diagnostics.echo", {})
        while told[-1].get("id") != number:
            told.append(wire.receive())
    names = [one["method"] for one in told if one.get("method", "").startswith(("event.socket", "event.end"))]
    assert names[-1] == "event.end", names


@pytest.mark.parametrize("broken", [False, True])
def test_a_websocket_that_its_server_ended_is_cancelled_without_its_last_credit(wire, broken):
    """Its request could not end: the end waited for credit, whatever the client cancelled."""
    end = b"\x81\x7e" if broken else b"\x88\x02\x03\xe8"

    def act(frames, number):
        frames.accept()
        frames.send(b"\x81\x01a" * 3 + end)
        if not broken:
            frames.next()

    with Acting(act) as server:
        made = opened_socket(wire, server.url("/", "ws"), mode="push", credit=1, events=["finish"], states=True)
        # for a closed WebSocket the call returns at once, and the end is known
        close = wire.call("websocket.close", {"stream": made["stream"]})["result"]
        assert close == ({"code": 1006, "clean": False} if broken else {"code": 1000, "clean": True})
        wire.start("request.cancel", {"request": made["request"]})
        told = [{}]
        while told[-1].get("method") != "event.finish":
            told.append(wire.receive())
    failure = told[-1]["params"]["response"].get("error", {"code": 1900})
    ends = [one["params"] for one in told if one.get("method") == "event.end"]
    assert [(end["error"]["code"], end["size"]) for end in ends] == [(failure["code"], 1)]
    assert wire.call("server.stats")["result"]["requests"]["running"] == 0
