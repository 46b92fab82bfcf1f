# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Peers on Unix sockets that close: both directions end at once, which is no loss if all bytes were read."""

import base64
import contextlib
import socket
import threading
import time

import contract
import pytest
from raw_client import Raw
from request_client import result
from shell import outrider
from tcp_server import LONG, Host

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.mark.parametrize("count", [0, 6, 100_000])
def test_a_peer_that_sends_all_and_closes_has_ended_in_order(wire, tmp_path, count):
    """[S1]"""
    path = str(tmp_path / "u")
    with Host(lambda connection: connection.sendall(b"x" * count), socket.AF_UNIX, path):
        for _ in range(5):
            stream = result(wire.call("tcp.open", {"path": path}))["stream"]
            data, piece = b"", {"end": False}
            while not piece["end"]:
                piece = result(wire.call("stream.read", {"stream": stream, "wait": 10, "bytes": 1 << 20}))
                data += base64.b64decode(piece["base64"])
            assert "error" not in piece and data == b"x" * count, piece


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_second_connection_gets_what_a_peer_sent_before_its_end(listening, tmp_path, is_lost):
    """[S1] Also when the stream was over before the call."""
    path = str(tmp_path / "u")

    def act(connection):
        connection.sendall(b"banner")
        # bytes that the peer leaves unread are a loss
        if is_lost:
            connection.recv(1, socket.MSG_PEEK)

    with Host(act, socket.AF_UNIX, path), contract.Wire(listening) as wire:
        made = result(wire.call("tcp.open", {"path": path}))
        deadline = time.monotonic() + LONG
        while result(wire.call("request.get", {"request": made["request"]}))["progress"]["received"] < 6:
            assert time.monotonic() < deadline, "nothing was received"
        if is_lost:
            result(wire.call("stream.write", {"stream": made["stream"], "base64": "AAAA"}))
        assert result(wire.call("request.wait", {"request": made["request"], "timeout": 20}))["ok"] is not is_lost
        with Raw(listening, made["stream"], "both") as raw:
            assert raw.reply().get("error", {}).get("code") == (1404 if is_lost else None)
            assert raw.rest() == b"banner"


def test_a_shell_hears_a_peer_that_closes_at_once(listening, tmp_path):
    """[S1]"""
    path = str(tmp_path / "u")
    with Host(lambda connection: connection.sendall(b"banner"), socket.AF_UNIX, path):
        for _ in range(5):
            done = outrider("connect", "--socket", listening, "--unix", path, stdin=b"")
            assert (done.returncode, done.stdout) == (0, b"banner"), done.stderr


def test_bytes_that_the_peer_left_unread_are_a_loss(wire, tmp_path):
    """[S1]"""
    path = str(tmp_path / "u")
    with Host(lambda connection: connection.recv(1, socket.MSG_PEEK), socket.AF_UNIX, path):
        stream = result(wire.call("tcp.open", {"path": path}))["stream"]
        result(wire.call("stream.write", {"stream": stream, "base64": "AAAA"}))
        piece = result(wire.call("stream.read", {"stream": stream, "wait": 20}))
        assert piece["end"] and piece["error"]["code"] == 1404, piece


def test_bytes_that_a_suspended_stream_held_are_a_loss(wire, tmp_path):
    """[S1]"""
    path, closes = str(tmp_path / "u"), threading.Event()

    def act(connection):
        connection.shutdown(socket.SHUT_WR)
        closes.wait(LONG)
        # bytes that the peer leaves unread are a failure of their own
        connection.settimeout(1)
        with contextlib.suppress(TimeoutError):
            connection.recv(100)

    with Host(act, socket.AF_UNIX, path) as host:
        made = result(wire.call("tcp.open", {"path": path, "mode": "push", "credit": 10}))
        while wire.receive(20).get("params", {}).get("kind") != "readClosed":
            pass
        result(wire.call("request.suspend", {"request": made["request"]}))
        # the first piece may be taken before the suspension
        for _ in range(2):
            result(wire.call("stream.write", {"stream": made["stream"], "base64": "AAAA"}))
        closes.set()
        for thread in host.threads:
            thread.join(LONG)
        resumed = wire.start("request.resume", {"request": made["request"]})
        ended = wire.start("request.wait", {"request": made["request"]})
        assert wire.replies([resumed, ended])[ended]["result"]["error"]["code"] == 1404
