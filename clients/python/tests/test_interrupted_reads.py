# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Reads that an exception of a signal handler interrupts: the next read continues where the last one ended."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable

import pytest
from outrider import Client
from peers import Scripted, request_head, until

Serve = Callable[[Callable[[socket.socket], None]], Scripted]


class Interruption(BaseException):
    """What the signal handler raises."""


@pytest.mark.parametrize("led", [False, True])
@pytest.mark.parametrize("arrives", ["before", "after"])
def test_a_reply_around_an_interruption_goes_to_the_next_read(
    client: Client, scripted: Serve, led: bool, arrives: str
) -> None:
    """By a thread that reads for itself, and by a thread for which another thread reads."""
    go, end = threading.Event(), threading.Event()

    def talk(stream: socket.socket) -> None:
        go.wait(20)
        stream.sendall(b"first")
        stream.recv(1)
        stream.sendall(b"second")

    def wait_for_the_end(stream: socket.socket) -> None:
        request_head(stream)
        end.wait(20)
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    def has_come(handed: int) -> bool:
        live = client._live()
        if led:
            return live._handed > handed
        try:
            return bool(live._stream.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except BlockingIOError:
            return False

    def interrupt(number: int, frame: object) -> None:
        if arrives == "before":
            handed = client._live()._handed
            go.set()
            until(lambda: has_come(handed))
        raise Interruption

    client.info()
    quiet = scripted(wait_for_the_end)
    leader = threading.Thread(target=lambda: client.get(quiet.url))
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        if led:
            leader.start()
            until(lambda: client._live()._reading.locked())
        with client.tcp("127.0.0.1", scripted(talk).port) as connection:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(Interruption):
                connection.read()
            go.set()
            assert connection.read() == b"first"
            connection.write(b"x")
            assert connection.read() == b"second"
            assert connection.read() == b""
        assert not client._live()._left
    finally:
        signal.signal(signal.SIGALRM, before)
        end.set()
        if led:
            leader.join()


def test_a_stream_that_is_closed_after_an_interruption_leaves_nothing(client: Client, scripted: Serve) -> None:
    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\none\n")
        stream.recv(1)

    def interrupt(number: int, frame: object) -> None:
        raise Interruption

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with client.stream(scripted(talk).url) as stream:
            lines = stream.lines()
            assert next(lines) == "one"
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(Interruption):
                next(lines)
            assert client._live()._left
        assert not client._live()._left and client.info()["version"]
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_stream_that_opens_as_an_interruption_comes_is_ended(client: Client, scripted: Serve) -> None:
    go = threading.Event()

    def talk(stream: socket.socket) -> None:
        request_head(stream)
        go.wait(20)
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\none\n")
        stream.recv(1)

    def has_come() -> bool:
        try:
            return bool(client._live()._stream.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except BlockingIOError:
            return False

    def interrupt(number: int, frame: object) -> None:
        go.set()
        until(has_come)
        raise Interruption

    client.info()
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Interruption):
            client.stream(scripted(talk).url)
        until(lambda: client.call("request.list")["requests"] == [])
        assert not client._live()._forsaken
    finally:
        signal.signal(signal.SIGALRM, before)
