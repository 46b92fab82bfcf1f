# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The memory of what waits on the conversations of a client is counted, and given back."""

import base64
import fcntl
import json
import struct
import termios
import threading
import time

import contract
import pytest
from budget import MIB, until
from event_server import OPEN, STREAM, EventServer
from raw_client import Raw
from request_client import result
from websocket_server import Acting, Deaf, opened

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def unsent(connection):
    """How many bytes the other side has not taken."""
    return struct.unpack("i", fcntl.ioctl(connection, termios.TIOCOUTQ, b"\0" * 4))[0]


def test_comments_of_an_event_stream_take_no_memory(wire):
    comments = (b": " + b"k" * 1021 + b"\n") * 4096
    with EventServer() as server:
        url = server.at("/", [STREAM, comments, b"data: a\n\n", OPEN])
        stream = result(wire.call("sse.open", {"url": url}))["stream"]
        values = result(wire.call("stream.read", {"stream": stream, "wait": 30}, seconds=40))["values"]
    assert [one["data"] for one in values] == ["a"]
    assert result(wire.call("server.stats"))["memory"]["highest"] < MIB


def test_a_long_record_of_a_second_connection_is_counted_until_it_is_sent(listening):
    size = 24 * MIB
    with Deaf() as server, contract.Wire(listening) as wire:
        server.full = threading.Event()
        stream = opened(wire, server.url("/", "ws"))["stream"]
        with Raw(listening, stream, "both") as raw:
            raw.reply()
            raw.send(b"\2" + size.to_bytes(4, "big") + b"x" * (size // 2))
            until(listening, lambda memory: memory["held"] >= size)
            raw.send(b"x" * (size // 2))
            # the server takes nothing of the whole record
            deadline = time.monotonic() + 20
            while unsent(raw.socket):
                assert time.monotonic() < deadline
                time.sleep(0.01)
            assert result(wire.call("server.stats"))["memory"]["held"] >= size
            server.full.set()
            until(listening, lambda memory: memory["held"] < size, seconds=60)
    until(listening, lambda memory: memory["held"] == 0, seconds=60)


def test_pings_of_a_second_connection_wait_for_the_server(listening):
    """As messages do: what the server does not read must not gather in the service."""
    deaf = threading.Event()

    def act(frames, number):
        frames.accept()
        deaf.wait(60)

    ping = json.dumps({"ping": base64.b64encode(b"x" * 120).decode()}).encode()
    records = (b"\3" + len(ping).to_bytes(4, "big") + ping) * 4096
    with Acting(act) as server, contract.Wire(listening) as wire:
        stream = opened(wire, server.url("/", "ws"), ping=False)["stream"]
        with Raw(listening, stream, "both") as raw:
            raw.reply()
            raw.socket.settimeout(4)
            try:
                with pytest.raises(TimeoutError):
                    for _ in range(96):
                        raw.send(records)
            finally:
                deaf.set()


def test_messages_for_a_lost_connection_are_reported_together(listening):
    """A report for each of them took many times the memory of the messages."""
    count, told, dropped = 200_000, 0, 0

    def act(frames, number):
        frames.accept()

    with Acting(act) as server, contract.Wire(listening) as wire:
        stream = opened(wire, server.url("/", "ws"), reconnect={"delay": 600, "maxDelay": 600})["stream"]
        with Raw(listening, stream, "both") as raw:
            raw.reply()
            while b'"reconnecting"' not in raw.buffer:
                raw.buffer += raw.socket.recv(65536)
            raw.send(b"\1\0\0\0\1x" * count)
            while dropped < count:
                while len(raw.buffer) < 5 or len(raw.buffer) < 5 + int.from_bytes(raw.buffer[1:5], "big"):
                    piece = raw.socket.recv(1 << 20)
                    assert piece, "the connection ended"
                    raw.buffer += piece
                end = 5 + int.from_bytes(raw.buffer[1:5], "big")
                record, raw.buffer = json.loads(raw.buffer[5:end]), raw.buffer[end:]
                told, dropped = told + 1, dropped + record["socket"].get("dropped", 0)
    assert dropped == count and told < count * 3 // 4


def test_what_is_being_recorded_is_counted(listening, tmp_path):
    with EventServer() as server, contract.Wire(listening) as wire:
        body = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (2 * MIB + 1) + b"x" * (2 * MIB)
        url = server.at("/", [body, server.held(), b"x", OPEN])
        result(wire.call("replay.start", {"path": str(tmp_path / "c.har")}))
        stream = result(wire.call("stream.open", {"url": url}))["stream"]
        left = 2 * MIB
        while left:
            read = result(wire.call("stream.read", {"stream": stream, "bytes": MIB, "wait": 30}, seconds=40))
            left -= len(base64.b64decode(read["base64"]))
        # the reply that was read last is given back behind its reading
        until(listening, lambda memory: 2 * MIB - 65536 <= memory["held"] < 3 * MIB, seconds=20)
        server.release()
        while not result(wire.call("stream.read", {"stream": stream, "wait": 30}, seconds=40))["end"]:
            pass
        # masked before it is written
        until(listening, lambda memory: memory["held"] < MIB, seconds=60)
        result(wire.call("replay.stop"))
