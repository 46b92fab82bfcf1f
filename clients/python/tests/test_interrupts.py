# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Exceptions from signal handlers, at every point of a call: no lock is lost, and no reply is cut or mixed up."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import outrider
import pytest
from outrider import Client
from peers import Peer, serve, stop, until


class Interruption(BaseException):
    """What a signal handler raises."""


def interrupted(step: int, work: Callable[[], object]) -> bool:
    """Whether an exception at that step came before ``work`` was done.

    The interpreter runs signal handlers where a function begins and where a call of a C function returns: those are
    the steps, and what the handler raises comes from there.
    """
    left = step

    def watch(frame: Any, event: str, argument: Any) -> None:
        nonlocal left
        if event in ("call", "c_return") and "outrider" in frame.f_code.co_filename:
            left -= 1
            if left == 0:
                raise Interruption

    sys.setprofile(watch)
    try:
        work()
    except Interruption:
        return True
    finally:
        sys.setprofile(None)
    return False


def free(client: Client) -> bool:
    """Whether no thread holds the connection."""
    connection = client._connection
    return connection is None or not (connection._reading.locked() or connection._writing.locked())


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
