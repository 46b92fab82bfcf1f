# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Raw bytes on a second connection: a body that comes, or one that goes."""

import contextlib
import hashlib
import json
import os
import shutil
import socket
import subprocess
import time

import contract
import pytest
from chunk_server import Feeder, pattern
from raw_client import Raw, attaching
from request_client import memory
from stream_client import opened, response
from upload_server import Taker

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

HOLE = 30_000_000


@pytest.fixture
def feeder():
    with Feeder() as feeder:
        yield feeder


@pytest.fixture
def taker():
    with Taker() as taker:
        yield taker


@pytest.fixture
def owner(listening):
    """The connection whose streams they are."""
    with contract.Wire(listening) as wire:
        wire.path = listening
        yield wire


def bash(script, **names):
    """Runs a script of the page, as a reader would."""
    return subprocess.run(["bash", "-c", script], env={**os.environ, **names}, capture_output=True, timeout=60)


# To the client


@pytest.mark.skipif(shutil.which("socat") is None, reason="socat is not installed")
def test_a_shell_takes_a_body_with_socat(owner, feeder, tmp_path):
    """As the page shows it."""
    made = opened(owner, feeder.url(f"/length/{HOLE}"))
    script = """
        printf '%s\\n' "$CALL" | socat -t 60 - UNIX-CONNECT:"$SOCKET" \\
            | { IFS= read -r head; cat >"$OUT"; printf '%s' "$head"; }
    """
    ran = bash(script, CALL=attaching(made["stream"]), SOCKET=owner.path, OUT=str(tmp_path / "out"))
    assert json.loads(ran.stdout)["result"] == {"raw": True, "size": HOLE}
    assert (tmp_path / "out").read_bytes() == pattern(HOLE)
    assert response(owner, made["request"])["ok"]
    assert owner.call("stream.read", {"stream": made["stream"]})["error"]["code"] == -32012


def test_the_result_comes_with_the_head(owner, feeder):
    """So it can say how many bytes there will be, if the server said so. [R11]"""
    made = opened(owner, feeder.url("/late"))
    with Raw(owner.path, made["stream"]) as raw:
        feeder.give("/late", b"one")
        assert raw.reply() == {"raw": True}
        while len(raw.buffer) < 3:
            raw.buffer += raw.socket.recv(100)
        assert raw.buffer == b"one"
        feeder.give("/late", b"two")
        feeder.end("/late")
        assert raw.rest() == b"onetwo"


def test_what_was_read_ahead_comes_first(owner, feeder):
    made = opened(owner, feeder.url("/length/10000000"))
    feeder.stalled("/length/10000000")
    with Raw(owner.path, made["stream"]) as raw:
        assert raw.reply()["size"] == 10_000_000
        assert raw.rest() == pattern(10_000_000)
    # a stream that has been read in part says how much is left
    made = opened(owner, feeder.url("/length/1000"))
    first = owner.call("stream.read", {"stream": made["stream"], "bytes": 100})["result"]
    assert first["offset"] == 0
    with Raw(owner.path, made["stream"]) as raw:
        assert raw.reply()["size"] == 900
        assert raw.rest() == pattern(1000)[100:]


def test_a_reader_that_stops_stops_the_server(owner, feeder):
    """Memory stays flat; what goes on goes on."""
    before = memory(owner)
    made = opened(owner, feeder.url("/length/60000000"))
    with Raw(owner.path, made["stream"]) as raw:
        raw.reply()
        assert feeder.stalled("/length/60000000") < 30_000_000
        assert memory(owner) - before < 8_000_000
        digest = hashlib.sha256(raw.rest()).hexdigest()
    assert digest == hashlib.sha256(pattern(60_000_000)).hexdigest()


def test_a_body_that_is_cut_short_can_be_told_from_one_that_is_not(owner, feeder):
    made = opened(owner, feeder.url("/short/300000"))
    with Raw(owner.path, made["stream"]) as raw:
        assert raw.reply()["size"] == 1_000_000
        assert raw.rest() == pattern(300_000)
    broken = response(owner, made["request"])
    assert (broken["ok"], broken["error"]["code"], broken["body"]["size"]) == (False, 1404, 300_000)


def test_why_there_are_no_bytes_stands_in_the_reply(owner, feeder):
    made = opened(owner, "http://127.0.0.1:1/")
    with Raw(owner.path, made["stream"]) as raw:
        reply = raw.reply()
        assert (reply["raw"], reply["size"], reply["error"]["code"]) == (True, 0, 1402)
        assert raw.rest() == b""
    made = opened(owner, feeder.url("/refused"), validate=True)
    feeder.give("/refused", b"who are you?")
    feeder.end("/refused")
    with Raw(owner.path, made["stream"]) as raw:
        assert raw.reply()["error"]["code"] == 1600
        assert raw.rest() == b""
    assert response(owner, made["request"])["body"]["text"] == "who are you?"


def test_a_reader_that_leaves_cancels_the_request(owner, feeder):
    made = opened(owner, feeder.url("/endless"))
    with Raw(owner.path, made["stream"]) as raw:
        raw.reply()
    feeder.wait_gone("/endless")
    assert response(owner, made["request"])["error"]["code"] == 1900


def test_the_owner_that_leaves_takes_the_stream_along(listening, feeder):
    with contract.Wire(listening) as wire:
        made = opened(wire, feeder.url("/hand/a"))
        feeder.give("/hand/a", b"abc")
        raw = Raw(listening, made["stream"])
        raw.reply()
    with raw, contextlib.suppress(ConnectionResetError):
        raw.rest()
    feeder.wait_gone("/hand/a")


def test_header_framing_gets_a_reply_in_kind_and_then_it_is_raw(owner, feeder):
    made = opened(owner, feeder.url("/length/1000"))
    with Raw(owner.path, made["stream"], head=b"Content-Length: %d\r\n\r\n") as raw:
        whole = raw.rest()
    head, rest = whole.split(b"\r\n\r\n", 1)
    size = int(head.removeprefix(b"Content-Length: "))
    assert json.loads(rest[:size])["result"] == {"raw": True, "size": 1000}
    assert rest[size:] == pattern(1000)


# From the client


@pytest.mark.skipif(shutil.which("socat") is None, reason="socat is not installed")
def test_a_shell_gives_a_body_with_socat(owner, taker, tmp_path):
    """What follows the call in the same breath is the body already."""
    stream = owner.call("upload.open")["result"]["stream"]
    number = owner.start("upload.send", {"url": taker.url("/keep"), "body": {"stream": stream}})
    (tmp_path / "in").write_bytes(pattern(HOLE))
    script = """
        { printf '%s\\n' "$CALL"; cat "$IN"; } | socat -t 60 - UNIX-CONNECT:"$SOCKET"
    """
    call = attaching(stream, direction="write")
    ran = bash(script, CALL=call, SOCKET=owner.path, IN=str(tmp_path / "in"))
    assert (ran.returncode, json.loads(ran.stdout)["result"]) == (0, {"raw": True})
    assert owner.reply(number, 30)["result"]["ok"]
    assert taker.last().body == pattern(HOLE)


@pytest.mark.parametrize("framing", [b"", b"Content-Length: %d\r\n\r\n"])
def test_bytes_right_behind_the_call_belong_to_the_body(owner, taker, framing):
    """Even such that look like messages."""
    body = b'{"jsonrpc":"2.0","id":2,"method":"server.stop"}\n' + bytes(range(256))
    stream = owner.call("upload.open")["result"]["stream"]
    number = owner.start("upload.send", {"url": taker.url("/keep"), "body": {"stream": stream}})
    with Raw(owner.path, stream, "write", behind=body, head=framing) as raw:
        raw.send(b"more")
        raw.socket.shutdown(socket.SHUT_WR)
        assert b'"raw":true' in raw.rest()
        assert owner.reply(number)["result"]["ok"]
    assert taker.last().body == body + b"more"


def test_a_client_is_held_up_while_the_server_does_not_read(owner, taker):
    before = memory(owner)
    stream = owner.call("upload.open")["result"]["stream"]
    number = owner.start("upload.send", {"url": taker.url("/later"), "body": {"stream": stream}})
    with Raw(owner.path, stream, "write") as raw:
        raw.reply()
        taker.wait_for("/later")
        raw.socket.settimeout(0.5)
        sent = 0
        with contextlib.suppress(TimeoutError):
            while True:
                sent += raw.socket.send(pattern(65536))
        assert sent < 30_000_000
        assert memory(owner) - before < 8_000_000
        taker.go.set()
        raw.socket.settimeout(30)
        raw.socket.shutdown(socket.SHUT_WR)
        assert owner.reply(number, 30)["result"]["ok"]
    assert len(taker.last().body) == sent


@pytest.mark.parametrize("size", [5, 4, 0])
def test_a_body_of_another_size_than_was_said_is_broken(owner, taker, size):
    stream = owner.call("upload.open")["result"]["stream"]
    number = owner.start("upload.send", {"url": taker.url("/keep"), "body": {"stream": stream}})
    with Raw(owner.path, stream, "write", size=size + 1 if size == 4 else size - 1 if size else 3) as raw:
        raw.reply()
        with contextlib.suppress(OSError):
            raw.send(b"12345"[:size])
            raw.socket.shutdown(socket.SHUT_WR)
        failed = owner.reply(number)["result"]
    assert (failed["ok"], failed["error"]["code"]) == (False, 1232)
    expected = {5: "4 bytes, its size, and gave more", 4: "5 bytes, its size, and gave only 4"}
    assert expected.get(size, "3 bytes, its size, and gave only 0") in failed["error"]["message"]


def test_a_client_that_breaks_off_has_not_finished_its_body(owner, taker):
    """It is closed, not half-closed; whenever that comes."""
    for _ in range(10):
        stream = owner.call("upload.open")["result"]["stream"]
        number = owner.start("upload.send", {"url": taker.url("/keep"), "body": {"stream": stream}})
        with Raw(owner.path, stream, "write") as raw:
            raw.reply()
            raw.send(b"half of it")
        assert owner.reply(number)["result"]["error"]["code"] == 1232


def test_a_body_of_the_size_that_was_said_is_whole(owner, taker):
    stream = owner.call("upload.open")["result"]["stream"]
    number = owner.start("upload.send", {"url": taker.url("/keep"), "body": {"stream": stream}})
    with Raw(owner.path, stream, "write", behind=b"12345", size=5) as raw:
        raw.socket.shutdown(socket.SHUT_WR)
        assert raw.reply() == {"raw": True}
        assert raw.rest() == b""
    assert owner.reply(number)["result"]["ok"]


def test_a_request_that_ends_early_ends_the_connection_that_feeds_it(owner, taker):
    stream = owner.call("upload.open")["result"]["stream"]
    number = owner.start("upload.send", {"url": taker.url("/refuse/413"), "body": {"stream": stream}})
    with Raw(owner.path, stream, "write") as raw:
        raw.reply()
        with pytest.raises(OSError):
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline:
                raw.send(pattern(65536))
        assert owner.reply(number)["result"]["status"] == 413


# What cannot be


def test_stdio_cannot_become_raw(wire, feeder):
    made = opened(wire, feeder.url("/length/10"))
    error = wire.call("stream.attach", {"stream": made["stream"]})["error"]
    assert error["code"] == -32014 and "socket" in error["message"]
    assert wire.call("stream.read", {"stream": made["stream"]})["result"]["base64"]


def test_a_stream_is_attached_once_and_only_as_bytes_to_be_read(owner, feeder):
    pushed = opened(owner, feeder.url("/hand/a"), mode="push")["stream"]
    lines = opened(owner, feeder.url("/hand/a"), **{"as": "lines"})["stream"]
    upload = owner.call("upload.open")["result"]["stream"]
    pulled = opened(owner, feeder.url("/hand/b"))["stream"]
    cases = [
        (pushed, "read", "push"),
        (lines, "read", "items"),
        (upload, "read", "write"),
        (pulled, "write", "read"),
        ("str_none", "read", None),
    ]
    for stream, direction, state in cases:
        with Raw(owner.path, stream, direction) as raw:
            error = raw.reply()
            assert error["code"] == (-32013 if state else -32012), error
            assert error["data"].get("state") == state
            assert raw.rest() == b""
    reading = owner.start("stream.read", {"stream": pulled})
    with Raw(owner.path, pulled) as raw:
        assert raw.reply()["data"]["state"] == "reading"
    feeder.give("/hand/b", b"x")
    owner.reply(reading)
    with Raw(owner.path, pulled) as first, Raw(owner.path, pulled) as second:
        replies = sorted([first.reply(), second.reply()], key=lambda one: "raw" in one)
        assert (replies[0]["code"], replies[1]) == (-32013, {"raw": True})
        assert owner.call("stream.read", {"stream": pulled})["error"]["code"] == -32013


def test_a_client_that_leaves_before_the_head_leaves_the_stream_to_others(owner, feeder):
    made = opened(owner, feeder.url("/late"))
    with Raw(owner.path, made["stream"]):
        feeder.wait_for("/late")
    deadline = time.monotonic() + 10
    while "error" in (reply := owner.call("stream.read", {"stream": made["stream"], "wait": 0})):
        assert time.monotonic() < deadline
    feeder.give("/late", b"still here")
    feeder.end("/late")
    got = owner.call("stream.read", {"stream": made["stream"], "wait": 10})["result"]
    assert got["base64"] and "error" not in reply


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_cannot_attach(tmp_path, feeder):
    """Even one that may connect, and knows the name."""
    path = tmp_path / "s"
    for directory in [tmp_path, *tmp_path.parents][:-1]:
        directory.chmod(directory.stat().st_mode | 0o011)
    process = subprocess.Popen([contract.binary(), "serve", "--socket", str(path), "--allow-uid", "65534"])
    try:
        contract.await_socket(path, process)
        path.chmod(0o666)
        with contract.Wire(str(path)) as owner:
            stream = opened(owner, feeder.url("/length/10"))["stream"]
            program = (
                "import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]);"
                "s.sendall(sys.argv[2].encode()+b'\\n'); print(s.recv(1000).decode())"
            )
            ran = subprocess.run(
                ["python3", "-c", program, str(path), attaching(stream)], user=65534, capture_output=True, timeout=30
            )
            assert b'"code":-32012' in ran.stdout, ran
    finally:
        process.terminate()
        process.wait(10)
