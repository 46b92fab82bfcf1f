# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""WebSockets that end, reconnect and ping at bad moments, against a server that acts by hand."""

import base64
import itertools
import socket
import struct
import threading
import time

import contract
import pytest
from raw_client import Raw
from shell import outrider
from websocket_server import Acting, Deaf, last, opened, read, websockets_server

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

RESTART = b"\x88\x02" + (1001).to_bytes(2, "big")
GOODBYE = b"\x88\x02" + (1000).to_bytes(2, "big")


def text(payload):
    length = len(payload)
    if length < 126:
        return bytes([0x81, length]) + payload
    if length < 65536:
        return struct.pack("!BBH", 0x81, 126, length) + payload
    return struct.pack("!BBQ", 0x81, 127, length) + payload


# The command


def test_a_shell_leaves_a_feed_that_never_ends():
    """The service owes more than the granted credit when the command closes."""

    def act(frames, number):
        frames.accept()
        closed = threading.Event()

        def feed():
            while not closed.is_set():
                frames.send(text(b"x" * 50_000))

        thread = threading.Thread(target=feed, daemon=True)
        thread.start()
        while frames.next()[0] != 8:
            pass
        closed.set()
        thread.join(10)
        frames.send(GOODBYE)

    with Acting(act) as server:
        found = outrider("websocket", "--stdio", "--count", "1", server.url("/", "ws"))
        assert (found.returncode, found.stdout) == (0, b"x" * 50_000 + b"\n"), found.stderr


def test_a_shell_writes_all_that_came_before_the_close():
    many = 50

    def act(frames, number):
        frames.accept()
        frames.next()
        frames.send(text(b"x" * 100_000) * many)
        while frames.next()[0] != 8:
            pass
        frames.send(GOODBYE)

    with Acting(act) as server:
        found = outrider("websocket", "--stdio", server.url("/", "ws"), stdin=b"dump\n")
        assert (found.returncode, found.stdout.count(b"\n")) == (0, many), found.stderr


# Reconnecting


@pytest.mark.parametrize("stalls", [True, False])
def test_closing_during_a_reconnection_ends_it(wire, stalls):
    """The second handshake has no response, or the third waits for its time."""
    ended = threading.Event()

    def act(frames, number):
        if number == 1:
            frames.accept()
            frames.send(RESTART)
            frames.next()
            return
        frames.head()
        server.note(server.arrived, number)
        if stalls:
            ended.wait(20)
        frames.send(b"HTTP/1.1 503 no\r\nRetry-After: 20\r\nContent-Length: 0\r\n\r\n")

    with Acting(act) as server:
        stream = opened(wire, server.url("/", "ws"), reconnect={"delay": 0.01, "maxDelay": 60})["stream"]
        kinds = [value["socket"]["kind"] for value in read(wire, stream, 2 if stalls else 3)]
        assert kinds == ["open", "reconnecting", "reconnecting"][: len(kinds)]
        server.wait_for(2)
        close = wire.call("websocket.close", {"stream": stream})["result"]
        assert close == {"code": 1006, "clean": False}
        assert last(wire, stream)["error"]["code"] == 1900
        ended.set()
    assert server.connections == 2


def test_a_message_in_the_delay_after_a_refused_reconnection_is_refused(wire):
    def act(frames, number):
        if number == 1:
            frames.accept()
            return frames.send(RESTART)
        frames.head()
        frames.send(b"HTTP/1.1 503 no\r\nRetry-After: 20\r\nContent-Length: 0\r\n\r\n")

    with Acting(act) as server:
        stream = opened(wire, server.url("/", "ws"), reconnect={"delay": 0.01, "maxDelay": 60})["stream"]
        assert len(read(wire, stream, 3)) == 3
        error = wire.call("websocket.send", {"stream": stream, "text": "x"})["error"]
        assert (error["code"], error["data"]["state"]) == (-32013, "reconnecting")


def test_a_message_during_a_later_handshake_is_refused(wire):
    """Between the loss and the next connection no message is taken, whatever the service does meanwhile."""
    may_open = threading.Event()
    came = []

    def act(frames, number):
        if number == 1:
            frames.accept()
            return frames.send(RESTART)
        fields = frames.head()
        server.note(server.arrived, number)
        may_open.wait(20)
        frames.accept(fields)
        came.append(frames.next())
        frames.send(text(b"thanks"))

    with Acting(act) as server:
        stream = opened(wire, server.url("/", "ws"), reconnect={"delay": 0.01}, states=False)["stream"]
        server.wait_for(2)
        error = wire.call("websocket.send", {"stream": stream, "text": "early"})["error"]
        assert (error["code"], error["data"]["state"]) == (-32013, "reconnecting")
        may_open.set()
        while "error" in wire.call("websocket.send", {"stream": stream, "text": "late"}):
            time.sleep(0.01)
        assert read(wire, stream, 1) == [{"text": "thanks"}]
    assert came == [(1, b"late")]


def test_a_wrong_record_between_two_connections_ends_the_socket(listening):
    """The service cannot find the next record: a later connection would take nothing from the client."""
    def act(frames, number):
        frames.accept()
        frames.send(RESTART)

    with Acting(act) as server, contract.Wire(listening) as wire:
        result = opened(wire, server.url("/", "ws"), reconnect={"delay": 20, "maxDelay": 20}, states=True)
        with Raw(listening, result["stream"], "both") as raw:
            raw.reply()
            seen = raw.buffer
            while b"reconnecting" not in seen:
                seen += raw.socket.recv(65536)
            raw.send(b"\x09\0\0\0\3bad")
            while piece := raw.socket.recv(65536):
                seen += piece
            assert b'"error":{"code":2003' in seen and b"unknown kind" in seen, seen


def test_a_second_connection_that_goes_before_the_opening_leaves_messages(listening):
    may_open = threading.Event()

    def act(frames, number):
        fields = frames.head()
        may_open.wait(20)
        frames.accept(fields)
        frames.send(text(b"hello"))
        frames.next()

    with Acting(act) as server, contract.Wire(listening) as wire:
        params = {"url": server.url("/", "ws"), "wait": False}
        stream = wire.call("websocket.open", params)["result"]["stream"]
        with Raw(listening, stream, "both"):
            time.sleep(0.1)
        # until the service has noticed
        while "error" in wire.call("stream.read", {"stream": stream, "wait": 0}):
            time.sleep(0.01)
        may_open.set()
        assert read(wire, stream, 1) == [{"text": "hello"}]


# Pings


def test_no_ping_follows_the_close_of_the_client(wire):
    kinds, over = [], threading.Event()

    def act(frames, number):
        frames.accept()
        try:
            while True:
                kinds.append(frames.next()[0])
        finally:
            over.set()

    with Acting(act) as server:
        stream = opened(wire, server.url("/", "ws"), ping={"interval": 0.1, "timeout": 20})["stream"]
        wire.call("websocket.close", {"stream": stream, "wait": 0.4})
        assert over.wait(20)
    assert kinds[kinds.index(8) :] == [8]


def test_a_server_that_takes_a_long_message_slowly_is_alive(wire):
    """The pong comes later than `timeout`, because the ping is behind the message."""

    def act(frames, number):
        frames.accept()
        while True:
            kind, payload = frames.next(pause=0.03)
            if kind == 9:
                frames.send(b"\x8a" + bytes([len(payload)]) + payload)
            elif kind == 1:
                frames.send(text(b"thanks"))

    with Acting(act) as server:
        server.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        ping = {"interval": 0.5, "timeout": 3}
        stream = opened(wire, server.url("/", "ws"), ping=ping, compression=False)["stream"]
        begun = time.monotonic()
        wire.call("websocket.send", {"stream": stream, "text": "x" * (2 << 20)}, 60)
        reply = wire.call("stream.read", {"stream": stream, "wait": 60}, 70)["result"]
        assert reply["values"] == [{"text": "thanks"}], reply
        assert time.monotonic() - begun > sum(ping.values())


def test_a_server_that_takes_nothing_of_a_long_message_is_dead(wire):
    with Deaf() as server:
        server.full = threading.Event()
        ping = {"interval": 0.1, "timeout": 0.3}
        stream = opened(wire, server.url("/", "ws"), ping=ping, compression=False)["stream"]
        wire.start("websocket.send", {"stream": stream, "text": "x" * (9 << 20)})
        number = wire.start("stream.read", {"stream": stream, "wait": 10})
        found = {}
        while number not in found:
            message = wire.receive()
            found[message.get("id")] = message
        assert found[number]["result"]["error"]["code"] == 2004
        server.full.set()


# Credit, and a full backlog


@pytest.mark.parametrize("overflow, backlog", [("dropOldest", 100_000), ("close", 400_000)])
def test_a_dead_server_is_noticed_while_the_client_takes_nothing(wire, overflow, backlog):
    """Only `wait` stops reading: a full backlog does not hide a pong otherwise."""
    kinds = []

    def act(frames, number):
        frames.accept()
        for _ in range(300):
            frames.send(b"\x82\x7e" + struct.pack("!H", 1000) + bytes(1000))
        while True:
            kinds.append(frames.next()[0])

    with Acting(act) as server:
        params = {"overflow": overflow, "backlog": backlog, "ping": {"interval": 0.1, "timeout": 0.2}}
        result = opened(wire, server.url("/", "ws"), **params)
        ended = wire.call("request.wait", {"request": result["request"], "timeout": 10})["result"]
    assert (ended["ok"], ended["error"]["code"]) == (False, 2004)
    assert kinds[0] == 9


def test_the_end_needs_no_credit(wire):
    with Deaf() as server:
        server.frames = text(b"a") + text(b"b") + GOODBYE
        opened(wire, server.url("/", "ws"), mode="push", credit=2)
        events = [wire.receive() for _ in range(5)]
    told = [event["params"].get("kind", event["method"]) for event in events]
    assert told == ["open", "event.message", "event.message", "closing", "event.end"]


def test_dropped_messages_are_told_to_reads(wire):
    closed = threading.Event()

    def act(frames, number):
        frames.accept()
        frames.send(text(b"x" * 1000) * 200 + GOODBYE)
        frames.next()
        closed.set()

    with Acting(act) as server:
        stream = opened(wire, server.url("/", "ws"), overflow="dropOldest", backlog=1024)["stream"]
        assert closed.wait(10)
        values, end = [], False
        while not end:
            found = wire.call("stream.read", {"stream": stream, "wait": 10})["result"]
            values, end = values + found["values"], found["end"]
    came = sum("text" in value for value in values)
    dropped = sum(value.get("socket", {}).get("dropped", 0) for value in values)
    assert came + dropped == 200 and dropped > 0


@pytest.mark.parametrize("overflow", ["wait", "dropOldest", "close"])
def test_a_message_longer_than_the_backlog_is_delivered(wire, overflow):
    def send(connection):
        connection.send("x" * 5000)
        connection.recv()

    with websockets_server(send) as url:
        result = opened(wire, url, backlog=1024, overflow=overflow, states=False)
        assert read(wire, result["stream"], 1) == [{"text": "x" * 5000}]


# Handshakes


@pytest.mark.parametrize("more", [{}, {"startImmediately": False}])
def test_notifications_beyond_the_room_before_the_opening_end_the_socket(wire, more):
    """What does not fit ends the request, and is not left out of the messages."""
    ended = threading.Event()

    def act(frames, number):
        frames.head()
        ended.wait(20)

    with Acting(act) as server:
        params = {"url": server.url("/", "ws"), "wait": False, "compression": False, **more}
        stream = wire.call("websocket.open", params)["result"]["stream"]
        for _ in range(5):
            params = {"stream": stream, "text": "x" * 4_000_000}
            wire.send({"jsonrpc": "2.0", "method": "websocket.send", "params": params})
        assert last(wire, stream)["error"]["code"] == 2005
        ended.set()


@pytest.mark.parametrize("first", ["Location: ws://{host}/there", "WWW-Authenticate: Basic realm=x"])
def test_each_connection_has_its_own_key(wire, first):
    """RFC 6455 section 4.1 item 7; a redirect may lead to ws."""
    keys = []

    def act(frames, number):
        fields = frames.head()
        keys.append(fields["sec-websocket-key"])
        if number == 1:
            status, field = (302, first.format(host=fields["host"])) if "{" in first else (401, first)
            return frames.send(f"HTTP/1.1 {status} so\r\n{field}\r\nContent-Length: 0\r\n\r\n".encode())
        frames.accept(fields)
        frames.send(text(b"here"))
        frames.next()

    with Acting(act) as server:
        auth = {"username": "u", "password": "p"}
        stream = opened(wire, server.url("/", "ws"), auth=auth)["stream"]
        assert read(wire, stream, 1) == [{"text": "here"}]
    assert len(set(keys)) == 2
    assert all(len(base64.b64decode(key)) == 16 for key in keys)


@pytest.mark.parametrize(("size", "is_complete"), [(65536, True), (65537, False), (200_000, False)])
def test_a_refused_response_keeps_its_first_64_kib(wire, size, is_complete):
    def act(frames, number):
        frames.head()
        frames.send(b"HTTP/1.1 400 no\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % size)
        frames.send(b"x" * size)
        for _ in itertools.takewhile(bool, iter(lambda: frames.connection.recv(4096), None)):
            pass

    with Acting(act) as server:
        body = wire.call("websocket.open", {"url": server.url("/", "ws")})["result"]["response"]["body"]
    assert (body["size"], len(body["text"]), body.get("complete", True)) == (65536, 65536, is_complete)
