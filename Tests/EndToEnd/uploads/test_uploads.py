# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Bodies on their way: files that change, compression, early responses, and what the client feeds."""

import base64
import gzip
import json
import os
import shutil
import subprocess
import zlib

import contract
import pytest
from request_client import memory, result, upload
from upload_server import Taker

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

HELLO = {"text": "hello"}


@pytest.fixture
def taker():
    with Taker() as taker:
        yield taker


def big(tmp_path, size=30_000_000):
    path = tmp_path / "big"
    with open(path, "wb") as file:
        file.truncate(size)
    return path


# Methods and fields


def test_an_upload_is_a_post_unless_it_says_otherwise(wire, taker, tmp_path):
    """[P1] [P2] [P4] [3.M.1] [3.M.4] [3.M.5] [3.M.9]"""
    path = tmp_path / "rainbow.jpg"
    path.write_bytes(os.urandom(100_000))
    headers = {"Authorization": "123456"}
    for body in [{"file": str(path)}, HELLO, {"multipart": [{"name": "a", "text": "1"}]}]:
        assert upload(wire, taker.url("/keep"), body, headers=headers)["status"] == 200
        assert (taker.last().method, taker.last().field("authorization")) == ("POST", "123456")
    assert taker.taken[0].body == path.read_bytes()
    assert upload(wire, taker.url("/keep"), {"file": str(path)}, method="PUT")["ok"]
    assert taker.last().method == "PUT"
    assert wire.call("upload.send", {"url": taker.url("/keep")})["error"]["data"]["pointer"] == "/body"
    assert wire.call("upload.start", {"url": taker.url("/keep"), "body": None})["error"]["code"] == -32602


# Files that are not what they were


@pytest.mark.parametrize("change", ["shrink", "grow", "empty"])
@pytest.mark.parametrize("kind", ["file", "multipart"])
def test_a_file_that_changes_while_it_is_sent_is_a_failure(wire, taker, tmp_path, kind, change):
    """And its connection is not used again."""
    path = big(tmp_path)
    body = {"file": str(path)} if kind == "file" else {"multipart": [{"name": "a", "file": str(path)}]}
    number = wire.start("upload.send", {"url": taker.url("/later"), "body": body})
    taker.wait_for("/later")
    os.truncate(path, {"shrink": 20_000_000, "grow": 40_000_000, "empty": 0}[change])
    taker.go.set()
    error = result(wire.reply(number))["error"]
    assert error["code"] == (1410 if kind == "file" else 1232), error
    assert "changed" in error["message"] and not error["retryable"]
    assert upload(wire, taker.url("/keep"), HELLO)["ok"]
    assert taker.connections == 2


def test_a_file_that_vanishes_while_it_is_sent_is_sent_all_the_same(wire, taker, tmp_path):
    path = big(tmp_path, 5_000_000)
    number = wire.start("upload.send", {"url": taker.url("/later"), "body": {"file": str(path)}})
    taker.wait_for("/later")
    path.unlink()
    taker.go.set()
    response = result(wire.reply(number))
    # it may not have been opened yet
    assert response["ok"] or response["error"]["code"] == 1410
    assert not response["ok"] or len(taker.last().body) == 5_000_000


@pytest.mark.parametrize("name", ["fifo", "folder", "missing"])
def test_a_body_that_is_no_file_is_refused(wire, taker, tmp_path, name):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    response = upload(wire, taker.url("/keep"), {"file": str(tmp_path / name)})
    assert response["error"]["code"] == 1103 and response["error"]["pointer"] == "/body/file"
    assert taker.connections == 0


@pytest.mark.parametrize("kind", ["file", "part"])
def test_a_file_that_hides_its_size_is_refused_and_not_sent_as_empty(wire, taker, kind):
    """Files of /proc have the size 0."""
    file = {"file": "/proc/self/status"}
    body = file if kind == "file" else {"multipart": [{"name": "status", **file}]}
    error = upload(wire, taker.url("/keep"), body)["error"]
    code, pointer = (1103, "/body/file") if kind == "file" else (1225, "/body/multipart/0/file")
    assert (error["code"], error["pointer"]) == (code, pointer) and "/proc" in error["message"]
    assert taker.connections == 0


# Early responses


@pytest.mark.parametrize("status", [401, 413, 500])
@pytest.mark.parametrize("kind", ["file", "multipart", "base64"])
def test_an_early_response_is_delivered(wire, taker, tmp_path, status, kind):
    """Though the server closes at once, and what is still on its way meets a reset."""
    path = big(tmp_path)
    body = {
        "file": {"file": str(path)},
        "multipart": {"multipart": [{"name": "a", "file": str(path)}]},
        "base64": {"base64": base64.b64encode(bytes(3_000_000)).decode()},
    }[kind]
    response = upload(wire, taker.url(f"/refuse/{status}"), body)
    assert (response["ok"], response["status"], response["body"]["text"]) == (True, status, "enough")
    assert upload(wire, taker.url("/keep"), HELLO)["ok"] and taker.connections == 2


def test_a_connection_that_breaks_in_an_upload_is_a_failure(wire, taker, tmp_path):
    response = upload(wire, taker.url("/cut/100000"), {"file": str(big(tmp_path))})
    assert response["error"]["code"] == 1404, response


# Compression


def undone_by(program):
    """The program of the library's authors reads what was sent."""
    return lambda body: subprocess.run([program, "-dc"], input=body, capture_output=True, check=True).stdout


UNDONE = {"gzip": gzip.decompress, "deflate": zlib.decompress, "br": undone_by("brotli"), "zstd": undone_by("zstd")}


@pytest.mark.parametrize("coding", UNDONE)
@pytest.mark.parametrize("kind", ["text", "long", "file", "multipart"])
def test_a_body_is_compressed(wire, taker, tmp_path, coding, kind):
    """In memory with its length known, from a file in chunks. [Y1] [Y5] [3.T.3]"""
    content = b"".join(b"%d wolves\n" % number for number in range(200_000))
    path = tmp_path / "wolves"
    path.write_bytes(content)
    body = {
        "text": {"text": "a" * 1000},
        "long": {"text": content.decode()},
        "file": {"file": str(path)},
        "multipart": {"multipart": {"parts": [{"name": "a", "file": str(path)}], "boundary": "b"}},
    }[kind]
    assert upload(wire, taker.url("/keep"), body, compress=coding)["ok"]
    request = taker.last()
    assert request.field("content-encoding") == coding
    assert request.framing == ("length" if kind in ("text", "long") else "chunked")
    plain = UNDONE[coding](request.body)
    expected = {"text": b"a" * 1000, "long": content, "file": content}.get(kind)
    assert len(request.body) < len(plain) / 2
    assert plain == expected if expected else content in plain and plain.endswith(b"\r\n--b--\r\n")


def test_deflate_is_zlibs_container(wire, taker):
    """One zero byte, as Alamofire sends it. [Y1] [3.T.1] [3.T.2]"""
    assert upload(wire, taker.url("/keep"), {"base64": "AA=="}, compress="deflate")["ok"]
    assert taker.last().body == bytes.fromhex("785e63000000010001")


def test_a_second_content_encoding_is_refused_replaced_or_left(wire, taker):
    """[Y2] [3.T.4] [3.T.5]"""
    headers = {"Content-Encoding": "br"}
    for compress in ["gzip", {"coding": "gzip", "duplicate": "error"}]:
        response = upload(wire, taker.url("/keep"), HELLO, headers=headers, compress=compress)
        assert (response["error"]["code"], response["error"]["pointer"]) == (1300, "/compress"), response
    assert taker.connections == 0
    compress = {"coding": "gzip", "duplicate": "replace"}
    assert upload(wire, taker.url("/keep"), HELLO, headers=headers, compress=compress)["ok"]
    assert taker.last().field("content-encoding") == "gzip" and gzip.decompress(taker.last().body) == b"hello"
    compress = {"coding": "gzip", "duplicate": "skip"}
    assert upload(wire, taker.url("/keep"), HELLO, headers=headers, compress=compress)["ok"]
    assert taker.last().field("content-encoding") == "br" and taker.last().body == b"hello"


def test_a_short_body_or_none_stays_as_it_is(wire, taker):
    """[Y3] [Y4]"""
    compress = {"coding": "gzip", "minimum": 6}
    assert upload(wire, taker.url("/keep"), HELLO, compress=compress)["ok"]
    assert taker.last().body == b"hello" and taker.last().field("content-encoding") is None
    assert result(wire.call("data.send", {"url": taker.url("/keep"), "compress": "gzip"}))["ok"]
    assert taker.last().field("content-encoding") is None


# Streams that the client feeds


def opened(wire):
    return result(wire.call("upload.open"))["stream"]


def write(wire, stream, data, **params):
    return wire.call("stream.write", {"stream": stream, "base64": base64.b64encode(data).decode(), **params})


@pytest.mark.parametrize("length", [None, 60_000])
def test_a_body_is_fed_while_it_is_sent(wire, taker, length):
    """Six pieces; without a length in chunks. [P3] [Q7] [3.M.3] [3.M.7]"""
    stream = opened(wire)
    body = {"stream": stream, **({"length": length} if length else {})}
    events = ["progress"]
    number = wire.start("upload.send", {"url": taker.url("/keep"), "body": body, "events": events})
    taker.wait_for("/keep")
    pieces = [base64.b64encode(bytes([piece]) * 10_000).decode() for piece in range(6)]
    numbers = [wire.start("stream.write", {"stream": stream, "base64": piece}) for piece in pieces]
    finished = wire.start("stream.finish", {"stream": stream})
    replies = wire.replies([number, finished, *numbers])
    assert all(result(replies[one])["accepted"] == 10_000 for one in numbers)
    assert result(replies[finished]) == {"size": 60_000} and result(replies[number])["status"] == 200
    assert taker.last().body == b"".join(bytes([piece]) * 10_000 for piece in range(6))
    assert taker.last().framing == ("length" if length else "chunked")
    assert taker.last().field("content-type") == "application/octet-stream"


def test_a_part_is_fed_while_the_form_is_sent(wire, taker):
    """With length, file name and type, and laid out like a file. [Q7] [Q12] [3.N.8]"""
    stream = opened(wire)
    result(write(wire, stream, b"12345"))
    part = {"name": "a", "stream": stream, "length": 5, "filename": "a.bin", "mimeType": "a/b"}
    form = {"parts": [part, {"name": "b", "text": "end"}], "boundary": "b"}
    assert upload(wire, taker.url("/keep"), {"multipart": form})["ok"]
    assert taker.last().framing == "length"
    assert taker.last().body == (
        b'--b\r\nContent-Disposition: form-data; name="a"; filename="a.bin"\r\nContent-Type: a/b\r\n\r\n12345'
        b'\r\n--b\r\nContent-Disposition: form-data; name="b"\r\n\r\nend\r\n--b--\r\n'
    )


def test_a_stream_can_be_sent_once_only(wire, taker):
    """[Q12] [3.N.18]"""
    stream = opened(wire)
    result(write(wire, stream, b"12345"))
    result(wire.call("stream.finish", {"stream": stream}))
    parts = [{"name": "a", "stream": stream, "length": 5}]
    assert result(wire.call("multipart.encode", {"parts": parts}))["contentLength"] == 5
    error = wire.call("multipart.encode", {"parts": parts})["error"]
    assert error["data"]["failure"]["code"] == 1232, error
    response = upload(wire, taker.url("/keep"), {"stream": stream})
    assert response["error"]["code"] == 1232 and response["error"]["pointer"] == "/body/stream"


@pytest.mark.parametrize("wrong", [{"url": "foo://x"}, {"method": "GET"}, {"headers": {"Transfer-Encoding": "x"}}, {}])
def test_a_request_that_cannot_be_made_ends_its_stream(wire, taker, wrong):
    """A client that feeds it learns that, and does not wait for room."""
    stream = opened(wire)
    parts = [{"name": "a", "stream": stream}, {"name": "b", "file": "/does/not/exist"}]
    body = {"stream": stream} if wrong else {"multipart": parts}
    response = result(wire.call("upload.send", {"url": taker.url("/keep"), "body": body, **wrong}))
    assert not response["ok"] and response["attempts"] == 0 and taker.taken == []
    error = write(wire, stream, b"1")["error"]
    assert (error["code"], error["data"]["state"]) == (-32013, "closed")


def test_a_second_request_for_a_stream_leaves_the_first_its_body(wire, taker):
    """Only the second fails, also if the stream is a part of its form. [Q12]"""
    stream = opened(wire)
    number = wire.start("upload.send", {"url": taker.url("/keep"), "body": {"stream": stream}})
    result(write(wire, stream, b"123"))
    taker.wait_for("/keep")
    for body in ({"stream": stream}, {"multipart": [{"name": "a", "stream": stream}]}):
        response = upload(wire, taker.url("/keep"), body)
        assert (response["ok"], response["error"]["code"]) == (False, 1232)
    assert wire.call("multipart.encode", {"parts": [{"name": "a", "stream": stream}]})["error"]
    result(write(wire, stream, b"45"))
    assert result(wire.call("stream.finish", {"stream": stream})) == {"size": 5}
    assert result(wire.reply(number))["status"] == 200
    assert b"12345" in [request.body for request in taker.taken]


@pytest.mark.parametrize(("given", "length"), [(4, 5), (6, 5), (0, 5)])
def test_a_stream_must_be_as_long_as_was_said(wire, taker, given, length):
    """[Q12]"""
    for body in ["stream", "multipart"]:
        stream = opened(wire)
        if given:
            result(write(wire, stream, b"x" * given))
        result(wire.call("stream.finish", {"stream": stream}))
        part = {"stream": stream, "length": length}
        spec = part if body == "stream" else {"multipart": [{"name": "a", **part}, {"name": "b", "text": "c"}]}
        error = upload(wire, taker.url("/keep"), spec)["error"]
        assert error["code"] == 1232 and str(length) in error["message"], error
    assert upload(wire, taker.url("/keep"), HELLO)["ok"]


def test_a_client_that_waits_for_replies_is_held_back(wire, taker):
    """What the network does not take does not pile up; what no client waits for is refused, and nothing is lost."""
    stream = opened(wire)
    number = wire.start("upload.send", {"url": taker.url("/later"), "body": {"stream": stream}})
    taker.wait_for("/later")
    piece, sent = os.urandom(300_000), 0
    for _ in range(200):
        response = write(wire, stream, piece, wait=0)
        if "error" in response:
            break
        assert response["result"]["accepted"] == len(piece)
        sent += len(piece)
    assert response["error"]["code"] == -32011 and response["error"]["data"]["limit"] == 16 << 20
    waiting = wire.start("stream.write", {"stream": stream, "text": "", "wait": 600})
    taker.go.set()
    assert result(wire.reply(waiting))["room"] > 0
    result(wire.call("stream.finish", {"stream": stream}))
    assert result(wire.reply(number))["ok"]
    assert taker.last().body == piece * (sent // len(piece))


def test_much_can_be_fed_in_little_memory(wire, taker):
    stream = opened(wire)
    number = wire.start("upload.send", {"url": taker.url("/count"), "body": {"stream": stream, "length": 100 << 20}})
    block = base64.b64encode(bytes(1 << 20)).decode()
    for _ in range(99):
        result(wire.call("stream.write", {"stream": stream, "base64": block}))
    last = wire.start("stream.write", {"stream": stream, "base64": block})
    assert result(wire.replies([number, last])[number])["body"]["text"] == str(100 << 20)
    assert memory(wire) < 100 << 20


def test_a_stream_that_is_closed_ends_its_request(wire, taker):
    stream = opened(wire)
    number = wire.start("upload.send", {"url": taker.url("/keep"), "body": {"stream": stream}})
    taker.wait_for("/keep")
    result(write(wire, stream, b"half"))
    result(wire.call("stream.close", {"stream": stream}))
    error = result(wire.reply(number))["error"]
    assert error["code"] == 1232 and "closed the stream" in error["message"]


def test_who_feeds_a_request_that_has_ended_hears_of_it(wire, taker):
    stream = opened(wire)
    assert upload(wire, taker.url("/refuse/401"), {"stream": stream})["status"] == 401
    assert write(wire, stream, b"late")["error"]["code"] == -32013
    assert result(wire.call("stream.finish", {"stream": stream})) == {"size": 0}
    stream = opened(wire)
    assert "error" in upload(wire, "http://127.0.0.1:1/", {"stream": stream})
    assert write(wire, stream, b"late")["error"]["code"] == -32013


def test_cancelling_a_fed_upload_lets_go_of_its_stream(wire, taker):
    stream = opened(wire)
    number = wire.start("upload.send", {"url": taker.url("/keep"), "body": {"stream": stream}})
    taker.wait_for("/keep")
    wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
    assert wire.reply(number)["error"]["code"] == -32800
    reply = write(wire, stream, b"late", wait=0)
    assert "result" in reply or reply["error"]["code"] == -32013


def test_what_is_no_stream_is_refused(wire, taker):
    other = result(wire.call("diagnostics.stream", {"bytes": 10}))["stream"]
    for name in ["str_0000000000000000", other, ""]:
        for body, pointer in [
            ({"stream": name}, "/body/stream"),
            ({"multipart": {"parts": [{"name": "a", "stream": name}]}}, "/body/multipart/parts/0/stream"),
        ]:
            error = wire.call("upload.send", {"url": taker.url("/keep"), "body": body})["error"]
            assert (error["code"], error["data"]["pointer"]) == (-32012, pointer)
    assert wire.call("stream.read", {"stream": opened(wire)})["error"]["code"] == -32013


@pytest.mark.skipif(shutil.which("socat") is None, reason="socat is not installed")
def test_a_shell_can_feed_a_body(listening, taker):
    """Four lines through socat, whose input then ends."""
    lines = subprocess.Popen(
        ["socat", "-t", "30", "-", f"UNIX-CONNECT:{listening}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with lines:

        def say(number, method, **params):
            print(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}), file=lines.stdin)
            lines.stdin.flush()

        say(1, "upload.open")
        handle = json.loads(lines.stdout.readline())["result"]["stream"]
        say(2, "upload.send", url=taker.url("/keep"), body={"stream": handle})
        say(3, "stream.write", stream=handle, text="hello from a shell\n")
        say(4, "stream.finish", stream=handle)
        lines.stdin.close()
        replies = {reply["id"]: reply for reply in map(json.loads, lines.stdout)}
    assert replies[2]["result"]["status"] == 200 and taker.last().body == b"hello from a shell\n"
