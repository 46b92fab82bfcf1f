# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Long forms of requests, which are decoded and laid out away from the event loop: order, ends, faults and memory."""

import base64
import json
import os
import random
import time

import contract
import pytest
from request_client import result
from upload_server import Taker

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

MIB = 1 << 20
LONG = 2 * MIB
SENDERS = ["data.send", "upload.send", "data.start"]


@pytest.fixture
def taker():
    with Taker() as taker:
        yield taker


def held(wire):
    return result(wire.call("server.stats"))["memory"]["held"]


def until_free(wire, seconds=10.0):
    end = time.monotonic() + seconds
    while held(wire):
        assert time.monotonic() < end, held(wire)
        time.sleep(0.05)


def form(*parts, **options):
    return {"multipart": {"boundary": "b" * 20, "parts": list(parts), **options}}


def laid_out(*parts):
    """The bytes of a form (RFC 7578): pairs of the lines of a part, and its content."""
    lines = b"\r\n--" + b"b" * 20
    whole = b"".join(lines + b"\r\n" + head + b"\r\n\r\n" + content for head, content in parts)
    return whole[2:] + lines + b"--\r\n"


def named(name, *lines):
    return b'Content-Disposition: form-data; name="%s"' % name + b"".join(b"\r\n" + line for line in lines)


def several(*calls):
    """The lines of several calls, by id: they leave in one piece."""
    return "\n".join(
        json.dumps({"jsonrpc": "2.0"} | ({"id": number} if number else {}) | {"method": method, "params": params})
        for number, method, params in calls
    )


@pytest.mark.parametrize("method", SENDERS)
def test_the_parts_of_a_long_form_keep_their_order(wire, taker, tmp_path, method):
    """Bytes, text, JSON, a file and a stream; the stream is fed and finished right behind the call."""
    path = tmp_path / "file"
    path.write_bytes(os.urandom(100_000))
    data, text = random.Random(1).randbytes(LONG), "ä" * MIB
    stream = result(wire.call("upload.open"))["stream"]
    body = form(
        {"name": "data", "base64": base64.b64encode(data).decode()}, {"name": "fed", "stream": stream},
        {"name": "file", "file": str(path), "filename": "f", "mimeType": "a/b"}, {"name": "text", "text": text},
        {"name": "json", "json": {"a": [1, "x" * LONG]}},
    )  # fmt: skip
    piece = base64.b64encode(b"piece").decode()
    calls = [
        (101, method, {"method": "POST", "url": taker.url("/keep"), "body": body}),
        (102, "stream.write", {"stream": stream, "base64": piece, "wait": 0}),
        (103, "stream.finish", {"stream": stream}), (104, "diagnostics.echo", {"value": 1}),
    ]  # fmt: skip
    wire.methods.update({repr(number): name for number, name, _ in calls})
    wire.send_text(several(*calls))
    replies = wire.replies([number for number, _, _ in calls])
    assert all("result" in reply for reply in replies.values()), replies
    taker.until(lambda taker: taker.taken and taker.taken[0].body)
    json_text = json.dumps({"a": [1, "x" * LONG]}, separators=(",", ":")).encode()
    assert taker.last().body == laid_out(
        (named(b"data"), data), (named(b"fed"), b"piece"),
        (b'Content-Disposition: form-data; name="file"; filename="f"\r\nContent-Type: a/b', path.read_bytes()),
        (named(b"text"), text.encode()),
        (named(b"json", b"Content-Type: application/json"), json_text),
    )  # fmt: skip


def test_a_batch_with_long_forms_replies_in_order(wire, taker):
    calls = [
        {"jsonrpc": "2.0", "id": number, "method": "upload.send", "params": {
            "url": taker.url("/keep"), "body": form({"name": "a", "text": str(number) * LONG})}}
        for number in (7, 8)
    ]  # fmt: skip
    wire.send_text(json.dumps([*calls, {"jsonrpc": "2.0", "id": 9, "method": "diagnostics.echo", "params": {}}]))
    replies = json.loads(wire.receive_line(20))
    assert [reply["id"] for reply in replies] == [7, 8, 9] and all(reply["result"].get("ok", True) for reply in replies)
    assert sorted(len(taken.body) for taken in taker.taken) == [len(laid_out((named(b"a"), b"7" * LONG)))] * 2


@pytest.mark.parametrize("method", ["data.send", "upload.send"])
def test_a_call_that_is_cancelled_while_its_form_is_laid_out_sends_nothing(wire, taker, method):
    """The cancellation stands right behind the call, and is mostly read before the form is ready."""
    url = taker.url("/keep")
    for number in range(110, 116):
        body = form({"name": "a", "base64": base64.b64encode(os.urandom(3 * MIB)).decode()})
        wire.methods[repr(number)] = method
        call = (number, method, {"method": "POST", "url": url, "body": body})
        wire.send_text(several(call, (None, "$/cancelRequest", {"id": number})))
        assert wire.reply(number)["error"]["code"] == -32800
    until_free(wire)
    requests = result(wire.call("request.list"))["requests"]
    # a request whose form was ready may have begun
    begun = sum(request["attempts"] for request in requests)
    assert begun < len(requests) == 6 and len(taker.arrived) <= begun, requests


def test_a_file_that_is_missing_fails_a_long_form_alone(wire, taker):
    body = form({"name": "a", "text": "x" * LONG}, {"name": "photo", "file": "/nowhere/at/all"})
    outcome = result(wire.call("upload.send", {"url": taker.url("/keep"), "body": body}))
    assert not outcome["ok"] and outcome["error"]["reason"] == "bodyPartFileNotReachable", outcome["error"]
    assert outcome["error"]["pointer"] == "/body/multipart/parts/1/file" and "photo" in outcome["error"]["message"]
    until_free(wire)
    assert not taker.taken
    again = form({"name": "a", "text": "x" * LONG})
    assert result(wire.call("upload.send", {"url": taker.url("/keep"), "body": again}))["ok"]


def test_a_fault_of_the_parameters_of_a_long_form_names_its_place(wire):
    body = form({"name": "a", "text": "x" * LONG}, {"name": "b", "base64": "?"})
    error = wire.call("upload.send", {"url": "http://127.0.0.1:1/", "body": body})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == "/body/multipart/parts/1/base64"
    until_free(wire)


def test_a_boundary_that_occurs_in_a_long_form_is_refused(wire):
    body = form({"name": "a", "text": "x" * LONG + "--" + "b" * 20})
    outcome = result(wire.call("upload.send", {"url": "http://127.0.0.1:1/", "body": body}))
    assert outcome["error"]["pointer"] == "/body/multipart/boundary"


def test_a_long_form_is_counted_once_until_its_request_ends(wire, taker):
    body = form({"name": "a", "base64": base64.b64encode(os.urandom(3 * MIB)).decode()})
    number = wire.start("upload.send", {"url": taker.url("/later"), "body": body})
    taker.wait_for("/later")
    assert 3 * MIB <= held(wire) < 4 * MIB
    taker.go.set()
    assert result(wire.reply(number))["ok"]
    until_free(wire)
