# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Reads that an exception of a signal handler interrupts: the next read continues where the last one ended."""

from __future__ import annotations

import signal
import socket
import sys
import threading
from collections.abc import Callable

import pytest
from outrider import Client, TCPConnection
from peers import Scripted, held, request_head, until
from test_websockets import frame, shake

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


def reads(thread: int) -> bool:
    """Whether the thread waits for the reply to a call that it has sent."""
    frame = sys._current_frames().get(thread)
    while frame is not None and frame.f_code.co_name != "_lead":
        frame = frame.f_back
    return frame is not None


def interrupting(holds: Callable[[], bool]) -> threading.Thread:
    """A thread that sends SIGALRM to this one once something holds."""
    main = threading.get_ident()

    def work() -> None:
        until(holds, 60)
        signal.pthread_kill(main, signal.SIGALRM)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


@pytest.mark.parametrize("kind", ["tcp", "websocket", "websocket of stdio"])
def test_a_read_within_a_read_of_the_same_connection_is_refused(
    client: Client, binary: str, scripted: Serve, kind: str
) -> None:
    go = threading.Event()

    def talk(stream: socket.socket) -> None:
        if kind != "tcp":
            shake(stream)
        go.wait(60)
        stream.sendall(b"x" if kind == "tcp" else frame(1, b"x"))
        stream.recv(1)

    def again(number: int, frame: object) -> None:
        try:
            with pytest.raises(RuntimeError, match="cannot be waited for within another call"):
                read()
        finally:
            go.set()

    before = signal.signal(signal.SIGALRM, again)
    try:
        with Client(command=[binary, "serve", "--stdio"]) as alone:
            by, port = alone if "stdio" in kind else client, scripted(talk).port
            with by.tcp("127.0.0.1", port) if kind == "tcp" else by.websocket(f"ws://127.0.0.1:{port}/") as one:
                read: Callable[[], object] = one.read if isinstance(one, TCPConnection) else one.recv
                thread = interrupting(lambda: held(one._turns))
                assert read() in (b"x", "x")
                thread.join()
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_read_within_a_call_waits_for_no_thread_that_waits_for_that_call(client: Client, scripted: Serve) -> None:
    go = threading.Event()
    refused: list[RuntimeError] = []

    def wait_for_the_end(stream: socket.socket) -> None:
        request_head(stream)
        go.wait(60)
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    def talk(stream: socket.socket) -> None:
        go.wait(60)
        stream.sendall(b"x")
        stream.recv(1)

    def read(number: int, frame: object) -> None:
        thread.start()
        until(lambda: held(connection._turns))
        try:
            connection.read()
        except RuntimeError as problem:
            refused.append(problem)
        go.set()

    connection, found = client.tcp("127.0.0.1", scripted(talk).port), []
    thread = threading.Thread(target=lambda: found.append(connection.read()))
    before = signal.signal(signal.SIGALRM, read)
    try:
        with connection:
            main, quiet = threading.get_ident(), scripted(wait_for_the_end)
            interrupter = interrupting(lambda: reads(main))
            assert client.get(quiet.url).status == 200
            interrupter.join()
            thread.join(60)
            assert found == [b"x"] and len(refused) == 1
    finally:
        signal.signal(signal.SIGALRM, before)


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
        main, url = threading.get_ident(), scripted(talk).url
        interrupter = interrupting(lambda: reads(main))
        with pytest.raises(Interruption):
            client.stream(url)
        interrupter.join()
        until(lambda: client.call("request.list")["requests"] == [])
        assert not client._live()._forsaken
    finally:
        signal.signal(signal.SIGALRM, before)
