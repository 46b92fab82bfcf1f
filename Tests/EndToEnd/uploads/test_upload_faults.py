# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Uploads that are held up, given up, or meet a file that is not what it was: failures with names.

The server never gets half a body that looks whole.
"""

import base64
import os
import time

import contract
import pytest
from request_client import get, memory, result
from upload_server import Taker

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

HELLO = {"text": "hello"}
# more than the buffers of a connection hold, and than is copied at the end of a file
LONG = 40_000_000


@pytest.fixture
def taker():
    with Taker() as taker:
        yield taker


@pytest.fixture
def big(tmp_path):
    path = tmp_path / "big"
    block = os.urandom(1_000_000)
    with open(path, "wb") as file:
        for _ in range(LONG // len(block)):
            file.write(block)
    # the kernel's clock of files ticks every few milliseconds: what is written in the same tick cannot be seen
    os.utime(path, (time.time() - 60, time.time() - 60))
    return path


def start(wire, url, body, **params):
    return result(wire.call("upload.start", {"url": url, "body": body, **params}))["request"]


def end(wire, request, seconds=60):
    return result(wire.call("request.wait", {"request": request}, seconds))


def sent(wire, request):
    return result(wire.call("request.get", {"request": request}))["progress"]["sent"]


def is_read(wire, request):
    """Waits until the file is being read: until more was sent than stands before it in a form."""
    ends = time.monotonic() + 20
    while sent(wire, request) < 10_000:
        assert time.monotonic() < ends


def kinds(path, *names):
    """Bodies that come from a file in every way there is."""
    bodies = {
        "file": ({"file": str(path)}, {}),
        "multipart": ({"multipart": [{"name": "a", "file": str(path)}]}, {}),
        "compressed": ({"file": str(path)}, {"compress": "gzip"}),
    }
    return [bodies[name] for name in names]


# Files


@pytest.mark.parametrize("kind", ["file", "multipart", "compressed"])
@pytest.mark.parametrize("change", ["shrink", "empty", "grow", "rewrite"])
def test_a_long_file_that_is_written_to_while_it_is_sent(wire, taker, big, kind, change):
    """Its size, or only its content: either way the server never gets a body that looks whole. [P2]"""
    ((body, more),) = kinds(big, kind)
    request = start(wire, taker.url("/later"), body, **more)
    taker.wait_for("/later")
    is_read(wire, request)
    with open(big, "r+b") as file:
        if change == "rewrite":
            file.write(b"other")
        elif change == "grow":
            file.seek(0, os.SEEK_END)
            file.write(b"more")
        else:
            file.truncate(LONG // 2 if change == "shrink" else 0)
    taker.go.set()
    response = end(wire, request)
    assert response["ok"] is False and response["error"]["code"] == (1232 if kind == "multipart" else 1410), response
    assert "changed while it was being sent" in response["error"]["message"] and not response["error"]["retryable"]
    assert response["error"]["pointer"] == ("/body/multipart/0/file" if kind == "multipart" else "/body/file")
    assert result(wire.call("upload.send", {"url": taker.url("/keep"), "body": HELLO}))["ok"]
    # the body that came is cut short, on a connection that is closed
    taker.until(lambda one: len(one.taken) == 2)
    assert taker.connections == 2 and all(len(one.body) < LONG for one in taker.taken)


@pytest.mark.parametrize("change", ["removed", "replaced"])
def test_a_file_whose_name_goes_while_it_is_sent_is_sent_as_it_was_opened(wire, taker, big, change):
    content = big.read_bytes()
    request = start(wire, taker.url("/later"), {"file": str(big)})
    taker.wait_for("/later")
    is_read(wire, request)
    big.unlink()
    if change == "replaced":
        big.write_bytes(b"another" * 10)
    taker.go.set()
    assert end(wire, request)["ok"]
    assert taker.last().body == content


@pytest.mark.parametrize("change", ["removed", "replaced"])
def test_a_file_that_is_another_before_it_is_opened(wire, taker, big, change):
    """It is looked at when the request is made, and must be what it was when it is sent."""
    request = start(wire, taker.url("/keep"), {"file": str(big)}, startImmediately=False)
    big.unlink()
    if change == "replaced":
        big.write_bytes(b"another" * 10)
    result(wire.call("request.resume", {"request": request}))
    response = end(wire, request)
    assert response["error"]["code"] == 1410, response
    words = "No such file" if change == "removed" else "the size of the body file"
    assert words in response["error"]["message"] and response["error"]["pointer"] == "/body/file"


# Repeating


def test_a_file_is_sent_again_by_a_retry(wire, taker, big):
    """[P7]"""
    retry = {"limit": 1, "scale": 0.01, "methods": ["POST"]}
    request = start(wire, taker.url("/times/503/1"), {"file": str(big)}, retry=retry)
    response = end(wire, request)
    assert (response["status"], response["attempts"]) == (200, 2)
    assert [len(one.body) for one in taker.taken] == [LONG, LONG]


def test_without_a_response_the_failure_of_the_connection_is_told(wire, taker):
    """That the body cannot be sent again says less."""
    stream = result(wire.call("upload.open"))["stream"]
    result(wire.call("stream.write", {"stream": stream, "text": "once"}))
    result(wire.call("stream.finish", {"stream": stream}))
    retry = {"limit": 1, "scale": 0.01}
    response = end(wire, start(wire, taker.url("/cut/4"), {"stream": stream}, method="PUT", retry=retry))
    assert (response["error"]["code"], response["attempts"], taker.connections) == (1404, 1, 1), response


def test_what_a_client_fed_is_not_sent_again(wire, taker):
    """The response that there was is delivered, with why there was no other. [P3]"""
    stream = result(wire.call("upload.open"))["stream"]
    result(wire.call("stream.write", {"stream": stream, "text": "once"}))
    result(wire.call("stream.finish", {"stream": stream}))
    retry = {"limit": 1, "scale": 0.01, "methods": ["POST"]}
    response = end(wire, start(wire, taker.url("/times/503/1"), {"stream": stream}, retry=retry))
    assert response["status"] == 503 and response["attempts"] == 1 and len(taker.taken) == 1
    assert response["ok"] is False and response["error"]["code"] == 1410
    message = response["error"]["message"]
    assert "after status 503:" in message and "only once" in message and "a new stream" in message


def test_what_a_client_fed_does_not_follow_a_redirect(wire, taker):
    stream = result(wire.call("upload.open"))["stream"]
    result(wire.call("stream.write", {"stream": stream, "text": "once"}))
    result(wire.call("stream.finish", {"stream": stream}))
    response = end(wire, start(wire, taker.url("/on/307/keep"), {"stream": stream}))
    assert (response["status"], response["error"]["code"], len(taker.taken)) == (307, 1410, 1)
    assert "a new stream to the new URL" in response["error"]["message"]


# Holding up


@pytest.mark.parametrize("kind", ["file", "multipart"])
def test_a_suspended_upload_stops_writing_and_goes_on_where_it_was(wire, taker, big, kind):
    """What the kernel had taken arrives; not a byte more, however long it takes. [P9]"""
    ((body, more),) = kinds(big, kind)
    request = start(wire, taker.url("/later"), body, **more)
    taker.wait_for("/later")
    while not sent(wire, request):
        pass
    result(wire.call("request.suspend", {"request": request}))
    before = sent(wire, request)
    assert 0 < before < LONG
    for _ in range(50):
        assert sent(wire, request) - before <= 1 << 20
    held = sent(wire, request)
    result(wire.call("request.resume", {"request": request}))
    taker.go.set()
    assert end(wire, request)["ok"] and held < LONG
    got = taker.last().body
    content = big.read_bytes()
    assert got == content if kind == "file" else content in got


def test_nothing_is_written_in_a_suspension(wire, taker, big):
    """The server has read all that was on its way: then nothing comes until the upload goes on. [P9]"""
    request = start(wire, taker.url("/watch"), {"file": str(big)})
    taker.until(lambda one: one.received > 100_000)
    result(wire.call("request.suspend", {"request": request}))
    ends = time.monotonic() + 20
    while taker.received != sent(wire, request):
        assert time.monotonic() < ends
    held = taker.received
    assert [taker.received for _ in range(20) if result(wire.call("request.get", {"request": request}))] == [held] * 20
    state = result(wire.call("request.get", {"request": request}))["state"]
    result(wire.call("request.resume", {"request": request}))
    assert end(wire, request)["body"]["text"] == str(LONG) and taker.received == LONG
    assert held == LONG or state == "suspended"


def test_a_suspended_upload_can_be_cancelled(wire, taker, big):
    request = start(wire, taker.url("/watch"), {"file": str(big)})
    taker.until(lambda one: one.received > 100_000)
    result(wire.call("request.suspend", {"request": request}))
    result(wire.call("request.cancel", {"request": request}))
    assert end(wire, request)["error"]["code"] == 1900
    taker.until(lambda one: one.broken == 1 or one.received == LONG)


# Giving up


def opened(wire, *texts):
    stream = result(wire.call("upload.open"))["stream"]
    for text in texts:
        result(wire.call("stream.write", {"stream": stream, "text": text}))
    return {"stream": stream}


AGAIN = {"limit": 9, "scale": 600, "methods": ["POST"]}
POINTS = {
    # what is sent, where to, and when it is cancelled
    "before it is started": ("file", "/later", {"startImmediately": False}, None),
    "waiting for 100 Continue": ("file", "/later", {"expectContinue": True}, "head"),
    "while a file is sent": ("file", "/later", {}, "some"),
    "while a form is sent": ("multipart", "/later", {}, "some"),
    "while a file is compressed": ("compressed", "/later", {}, "some"),
    "while a client feeds it": ("stream", "/keep", {}, "head"),
    "while bytes are sent": ("bytes", "/later", {}, "head"),
    "waiting for the response": ("text", "/later", {}, "head"),
    "between two attempts": ("text", "/times/503/9", {"retry": AGAIN}, "taken"),
}


@pytest.mark.parametrize("point", POINTS)
def test_an_upload_can_be_cancelled_at_every_point(wire, taker, big, point):
    """It ends once, with 1900, its connection is closed, and the next one finds everything in order. [P9]"""
    kind, path, more, moment = POINTS[point]
    if kind in ("file", "multipart", "compressed"):
        ((body, extra),) = kinds(big, kind)
        more = {**more, **extra}
    elif kind == "stream":
        body = opened(wire, "some")
    elif kind == "bytes":
        body = {"base64": base64.b64encode(bytes(8_000_000)).decode()}
    else:
        body = HELLO
    request = start(wire, taker.url(path), body, **more)
    if moment:
        taker.wait_for(path)
    if moment == "some":
        while not sent(wire, request):
            pass
    if moment == "taken":
        taker.until(lambda one: one.taken)
    assert result(wire.call("request.cancel", {"request": request}))["state"] == "cancelled"
    response = end(wire, request)
    assert response["error"]["code"] == 1900 and not response["ok"]
    taker.go.set()
    if kind == "stream":
        late = wire.call("stream.write", {**body, "text": "late"})
        assert late["error"]["code"] == -32013
    for _ in range(3):
        assert result(wire.call("upload.send", {"url": taker.url("/keep"), "body": HELLO}))["ok"]
    stats = result(wire.call("server.stats"))
    assert stats["requests"]["running"] == 0


def test_a_stream_that_is_over_before_its_first_byte_says_why(wire, taker):
    """Nothing was sent before, so nothing is said of a second time."""
    body = opened(wire)
    request = start(wire, taker.url("/keep"), body, startImmediately=False)
    result(wire.call("stream.close", body))
    result(wire.call("request.resume", {"request": request}))
    error = end(wire, request)["error"]
    assert error["code"] == 1232 and "closed the stream" in error["message"], error
    body = opened(wire)
    assert "error" in end(wire, start(wire, "http://127.0.0.1:1/", body))
    error = end(wire, start(wire, taker.url("/keep"), body))["error"]
    assert error["code"] == 1232 and "is over: the request that took it has ended" in error["message"], error


def test_a_client_that_goes_away_ends_its_upload(listening, taker, big):
    with contract.Wire(listening) as wire:
        start(wire, taker.url("/watch"), {"file": str(big)})
        taker.until(lambda one: one.received > 100_000)
    taker.until(lambda one: one.broken == 1 or one.received == LONG)
    with contract.Wire(listening) as wire:
        ends = time.monotonic() + 20
        while result(wire.call("server.stats"))["requests"]["running"]:
            assert time.monotonic() < ends


def test_a_long_upload_takes_little_memory(wire, taker, big):
    """Long files are sent without being read, others in pieces of which few are there at a time."""
    before = memory(wire)
    for body, more in kinds(big, "file", "multipart", "compressed"):
        path = "/keep" if more else "/watch"
        assert end(wire, start(wire, taker.url(path), body, **more))["ok"]
    # a debug build, and room for what malloc keeps
    assert memory(wire) - before < 24 << 20


def test_streams_that_were_sent_take_no_place_for_ever(wire, origin):
    """More than a connection may have at once, one after the other, and none is closed."""
    for _ in range(260):
        stream = result(wire.call("upload.open"))["stream"]
        wire.start("stream.write", {"stream": stream, "text": "x"})
        wire.start("stream.finish", {"stream": stream})
        assert get(wire, origin + "/echo", method="POST", body={"stream": stream})["ok"]
