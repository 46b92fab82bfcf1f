# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The body of a response as a stream: when it flows, for how many, and how it ends."""

import contextlib

import contract
import pytest
from chunk_server import Feeder, pattern
from request_client import memory
from stream_client import data, events, opened, read, response, whole

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def feeder():
    with Feeder() as feeder:
        yield feeder


# Push


def test_the_head_comes_first_then_each_chunk_then_the_end_then_the_response(wire, feeder):
    """[R1] [R2] [R5] [R14] [B3] [G3] [F19] [3.O.1] [3.O.2]"""
    made = opened(wire, feeder.url("/hand/a"), mode="push", credit=100, events=["response", "finish"])
    assert set(made) == {"request", "stream"}
    head = events(wire, 1)[0]
    assert (head[0], head[1]["status"], head[1]["request"]) == ("response", 200, made["request"])
    for number, byte in enumerate(b"abcde"):
        feeder.give("/hand/a", bytes([byte]))
        ((name, params),) = events(wire, 1)
        assert (name, data(params), params["seq"], params["offset"]) == ("data", bytes([byte]), number, number)
    feeder.end("/hand/a")
    (end, finish) = events(wire, 2)
    assert end == ("end", {"stream": made["stream"], "seq": 5, "size": 5})
    assert finish[0] == "finish"
    assert (finish[1]["response"]["ok"], finish[1]["response"]["status"]) == (True, 200)
    assert finish[1]["response"]["body"] == {"kind": "none", "size": 5, "contentType": "text/plain"}
    assert wire.call("stream.credit", {"stream": made["stream"], "bytes": 1})["error"]["code"] == -32012


def test_without_credit_nothing_comes_and_with_it_no_more_than_that(wire, feeder):
    """[R6]"""
    stream = opened(wire, feeder.url("/length/100000"), mode="push")["stream"]
    got = b""
    for credit in [1, 10, 32768, 40000, 100000]:
        wire.send({"jsonrpc": "2.0", "method": "stream.credit", "params": {"stream": stream, "bytes": credit}})
        before = len(got)
        while len(got) - before < min(credit, 100000 - before):
            ((name, params),) = events(wire, 1)
            assert name == "data" and params["offset"] == len(got)
            got += data(params)
            assert len(data(params)) <= 32768
        assert len(got) - before == min(credit, 100000 - before)
        # whatever was sent too early would come before this
        if len(got) < 100000:
            assert wire.call("diagnostics.echo", {"at": credit})["result"] == {"at": credit}
    assert got == pattern(100000)
    assert events(wire)[-1][1]["size"] == 100000


def test_a_client_that_stops_stops_the_server_and_one_that_goes_on_gets_all(wire, feeder):
    """A paused stream delivers nothing, and memory grows by no more than its window. [R6]"""
    stream = opened(wire, feeder.url("/length/24000000"), mode="push")["stream"]
    before = memory(wire)
    stopped = feeder.stalled("/length/24000000")
    # what is on the way are buffers of the kernel
    assert stopped < 16_000_000
    assert memory(wire) - before < 8_000_000
    wire.start("stream.credit", {"stream": stream, "bytes": 24_000_000})
    size = 0
    while True:
        message = wire.receive(20)
        if message.get("method") == "event.data":
            assert message["params"]["offset"] == size
            size += len(data(message["params"]))
        elif message.get("method") == "event.end":
            break
    assert size == 24_000_000


def test_nobody_waits_for_64_clients_that_stopped(listening, feeder):
    """Bounded memory, and a stream beside them runs to its end."""
    with contextlib.ExitStack() as stack:
        wire = stack.enter_context(contract.Wire(listening))
        others = [stack.enter_context(Feeder()) for _ in range(16)]
        before = memory(wire)
        stopped = [(others[number % 16], f"/endless/{number}", contract.Wire(listening)) for number in range(64)]
        for one, path, client in stopped:
            # it grants much, and never reads a byte
            client.start("stream.open", {"url": one.url(path), "mode": "push", "credit": 1 << 40})
        for one, path, _ in stopped:
            one.wait_for(path, seconds=60)
            one.stalled(path, 0.1)
        opened(wire, feeder.url("/length/5000000"), mode="push", credit=5_000_000)
        assert sum(len(data(params)) for name, params in events(wire) if name == "data") == 5_000_000
        # a queue of a megabyte, the socket's, and one chunk for each
        assert memory(wire) - before < 64 * 3_000_000
        for _, _, client in stopped:
            client.__exit__()
        for one, path, _ in stopped:
            one.wait_gone(path)


# Pull


def test_a_pull_stream_reads_ahead_a_little_and_then_waits(wire, feeder):
    made = opened(wire, feeder.url("/length/24000000"))
    assert feeder.stalled("/length/24000000") < 16_000_000
    got, sizes = b"", set()
    while True:
        piece = read(wire, made["stream"], bytes=1_000_000)
        assert piece["offset"] == len(got)
        got += data(piece)
        sizes.add(len(data(piece)))
        if piece["end"]:
            break
    assert got == pattern(24_000_000)
    assert max(sizes) <= 1_000_000
    assert response(wire, made["request"])["ok"]


def test_a_read_comes_back_when_there_is_something_or_when_its_time_is_over(wire, feeder):
    stream = opened(wire, feeder.url("/hand/a"))["stream"]
    piece = read(wire, stream, wait=0)
    assert (piece["base64"], piece["end"]) == ("", False)
    number = wire.start("stream.read", {"stream": stream, "wait": 20})
    # one at a time
    assert wire.call("stream.read", {"stream": stream})["error"]["code"] == -32013
    feeder.give("/hand/a", b"now")
    assert data(wire.reply(number)["result"]) == b"now"
    # a wait that is cancelled loses nothing
    number = wire.start("stream.read", {"stream": stream, "wait": 20})
    wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
    assert wire.reply(number)["error"]["code"] == -32800
    feeder.give("/hand/a", b"later")
    feeder.end("/hand/a")
    pieces = [read(wire, stream)]
    while not pieces[-1]["end"]:
        pieces.append(read(wire, stream))
    assert b"".join(map(data, pieces)) == b"later"
    assert "error" not in pieces[-1]


# Several


def test_every_stream_of_a_body_gets_all_of_it_at_the_pace_of_the_slowest(wire, feeder):
    """[R1] [3.O.4] [3.O.5] [3.O.19]"""
    made = opened(
        wire, feeder.url("/length/3000000"), mode="push", credit=3_000_000, also=[{"mode": "push"}, {"mode": "pull"}]
    )
    slow, pulled = made["also"]
    assert feeder.stalled("/length/3000000") <= 3_000_000
    wire.start("stream.credit", {"stream": slow, "bytes": 3_000_000})
    sizes, ended = {made["stream"]: 0, slow: 0, pulled: 0}, 0
    reading = wire.start("stream.read", {"stream": pulled, "bytes": 100_000})
    while ended < 3:
        message = wire.receive(20)
        if message.get("method") == "event.data":
            sizes[message["params"]["stream"]] += len(data(message["params"]))
        elif message.get("method") == "event.end":
            ended += 1
        elif message.get("id") == reading:
            sizes[pulled] += len(data(message["result"]))
            if message["result"]["end"]:
                ended += 1
            else:
                reading = wire.start("stream.read", {"stream": pulled, "bytes": 100_000})
    assert set(sizes.values()) == {3_000_000}
    assert response(wire, made["request"])["ok"]


def test_closing_a_stream_sets_the_others_free_and_closing_the_last_cancels(wire, feeder):
    """[R9] [AC3] [3.O.9] [3.O.20]"""
    made = opened(wire, feeder.url("/length/3000000"), mode="push", credit=3_000_000, also=[{"mode": "push"}])
    wire.call("stream.close", {"stream": made["also"][0]})
    found = events(wire)
    assert found[-1][1] == {"stream": made["stream"], "seq": found[-1][1]["seq"], "size": 3_000_000}
    made = opened(wire, feeder.url("/hand/b"), mode="push", credit=100)
    feeder.give("/hand/b", b"first")
    assert data(events(wire, 1)[0][1]) == b"first"
    feeder.give("/hand/b", b"second")
    assert wire.call("stream.close", {"stream": made["stream"]})["result"] == {}
    feeder.wait_gone("/hand/b")
    assert response(wire, made["request"])["error"]["code"] == 1900
    # nothing of it follows the reply
    assert wire.call("diagnostics.echo", {"a": 1})["result"] == {"a": 1}


# Ends


def test_cancelling_the_request_ends_its_streams(wire, feeder):
    made = opened(wire, feeder.url("/endless"), mode="push", credit=5, also=[{"mode": "pull"}])
    assert data(events(wire, 1)[0][1]) == pattern(5)
    wire.start("request.cancel", {"request": made["request"]})
    while (message := wire.receive())["method" if "method" in message else "id"] != "event.end":
        pass
    assert (message["params"]["size"], message["params"]["error"]["code"]) == (5, 1900)
    # what is here may still be read
    piece = read(wire, made["also"][0], bytes=8_000_000)
    assert piece["base64"] and piece["end"] and piece["error"]["code"] == 1900
    feeder.wait_gone("/endless")


@pytest.mark.parametrize("mode", ["push", "pull"])
def test_what_breaks_in_the_middle_ends_the_stream_with_what_had_come(wire, feeder, mode):
    made = opened(wire, feeder.url("/short/100000"), mode=mode, **({"credit": 1 << 30} if mode == "push" else {}))
    if mode == "push":
        found = events(wire)
        size, last = sum(len(data(params)) for _, params in found[:-1]), found[-1][1]
    else:
        size = 0
        while not (last := read(wire, made["stream"]))["end"]:
            size += len(data(last))
        size += len(data(last))
    assert (size, last["error"]["code"]) == (100000, 1404)
    broken = response(wire, made["request"])
    assert (broken["ok"], broken["error"]["code"], broken["body"]["size"]) == (False, 1404, 100000)


def test_a_client_that_goes_takes_its_streams_along(listening, feeder):
    with contract.Wire(listening) as wire:
        for number in range(3):
            wire.call("stream.open", {"url": feeder.url(f"/endless/{number}"), "mode": ["push", "pull"][number % 2]})
            feeder.wait_for(f"/endless/{number}")
    for number in range(3):
        feeder.wait_gone(f"/endless/{number}")


def test_an_empty_body_is_a_stream_that_ends(wire, feeder):
    made = opened(wire, feeder.url("/length/0"), mode="push", also=[{"mode": "pull"}, {"as": "lines"}])
    assert events(wire) == [("end", {"stream": made["stream"], "seq": 0, "size": 0})]
    assert read(wire, made["also"][0])["end"]
    assert read(wire, made["also"][1])["values"] == []


# Before the first byte


def test_with_wait_the_head_comes_with_the_result(wire, feeder):
    number = wire.start(
        "stream.open", {"url": feeder.url("/hand/a"), "mode": "push", "credit": 10, "wait": "response"}
    )
    feeder.give("/hand/a", b"abc")
    made = wire.reply(number)["result"]
    assert (made["response"]["ok"], made["response"]["status"]) == (True, 200)
    # nothing had come before it
    assert data(events(wire, 1)[0][1]) == b"abc"
    gone = opened(wire, "http://127.0.0.1:1/", wait="response", mode="push")
    assert gone["response"]["error"]["code"] == 1402
    assert events(wire)[-1][1]["error"]["code"] == 1402


def test_a_call_that_waits_for_the_head_can_be_cancelled(wire, feeder):
    params = {"url": feeder.url("/hand/a"), "validate": {"callback": "mine"}, "wait": "response"}
    number = wire.start("stream.open", params)
    feeder.wait_for("/hand/a")
    wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
    assert wire.reply(number)["error"]["code"] == -32800
    feeder.wait_gone("/hand/a")
    assert wire.call("request.list")["result"]["requests"] == []


@pytest.mark.parametrize("rule", [True, {"status": ["200..299"]}, {"contentType": ["image/png"]}])
def test_a_refused_response_delivers_nothing_and_shows_its_body(wire, feeder, rule):
    """[I15] [R12] [3.O.16]"""
    made = opened(wire, feeder.url("/refused"), mode="push", credit=1000, validate=rule)
    feeder.give("/refused", b"who are ", b"you?")
    feeder.end("/refused")
    assert [name for name, _ in events(wire)] == ["end"]
    refused = response(wire, made["request"])
    assert (refused["ok"], refused["status"], refused["error"]["kind"]) == (False, 401, "responseValidationFailed")
    assert (refused["body"]["text"], "complete" in refused["body"]) == ("who are you?", False)


def test_of_a_refused_response_that_does_not_end_the_beginning_is_shown(wire, feeder):
    made = opened(wire, feeder.url("/refused"), validate=True)
    feeder.give("/refused", b"who are you?")
    refused = response(wire, made["request"])
    assert (refused["body"]["text"], refused["body"]["complete"]) == ("who are you?", False)
    piece = read(wire, made["stream"])
    assert (piece["base64"], piece["end"], piece["error"]["code"]) == ("", True, 1600)


def test_a_schema_cannot_judge_a_stream(wire, feeder):
    error = wire.call("stream.open", {"url": feeder.url("/hand/a"), "validate": {"schema": {}}})["error"]
    assert (error["code"], error["data"]["pointer"]) == (-32602, "/validate")


def test_a_request_is_repeated_only_while_nothing_was_delivered(wire, feeder):
    """Alamofire goes on, and gives what comes a second time behind what came first. [R13]"""
    retry = {"limit": 2, "scale": 0.001}
    made = opened(wire, feeder.url("/flaky"), mode="push", credit=100, validate=True, retry=retry)
    feeder.give("/flaky", b"second")
    assert data(events(wire, 1)[0][1]) == b"second"
    feeder.cut("/flaky")
    ((name, params),) = events(wire)
    assert (name, params["size"], params["error"]["code"]) == ("end", 6, 1404)
    assert response(wire, made["request"])["attempts"] == 2
    assert feeder.arrived.count("/flaky") == 2
    made = opened(wire, feeder.url("/hand/b"), mode="push", credit=100, retry=retry)
    feeder.cut("/hand/b")
    feeder.give("/hand/b", b"again")
    feeder.end("/hand/b")
    assert [data(params) for name, params in events(wire) if name == "data"] == [b"again"]
    assert response(wire, made["request"])["attempts"] == 2


def test_a_status_is_repeated_before_anything_of_its_body_is_delivered(wire, home):
    retry = {"limit": 1, "scale": 0.001}
    made = opened(wire, home.url("/fails/1/503"), mode="push", credit=100, retry=retry)
    assert [data(params) for name, params in events(wire) if name == "data"] == [b"fine"]
    assert response(wire, made["request"])["attempts"] == 2
    made = opened(wire, home.url("/fails/9/503"), mode="push", credit=100, retry=retry)
    assert [data(params) for name, params in events(wire) if name == "data"] == [b"busy"]
    last = response(wire, made["request"])
    assert (last["ok"], last["status"], last["attempts"]) == (True, 503, 2)


def test_a_stream_can_be_started_later_and_held_up(wire, feeder):
    """[3.O.6]"""
    made = opened(wire, feeder.url("/hand/a"), mode="push", credit=100, startImmediately=False)
    assert feeder.arrived == []
    wire.call("request.resume", {"request": made["request"]})
    feeder.give("/hand/a", b"one")
    assert data(events(wire, 1)[0][1]) == b"one"
    wire.call("request.suspend", {"request": made["request"]})
    feeder.give("/hand/a", b"two")
    with pytest.raises(TimeoutError):
        wire.receive(0.3)
    wire.start("request.resume", {"request": made["request"]})
    found = [wire.receive(), wire.receive()]
    assert [data(one["params"]) for one in found if "method" in one] == [b"two"]


def test_a_redirect_leads_to_the_stream(wire, feeder):
    """[R15] [3.O.17]"""
    stream = opened(wire, feeder.url("/redirect/b"), **{"as": "json"})["stream"]
    feeder.give("/hand/b", b'{"n":1}')
    feeder.end("/hand/b")
    assert whole(wire, stream)[0] == [{"n": 1}]


def test_the_clients_code_may_refuse_the_response(wire, feeder):
    """[R14] [F16] [3.O.11]"""
    number = wire.start(
        "stream.open",
        {"url": feeder.url("/hand/a"), "mode": "push", "credit": 100, "disposition": {"callback": "mine"}},
    )
    made = wire.reply(number)["result"]
    callback = wire.receive()
    assert callback["method"] == "callback.disposition"
    feeder.give("/hand/a", b"never")
    wire.send({"jsonrpc": "2.0", "id": callback["id"], "result": {"allow": False}})
    ((name, params),) = events(wire)
    assert (name, params["size"], params["error"]["code"]) == ("end", 0, 1900)
    # bytes that explain a failure are of no use to a client that refused the body
    refused = response(wire, made["request"])
    assert (refused["status"], refused["body"]["kind"], refused["body"]["size"]) == (200, "none", 0)


def test_a_stream_that_feeds_a_body_cannot_be_read(wire):
    """The handle is known: the error says what the stream is for."""
    stream = wire.call("upload.open")["result"]["stream"]
    error = wire.call("stream.read", {"stream": stream})["error"]
    assert error["code"] == -32013 and error["data"]["pointer"] == "/stream", error
    assert "stream.write" in error["message"], error


def test_only_so_many_streams_at_once(wire, feeder):
    """And what cannot be opened leaves nothing behind."""
    for _ in range(15):
        opened(wire, "http://127.0.0.1:1/", also=[{}] * 15)
    assert wire.call("stream.open", {"url": feeder.url("/x"), "also": [{}] * 16})["error"]["code"] == -32602
    for _ in range(15):
        opened(wire, "http://127.0.0.1:1/")
    error = wire.call("stream.open", {"url": feeder.url("/hand/a"), "also": [{}] * 3})["error"]
    assert (error["code"], error["data"]["what"]) == (-32011, "streams")
    assert feeder.arrived == []
    opened(wire, "http://127.0.0.1:1/")
