# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What a stream consists of: text, lines, JSON values and frames, however they are cut on their way."""

import json

import contract
import pytest
from chunk_server import Feeder
from stream_client import data, events, opened, read, response, whole

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def feeder():
    with Feeder() as feeder:
        yield feeder


def test_text_is_never_cut_within_a_character(wire, feeder):
    """What is not UTF-8 becomes U+FFFD, once for what cannot go on. [R4]"""
    made = opened(wire, feeder.url("/hand/a"), **{"as": "text"}, mode="push", credit=1000)
    euro = "€".encode()
    feeder.give("/hand/a", b"a" + euro[:1])
    assert events(wire, 1)[0][1]["text"] == "a"
    feeder.give("/hand/a", euro[1:2])
    feeder.give("/hand/a", euro[2:] + b"z")
    assert events(wire, 1)[0][1]["text"] == "€z"
    feeder.give("/hand/a", b"\xff\x00b")
    assert data(events(wire, 1)[0][1]) == b"\xff\x00b"
    feeder.give("/hand/a", euro[:2])
    feeder.end("/hand/a")
    (last, end) = events(wire)
    assert (last[1]["text"], last[1]["bytes"]) == ("\ufffd", 2)
    assert end[1] == {"stream": made["stream"], "seq": 4, "size": 1 + 3 + 1 + 3 + 2}


def test_text_and_lines_are_in_the_charset_of_the_response(wire, feeder):
    url = feeder.url("/typed/text/plain~charset=iso-8859-1")
    path = "/typed/text/plain~charset=iso-8859-1"
    stream = opened(wire, url, **{"as": "lines"}, also=[{"as": "text"}, {"as": "text", "charset": "utf-8"}])
    feeder.give(path, "größer\n".encode("latin-1"), b"nichts")
    feeder.end(path)
    assert whole(wire, stream["stream"])[0] == ["größer", "nichts"]
    text = ["".join(whole(wire, one, "text")[0]) for one in stream["also"]]
    assert text == ["größer\nnichts", "gr\ufffd\ufffder\nnichts"]


def test_a_charset_that_nobody_knows_ends_the_request(wire, feeder):
    made = opened(wire, feeder.url("/hand/a"), **{"as": "text", "charset": "klingon"})
    feeder.give("/hand/a", b"abc")
    piece = read(wire, made["stream"])
    assert (piece["end"], piece["error"]["code"]) == (True, 1703)
    assert piece["error"]["data"] == {"encoding": "klingon"}
    assert response(wire, made["request"])["error"]["code"] == 1703
    feeder.wait_gone("/hand/a")


def test_lines_end_with_any_end_and_come_one_by_one(wire, feeder):
    made = opened(wire, feeder.url("/hand/a"), **{"as": "lines"}, mode="push", credit=1000)
    feeder.give("/hand/a", b"one\r")
    assert events(wire, 1)[0] == (
        "text",
        {"stream": made["stream"], "seq": 0, "offset": 0, "bytes": 4, "text": "one"},
    )
    feeder.give("/hand/a", b"\ntwo\nthr")
    assert events(wire, 1)[0][1]["text"] == "two"
    feeder.give("/hand/a", b"ee\n\nfour")
    assert [params["text"] for _, params in events(wire, 2)] == ["three", ""]
    feeder.end("/hand/a")
    (last, end) = events(wire)
    assert (last[1]["text"], last[1]["offset"]) == ("four", 16)
    assert end[1]["size"] == 20


def test_a_batch_carries_all_lines_that_are_there(wire, feeder):
    stream = opened(wire, feeder.url("/hand/a"), **{"as": "lines"}, mode="push", credit=1 << 20, batch=True)["stream"]
    lines = [f"line {number}" for number in range(3000)]
    body = "".join(line + "\n" for line in lines).encode()
    feeder.give("/hand/a", body)
    feeder.end("/hand/a")
    found = events(wire)
    assert {name for name, _ in found[:-1]} == {"values"}
    assert [line for _, params in found[:-1] for line in params["values"]] == lines
    assert len(found) < 20
    assert sum(params["bytes"] for _, params in found[:-1]) == len(body)
    assert all(len(json.dumps(params)) < 65536 for _, params in found)
    assert stream


def test_credit_counts_what_items_took_and_an_item_is_never_cut(wire, feeder):
    stream = opened(wire, feeder.url("/hand/a"), **{"as": "lines"}, mode="push", credit=1)["stream"]
    feeder.give("/hand/a", b"a long line\nand another\nthird\n")
    assert events(wire, 1)[0][1]["text"] == "a long line"
    # eleven bytes are owed; paid back, there is still none
    assert wire.call("stream.credit", {"stream": stream, "bytes": 11})["result"] == {"credit": 0}
    assert wire.call("stream.credit", {"stream": stream, "bytes": 1})["result"] == {"credit": 1}
    assert events(wire, 1)[0][1]["text"] == "and another"


@pytest.mark.parametrize("kind", ["json", "ndjson"])
def test_json_values_come_one_by_one_and_a_wrong_one_is_an_error_in_its_place(wire, feeder, kind):
    """[R7] [R10] [3.O.3] [3.O.14]"""
    made = opened(wire, feeder.url("/hand/a"), **{"as": kind}, mode="push", credit=1000)
    feeder.give("/hand/a", b'{"id": 12345678901234567890, "x": 1.0}\n')
    assert events(wire, 1)[0][1]["value"] == {"id": 12345678901234567890, "x": 1.0}
    feeder.give("/hand/a", b'{"a', b'":[1,', b'2]}\n')
    assert events(wire, 1)[0][1]["value"] == {"a": [1, 2]}
    feeder.give("/hand/a", b'{"a":tru}\nnull\n')
    (wrong, fine) = events(wire, 2)
    assert (wrong[0], wrong[1]["error"]["code"]) == ("value", 1704)
    assert fine[1]["value"] is None
    feeder.end("/hand/a")
    assert events(wire)[-1][0] == "end"
    assert response(wire, made["request"])["ok"]


def test_values_need_nothing_between_them(wire, feeder):
    stream = opened(wire, feeder.url("/hand/a"), **{"as": "json"})["stream"]
    feeder.give("/hand/a", b'{"a":1}{"b":2}[3]"x" 4 tru')
    feeder.end("/hand/a")
    first = read(wire, stream)
    assert first["values"][:3] == [{"a": 1}, {"b": 2}, [3]]
    found = first["values"]
    while "error" not in (piece := read(wire, stream)):
        found += piece["values"]
    assert found == [{"a": 1}, {"b": 2}, [3], "x", 4]
    assert (piece["values"], piece["end"], piece["error"]["code"]) == ([], False, 1704)
    assert (last := read(wire, stream))["end"] and "error" not in last


def test_an_error_ends_the_request_if_that_was_asked_for(wire, feeder):
    """[R7] [3.O.7]"""
    made = opened(
        wire, feeder.url("/hand/a"), **{"as": "json"}, mode="push", credit=1000, cancelOnError=True,
        also=[{"as": "bytes", "mode": "push", "credit": 1000}],
    )  # fmt: skip
    feeder.give("/hand/a", b"]fifty bytes that are no JSON\n1\n")
    seen = {}
    while len([one for one in seen.values() if one[-1][0] == "end"]) < 2:
        for name, params in events(wire, 1):
            seen.setdefault(params["stream"], []).append((name, params))
    wrong, end = seen[made["stream"]]
    assert (wrong[0], wrong[1]["error"]["code"]) == ("value", 1704)
    assert end[1]["error"]["code"] == 1900
    assert seen[made["also"][0]][-1][1]["error"]["code"] == 1900
    gone = response(wire, made["request"])
    assert (gone["ok"], gone["status"], gone["error"]["code"]) == (False, 200, 1900)
    feeder.wait_gone("/hand/a")


def test_frames_have_their_length_before_them(wire, feeder):
    made = opened(wire, feeder.url("/hand/a"), **{"as": "frames"}, mode="push", credit=1000)
    feeder.give("/hand/a", b"\0\0", b"\0\3ab", b"c\0\0\0\0\0\0\0\1")
    (first, second) = events(wire, 2)
    assert (data(first[1]), first[1]["bytes"], data(second[1])) == (b"abc", 7, b"")
    feeder.end("/hand/a")
    ((name, params),) = events(wire)
    assert (name, params["size"], params["error"]["code"]) == ("end", 11, 1408)
    assert response(wire, made["request"])["error"]["code"] == 1408


def test_an_item_that_is_too_long_ends_its_stream(wire, feeder):
    made = opened(wire, feeder.url("/hand/a"), **{"as": "lines"}, maxItem=10, also=[{"as": "lines"}])
    feeder.give("/hand/a", b"short\n" + b"x" * 11)
    values, last = whole(wire, made["stream"])
    assert (values, last["error"]["code"]) == (["short"], 1411)
    # the other one goes on
    feeder.give("/hand/a", b"y\n")
    feeder.end("/hand/a")
    assert whole(wire, made["also"][0])[0] == ["short", "x" * 11 + "y"]
    assert response(wire, made["request"])["ok"]


def test_no_message_is_longer_than_the_client_can_read(wire, feeder):
    wire.call("server.hello", {"maxMessageBytes": 4096})
    made = opened(wire, feeder.url("/length/15000"), mode="push", credit=15000)
    size = 0
    while True:
        line = wire.receive_line()
        assert len(line) <= 4096
        message = json.loads(line)
        if message["method"] == "event.end":
            break
        size += len(data(message["params"]))
    assert size == 15000
    made = opened(wire, feeder.url("/hand/b"), **{"as": "lines"}, mode="push", credit=9000)
    feeder.give("/hand/b", b"x" * 5000 + b"\nshort\n")
    (long, short) = events(wire, 2)
    assert (long[1]["error"]["code"], short[1]["text"]) == (1411, "short")
    assert made


# Long items, which are made of their bytes on another thread

LONG = 16 << 20


@pytest.mark.parametrize("mode", ["push", "pull"])
@pytest.mark.parametrize("kind, size", [("json", LONG), ("ndjson", LONG // 16), ("lines", LONG // 16)])
def test_a_long_item_keeps_its_place_and_its_credit(wire, feeder, kind, size, mode):
    long = '"' + "a" * (size - 2) + '"'
    credit = {"credit": 1} if mode == "push" else {}
    stream = opened(wire, feeder.url("/hand/a"), **{"as": kind}, maxItem=LONG, mode=mode, **credit)["stream"]
    feeder.give("/hand/a", b"1\n", long.encode(), b"\n2\n")
    feeder.end("/hand/a")
    expected = ["1", long, "2"] if kind == "lines" else [1, long[1:-1], 2]
    if mode == "pull":
        assert whole(wire, stream, bytes=8 << 20)[0] == expected
        return
    found = events(wire, 1)
    # what there is no credit for is not sent
    assert wire.call("diagnostics.echo", {"a": 1})["result"] == {"a": 1}
    for grant in (2, size + 2):
        wire.send({"jsonrpc": "2.0", "method": "stream.credit", "params": {"stream": stream, "bytes": grant}})
        found += events(wire, 1)
    found += events(wire)
    assert [params["text" if kind == "lines" else "value"] for _, params in found[:-1]] == expected
    sizes = [params["bytes"] for _, params in found[:-1]]
    assert [params["offset"] for _, params in found[:-1]] == [0, sizes[0], sizes[0] + sizes[1]]


def test_a_long_value_that_is_wrong_is_told_in_its_place(wire, feeder):
    stream = opened(wire, feeder.url("/hand/a"), **{"as": "json"}, mode="push", credit=LONG)["stream"]
    wrong = b"[" + b"1," * 100_000 + b"]"
    # behind a word that is none, the rest of its line is lost
    feeder.give("/hand/a", b"1 ", wrong, b" 2 ", b"x" * 100_000, b" 3\n4 ")
    feeder.end("/hand/a")
    found = events(wire)
    told = [params.get("value", params.get("error", {}).get("code")) for _, params in found[:-1]]
    assert told == [1, 1704, 2, 1704, 4]
    assert found[1][1]["offset"] == 1 and found[-1][1]["stream"] == stream


def test_a_long_event_is_the_same_as_a_short_one(wire, feeder):
    path = "/typed/text/event-stream"
    stream = wire.call("sse.open", {"url": feeder.url(path), "json": True, "reconnect": False})["result"]["stream"]
    long = json.dumps(["a" * 500_000])
    feeder.give(path, b"id: 1\ndata: 1\n\n", f"data: {long}\n\n".encode(), b"data: 2\n\n")
    feeder.end(path)
    found = whole(wire, stream, bytes=8 << 20)[0]
    assert [one["data"] for one in found] == ["1", long, "2"]
    assert [one["value"] for one in found] == [1, json.loads(long), 2] and {one["id"] for one in found} == {"1"}


@pytest.mark.parametrize("way", ["stream.close", "request.cancel", "request.forget"])
def test_a_stream_can_end_while_a_long_item_is_made(wire, feeder, way):
    for number in range(8):
        path = f"/hand/{number}"
        made = opened(wire, feeder.url(path), **{"as": "json"}, maxItem=LONG, mode="push", credit=1 << 30)
        feeder.give(path, b'"' + b"a" * (4 << 20), b'" ')
        # anywhere between the first byte of the value and its event
        if number % 2:
            feeder.end(path)
            feeder.wait_for(path)
        params = {"stream": made["stream"]} if way == "stream.close" else {"request": made["request"]}
        asked = wire.start(way, params)
        while (message := wire.receive(20)).get("id") != asked:
            assert message["method"] in ("event.value", "event.end")
        assert "result" in message or message["error"]["code"] == -32012
        if way == "stream.close":
            assert wire.call("diagnostics.echo", {"n": number})["result"] == {"n": number}
        elif way == "request.cancel" and "result" in message:
            while (message := wire.receive(20))["method"] != "event.end":
                assert message["method"] == "event.value"


def test_a_read_that_is_cancelled_leaves_a_long_item_for_the_next(wire, feeder):
    stream = opened(wire, feeder.url("/hand/a"), **{"as": "json"}, maxItem=LONG)["stream"]
    long = "a" * (8 << 20)
    feeder.give("/hand/a", json.dumps(long).encode(), b" 2 ")
    feeder.end("/hand/a")
    found = []
    for _ in range(20):
        number = wire.start("stream.read", {"stream": stream, "wait": 20})
        wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
        reply = wire.reply(number, 30)
        if "result" in reply:
            found += reply["result"]["values"]
            break
        assert reply["error"]["code"] == -32800
    ended = bool(found) and reply["result"]["end"]
    assert found + ([] if ended else whole(wire, stream)[0]) == [long, 2]


def test_a_read_follows_a_cancelled_one_at_once(wire, feeder):
    stream = opened(wire, feeder.url("/hand/a"), **{"as": "lines"})["stream"]

    def reading(number):
        params = {"stream": stream, "wait": 30}
        return {"jsonrpc": "2.0", "id": number, "method": "stream.read", "params": params}

    wire.send(reading(1000))
    for number in range(1001, 1021):
        cancelling = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number - 1}}
        wire.send_text("\n".join(json.dumps(one) for one in (cancelling, reading(number))) + "\n")
        wire.methods[repr(number)] = "stream.read"
        refused = wire.receive(10)
        assert (refused["id"], refused["error"]["code"]) == (number - 1, -32800)
    feeder.give("/hand/a", b"after all\n")
    came = wire.receive(10)
    assert (came["id"], came["result"]["values"]) == (1020, ["after all"])
