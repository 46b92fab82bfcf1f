# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cassettes: what is recorded plays without the network, and alike."""

import contextlib
import json
import os
import threading
import time

import contract
import pytest
import websockets.sync.server
from capture_server import Capture
from digest_server import PASSWORD, USER, Guard
from event_stream_client import Source
from request_client import get, result
from tape_client import entries, entry, fresh, start, stop, write
from tape_server import SECRET

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
RETRY = [{"retry": {"limit": 3, "scale": 0.001}}]


def shown(response):
    """A response without what differs from run to run."""
    keep = {key: response.get(key) for key in ("ok", "status", "url", "headers", "body", "redirects", "attempts")}
    keep["headers"] = [field for field in keep["headers"] or [] if field["name"] not in ("Date",)]
    # a body that is kept has another handle each time
    if keep["body"]:
        keep["body"] = {key: value for key, value in keep["body"].items() if key != "response"}
    if "error" in response:
        keep["error"] = {key: response["error"].get(key) for key in ("code", "phase", "retryable")}
    return keep


def everything(wire, url, directory):
    """A run with redirects, a 401, retries, failures, uploads and downloads; what came of it."""
    source = directory / "up.bin"
    source.write_bytes(b"u" * 70_000)
    responses = []
    for params in (
        {"url": url + "/json?b=2&a=1"},
        {"url": url + "/json?b=2&a=1"},
        {"url": url + "/old"},
        {"url": url + "/flaky", "interceptors": RETRY},
        {"url": url + "/broken"},
        {"url": url + "/echo", "method": "POST", "body": {"json": {"a": 1, "b": [1.0, 2]}}},
        {"url": url + "/echo", "method": "POST", "body": {"form": {"x": "1", "y": "a b"}}},
        {"url": url + "/echo", "method": "PUT", "body": {"file": str(source)}},
        {"url": "http://127.0.0.1:9/refused"},
        {"url": url + "/big"},
    ):
        responses.append(shown(result(wire.call("data.send", params, 20))))
    return responses


def test_a_run_plays_alike_without_its_server(server, tape, tmp_path):
    """Redirects, retries, failures, forms, uploads and bodies: each played run is the recorded one. [A16]"""
    with fresh() as wire:
        assert start(wire, tape)["recording"]
        first = everything(wire, server.url, tmp_path)
        info = stop(wire)
    assert info["recorded"] == 13 and "failure" not in info, info
    assert len(entries(tape)) == 13 and os.stat(tape).st_mode & 0o777 == 0o600
    before, stamp = server.count, os.stat(tape).st_mtime_ns
    server.close()
    for _ in range(3):
        with fresh() as wire:
            assert start(wire, tape)["entries"] == 13
            assert everything(wire, server.url, tmp_path) == first
            info = stop(wire)
            assert (info["played"], info["missed"], info["unused"]) == (13, 0, [])
    assert server.count == before and os.stat(tape).st_mtime_ns == stamp


def test_a_challenge_and_its_credential(server, tape):
    for _ in range(2):
        with fresh() as wire:
            start(wire, tape)
            login = {"username": "ada", "password": SECRET, "schemes": ["basic"]}
            response = get(wire, server.url + "/locked", auth=login)
            assert response["status"] == 200 and response["body"]["text"] == "open", response
            stop(wire)
    assert [one["response"]["status"] for one in entries(tape)] == [401, 200]
    assert server.count == 2


@pytest.mark.parametrize("algorithm", ["MD5", "SHA-256"])
def test_a_digest_challenge_plays(tape, algorithm):
    """Nonces differ from run to run, and are neither compared nor written down with a password."""
    with Guard(algorithm) as guard:
        url, login = guard.url("/vault"), {"username": USER, "password": PASSWORD, "schemes": ["digest"]}
        with fresh() as wire:
            start(wire, tape)
            recorded = [get(wire, url, auth=login) for _ in range(2)]
            stop(wire)
        assert not guard.faults and guard.statuses == [401, 200, 401, 200], guard.visits
    assert [one["response"]["status"] for one in entries(tape)] == guard.statuses
    text = open(tape).read()
    assert PASSWORD not in text and 'Digest ***' in text
    with fresh() as wire:
        start(wire, tape, mode="none")
        played = [get(wire, url, auth=login) for _ in range(2)]
        assert [shown(one) for one in played] == [shown(one) for one in recorded] and played[0]["status"] == 200
        assert stop(wire)["unused"] == []


def test_the_phrase_of_the_server_is_kept(tape):
    """However its head is read: in one pass, or by the full parser. [RFC 9112 section 4]"""
    status = b"HTTP/1.1 200 Quite Fine\r\n"
    for body in (b"Content-Length: 2\r\n\r\nhi", b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"):
        with Capture(response=status + body) as capture, fresh() as wire:
            start(wire, tape, mode="all")
            assert get(wire, capture.url())["body"]["text"] == "hi"
            stop(wire)
        assert [one["response"]["statusText"] for one in entries(tape)] == ["Quite Fine"]


def test_downloads_go_to_their_file(server, tape, tmp_path):
    target = tmp_path / "down.bin"
    for _ in range(2):
        target.unlink(missing_ok=True)
        with fresh() as wire:
            start(wire, tape)
            params = {"url": server.url + "/big", "destination": {"path": str(target)}}
            reply = result(wire.call("download.send", params, 20))
            assert target.read_bytes() == bytes(range(256)) * 8192, reply
            stop(wire)
    assert server.count == 1 and len(os.listdir(tape + ".d")) == 1


def events(wire, url, arrived=lambda: None):
    """The data of all events of a stream, and when each came."""
    source = Source(wire, url, reconnect=False)
    values, times = [], []
    with contextlib.suppress(AssertionError):
        while True:
            message = wire.receive()
            if message.get("method") == "event.end":
                break
            if message.get("method") == "event.sse":
                values.append(message["params"]["data"])
                times.append(time.monotonic())
                arrived()
    assert source.stream
    return values, times


def test_events_keep_their_borders_and_their_time(server, tape):
    """While it is recorded the first event comes at once; played, the events come at once or as they were recorded."""
    with fresh() as wire:
        start(wire, tape)
        # each of the others comes when the one before it has arrived
        server.go = threading.Semaphore(0)
        values, _ = events(wire, server.url + "/sse", server.go.release)
        assert len(values) == 3
        stop(wire)
    (kept,) = entries(tape)
    assert len(kept["_chunks"]) == 3
    assert sum(count for _, count in kept["_chunks"]) == kept["response"]["content"]["size"]
    assert SECRET not in open(tape).read()
    begun, _, ended = (at for at, _ in kept["_chunks"])
    assert ended - begun >= 80
    lengthen(tape, 3000)
    for timing, least, most in (("none", 0, 3), ("recorded", 5.9, 30), (0.5, 2.9, 5.9)):
        with fresh() as wire:
            start(wire, tape, timing=timing)
            began = time.monotonic()
            played, times = events(wire, server.url + "/sse")
            assert [json.loads(one)["n"] for one in played] == [0, 1, 2]
            assert least <= times[-1] - began <= most, timing
    assert server.count == 1


def lengthen(tape, pause):
    """Puts so many milliseconds between the pieces of the only body of a tape."""
    archive = json.loads(open(tape).read())
    (kept,) = archive["log"]["entries"]
    kept["_chunks"] = [[pause * index, count] for index, (_, count) in enumerate(kept["_chunks"])]
    with open(tape, "w") as file:
        json.dump(archive, file)


@contextlib.contextmanager
def echo_server():
    def echo(connection):
        connection.send("hello")
        for message in connection:
            connection.send(message if isinstance(message, bytes) else "echo " + message)

    with websockets.sync.server.serve(echo, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}/"
        server.shutdown()


def talk(wire, url, *messages):
    opened = result(wire.call("websocket.open", {"url": url}))
    stream, got = opened["stream"], []

    def read(many):
        while len(got) < many:
            reply = result(wire.call("stream.read", {"stream": stream, "wait": 5}))
            got.extend(reply["values"])
            if reply["end"]:
                return reply
        return None

    end = read(1)
    for index, message in enumerate(messages):
        wire.call("websocket.send", {"stream": stream, **message})
        end = end or read(index + 2)
    if not end:
        wire.call("websocket.close", {"stream": stream})
    return got, end


def test_websockets_play_their_messages(tape):
    messages = [{"text": '{"a": 1, "b": 2}'}, {"base64": "AAEC"}, {"text": "bye"}]
    with echo_server() as url, fresh() as wire:
        start(wire, tape)
        recorded, _ = talk(wire, url, *messages)
        stop(wire)
    (kept,) = entries(tape)
    kinds = [one["type"] for one in kept["_webSocketMessages"]]
    assert kinds[:7] == ["receive", "send", "receive", "send", "receive", "send", "receive"], kinds
    with fresh() as wire:
        start(wire, tape)
        played, _ = talk(wire, url, {"text": '{"b": 2.0, "a": 1}'}, *messages[1:])
        assert played == recorded and len(played) == 4


def test_a_websocket_that_says_something_else(tape):
    with echo_server() as url, fresh() as wire:
        start(wire, tape)
        talk(wire, url, {"text": "one"})
        stop(wire)
    with fresh() as wire:
        start(wire, tape)
        _, end = talk(wire, url, {"text": "two"})
        assert end["error"]["code"] == 2202 and '"one"' in json.dumps(end) or "one was recorded" in str(end), end


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"base64": "b25l" + "MTEx" * 40}, "the text one1"),
        ({"text": "one" + "1" * 119 + "2"}, "they differ from byte 122 on"),
        ({"text": "one" + "1" * 121}, "they differ from byte 123 on"),
    ],
)
def test_a_websocket_that_says_nearly_the_same_is_told_what_differs(tape, sent, told):
    """Text and bytes, and long messages, look alike in a message that is cut."""
    with echo_server() as url, fresh() as wire:
        start(wire, tape)
        talk(wire, url, {"text": "one" + "1" * 120})
        stop(wire)
    with fresh() as wire:
        start(wire, tape)
        _, end = talk(wire, url, sent)
        assert end["error"]["code"] == 2202 and told in end["error"]["message"], end


def test_a_body_that_was_given_up_does_not_play_as_a_whole_one(server, tape):
    url = server.url + "/stall"
    for mode in ("all", "none"):
        with fresh() as wire:
            start(wire, tape, mode=mode)
            handle = result(wire.call("data.start", {"url": url}))["request"]
            waited = wire.call("request.wait", {"request": handle, "timeout": 0.5})
            assert not waited.get("result", {}).get("ok"), (mode, waited)
            result(wire.call("request.cancel", {"request": handle}))
            assert not result(wire.call("request.wait", {"request": handle}))["ok"], mode
            stop(wire)
    (kept,) = entries(tape)
    fields = {field["name"]: field["value"] for field in kept["response"]["headers"]}
    assert fields["Content-Length"] == "1000000" and kept["_cut"] is True


@pytest.mark.parametrize("sends", [["a", "b"], ["a"]])
def test_a_websocket_client_may_be_faster_than_the_recorded_one(tape, sends):
    kinds = [("receive", 0, "hi"), ("send", 5, "a"), ("receive", 9, "1"), ("send", 9.1, "b"), ("receive", 9.1, "2")]
    messages = [{"type": kind, "time": 1.7e9 + at, "opcode": 1, "data": data} for kind, at, data in kinds]
    url = "wss://app.example/live"
    upgraded = entry(url, 101, method="GET", headers=[("Upgrade", "websocket"), ("Connection", "Upgrade")])
    write(tape, {**upgraded, "_webSocketMessages": messages})
    with fresh() as wire:
        start(wire, tape, mode="none", timing="recorded")
        stream = result(wire.call("websocket.open", {"url": url}))["stream"]
        wire.call("websocket.send", {"stream": stream, "messages": [{"text": text} for text in sends]})
        if len(sends) == 1:
            wire.call("websocket.send", {"stream": stream, "text": "b"})
        got = []
        while len(got) < 3:
            reply = result(wire.call("stream.read", {"stream": stream, "wait": 5}))
            assert not reply["end"], reply
            got += [value["text"] for value in reply["values"]]
        assert got == ["hi", "1", "2"]
