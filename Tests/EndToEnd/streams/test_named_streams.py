# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""`bodyTo: "stream"`: the Response of any request names the stream that has its body."""

import contract
import pytest
from chunk_server import Feeder, pattern
from range_server import Ranging
from raw_client import Raw
from request_client import get, memory, result
from stream_client import data, read, response, whole
from upload_server import Taker

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def feeder():
    with Feeder() as feeder:
        yield feeder


@pytest.fixture
def taker():
    with Taker() as taker:
        yield taker


def named(wire, url, seconds=20.0, **params):
    """The Response of data.send, whose body is a stream."""
    opened = get(wire, url, seconds, bodyTo="stream", **params)
    assert opened["ok"] and opened["body"]["kind"] == "stream", opened
    return opened


def everything(wire, stream, **params):
    """All bytes of a stream, and its last piece."""
    pieces = []
    while not pieces or not pieces[-1]["end"]:
        pieces.append(read(wire, stream, **params))
    return b"".join(map(data, pieces)), pieces[-1]


def test_the_result_comes_with_the_head_and_the_body_when_it_comes(wire, feeder):
    """[R2] [R5] [R14]"""
    opened = named(wire, feeder.url("/hand/a"))
    assert (opened["status"], opened["attempts"]) == (200, 1)
    stream = opened["body"].pop("stream")
    assert opened["body"] == {"kind": "stream", "size": 0, "contentType": "text/plain"}
    for piece in (b"one", b"two"):
        feeder.give("/hand/a", piece)
        assert data(read(wire, stream)) == piece
    feeder.end("/hand/a")
    assert read(wire, stream)["end"]
    # the whole Response names it, too, though nothing is left in it
    ended = response(wire, opened["request"])
    assert ended["ok"] and ended["body"] == {
        "kind": "stream", "size": 6, "contentType": "text/plain", "stream": stream,
    }
    assert wire.call("stream.read", {"stream": stream})["error"]["code"] == -32012


def test_a_body_that_is_there_at_once_is_in_the_stream_as_well(wire, feeder):
    """However the head and the end of a request meet the reply to its call."""
    for _ in range(50):
        stream = named(wire, feeder.url("/length/5"))["body"]["stream"]
        assert everything(wire, stream)[0] == pattern(5)


def test_data_start_names_request_and_stream_at_once(wire, feeder):
    params = {"url": feeder.url("/hand/a"), "bodyTo": "stream", "events": ["response", "finish"]}
    made = result(wire.call("data.start", params))
    assert set(made) == {"request", "stream"}
    head = wire.receive()
    assert (head["method"], head["params"]["request"]) == ("event.response", made["request"])
    waited = result(wire.call("request.wait", {"request": made["request"], "until": "response"}))
    assert (waited["status"], waited["body"]["kind"], waited["body"]["stream"]) == (200, "stream", made["stream"])
    feeder.give("/hand/a", b"abc")
    feeder.end("/hand/a")
    finish = wire.receive()
    assert finish["method"] == "event.finish"
    assert finish["params"]["response"]["body"] == {**waited["body"], "size": 3}
    # it may be read after the end
    assert everything(wire, made["stream"])[0] == b"abc"


def test_one_that_is_started_later_names_its_stream_and_sends_nothing(wire, feeder):
    params = {"url": feeder.url("/hand/a"), "bodyTo": "stream", "startImmediately": False}
    made = result(wire.call("data.start", params))
    assert read(wire, made["stream"], wait=0)["base64"] == "" and feeder.arrived == []
    wire.call("request.resume", {"request": made["request"]})
    feeder.give("/hand/a", b"now")
    assert data(read(wire, made["stream"])) == b"now"


def test_the_first_read_says_what_it_consists_of(wire, feeder):
    """[R10]"""
    for kind, body, values in [
        ("json", b'{"n":1} [2]', [{"n": 1}, [2]]), ("lines", b"a\r\nb", ["a", "b"]), ("ndjson", b"1\n2\n", [1, 2]),
    ]:
        stream = named(wire, feeder.url(f"/hand/{kind}"))["body"]["stream"]
        feeder.give(f"/hand/{kind}", body)
        feeder.end(f"/hand/{kind}")
        assert whole(wire, stream, **{"as": kind})[0] == values


def test_a_second_connection_carries_it(listening, feeder):
    """[R11]"""
    with contract.Wire(listening) as wire:
        opened = named(wire, feeder.url("/length/3000000"))
        with Raw(listening, opened["body"]["stream"]) as raw:
            assert raw.reply() == {"raw": True, "size": 3_000_000}
            assert raw.rest() == pattern(3_000_000)
        assert response(wire, opened["request"])["body"]["size"] == 3_000_000


def test_a_client_that_does_not_read_stops_the_server(wire, feeder):
    """And it costs what it reads ahead, whatever the body has. [R6]"""
    before = memory(wire)
    opened = named(wire, feeder.url("/length/24000000"))
    assert feeder.stalled("/length/24000000") < 16_000_000
    assert memory(wire) - before < 8_000_000
    assert everything(wire, opened["body"]["stream"], bytes=1_000_000)[0] == pattern(24_000_000)


def test_no_credit_is_given_to_it(wire, feeder):
    """It is read: a client that wants it pushed opens it with stream.open."""
    stream = named(wire, feeder.url("/hand/a"))["body"]["stream"]
    error = wire.call("stream.credit", {"stream": stream, "bytes": 1})["error"]
    assert error["code"] == -32013


# What has no body, or must have none


@pytest.mark.parametrize("method, path", [("HEAD", "/length/0"), ("GET", "/length/0")])
def test_where_no_body_comes_the_stream_ends_at_once(wire, feeder, method, path):
    opened = named(wire, feeder.url(path), method=method)
    piece = read(wire, opened["body"]["stream"])
    assert (piece["base64"], piece["end"], "error" in piece) == ("", True, False)


def test_a_refused_response_shows_its_body_and_leaves_no_stream(wire, feeder):
    """More of them than there can be streams. [R12]"""
    with Ranging(10) as server:
        server.statuses = {"no": 404}
        for _ in range(300):
            opened = get(wire, server.url("/no"), bodyTo="stream", validate=True, serialize={"as": "text"})
            assert (opened["ok"], opened["error"]["code"], opened["body"]["text"]) == (False, 1600, "404")
    assert named(wire, feeder.url("/length/1"))


def test_a_request_without_a_response_has_no_stream(wire):
    opened = get(wire, "http://127.0.0.1:1/", bodyTo="stream")
    assert (opened["ok"], opened["error"]["code"], opened["body"]) == (False, 1402, {"kind": "none", "size": 0})
    made = result(wire.call("data.start", {"url": "http://127.0.0.1:1/", "bodyTo": "stream"}))
    assert read(wire, made["stream"])["error"]["code"] == 1402


# Ends


def test_what_breaks_in_the_middle_is_told_behind_what_had_come(wire, feeder):
    opened = named(wire, feeder.url("/short/100000"))
    found, last = everything(wire, opened["body"]["stream"])
    assert (found, last["error"]["code"]) == (pattern(100_000), 1404)
    ended = response(wire, opened["request"])
    assert (ended["ok"], ended["error"]["code"]) == (False, 1404)
    assert (ended["body"]["kind"], ended["body"]["size"], ended["body"]["complete"]) == ("stream", 100_000, False)


def test_a_call_can_be_cancelled_before_the_head(wire, feeder):
    number = wire.start("data.send", {"url": feeder.url("/late"), "bodyTo": "stream"})
    feeder.wait_for("/late")
    wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
    assert wire.reply(number)["error"]["code"] == -32800
    feeder.wait_gone("/late")
    assert result(wire.call("request.list"))["requests"] == []


@pytest.mark.parametrize("way", ["stream.close", "request.cancel", "request.forget"])
def test_what_is_left_can_be_cancelled(wire, feeder, way):
    """[R9]"""
    opened = named(wire, feeder.url("/endless"))
    stream = opened["body"]["stream"]
    assert data(read(wire, stream, bytes=5)) == pattern(5)
    params = {"stream": stream} if way == "stream.close" else {"request": opened["request"]}
    result(wire.call(way, params))
    feeder.wait_gone("/endless")
    if way == "request.cancel":
        # what is here may still be read
        found, last = everything(wire, stream, bytes=8_000_000)
        assert found and last["error"]["code"] == 1900
    if way != "request.forget":
        assert response(wire, opened["request"])["error"]["code"] == 1900


def test_a_client_that_goes_takes_it_along(listening, feeder):
    with contract.Wire(listening) as wire:
        named(wire, feeder.url("/endless"))
        result(wire.call("data.start", {"url": feeder.url("/endless/2"), "bodyTo": "stream"}))
        feeder.wait_for("/endless/2")
    feeder.wait_gone("/endless")
    feeder.wait_gone("/endless/2")


def test_a_request_is_repeated_only_while_nothing_was_taken(wire, feeder):
    """[R13]"""
    retry = {"limit": 2, "scale": 0.001}
    feeder.give("/flaky", b"second")
    opened = named(wire, feeder.url("/flaky"), validate=True, retry=retry)
    assert opened["attempts"] == 2 and data(read(wire, opened["body"]["stream"])) == b"second"
    feeder.cut("/flaky")
    assert read(wire, opened["body"]["stream"])["error"]["code"] == 1404
    assert response(wire, opened["request"])["attempts"] == 2 and feeder.arrived.count("/flaky") == 2


@pytest.mark.parametrize("method, params", [("data.send", {"bodyTo": "stream"}), ("stream.open", {"wait": "response"})])
def test_no_other_body_follows_a_head_that_was_told(wire, feeder, method, params):
    """Its fields, such as the length, would be those of another response."""
    spec = {"url": feeder.url("/hand/a"), "retry": {"limit": 2, "scale": 0.001}, **params}
    told = result(wire.call(method, spec))
    feeder.cut("/hand/a")
    last = read(wire, told.get("stream") or told["body"]["stream"])
    assert (last["end"], last["error"]["code"], last["error"]["retryable"]) == (True, 1404, True)
    assert response(wire, told["request"])["attempts"] == 1 and feeder.arrived == ["/hand/a"]


@pytest.mark.parametrize("events, cache", [(False, False), (["state"], False), (False, True), (False, {"maxAge": 60})])
def test_a_time_limit_ends_an_unread_stream(wire, feeder, events, cache):
    """And gives its place in the session to the next request."""
    place = result(wire.call("session.create", {"limits": {"concurrent": 1}, "cache": cache}))["session"]
    limited = {"session": place, "timeout": {"total": 3}, "events": events}
    unread = named(wire, feeder.url("/endless"), **limited)
    assert named(wire, feeder.url("/length/4"), session=place)["ok"]
    ended = response(wire, unread["request"])
    assert (ended["ok"], ended["error"]["code"], ended["body"]["complete"]) == (False, 1405, False)
    found, last = everything(wire, unread["body"]["stream"])
    assert found == pattern(len(found)) and found and last["error"]["code"] == 1405


def test_a_time_limit_ends_each_unread_stream_of_an_exchange(wire, feeder):
    place = result(wire.call("session.create", {"cache": {"maxAge": 60}}))["session"]
    limited = {"session": place, "timeout": {"total": 3}, "bodyTo": "stream", "url": feeder.url("/late")}
    calls = [wire.start("data.send", limited) for _ in range(2)]
    feeder.give("/late", *[pattern(65536)] * 40)
    for opened in [result(wire.reply(call)) for call in calls]:
        assert response(wire, opened["request"])["error"]["code"] == 1405


def test_a_limit_of_the_body_ends_it(wire, feeder):
    opened = named(wire, feeder.url("/hand/a"), maxBody=50_000)
    feeder.give("/hand/a", pattern(40_000), pattern(40_000))
    found, last = everything(wire, opened["body"]["stream"])
    assert found == pattern(40_000)[: len(found)] and last["error"]["code"] == 1411
    # what says that it is too long has no stream
    refused = get(wire, feeder.url("/length/100000"), bodyTo="stream", maxBody=50_000)
    assert (refused["error"]["code"], refused["body"]["kind"]) == (1411, "none")


def test_a_silent_server_ends_it_and_a_client_that_takes_its_time_does_not(wire, feeder):
    """What idles is the server, and only while it is waited for."""
    opened = named(wire, feeder.url("/length/24000000"), timeout={"idle": 3})
    # nothing moves for longer than that, because the client does not read
    feeder.stalled("/length/24000000", 3.3)
    assert everything(wire, opened["body"]["stream"], bytes=1_000_000)[0] == pattern(24_000_000)
    opened = named(wire, feeder.url("/hand/a"), timeout={"idle": 0.2})
    assert read(wire, opened["body"]["stream"])["error"]["code"] == 1405


# Together with what else a request may want


def test_a_body_is_fed_by_one_stream_and_read_by_another(wire, taker):
    """[P3]"""
    up = result(wire.call("upload.open"))["stream"]
    number = wire.start("upload.send", {"url": taker.url("/keep"), "body": {"stream": up}, "bodyTo": "stream"})
    for piece in ("over ", "and ", "out"):
        wire.call("stream.write", {"stream": up, "text": piece})
    wire.call("stream.finish", {"stream": up})
    opened = result(wire.reply(number))
    assert taker.last().body == b"over and out"
    assert everything(wire, opened["body"]["stream"])[0] == b"ok"
    made = result(
        wire.call("upload.start", {"url": taker.url("/keep"), "body": {"text": "x"}, "bodyTo": "stream"})
    )
    assert everything(wire, made["stream"])[0] == b"ok"


def test_an_endpoint_can_be_asked_for_a_stream(wire, feeder):
    wire.call(
        "router.define",
        {"name": "things", "baseUrl": feeder.url("/length"), "endpoints": {"some": {"path": "/{count}"}}},
    )
    params = {"router": "things", "endpoint": "some", "params": {"count": 7}, "overrides": {"bodyTo": "stream"}}
    stream = result(wire.call("router.send", params))["body"]["stream"]
    assert everything(wire, stream)[0] == pattern(7)
    assert everything(wire, result(wire.call("router.start", params))["stream"])[0] == pattern(7)


def test_events_before_the_result_name_the_call_and_others_follow(wire, feeder):
    number = wire.start(
        "data.send", {"url": feeder.url("/hand/a"), "bodyTo": "stream", "events": ["response", "finish"]}
    )
    head = wire.receive()
    assert (head["method"], head["params"]["call"]) == ("event.response", number)
    opened = result(wire.reply(number))
    feeder.end("/hand/a")
    finish = wire.receive()
    assert (finish["method"], finish["params"]["request"]) == ("event.finish", opened["request"])
    assert finish["params"]["response"]["body"]["stream"] == opened["body"]["stream"]


def test_nobody_else_gets_the_body(wire, feeder):
    opened = named(wire, feeder.url("/length/5"), handlers=[{"id": "text", "serialize": {"as": "text"}}])
    assert everything(wire, opened["body"]["stream"])[0] == pattern(5)
    ended = response(wire, opened["request"])
    assert [(one["id"], one["ok"]) for one in ended["results"]] == [("text", False)]
    error = wire.call("response.serialize", {"response": opened["request"], "serialize": {"as": "text"}})["error"]
    assert error["code"] == -32013 and "stream" in error["message"]
    error = wire.call(
        "response.serialize", {"response": opened["request"], "serialize": {"as": "text"}, "reperform": True}
    )["error"]
    assert (error["code"], error["data"]["pointer"]) == (-32013, "/reperform")


@pytest.mark.parametrize("method", ["data.send", "data.start"])
def test_what_makes_no_sense_is_refused_before_anything_is_sent(wire, feeder, method):
    for more, pointer in [
        ({"bodyTo": "streams"}, "/bodyTo"),
        ({"bodyTo": "stream", "detach": True}, "/detach"),
        ({"bodyTo": "stream", "validate": {"schema": {}}}, "/validate"),
        ({"bodyTo": "stream", "credit": 5}, "/credit"),
    ]:
        error = wire.call(method, {"url": feeder.url("/length/1"), **more})["error"]
        assert (error["code"], error["data"]["pointer"]) == (-32602, pointer)
    assert feeder.arrived == []


def test_only_so_many_at_once(wire, feeder):
    """And the one too many leaves nothing behind."""
    waiting = {"url": feeder.url("/length/1"), "bodyTo": "stream", "startImmediately": False}
    for _ in range(256):
        result(wire.call("data.start", waiting))
    error = wire.call("data.send", {"url": feeder.url("/length/1"), "bodyTo": "stream"})["error"]
    assert (error["code"], error["data"]["what"]) == (-32011, "streams")
    assert feeder.arrived == [] and len(result(wire.call("request.list"))["requests"]) == 256
