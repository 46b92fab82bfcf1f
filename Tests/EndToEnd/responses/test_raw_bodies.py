# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Bodies as bytes behind their replies, for clients that asked for raw bodies only."""

import base64
import contextlib
import random
import socket
import time

import budget
import contract
import pytest
from raw_body_client import RawWire
from request_client import expected

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

LEAST = 512
SIZES = [0, 1, LEAST - 1, LEAST, 65535, 65536, 65537, 1 << 20]


@pytest.fixture(params=["socket", "stdio", "socket with Content-Length", "stdio with Content-Length"])
def raw(request, service):
    header = request.param.endswith("Length")
    with RawWire(service if request.param.startswith("socket") else None, header=header) as wire:
        yield wire


@pytest.mark.parametrize("size", SIZES)
def test_long_bodies_follow_their_replies(raw, server, size):
    for _ in range(2):
        body, data = raw.get(server.url(f"/bytes/{size}"))
        assert body["size"] == size
        if size < LEAST:
            assert data is None and base64.b64decode(body.get("base64", "")) == expected(size)
        else:
            assert body["kind"] == "raw" and "base64" not in body and data == expected(size)


def test_what_is_longer_than_a_message_is_stored(raw, server):
    size = 12 << 20
    body, data = raw.get(server.url(f"/bytes/{size}"))
    assert body["kind"] == "stored" and data is None
    assert raw.read_all(body["response"], bytes=1 << 20) == expected(size)
    body, data = raw.get(server.url(f"/bytes/{8 << 20}"), maxInline=8 << 20)
    assert body["kind"] == "raw" and data == expected(8 << 20)


def test_the_greeting_has_the_default_of_inline_bodies(service, server):
    """For the client's calls outside a batch; what a request says comes first."""
    with RawWire(service, maxInline=3_000_000) as raw:
        for size, kind in ((3_000_000, "raw"), (3_000_001, "stored")):
            assert raw.get(server.url(f"/bytes/{size}"))[0]["kind"] == kind
        assert raw.get(server.url("/bytes/10000"), maxInline=9999)[0]["kind"] == "stored"
        params = {"url": server.url("/bytes/2000000"), "serialize": {"as": "base64"}}
        number = raw.start("data.start", params)
        request = raw.reply(number)["result"]["request"]
        number = raw.start("request.wait", {"request": request})
        assert raw.reply(number, 20)["result"]["body"]["kind"] == "raw" and len(raw.bodies[number]) == 2_000_000
        assert {reply["result"]["body"]["kind"] for reply in in_a_batch(raw, params, 2)} == {"stored"}
    with RawWire(service, rawBodies=False, maxInline=3_000_000) as plain:
        assert plain.get(server.url("/bytes/2000000"))[0]["kind"] == "stored"


def test_bytes_of_a_stream_follow_their_replies(raw, server):
    size = 3_000_000
    opened = raw.start("stream.open", {"url": server.url(f"/bytes/{size}"), "mode": "pull", "wait": "response"})
    stream, found, lengths = raw.reply(opened)["result"]["stream"], b"", []
    while True:
        count = LEAST - 1 if len(found) < LEAST else 200_000
        number = raw.start("stream.read", {"stream": stream, "bytes": count})
        piece = raw.reply(number)["result"]
        data = raw.bodies.pop(number, None)
        assert (data is None) == ("base64" in piece) != ("raw" in piece)
        data = base64.b64decode(piece["base64"]) if data is None else data
        assert piece["offset"] == len(found) and (len(data) < LEAST) == ("base64" in piece)
        found += data
        lengths.append(len(data))
        if piece["end"]:
            break
    assert found == expected(size) and max(lengths) > LEAST


def test_text_and_lines_of_a_stream_stay_in_their_results(raw, server):
    for kind in ("text", "lines"):
        params = {"url": server.url("/bytes/100000"), "mode": "pull", "wait": "response"}
        opened = raw.start("stream.open", {**params, "as": kind, "maxItem": 1 << 20, "charset": "latin1"})
        number = raw.start("stream.read", {"stream": raw.reply(opened)["result"]["stream"], "bytes": 1 << 20})
        raw.reply(number)
        assert number not in raw.bodies


def test_pieces_of_a_stored_body_follow_their_replies(raw, server):
    size = 3_000_000
    handle = raw.get(server.url(f"/bytes/{size}"))[0]["response"]
    for offset, count in ((0, size + 1), (0, LEAST), (17, 1 << 20), (size - LEAST, size)):
        number = raw.start("response.read", {"response": handle, "offset": offset, "bytes": count})
        piece = raw.reply(number)["result"]
        assert "base64" not in piece and piece["offset"] == offset
        assert raw.bodies[number] == expected(size)[offset : offset + count]
        assert piece["end"] is (offset + count >= size)
    for offset, count in ((0, LEAST - 1), (size, 10_000)):
        number = raw.start("response.read", {"response": handle, "offset": offset, "bytes": count})
        piece = raw.reply(number)["result"]
        assert number not in raw.bodies
        assert base64.b64decode(piece["base64"]) == expected(size)[offset : offset + count]


@pytest.mark.parametrize("greeting", [None, {}, {"rawBodies": False}])
def test_a_client_that_did_not_ask_gets_base64(service, server, greeting):
    with RawWire(service, greets=False) as wire:
        if greeting is not None:
            wire.call("server.hello", {"rawBodies": True})
            wire.call("server.hello", greeting)
        body, data = wire.get(server.url("/bytes/100000"))
        assert body["kind"] == "base64" and data is None
        assert base64.b64decode(body["base64"]) == expected(100000)


def test_a_greeting_concerns_its_own_connection(service, server):
    with RawWire(service), RawWire(service, greets=False) as other:
        assert other.get(server.url("/bytes/100000"))[0]["kind"] == "base64"


def in_a_batch(raw, params, count):
    """The replies to so many calls of `data.send`."""
    calls = [{"jsonrpc": "2.0", "id": n, "method": "data.send", "params": params} for n in range(count)]
    raw.send_text(contract.json.dumps(calls))
    end = time.monotonic() + 20
    while (b"\r\n\r\n[" if raw.header else b"]\n") not in raw.buffer:
        raw.fill(end)
    if raw.header:
        head, raw.buffer = raw.buffer.split(b"\r\n\r\n", 1)
        text = raw.take(int(head.removeprefix(b"Content-Length: ")), end)
    else:
        text, raw.buffer = raw.buffer.split(b"\n", 1)
    replies = contract.json.loads(text)
    assert len(replies) == count
    return [contract.check_message("data.send", reply) for reply in replies]


def test_no_spaces_stand_before_the_replies_to_a_client_that_sends_no_more(service):
    """The first bytes of a line tell whether raw bytes follow."""
    greeting = b'{"jsonrpc":"2.0","method":"server.hello","params":{"rawBodies":true}}\n'
    call = b'{"jsonrpc":"2.0","id":1,"method":"diagnostics.sleep","params":{"seconds":0.6}}\n'
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(service)
        client.sendall(greeting + call)
        client.shutdown(socket.SHUT_WR)
        assert client.makefile("rb").read() == b'{"jsonrpc":"2.0","id":1,"result":{"seconds":0.6}}\n'


def test_replies_in_a_batch_have_no_raw_bytes(raw, server):
    for reply in in_a_batch(raw, {"url": server.url("/bytes/70000"), "serialize": {"as": "base64"}}, 3):
        assert base64.b64decode(reply["result"]["body"]["base64"]) == expected(70000)
    assert raw.get(server.url("/bytes/70000"))[1] == expected(70000)


def test_other_shapes_than_bytes_stay_in_the_message(raw, server):
    reply = raw.call("data.send", {"url": server.url("/bytes/100000"), "serialize": {"as": "none"}})
    assert reply["result"]["body"]["kind"] == "none" and not raw.bodies
    reply = raw.call("diagnostics.echo", {"text": "x" * 100_000})
    assert reply["result"]["text"] == "x" * 100_000 and not raw.bodies


def test_a_started_request_is_waited_for_with_raw_bytes_and_told_in_an_event_without(raw, server):
    params = {"url": server.url("/bytes/100000"), "serialize": {"as": "base64"}, "events": ["finish"]}
    request = raw.call("data.start", params)["result"]["request"]
    while (event := raw.receive())["method"] != "event.finish":
        pass
    assert base64.b64decode(event["params"]["response"]["body"]["base64"]) == expected(100000)
    number = raw.start("request.wait", {"request": request})
    assert raw.reply(number)["result"]["body"]["kind"] == "raw" and raw.bodies[number] == expected(100000)


def test_a_failed_exchange_has_its_raw_bytes_too(raw, server):
    number = raw.request(server.url("/bytes/100000"), validate={"status": [404]})
    reply = raw.reply(number)
    assert reply["result"]["ok"] is False and reply["result"]["body"]["kind"] == "raw"
    assert raw.bodies[number] == expected(100000)


def test_raw_bytes_count_to_the_longest_message(service, server):
    with RawWire(service, greets=False) as wire:
        wire.call("server.hello", {"rawBodies": True, "maxMessageBytes": 70_000})
        body, data = wire.get(server.url("/bytes/60000"))
        assert body["kind"] == "raw" and data == expected(60000)
        body, data = wire.get(server.url("/bytes/70000"))
        assert body["kind"] == "stored" and data is None


def test_many_calls_of_all_sizes_share_a_connection(raw, server):
    dice = random.Random(7)
    sizes = {}
    for _ in range(120):
        if dice.random() < 0.3:
            sizes[raw.start("diagnostics.echo", {"text": "\n" * 5000})] = None
        else:
            size = dice.choice([0, 100, LEAST, 20_000, 65_536, 300_000])
            sizes[raw.request(server.url(f"/bytes/{size}"))] = size
    replies = raw.replies(list(sizes), 60)
    for number, size in sizes.items():
        if size is None:
            assert replies[number]["result"]["text"] == "\n" * 5000
        elif size >= LEAST:
            assert raw.bodies[number] == expected(size)
        else:
            assert number not in raw.bodies and replies[number]["result"]["body"]["size"] == size


def test_cancelled_calls_leave_the_connection_in_step(raw, server):
    for turn in range(30):
        number = raw.request(server.url("/bytes/700000"))
        if turn % 3 == 2:
            # the bytes may be on their way
            raw.fill(time.monotonic() + 10)
        raw.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
        reply = raw.reply(number)
        if "error" in reply:
            assert reply["error"]["code"] == -32800 and number not in raw.bodies
        else:
            assert raw.bodies[number] == expected(700000)
    assert raw.get(server.url("/bytes/70000"))[1] == expected(70000)


service_with_little_memory = budget.services()


def test_raw_bytes_that_nobody_reads_go_to_files(service_with_little_memory, server):
    with RawWire(service_with_little_memory) as wire:
        numbers = [wire.request(server.url(f"/bytes/{3 << 20}"), maxInline=4 << 20) for _ in range(8)]
        budget.until(service_with_little_memory, lambda found: found["spilt"]["payloads"] > 0)
        replies = wire.replies(numbers, 60)
        for number in numbers:
            body = replies[number]["result"]["body"]
            if body["kind"] == "stored":
                assert wire.read_all(body["response"], bytes=1 << 20) == expected(3 << 20)
                wire.call("response.release", {"response": body["response"]})
            else:
                assert wire.bodies[number] == expected(3 << 20)
        assert any(number in wire.bodies for number in numbers)
        assert budget.until(service_with_little_memory, lambda found: found["held"] == 0)


def test_a_client_that_goes_amid_a_body_leaves_nothing_behind(service_with_little_memory, server):
    for _ in range(5):
        with RawWire(service_with_little_memory) as wire:
            for _ in range(3):
                wire.request(server.url(f"/bytes/{1 << 20}"))
            end = time.monotonic() + 10
            while len(wire.buffer) < 100_000:
                wire.fill(end)
    budget.until(service_with_little_memory, lambda found: found["held"] == 0)
    with RawWire(service_with_little_memory) as wire, contextlib.suppress(contract.Gone):
        assert wire.get(server.url("/bytes/70000"))[1] == expected(70000)
