# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Event streams over the wire: what is read of them, and how they end."""

import json
import zlib

import contract
import pytest
from event_server import CHUNKED, GONE, OPEN, STREAM, EventServer, chunk, status
from event_stream_client import QUICK, Source, read_all
from shell import outrider, refused

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

NOT_FOUND = status(404)
TEXT = status(200)


@pytest.fixture
def server():
    with EventServer() as server:
        yield server


# What is read


def test_events_come_whole_however_they_are_cut(wire, server):
    body = "\ufeffevent: a\r\nid: 1\rdata: é\ndata:  b\n\n: hi\nretry: 90\n\ndata\n\ndata: lost".encode()
    url = server.at("/cut", [CHUNKED, *[chunk(bytes([byte])) for byte in body], b"0\r\n\r\n"])
    source = Source(wire, url, reconnect=False)
    first, second = source.next(), source.next()
    assert (first["event"], first["data"], first["id"]) == ("a", "é\n b", "1")
    assert (second["event"], second["data"], second["id"]) == ("message", "", "1")
    end = source.next("event.end")
    assert end["size"] == len(body) and "error" not in end
    assert (first["seq"], second["seq"], end["seq"]) == (0, 1, 2)
    assert second["offset"] == first["bytes"]


def test_events_come_as_they_are_sent(wire, server):
    url = server.at("/held", [STREAM, b"data: 1\n\n", server.held(), b"data: 2\n\n"])
    source = Source(wire, url, reconnect=False)
    assert source.data(1) == ["1"]
    server.release()
    assert source.rest() == (["2"], None)


def test_a_compressed_stream_comes_as_it_is_sent(wire, server):
    deflate = zlib.compressobj(wbits=31)
    first, second = (deflate.compress(b"data: %d\n\n" % n) + deflate.flush(zlib.Z_SYNC_FLUSH) for n in (1, 2))
    head = STREAM.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
    url = server.at("/gzip", [head, first, server.held(), second, deflate.flush()])
    source = Source(wire, url, reconnect=False)
    assert source.data(1) == ["1"]
    server.release()
    assert source.rest() == (["2"], None)


def test_a_pulled_stream_gives_many_events_at_once(wire, server):
    url = server.at("/many", [STREAM, b"".join(b"id: %d\ndata: %d\n\n" % (n, n) for n in range(5000))])
    stream = wire.call("sse.open", {"url": url, "reconnect": False})["result"]["stream"]
    values, last = read_all(wire, stream, bytes=262144)
    assert values == [{"event": "message", "data": str(n), "id": str(n)} for n in range(5000)]
    assert last["seq"] < 1000 and "error" not in last


def test_compact_events_say_only_what_is_new(wire, server):
    body = b"data: 1\n\nid: x\ndata: 2\n\ndata: 3\n\nevent: e\ndata: 4\n\nid\ndata: 5\n\nretry: 7\ndata: 6\n\n"
    url = server.at("/compact", [STREAM, body])
    stream = wire.call("sse.open", {"url": url, "reconnect": False, "compact": True})["result"]["stream"]
    values, _ = read_all(wire, stream)
    assert values == ["1", {"data": "2", "id": "x"}, "3", {"event": "e", "data": "4"}, {"data": "5", "id": ""},
                      {"data": "6", "retry": 0.007}]  # fmt: skip


@pytest.mark.parametrize("compact", [False, True])
def test_data_arrives_whatever_stands_where(wire, server, compact):
    """Every character that JSON escapes, at every place of a long line, and what is not UTF-8."""
    texts = [
        b"x" * before + special + b"y" * 20 + special
        for special in (b'"', b"\\", b"\t", b"\x01", b"\x00", b"\x7f", "é".encode(), "🦊".encode(), b"\xff", b'"\\"')
        for before in range(20)
    ]
    url = server.at("/places", [STREAM, b"".join(b"data: " + text + b"\n\n" for text in texts)])
    stream = wire.call("sse.open", {"url": url, "reconnect": False, "compact": compact})["result"]["stream"]
    values, _ = read_all(wire, stream, bytes=262144)
    found = values if compact else [value["data"] for value in values]
    assert found == [text.decode(errors="replace") for text in texts]


def test_several_events_may_come_in_one_message(wire, server):
    url = server.at("/batch", [STREAM, b"".join(b"data: %d\n\n" % n for n in range(2000))])
    source = Source(wire, url, reconnect=False, batch=True, compact=True)
    values, messages = [], 0
    while len(values) < 2000:
        values += source.next("event.values")["values"]
        messages += 1
    assert values == [str(n) for n in range(2000)] and messages < 200
    source.next("event.end")


def test_an_event_in_a_message_of_its_own_is_told_in_full(wire, server):
    url = server.at("/full", [STREAM, b"data: 1\n\n"])
    assert Source(wire, url, reconnect=False, compact=True).next()["event"] == "message"


def test_data_that_is_json_comes_as_a_value_too(wire, server):
    url = server.at("/json", [STREAM, b'data: {"a":\ndata: 12345678901234567890}\n\ndata: [DONE]\n\ndata: null\n\n'])
    stream = wire.call("sse.open", {"url": url, "reconnect": False, "json": True})["result"]["stream"]
    values, _ = read_all(wire, stream)
    assert [value.get("value", "none") for value in values] == [{"a": 12345678901234567890}, "none", None]
    assert values[0]["data"] == '{"a":\n12345678901234567890}'


def test_what_is_asked_for_is_an_event_stream(wire, server):
    url = server.at("/fields", [STREAM])
    Source(wire, url, reconnect=False).rest()
    Source(wire, url, reconnect=False, headers={"accept": "a/b", "cache-control": "max-age=1"}).rest()
    first, second = (seen.headers for seen in server.seen["/fields"])
    assert (first["accept"], first["cache-control"]) == ("text/event-stream", "no-store")
    assert (second["accept"], second["cache-control"]) == ("a/b", "max-age=1")
    assert "last-event-id" not in first


def test_a_request_with_a_body_is_a_post(wire, server):
    url = server.at("/post", [STREAM, b"data: [DONE]\n\n"])
    assert Source(wire, url, body={"json": {"stream": True}}).rest() == (["[DONE]"], None)
    (seen,) = server.seen["/post"]
    assert (seen.method, json.loads(seen.body)) == ("POST", {"stream": True})


# Limits, slow clients, ends


@pytest.mark.parametrize("body", [b"data: " + b"x" * 100, b":" + b"x" * 200, b"data: 12345678\n" * 12 + b"\n"])
def test_an_event_that_is_too_long_ends_the_stream(wire, server, body):
    url = server.at("/big", [STREAM, b"data: a\n\n" + body, OPEN])
    source = Source(wire, url, maxEventBytes=100, reconnect=QUICK)
    assert source.rest() == (["a"], 1411)
    server.wait_gone("/big")
    assert len(server.seen["/big"]) == 1


def test_events_wait_for_credit(wire, server):
    url = server.at("/credit", [STREAM, *[b"data: %03d\n\n" % n for n in range(100)]], [GONE])
    source = Source(wire, url, credit=25, reconnect=QUICK)
    assert source.data(3) == ["000", "001", "002"], "the third begins within the credit"
    assert wire.call("diagnostics.sleep", {"seconds": 0.2})["result"], "nothing came meanwhile"
    wire.send({"jsonrpc": "2.0", "method": "stream.credit", "params": {"stream": source.stream, "bytes": 100_000}})
    assert source.rest() == ([f"{n:03d}" for n in range(3, 100)], 2012)


def test_a_client_that_reads_nothing_stops_the_server(wire, server):
    piece = b"data: " + b"x" * 4000 + b"\n\n"
    url = server.at("/fast", [STREAM, *[piece] * 20_000, GONE])
    opened = wire.call("sse.open", {"url": url, "reconnect": False})["result"]
    server.wait_for("/fast")
    result = wire.call("stream.read", {"stream": opened["stream"], "items": 1})["result"]
    assert len(result["values"][0]["data"]) == 4000
    got = wire.call("request.get", {"request": opened["request"]})["result"]["progress"]["received"]
    assert got < 1 << 20, "80 MB wait on the other side"
    assert wire.call("stream.close", {"stream": opened["stream"]})["result"] == {}


def test_closing_the_stream_closes_the_connection(wire, server):
    url = server.at("/close", [STREAM, b"data: a\n\n", OPEN])
    source = Source(wire, url)
    assert source.data(1) == ["a"]
    assert wire.call("stream.close", {"stream": source.stream})["result"] == {}
    server.wait_gone("/close")
    state = wire.call("request.wait", {"request": source.request})["result"]
    assert state["error"]["code"] == 1900


@pytest.mark.parametrize("response", [[STREAM, b"data: a\n\n", OPEN], [STREAM, b"retry: 60000\ndata: a\n\n"]])
def test_cancelling_the_request_ends_the_stream_even_while_it_waits(wire, server, response):
    url = server.at("/cancel", response)
    source = Source(wire, url, events=["retry"])
    assert source.data(1) == ["a"]
    if OPEN not in response:
        while wire.receive()["method"] != "event.retry":
            pass
    wire.start("request.cancel", {"request": source.request})
    assert source.rest() == ([], 1900)
    assert len(server.seen["/cancel"]) == 1


def test_a_call_that_waits_for_the_head_can_be_cancelled(wire, server):
    url = server.at("/head", [OPEN])
    number = wire.start("sse.open", {"url": url, "wait": "response"})
    server.wait_for("/head")
    wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
    assert wire.reply(number)["error"]["code"] == -32800
    server.wait_gone("/head")


def test_a_client_that_leaves_takes_its_streams_along(listening, server):
    url = server.at("/leave", [STREAM, b"data: a\n\n", OPEN])
    with contract.Wire(listening) as wire:
        assert Source(wire, url).data(1) == ["a"]
    server.wait_gone("/leave")


def test_suspending_holds_the_stream(wire, server):
    url = server.at("/hold", [STREAM, b"data: a\n\n", server.held(), b"data: b\n\n"])
    source = Source(wire, url, reconnect=False)
    assert source.data(1) == ["a"]
    assert wire.call("request.suspend", {"request": source.request})["result"]["state"] == "suspended"
    server.release()
    wire.start("request.resume", {"request": source.request})
    assert source.rest() == (["b"], None)


@pytest.mark.parametrize(
    ("params", "pointer"),
    [
        ({"reconnect": {"delay": -1}}, "/reconnect/delay"), ({"reconnect": {"max": 0}}, "/reconnect/max"),
        ({"reconnect": {"most": 1}}, "/reconnect/most"), ({"reconnect": "yes"}, "/reconnect"),
        ({"lastEventId": "a\nb"}, "/lastEventId"), ({"maxEventBytes": 0}, "/maxEventBytes"),
        ({"maxEventBytes": (1 << 24) + 1}, "/maxEventBytes"),
        ({"serialize": {"as": "json"}}, "/serialize"), ({"mode": "both"}, "/mode"), ({"json": 1}, "/json"),
        ({"method": "HEAD"}, "/method"),
        ({"wait": "response", "startImmediately": False}, "/wait"), ({"validate": [{"schema": {}}]}, "/validate"),
    ],
)  # fmt: skip
def test_a_wrong_parameter_is_named(wire, params, pointer):
    error = wire.call("sse.open", {"url": "http://127.0.0.1:1/", **params})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == pointer, error


# In a shell


def test_events_are_lines_of_json_in_a_shell(service, server):
    event = b'retry: 50\nid: 1\nevent: e\ndata: {"a":1.50}\n\n'
    url = server.at("/shell", [STREAM, event], [STREAM, b"data: x\n\n"], [GONE])
    done = outrider("sse", "--socket", service, "--last-event-id", "0", "-H", "X-A: b", url)
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().splitlines() == [
        '{"event":"e","data":"{\\"a\\":1.50}","id":"1","retry":0.05,"value":{"a":1.50}}',
        '{"event":"message","data":"x","id":"1"}',
    ]
    first, second, _ = server.seen["/shell"]
    assert (first.headers["x-a"], first.headers["last-event-id"]) == ("b", "0")
    assert second.headers["last-event-id"] == "1"


def test_json_is_posted_from_a_shell(service, server):
    url = server.at("/json", [STREAM, b"data: [DONE]\n\n"])
    done = outrider("sse", "--socket", service, "--json", '{"stream":true}', url)
    assert done.stdout == b'{"event":"message","data":"[DONE]"}\n'
    (seen,) = server.seen["/json"]
    assert (seen.method, seen.headers["content-type"], seen.body) == ("POST", "application/json", b'{"stream":true}')


def test_a_refusal_has_its_exit_status(service, server):
    refused(outrider("sse", "--socket", service, server.at("/404", [NOT_FOUND])), 14, "404")
    refused(outrider("sse", "--socket", service, server.at("/text", [TEXT])), 18, "text/plain")
    refused(outrider("sse", "--socket", service, "http://127.0.0.1:1/"), 12, "refused")
    assert outrider("sse", "--socket", service, "--no-reconnect", server.at("/end", [STREAM])).returncode == 0
