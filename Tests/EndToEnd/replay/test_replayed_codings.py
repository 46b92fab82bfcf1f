# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Compressed bodies in cassettes: they play to all requests, and hold no secret."""

import base64
import gzip
import json
import os

import contract
import pytest
from capture_server import Capture
from request_client import get
from tape_client import entries, entry, fresh, start, stop, write

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def packed(body, kind="text/plain"):
    """A response with the body in gzip, and that body."""
    coded = gzip.compress(body)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Encoding: gzip\r\nContent-Length: {len(coded)}\r\n\r\n"
    return head.encode() + coded, coded


@pytest.mark.parametrize("decodes", [True, False])
@pytest.mark.parametrize("recorded", [True, False])
def test_a_coded_body_plays_to_requests_that_decode_and_to_others(tape, recorded, decodes):
    """Whichever of them recorded the response."""
    response, coded = packed(b"plain")
    with Capture(response=response) as capture, fresh() as wire:
        start(wire, tape)
        assert get(wire, url := capture.url(), decode=recorded)["ok"]
        stop(wire)
    with fresh() as wire:
        start(wire, tape)
        played = get(wire, url, decode=decodes, serialize={"as": "base64"})
    body = base64.b64decode(played["body"]["base64"])
    fields = {field["name"]: field["value"] for field in played["headers"]}
    if decodes:
        assert body == b"plain"
    elif recorded:
        assert (body, fields["Content-Length"]) == (b"plain", "5") and "Content-Encoding" not in fields
    else:
        assert (body, fields["Content-Encoding"]) == (coded, "gzip")


@pytest.mark.parametrize("part", [False, True])
def test_a_coded_body_that_was_declared_too_long_plays_as_too_long(tape, part):
    """A body that is not decoded has the declared length; without that length, its replay would not end."""
    response, _ = packed(b"plain")
    response = response.replace(b"200 OK", b"206 Partial Content") if part else response
    wish = {"maxBody": 5, "decode": part}
    with Capture(response=response) as capture, fresh() as wire:
        start(wire, tape)
        recorded = get(wire, url := capture.url(), **wish)
        stop(wire)
    with fresh() as wire:
        start(wire, tape)
        played = get(wire, url, **wish)
    assert played["error"] == recorded["error"] and played["error"]["code"] == 1411


@pytest.mark.parametrize("coding", ["", "Content-Encoding: gzip\r\n"])
@pytest.mark.parametrize("method, status", [("HEAD", "200 OK"), ("GET", "304 Not Modified")])
def test_a_length_without_a_body_is_no_long_body(tape, method, status, coding):
    """A response to HEAD, and a 304, declare the length of a body that they do not have."""
    response = f"HTTP/1.1 {status}\r\nETag: \"a\"\r\n{coding}Content-Length: 96\r\n\r\n".encode()
    wish = {"method": method, "maxBody": 5, "decode": False}
    with Capture(response=response) as capture, fresh() as wire:
        start(wire, tape)
        assert get(wire, url := capture.url(), **wish)["ok"]
        stop(wire)
    with fresh() as wire:
        start(wire, tape)
        assert get(wire, url, **wish)["ok"]


def test_a_secret_in_a_coded_body_is_masked(tape):
    response, _ = packed(b'{"access_token":"hush-hush-hush","a":1}', "application/json")
    with Capture(response=response) as capture, fresh() as wire:
        start(wire, tape)
        assert get(wire, capture.url(), decode=False)["ok"]
        stop(wire)
    (kept,) = entries(tape)
    content = json.loads(kept["response"]["content"]["text"])
    assert content["a"] == 1 and content["access_token"] != "hush-hush-hush"
    assert "Content-Encoding" not in {field["name"] for field in kept["response"]["headers"]}


@pytest.mark.parametrize("long", [False, True])
def test_a_request_body_is_compared_and_masked_before_its_compression(server, tape, tmp_path, long):
    """Whether it comes from memory or from a file."""
    text = json.dumps({"a": 1, "password": "hush-hush-hush", "more": os.urandom(20_000).hex() if long else ""})
    file = tmp_path / "body.json"
    file.write_text(text)
    kind = "application/json"
    for mode in ("once", "none"):
        with fresh() as wire:
            start(wire, tape, mode=mode)
            for body in ({"text": text, "contentType": kind}, {"file": str(file), "contentType": kind}):
                response = get(wire, server.url + "/echo", method="POST", body=body, compress="gzip")
                assert response["ok"], response
            stop(wire)
    for kept in entries(tape):
        shown = json.loads(kept["request"]["postData"]["text"])
        assert shown["a"] == 1 and shown["password"] == "***"


def damaged(kind):
    """A response with a JSON body in gzip whose last bytes are damaged."""
    response, _ = packed(b'{"access_token":"hush-hush-hush"}', kind)
    return response[:-8] + bytes(8)


def unknown(body, kind):
    """A response in a coding that the service does not know."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Encoding: compress\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


# what compress(1) makes begins so
COMPRESSED = b"\x1f\x9d\x90hush"
PART = packed(b'{"access_token":"hush-hush-hush"}', "application/json")[0].replace(
    b"200 OK\r\n", b"206 Partial Content\r\nContent-Range: bytes 0-49/50\r\n")  # fmt: skip


DAMAGED = {"json": damaged("application/json"), "text": damaged("text/plain"), "part": PART}
UNKNOWN = {
    "unknown": unknown(COMPRESSED, "application/json"),
    "base64": unknown(base64.b64encode(b'{"access_token":"hush-hush-hush"}'), "application/json"),
}


@pytest.mark.parametrize("kind, decodes", [*((kind, False) for kind in (DAMAGED | UNKNOWN)), ("unknown", True)])
def test_a_body_that_cannot_be_decoded_ends_the_recording(tape, kind, decodes):
    """A secret in such a body cannot be masked; the request itself goes on."""
    response = (DAMAGED | UNKNOWN)[kind]
    with Capture(response=response) as capture, fresh() as wire:
        start(wire, tape)
        got = get(wire, capture.url("/x"), decode=decodes, serialize={"as": "base64"})
        assert got["ok"] and response.endswith(base64.b64decode(got["body"]["base64"]))
        failure = stop(wire)["failure"]
    assert failure["reason"] == "cassetteUnusable"
    assert f"the body of GET {capture.url('/x')} cannot be decoded" in failure["message"]
    assert failure["message"].endswith("list its URL in except")
    assert not entries(tape)


@pytest.mark.parametrize("space", [0, 20_000])
def test_a_request_body_that_the_client_compressed_is_compared_and_masked_decoded(server, tape, space):
    text, kind = "{" + " " * space + '"password":"hush-hush-hush"}', "application/json"
    coded = base64.b64encode(gzip.compress(text.encode())).decode()
    body = {"base64": coded, "contentType": kind}
    for mode in ("once", "none"):
        with fresh() as wire:
            start(wire, tape, mode=mode)
            response = get(wire, server.url + "/echo", method="POST", body=body, headers={"Content-Encoding": "gzip"})
            assert response["ok"], response
            stop(wire)
    (kept,) = entries(tape)
    assert json.loads(kept["request"]["postData"]["text"])["password"] == "***"
    # the same value in another coding
    with fresh() as wire:
        start(wire, tape, mode="none")
        response = get(wire, server.url + "/echo", method="POST", body={"text": text, "contentType": kind})
        assert response["ok"], response


@pytest.mark.parametrize("coding, coded", [
    ("gzip", gzip.compress(b'{"password":"hush-hush-hush"}')[:-8] + bytes(8)), ("compress", COMPRESSED),
], ids=["gzip", "compress"])  # fmt: skip
def test_a_request_body_that_cannot_be_decoded_ends_the_recording(server, tape, coding, coded):
    body = {"base64": base64.b64encode(coded).decode(), "contentType": "application/json"}
    with fresh() as wire:
        start(wire, tape)
        response = get(wire, server.url + "/echo", method="POST", body=body, headers={"Content-Encoding": coding})
        assert response["ok"], response
        failure = stop(wire)["failure"]
    assert f"the request body of POST {server.url}/echo cannot be decoded" in failure["message"]
    assert not entries(tape)


def test_a_request_body_in_an_archive_with_a_coding_is_compared_decoded(server, tape):
    """Cassettes of older versions have the bytes that the client compressed."""
    kept = entry("http://a.example/x", 200, {"a": 1}, headers=())
    kept["request"]["headers"] = [{"name": "Content-Encoding", "value": "gzip"}]
    coded = base64.b64encode(gzip.compress(b"plain")).decode()
    kept["request"]["postData"] = {"mimeType": "text/plain", "text": coded, "encoding": "base64"}
    write(tape, kept)
    with fresh() as wire:
        start(wire, tape)
        body = {"base64": coded, "contentType": "text/plain"}
        response = get(wire, "http://a.example/x", method="POST", body=body, headers={"Content-Encoding": "gzip"})
        assert response["ok"], response


def test_a_coded_body_without_a_secret_is_kept_though_members_are_masked(tape):
    response, coded = packed(b'{"a":1}', "application/json")
    with Capture(response=response) as capture, fresh() as wire:
        start(wire, tape, mask={"body": ["/iban"]})
        assert get(wire, capture.url(), decode=False)["ok"]
        stop(wire)
    (kept,) = entries(tape)
    assert base64.b64decode(kept["response"]["content"]["text"]) == coded


def test_a_charset_in_place_of_a_coding_hides_nothing(tape):
    """Some servers name a charset in Content-Encoding."""
    response = unknown(b'{"access_token":"hush-hush-hush","a":1}', "application/json").replace(b"compress", b"utf-8")
    with Capture(response=response) as capture, fresh() as wire:
        start(wire, tape)
        assert get(wire, capture.url())["ok"]
        assert "failure" not in stop(wire)
    (kept,) = entries(tape)
    assert json.loads(kept["response"]["content"]["text"]) == {"access_token": "***", "a": 1}
