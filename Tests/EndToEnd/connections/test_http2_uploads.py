# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A small request beside a large upload on the same connection of HTTP/2."""

import socket
import struct
import threading
import time

import contract
import pytest
from http_server import Listening
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

DATA, HEADERS, SETTINGS, WINDOW_UPDATE = 0, 1, 4, 8
END_STREAM, ACK, END_HEADERS = 1, 1, 4
MIB = 1 << 20


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


class Pausing(Listening):
    """Has room for every body, and reads nothing between the first 8 MiB and `go`."""

    def __init__(self):
        self.paused, self.go = threading.Event(), threading.Event()
        # bytes of the body before the head of the second request
        self.ahead = None
        super().__init__()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)

    def serve(self, connection, number):
        reader = connection.makefile("rb")
        reader.read(24)
        window = struct.pack(">HI", 4, (1 << 31) - 1)
        connection.sendall(frame(SETTINGS, 0, 0, window) + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 30)))
        taken = 0
        while len(head := reader.read(9)) == 9:
            length, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
            stream = int.from_bytes(head[5:], "big")
            reader.read(length)
            if kind == SETTINGS and not flags & ACK:
                connection.sendall(frame(SETTINGS, ACK, 0))
            if kind == DATA:
                taken += length
            if kind == HEADERS and stream == 3:
                self.ahead = taken - 8 * MIB
            if kind in (DATA, HEADERS) and flags & END_STREAM:
                connection.sendall(frame(HEADERS, END_STREAM | END_HEADERS, stream, b"\x88"))
            if taken >= 8 * MIB and not self.paused.is_set():
                self.paused.set()
                assert self.go.wait(60)


def standing(wire, request):
    """Waits until the upload makes no progress."""
    sent, since, end = -1, time.monotonic(), time.monotonic() + 20
    while time.monotonic() - since < 0.5 and time.monotonic() < end:
        now = result(wire.call("request.get", {"request": request}))["progress"]["sent"]
        if now != sent:
            sent, since = now, time.monotonic()
        time.sleep(0.05)


def test_a_small_request_does_not_wait_behind_an_upload(wire, tmp_path):
    """The kernel would take megabytes of the body ahead of sending."""
    (tmp_path / "body").write_bytes(b"x" * (32 * MIB))
    with Pausing() as server:
        url = server.url("/")
        upload = {"url": url, "method": "POST", "httpVersion": "2", "body": {"file": str(tmp_path / "body")}}
        large = result(wire.call("data.start", upload))["request"]
        assert server.paused.wait(60)
        standing(wire, large)
        small = result(wire.call("data.start", {"url": url, "httpVersion": "2"}))["request"]
        # the loop that replies to the calls has written the head
        for _ in range(5):
            result(wire.call("request.get", {"request": small}))
        server.go.set()
        assert result(wire.call("request.wait", {"request": small}, 60))["status"] == 200
        assert server.ahead < 3 * MIB // 2, server.ahead
        assert result(wire.call("request.wait", {"request": large}, 60))["status"] == 200
