# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""How the ends of streams and connections of HTTP/2 are told."""

import struct
import time

import contract
import pytest
from http_server import Listening

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
NO_ERROR, REFUSED_STREAM, CANCEL, HTTP_1_1_REQUIRED = 0, 7, 8, 13


def frame(kind, flags, stream, payload=b""):
    return struct.pack("!I", len(payload))[1:] + bytes([kind, flags]) + struct.pack("!I", stream) + payload


def head(stream, flags=4):
    """:status 200, from the table."""
    return frame(HEADERS, flags, stream, b"\x88")


def reset(code):
    return lambda stream: frame(RST_STREAM, 0, stream, struct.pack("!I", code))


class Ending(Listening):
    """Responds to each request with frames, and keeps the connection."""

    def __init__(self, *respond, settings=b""):
        self.respond, self.settings = respond, settings
        super().__init__()

    def serve(self, connection, number):
        read = connection.makefile("rb")
        assert read.read(24).startswith(b"PRI")
        connection.sendall(frame(SETTINGS, 0, 0, self.settings))
        while len(top := read.read(9)) == 9:
            read.read(int.from_bytes(top[:3], "big"))
            if top[3] == HEADERS:
                stream = int.from_bytes(top[5:], "big")
                connection.sendall(b"".join(part(stream) for part in self.respond))


@pytest.mark.parametrize(("respond", "words"), [
    ([reset(CANCEL)], "reset the stream without an answer: CANCEL"),
    ([reset(REFUSED_STREAM)], "refused the request without looking at it: REFUSED_STREAM"),
    ([head, lambda stream: frame(DATA, 0, stream, b"abc"), reset(NO_ERROR)],
     "reset the stream in the body: got 3 bytes and no end: NO_ERROR"),
], ids=["cancel", "refused", "body"])
def test_a_reset_of_a_stream_is_not_called_the_end_of_the_connection(wire, respond, words):
    with Ending(*respond) as server:
        error = wire.call("data.send", {"url": server.url("/"), "httpVersion": "2"}, 20)["result"]["error"]
    assert error["code"] == 1404 and error["message"] == f"127.0.0.1 {words}"


def whole_response(status, body, flags=1, **fields):
    """A response whose stream ends with the body, unless the flags say otherwise; the fields go into no table."""
    named = {":status": status, **{name.replace("_", "-"): value for name, value in fields.items()}}
    block = b"".join(bytes([0, len(name)]) + name.encode() + bytes([len(text)]) + text.encode()
                     for name, text in named.items())
    return lambda stream: frame(HEADERS, 4, stream, block) + frame(DATA, flags, stream, body)


@pytest.mark.parametrize(
    ("sent", "code", "is_whole"), [(3, NO_ERROR, True), (2, NO_ERROR, False), (3, CANCEL, False)]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_reset_behind_the_last_byte_ends_the_response(wire, method, sent, code, is_whole):
    """Node resets the stream where END_STREAM should be, if the last bytes had to wait for the window."""
    with Ending(whole_response("200", b"abc"[:sent], flags=0, content_length="3"), reset(code)) as server:
        spec = {"url": server.url("/"), "httpVersion": "2", "method": method}
        if method == "POST":
            # the server responds before the end of the body
            spec["body"] = {"stream": wire.call("upload.open", {})["result"]["stream"]}
        for _ in range(2 if method == "GET" else 1):
            result = wire.call("data.send", spec, 20)["result"]
            if is_whole:
                assert result["ok"] and result["body"]["text"] == "abc", result
            else:
                error = result["error"]
                assert error["code"] == 1404 and f"got {sent} of 3 bytes" in error["message"], error
    assert server.connections == 1


def test_a_download_whose_response_a_proxy_cut_short_is_resumed(wire, tmp_path):
    """haproxy, lighttpd and Varnish end the stream when they lose their own server."""
    cut = whole_response("200", b"abc", etag='"1"', content_length="6")
    rest = whole_response("206", b"def", etag='"1"', content_length="3", content_range="bytes 3-5/6")
    responses = iter([cut, cut, rest])
    with Ending(lambda stream: next(responses)(stream)) as server:
        spec = {"url": server.url("/"), "httpVersion": "2"}
        lost = wire.call("data.send", spec, 20)["result"]
        assert (lost["status"], lost["error"]["code"], lost["error"]["retryable"]) == (200, 1404, True), lost
        whole = {**spec, "destination": {"path": str(tmp_path / "file")}, "retry": True}
        result = wire.call("download.send", whole, 30)["result"]
    assert (result["ok"], result["attempts"], (tmp_path / "file").read_bytes()) == (True, 2, b"abcdef"), result


def test_a_server_that_wants_http1_for_a_request_that_wants_http2_is_named(wire):
    with Ending(reset(HTTP_1_1_REQUIRED)) as server:
        error = wire.call("data.send", {"url": server.url("/"), "httpVersion": "2"}, 20)["result"]["error"]
    assert error["code"] == 1419 and not error["retryable"]
    assert 'wants this request over HTTP/1.1 (use httpVersion "1.1")' in error["message"]


def streams(count):
    """SETTINGS_MAX_CONCURRENT_STREAMS."""
    return struct.pack("!HI", 3, count)


def test_a_request_waits_for_a_server_that_allows_streams_later(wire):
    """The server refuses what was sent before its settings came; it would do so on each further connection."""
    def respond(stream):
        if stream > 1:
            return head(stream, 5)
        return reset(REFUSED_STREAM)(stream) + frame(SETTINGS, 0, 0, streams(100))

    with Ending(respond, settings=streams(0)) as server:
        spec = {"url": server.url("/"), "httpVersion": "2", "method": "POST", "body": {"text": "once"}}
        result = wire.call("data.send", spec, 20)["result"]
        assert result["ok"] and result["attempts"] == 1, result
        assert server.connections == 1


class Narrow(Listening):
    """Allows two streams, as its settings say, and refuses others; responds once the client has acknowledged a PING."""

    def serve(self, connection, number):
        read = connection.makefile("rb")
        assert read.read(24).startswith(b"PRI")
        connection.sendall(frame(SETTINGS, 0, 0, streams(2)))
        running = set()
        while len(top := read.read(9)) == 9:
            payload, stream = read.read(int.from_bytes(top[:3], "big")), int.from_bytes(top[5:], "big")
            if top[3] == HEADERS and len(running) == 2:
                connection.sendall(reset(REFUSED_STREAM)(stream))
            elif top[3] == HEADERS:
                running.add(stream)
                connection.sendall(frame(PING, 0, 0, struct.pack("!Q", stream)))
            elif top[3:5] == bytes([PING, 1]):
                stream = int.from_bytes(payload, "big")
                running.remove(stream)
                self.note(self.arrived, "/")
                connection.sendall(head(stream, 5))


def test_a_crowd_at_a_server_of_few_streams_is_served(wire):
    """Each further connection was taken to allow 100 streams, although the first had told its number."""
    with Narrow() as server:
        spec = {"url": server.url("/"), "httpVersion": "2", "method": "POST", "body": {"text": "once"}}
        replies = wire.replies([wire.start("data.send", spec) for _ in range(60)], 60)
    assert [reply["result"].get("error") for reply in replies.values()] == [None] * 60
    assert len(server.arrived) == 60


class Short(Listening):
    """Responds to the first requests of a connection, and says that others were not processed."""

    def __init__(self, last):
        self.last = last
        super().__init__()

    def serve(self, connection, number):
        read = connection.makefile("rb")
        assert read.read(24).startswith(b"PRI")
        connection.sendall(frame(SETTINGS, 0, 0))
        while len(top := read.read(9)) == 9:
            read.read(int.from_bytes(top[:3], "big"))
            stream = int.from_bytes(top[5:], "big")
            if top[3] == HEADERS and stream <= self.last:
                self.note(self.arrived, "/")
                last = frame(GOAWAY, 0, 0, struct.pack("!II", stream, NO_ERROR)) if stream == self.last else b""
                connection.sendall(head(stream, 5) + last)


@pytest.mark.parametrize(("last", "count"), [(1, 100), (5, 120)])
def test_a_crowd_at_a_server_that_limits_the_requests_of_a_connection_is_served(wire, last, count):
    """Such a limit is `keepalive_requests` in nginx. A request that was refused 24 times had failed."""
    with Short(last) as server:
        spec = {"url": server.url("/"), "httpVersion": "2", "method": "POST", "body": {"text": "once"}}
        replies = wire.replies([wire.start("data.send", spec) for _ in range(count)], 60)
    assert [reply["result"].get("error") for reply in replies.values()] == [None] * count
    assert len(server.arrived) == count


def test_a_request_that_is_alone_on_ended_connections_is_refused_after_a_while(wire):
    """Such a server claims to end the connection after others, and there are none."""
    both = [lambda stream: frame(GOAWAY, 0, 0, struct.pack("!II", stream, NO_ERROR)), reset(REFUSED_STREAM)]
    with Ending(*both) as server:
        error = wire.call("data.send", {"url": server.url("/"), "httpVersion": "2"}, 20)["result"]["error"]
        assert error["message"].endswith("refused the request without looking at it: REFUSED_STREAM"), error
        assert server.connections == 4


def test_a_server_that_never_allows_streams_ends_with_the_time_of_the_request(wire):
    with Ending(reset(REFUSED_STREAM), settings=streams(0)) as server:
        spec = {"url": server.url("/"), "httpVersion": "2", "timeout": {"total": 0.5}}
        error = wire.call("data.send", spec, 20)["result"]["error"]
        assert error["code"] == 1405 and error["phase"] == "total", error
        assert server.connections == 1


def test_a_body_for_which_the_server_opens_no_window_ends_after_one_time_of_silence(wire):
    """What went into the first window counted as news at the end of that time, which began again."""
    with Ending() as server:
        spec = {"url": server.url("/"), "httpVersion": "2", "method": "POST", "body": {"text": "x" * 200_000}}
        begun = time.monotonic()
        error = wire.call("data.send", {**spec, "timeout": {"idle": 4}}, 30)["result"]["error"]
        assert (error["code"], error["phase"]) == (1405, "request"), error
        assert 4 <= time.monotonic() - begun < 7.8


class Insisting(Listening):
    """Refuses before the body, but says why only behind the whole body, for which it gives room behind its refusal."""

    body = 0

    def serve(self, connection, number):
        read = connection.makefile("rb")
        assert read.read(24).startswith(b"PRI")
        connection.sendall(frame(SETTINGS, 0, 0))
        while len(top := read.read(9)) == 9:
            length, stream = int.from_bytes(top[:3], "big"), int.from_bytes(top[5:], "big")
            read.read(length)
            if top[3] == HEADERS:
                room = struct.pack("!I", 100 << 20)
                connection.sendall(frame(HEADERS, 4, stream, b"\x8c"))
                connection.sendall(frame(WINDOW_UPDATE, 0, 0, room) + frame(WINDOW_UPDATE, 0, stream, room))
            elif top[3] == DATA:
                self.body += length
                if top[4] & 1:
                    connection.sendall(frame(DATA, 1, stream, b"enough"))


@pytest.mark.parametrize("kind", ["file", "text", "with its head"])
@pytest.mark.parametrize("expects", [False, True])
def test_a_server_that_reads_all_behind_an_early_head_gets_all(wire, tmp_path, kind, expects):
    """Else both would wait for the other. 64 KiB go out with the head, and one byte more than the first window."""
    size = 64 << 10 if kind == "with its head" else 3_000_000
    path = tmp_path / "body"
    path.write_bytes(b"x" * size)
    body = {"file": str(path)} if kind == "file" else {"text": "x" * size}
    with Insisting() as server:
        params = {"url": server.url("/"), "httpVersion": "2", "method": "POST", "body": body, "expectContinue": expects}
        response = wire.call("data.send", params, 60)["result"]
        assert (response["ok"], response["status"], response["body"]["text"]) == (True, 400, "enough"), response
        assert server.body == size


class Slow(Listening):
    """Takes a body of any length at once, and reads the most of it late, as at the end of a slow way."""

    def serve(self, connection, number):
        read = connection.makefile("rb")
        assert read.read(24).startswith(b"PRI")
        largest = struct.pack("!HI", 4, (1 << 31) - 1)
        connection.sendall(frame(SETTINGS, 0, 0, largest) + frame(WINDOW_UPDATE, 0, 0, struct.pack("!I", 1 << 30)))
        got = 0
        while len(top := read.read(9)) == 9:
            payload, stream = read.read(int.from_bytes(top[:3], "big")), int.from_bytes(top[5:], "big")
            if top[3] == PING and not top[4]:
                connection.sendall(frame(PING, 1, 0, payload))
            if top[3] != DATA:
                continue
            got += len(payload)
            if got == len(payload):
                # longer than a request waits for a connection that is silent without a reason
                self.ended.wait(12)
            if top[4]:
                connection.sendall(head(stream) + frame(DATA, 1, stream, b"%d" % got))


def test_a_long_body_on_a_slow_way_arrives(wire):
    """The connection was given up after ten seconds, since its PING stood behind the body."""
    with Slow() as server:
        spec = {"url": server.url("/"), "httpVersion": "2", "method": "POST", "body": {"text": "x" * 1_000_000}}
        result = wire.call("data.send", spec, 60)["result"]
    assert result["ok"] and result["body"]["text"] == "1000000" and result["attempts"] == 1, result
