# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Exceptions from signal handlers, at every point of a call: no lock is lost, and no reply is cut or mixed up. And
calls of signal handlers and finalizers within a call: none waits for the outer call, which cannot go on."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import outrider
import pytest
from outrider import Client
from peers import Peer, Scripted, request_head, serve, stop, until


class Interruption(BaseException):
    """What a signal handler raises."""


def interrupted(step: int, work: Callable[[], object]) -> bool:
    """Whether an exception at that step came before ``work`` was done.

    The interpreter runs signal handlers where a function begins and where a call of a C function returns: those are
    the steps, and what the handler raises comes from there.
    """

    def interrupt() -> None:
        raise Interruption

    try:
        within(step, work, interrupt)
    except Interruption:
        return True
    return False


def within(step: int, work: Callable[[], object], inner: Callable[[], object]) -> bool:
    """Whether ``inner`` was called at that step of ``work``, as by a signal handler."""
    left = step

    def watch(frame: Any, event: str, argument: Any) -> None:
        nonlocal left
        if event in ("call", "c_return") and "outrider" in frame.f_code.co_filename:
            left -= 1
            if left == 0:
                sys.setprofile(None)
                inner()

    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)
    return left <= 0


def free(client: Client) -> bool:
    """Whether no thread holds the connection."""
    connection = client._connection
    if connection is None:
        return True
    locked = connection._reading.locked() or connection._writing.locked()
    return not (locked or connection._leader or connection._writer)


@pytest.mark.parametrize("size", [10, 600_000])
def test_a_call_may_be_interrupted_at_every_step(client: Client, size: int) -> None:
    text = "x" * size
    client.info()
    for step in itertools.count(1):
        over = not interrupted(step, lambda: client.call("diagnostics.echo", text=text))
        assert free(client), f"a lock is lost at step {step}"
        assert client.invoke("diagnostics.echo", {"step": step}, timeout=10) == {"step": step}
        if over:
            break
    assert step > 15


def test_many_may_be_interrupted_at_every_step(client: Client) -> None:
    client.info()
    urls = ["http://127.0.0.1:1/"] * 3
    for step in itertools.count(1):
        over = not interrupted(step, lambda: client.many(urls))
        assert free(client), f"a lock is lost at step {step}"
        assert client.invoke("diagnostics.echo", {"step": step}, timeout=10) == {"step": step}
        if over:
            break
    assert step > 15


def test_the_end_of_a_connection_may_be_interrupted_at_every_step(service: str) -> None:
    for step in itertools.count(1):
        with Client(socket=service) as client:
            connection = client._live()
            over = not interrupted(step, connection.close)
            assert free(client), f"a lock is lost at step {step}"
        if over:
            break
    assert step > 5


def test_a_thread_that_is_interrupted_while_it_reads_for_others_cuts_no_reply(client: Client) -> None:
    text = "wolf" * 150_000
    wrong: list[object] = []
    right: list[int] = []
    ended = threading.Event()

    def work() -> None:
        while not ended.is_set():
            try:
                reply = client.invoke("diagnostics.echo", {"text": text}, timeout=30)
            except outrider.ServerGone:
                continue
            except BaseException as problem:
                wrong.append(problem)
                return
            if reply == {"text": text}:
                right.append(1)
            else:
                wrong.append(len(reply["text"]))

    worker = threading.Thread(target=work)
    worker.start()
    try:
        until(lambda: bool(right))
        for step in range(1, 120):
            interrupted(step, lambda: client.call("diagnostics.sleep", seconds=0.02))
            assert not wrong and client.invoke("diagnostics.echo", {"a": 1}, timeout=10) == {"a": 1}
        seen = len(right)
        until(lambda: len(right) > seen, 10)
    finally:
        ended.set()
        worker.join(40)
    assert not wrong and not worker.is_alive()


def test_a_call_that_is_interrupted_while_it_is_written_does_not_spoil_the_next(binary: str, directory: str) -> None:
    path = f"{directory}/stopped.sock"
    child = serve(binary, path)
    main = threading.main_thread().ident
    assert main is not None

    def strike() -> None:
        until(lambda: client._connection is not None and client._connection._writing.locked())
        signal.pthread_kill(main, signal.SIGINT)

    try:
        with Client(socket=path) as client:
            client.info()
            os.kill(child.pid, signal.SIGSTOP)
            timer = threading.Thread(target=strike)
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                client.post("http://127.0.0.1:1/", data=b"x" * 5_000_000)
            timer.join()
            os.kill(child.pid, signal.SIGCONT)
            assert client.invoke("diagnostics.echo", {"a": 1}, timeout=10) == {"a": 1}
    finally:
        os.kill(child.pid, signal.SIGCONT)
        stop(child)


def test_nobody_waits_for_ever_to_write(peer: Callable[..., Peer]) -> None:
    with Client(socket=peer(b"", unix=True).path) as client:
        connection = client._live()
        with connection._writing, pytest.raises(outrider.RequestTimeout):
            connection.call("server.info", "{}", 0.2)


@pytest.mark.parametrize("size", [10, 600_000])
@pytest.mark.parametrize("led", [False, True])
def test_a_call_within_a_call_waits_for_nothing(
    client: Client, scripted: Callable[[Callable[[socket.socket], None]], Scripted], size: int, led: bool
) -> None:
    """At every step of a call that leads, and of one that follows another thread."""
    outer = {"text": "x" * size}
    refused: list[int] = []
    ended = threading.Event()

    def answer_at_the_end(stream: socket.socket) -> None:
        request_head(stream)
        ended.wait(60)
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    server = scripted(answer_at_the_end)

    def work() -> None:
        assert client.invoke("diagnostics.echo", outer, timeout=20) == outer

    def inner() -> None:
        try:
            assert client.invoke("diagnostics.echo", {"step": step}, timeout=20) == {"step": step}
        except RuntimeError as problem:
            assert "use a client or a thread of its own" in str(problem)
            refused.append(step)
            assert client.invoke("request.forget", {"request": "none"}, timeout=20) == {}

    client.info()
    leader = threading.Thread(target=lambda: client.get(f"http://127.0.0.1:{server.port}/"))
    if led:
        leader.start()
        until(lambda: client._live()._reading.locked())
    try:
        for step in itertools.count(1):
            over = not within(step, work, inner)
            assert led or free(client), f"a lock is lost at step {step}"
            if over:
                break
    finally:
        ended.set()
    assert refused and step > 15
    if led:
        leader.join()
    assert free(client)


def test_a_signal_handler_may_call_while_the_client_waits(
    client: Client, service: str, scripted: Callable[[Callable[[socket.socket], None]], Scripted]
) -> None:
    seen: list[object] = []
    handled = threading.Event()
    main = threading.get_ident()

    def respond(stream: socket.socket) -> None:
        request_head(stream)
        handled.wait(60)
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    def strike() -> None:
        until(lambda: client._live()._reading.locked())
        signal.pthread_kill(main, signal.SIGALRM)

    def handle(number: int, frame: object) -> None:
        with pytest.raises(RuntimeError, match="of its own"):
            client.info()
        with Client(socket=service) as other:
            seen.append(other.invoke("diagnostics.echo", {"a": 1}, timeout=20))
        handled.set()

    client.info()
    striker = threading.Thread(target=strike)
    before = signal.signal(signal.SIGALRM, handle)
    try:
        striker.start()
        assert client.get(scripted(respond).url, timeout=60).ok
        striker.join()
    finally:
        handled.set()
        signal.signal(signal.SIGALRM, before)
    assert seen == [{"a": 1}]


def test_a_generator_with_a_stream_may_be_collected_within_a_call(client: Client, peer: Callable[..., Peer]) -> None:
    server = peer(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\none\ntwo\n", b"")

    class Cycle:
        def __init__(self) -> None:
            self.lines, self.me = self.read(), self
            assert next(self.lines) == "one"

        def read(self) -> Iterator[str]:
            with client.stream(server.url) as stream:
                yield from stream.lines()

    gc.disable()
    try:
        for step in itertools.count(1):
            Cycle()
            if not within(step, client.info, gc.collect):
                break
            until(lambda: client.call("request.list")["requests"] == [])
    finally:
        gc.enable()
    assert step > 15


def test_a_signal_handler_may_call_while_the_client_connects(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    reach = outrider._sync.connected.reach

    def slow(*given: Any) -> Any:
        with pytest.raises(RuntimeError, match="is connecting"):
            client.info()
        return reach(*given)

    monkeypatch.setattr("outrider._sync.connected.reach", slow)
    assert client.info()["version"]
