# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Where the bodies of responses go, and what becomes of them."""

import base64
import gzip
import hashlib
import json
import os
import pathlib
import shutil
import signal
import stat
import time

import contract
import pytest
from capture_server import Capture
from request_client import expected, get, memory, read_all, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.mark.parametrize("size", [0, 1, 1000, 65536, 70000, 1 << 20])
def test_inline_bodies_arrive_whole(wire, server, size):
    response = get(wire, server.url(f"/bytes/{size}"), serialize={"as": "base64"})
    assert response["ok"] and response["body"]["size"] == size
    assert base64.b64decode(response["body"].get("base64", "")) == expected(size)


def test_what_is_too_long_is_stored(wire, server):
    body = get(wire, server.url(f"/bytes/{(1 << 20) + 1}"))["body"]
    assert body["kind"] == "stored" and body["size"] == (1 << 20) + 1
    assert read_all(wire, body["response"], bytes=1 << 20) == expected((1 << 20) + 1)


def test_a_body_that_cannot_be_kept_is_not_said_to_be_elsewhere(server, tmp_path, monkeypatch):
    """All of $TMPDIR was removed."""
    place = tmp_path / "private"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    with contract.Wire() as wire:
        get(wire, server.url("/bytes/100"), bodyTo="file")
        shutil.rmtree(place)
        response = get(wire, server.url("/bytes/100"), bodyTo="file")
    assert response["error"]["code"] == 1803, response
    assert response["body"]["note"] == "the bytes that came could not be kept", response


@pytest.mark.parametrize("above", [0, 1])
def test_a_directory_that_was_tidied_up_is_made_again(server, tmp_path, monkeypatch, above):
    """Programs that tidy up temporary files remove directories in which nothing happens for days."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with contract.Wire() as wire:
        path = get(wire, server.url("/bytes/100"), bodyTo="file")["body"]["path"]
        shutil.rmtree(pathlib.Path(path).parents[above])
        body = get(wire, server.url("/bytes/100"), bodyTo="file")["body"]
        assert pathlib.Path(body["path"]).read_bytes() == expected(100)


def test_what_is_far_too_long_does_not_fill_the_memory(wire, server, tmp_path):
    size = 200_000_001
    body = get(wire, server.url(f"/bytes/{size}"), 60)["body"]
    assert body["kind"] == "stored" and body["size"] == size
    piece = result(wire.call("response.read", {"response": body["response"], "offset": size - 1}))
    assert (base64.b64decode(piece["base64"]), piece["end"]) == (expected(size)[-1:], True)
    result(wire.call("response.save", {"response": body["response"], "path": str(tmp_path / "saved")}, 60))
    with open(tmp_path / "saved", "rb") as file:
        assert hashlib.file_digest(file, "sha256").digest() == hashlib.sha256(expected(size)).digest()
    assert memory(wire) < 100 << 20


# a frame of zstd, whose last four bytes are its checksum
ZSTD = bytes.fromhex("28b52ffd0458290000") + b"hello" + bytes.fromhex("a36d9f88")

BROKEN = {
    "damaged at its end": ("gzip", gzip.compress(b"hello")[:-8] + bytes(8), b"hello"),
    "zstd that is damaged at its end": ("zstd", ZSTD[:-4] + bytes(4), b"hello"),
    "a second frame that is damaged at its end": ("zstd", ZSTD + ZSTD[:-4] + bytes(4), b"hellohello"),
    "no gzip": ("gzip", b"plain text", b"plain text"),
    "no gzip within": ("gzip, gzip", b"plain text", b"plain text"),
    "no zstd": ("zstd", b"plain text", b"plain text"),
    "no zstd, and shorter than its mark": ("zstd", b"ok", b"ok"),
}


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("place", ["inline", "stored"])
def test_a_body_that_cannot_be_decoded_is_not_lost(wire, case, place):
    """The failure names the way to the bytes on the wire, and the result has what came."""
    coding, sent, kept = BROKEN[case]
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(sent)}\r\n\r\n"
    with Capture(response=head.encode() + sent) as capture:
        response = get(wire, capture.url(), bodyTo=place)
        assert response["error"]["code"] == 1408 and "decode: false" in response["error"]["message"], response
        body = response["body"]
        assert body["size"] == len(kept) and body["complete"] is False, body
        found = read_all(wire, body["response"]) if place == "stored" else body["text"].encode()
        assert found == kept
        plain = get(wire, capture.url(), decode=False, serialize={"as": "base64"})
        assert plain["ok"] and base64.b64decode(plain["body"]["base64"]) == sent


def test_a_body_in_a_file_is_private_and_goes_with_its_owner(listening, server, tmp_path):
    """[B4] [G2] [W7]"""
    with contract.Wire(listening) as wire:
        kept = [get(wire, server.url("/bytes/100000"), bodyTo="file")["body"] for _ in range(2)]
        path = pathlib.Path(kept[0]["path"])
        assert kept[0]["kind"] == "file" and path.read_bytes() == expected(100000)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert read_all(wire, kept[0]["response"]) == expected(100000)
        result(wire.call("response.release", {"response": kept[0]["response"]}))
        assert not path.exists()
        other = pathlib.Path(kept[1]["path"])
        assert other.exists()
    end = time.monotonic() + 5
    while other.exists():
        assert time.monotonic() < end, "the file outlived its owner"
        time.sleep(0.02)


def test_a_truncated_body_is_kept_as_far_as_it_came(wire, server):
    response = get(wire, server.url("/close/body"), bodyTo="stored")
    assert response["error"]["code"] == 1404 and response["body"]["complete"] is False
    assert read_all(wire, response["body"]["response"]) == b"0123456789"


def test_a_discarded_body_is_counted(wire, server):
    """[G10]"""
    body = get(wire, server.url("/bytes/50000000"), bodyTo="discard")["body"]
    assert (body["kind"], body["size"]) == ("none", 50000000)
    assert memory(wire) < 100 << 20


def test_saving_is_whole_or_not_at_all(wire, server, tmp_path):
    kept = get(wire, server.url("/bytes/3000000"), bodyTo="stored")["body"]["response"]
    path = tmp_path / "saved"
    saved = result(wire.call("response.save", {"response": kept, "path": str(path)}))
    assert saved == {"path": str(path), "size": 3000000} and path.read_bytes() == expected(3000000)
    for params, code in [({"path": str(path)}, 1801), ({"path": "saved"}, 1803), ({"path": "/nowhere/x"}, 1803)]:
        error = wire.call("response.save", {"response": kept, **params})["error"]
        assert (error["code"], error["data"]["pointer"]) == (-32602, "/path"), error
        assert error["data"]["failure"]["code"] == code
    path.write_bytes(b"old")
    result(wire.call("response.save", {"response": kept, "path": str(path), "replace": True}))
    assert path.stat().st_size == 3000000
    assert sorted(one.name for one in tmp_path.iterdir() if "saved" in one.name) == ["saved"]


def test_a_file_that_became_shorter_is_an_error_and_no_endless_read(wire, server, tmp_path):
    """The file is the client's, and others may write to it. Reading gave nothing again and again, without an end."""
    path, copy = tmp_path / "file", tmp_path / "copy"
    params = {"url": server.url("/bytes/300000"), "destination": {"path": str(path)}}
    kept = result(wire.call("download.send", params))["body"]["response"]
    os.truncate(path, 100)
    assert result(wire.call("response.read", {"response": kept, "bytes": 100}))["end"] is False
    error = wire.call("response.read", {"response": kept, "offset": 100})["error"]
    assert error["data"]["pointer"] == "/response" and "has become shorter" in error["message"]
    error = wire.call("response.save", {"response": kept, "path": str(copy)}, 5)["error"]
    assert (error["data"]["pointer"], error["data"]["failure"]["code"]) == ("/response", 1702), error
    assert not copy.exists() and sorted(os.listdir(tmp_path)) == ["file"]
    made = result(wire.call("response.serialize", {"response": kept, "serialize": {"as": "base64"}}))
    assert made["error"]["code"] == 1702
    # what a longer file has beyond the body is no part of the body
    path.write_bytes(b"x" * 400_000)
    result(wire.call("response.save", {"response": kept, "path": str(copy)}))
    assert copy.read_bytes() == b"x" * 300_000


def test_a_body_for_which_the_disk_had_no_room_is_as_long_as_its_file(server):
    with contract.Wire(under=("prlimit", "--fsize=1000000")) as wire:
        response = get(wire, server.url("/bytes/3000000"), bodyTo="file")
        assert response["error"]["code"] == 1803 and response["body"]["complete"] is False
        size = response["body"]["size"]
        assert size <= 1_000_000 and read_all(wire, response["body"]["response"]) == expected(size)


def test_a_client_with_short_messages_gets_none_longer(wire, server):
    wire.call("server.hello", {"maxMessageBytes": 65536})
    wire.start("data.send", {"url": server.url("/bytes/200000"), "maxInline": 8 << 20})
    line = wire.receive_line()
    assert len(line) <= 65536
    response = get(wire, server.url("/bytes/200000"), maxInline=8 << 20)
    assert response["body"]["kind"] == "stored" and response["body"]["note"]
    assert read_all(wire, response["body"]["response"], bytes=8 << 20) == expected(200000)
    assert get(wire, server.url("/bytes/30000"))["body"]["kind"] == "base64"


def test_the_shortest_message_that_a_client_may_ask_for_has_room_for_a_response(wire, server):
    wire.call("server.hello", {"maxMessageBytes": 4096})
    wire.start("data.send", {"url": server.url("/bytes/1000")})
    line = wire.receive_line()
    response = json.loads(line)["result"]
    assert len(line) <= 4096 and response["ok"] and response["headers"], response
    assert response["body"]["kind"] == "base64"
    response = get(wire, server.url("/bytes/5000"))
    assert response["ok"] and response["headers"] and response["body"]["kind"] == "stored", response
    wire.start("response.read", {"response": response["body"]["response"]})
    line = wire.receive_line()
    assert 2048 < len(line) <= 4096
    assert read_all(wire, response["body"]["response"]) == expected(5000)


def test_the_next_start_sweeps_what_a_kill_left(server, monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    wire = contract.Wire()
    path = pathlib.Path(get(wire, server.url("/bytes/1000"), bodyTo="file")["body"]["path"])
    wire.process.send_signal(signal.SIGKILL)
    wire.process.wait()
    assert path.exists()
    with contract.Wire() as other:
        other.call("server.info")
        end = time.monotonic() + 5
        while path.exists():
            assert time.monotonic() < end, "nothing was swept"
            time.sleep(0.02)


def test_a_service_that_stops_leaves_nothing_behind(listening, server):
    with contract.Wire(listening) as wire:
        path = pathlib.Path(get(wire, server.url("/bytes/10"), bodyTo="file")["body"]["path"])
        wire.call("server.stop", {"grace": 0})
    end = time.monotonic() + 5
    while path.exists() or os.path.exists(listening):
        assert time.monotonic() < end, "something was left behind"
        time.sleep(0.02)


def test_a_result_that_is_no_body_and_longer_than_the_client_reads_is_an_error(wire):
    wire.call("server.hello", {"maxMessageBytes": 4096})
    error = wire.call("diagnostics.blob", {"bytes": 10_000})["error"]
    assert error["code"] == 1411 and error["data"] == {"limit": 4096}
