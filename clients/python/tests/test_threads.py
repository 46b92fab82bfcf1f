# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""One client, many threads, and a fork."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import outrider
import pytest
from outrider import Client, Response
from peers import PATTERN, until


def test_threads_share_a_client(client: Client, origin: str) -> None:
    def work(number: int) -> bool:
        size = number * 37 % 5000
        return client.get(f"{origin}/bytes/{size}").content == PATTERN[:size]

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(600)))


def test_more_threads_than_calls_allowed_at_a_time(client: Client) -> None:
    with ThreadPoolExecutor(300) as pool:
        calls = [pool.submit(client.call, "diagnostics.sleep", seconds=0.2) for _ in range(600)]
        assert all(each.result() for each in calls)


def test_threads_that_begin_with_a_session_at_once_share_it(client: Client) -> None:
    for _ in range(20):
        session, together = client.session(cookies=True), threading.Barrier(8)

        def work(_: int, session: outrider.Session = session, together: threading.Barrier = together) -> str:
            together.wait(60)
            return session.handle

        with ThreadPoolExecutor(8) as pool:
            assert len(set(pool.map(work, range(8)))) == 1
        session.close()


def test_a_slow_call_holds_nobody_up(client: Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        slow = pool.submit(client.call, "diagnostics.sleep", seconds=2.0)
        quick = [pool.submit(client.call, "diagnostics.sleep", seconds=0.01) for _ in range(50)]
        assert all(each.result() for each in quick)
        assert not slow.done() and slow.result() == {"seconds": 2.0}


@pytest.mark.usefixtures("impatient")
def test_when_the_reading_thread_gives_up_another_goes_on(client: Client) -> None:
    client.info()
    with ThreadPoolExecutor(8) as pool:
        late = pool.submit(client.invoke, "diagnostics.sleep", {"seconds": 30}, timeout=0.1)
        others = [pool.submit(client.call, "diagnostics.sleep", seconds=0.5) for _ in range(5)]
        with pytest.raises(outrider.RequestTimeout):
            late.result()
        assert [each.result() for each in others] == [{"seconds": 0.5}] * 5


def test_threads_and_many_share_a_client(client: Client, origin: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        batches = [pool.submit(client.many, [f"{origin}/bytes/{n}" for n in range(200)]) for _ in range(4)]
        singles = [pool.submit(client.get, f"{origin}/bytes/{n}") for n in range(100)]
        for batch in batches:
            assert [len(r.content) for r in batch.result() if isinstance(r, Response)] == list(range(200))
        assert [len(each.result().content) for each in singles] == list(range(100))


@pytest.mark.usefixtures("impatient")
def test_everything_at_once(client: Client, origin: str) -> None:
    client.on_callback("callback.add", lambda params: {"sum": params["a"] + params["b"]})
    ticks: list[int] = []
    client.on("diagnostics.tick", lambda event: ticks.append(1))

    def late(seed: int) -> bool:
        try:
            client.invoke("diagnostics.sleep", {"seconds": 0.05}, timeout=0.001)
        except outrider.RequestTimeout:
            pass
        return True

    def several(seed: int) -> bool:
        responses = client.many([f"{origin}/bytes/{seed}"] * 20, window=7)
        return all(isinstance(each, Response) and each.size == seed for each in responses)

    def long(seed: int) -> bool:
        text = "x" * (seed * 1000)
        return client.call("diagnostics.echo", text=text) == {"text": text}

    def called(seed: int) -> bool:
        params = {"a": seed, "b": 1}
        reply = client.call("diagnostics.callback", method="callback.add", params=params)["answer"]
        return bool(reply == {"sum": seed + 1})

    def told(seed: int) -> bool:
        return client.call("diagnostics.notify", count=3) == {"sent": 3}

    with ThreadPoolExecutor(12) as pool:
        done = [pool.submit(work, seed) for seed in range(100) for work in (late, several, long, called, told)]
        assert all(each.result(60) for each in done)
    until(lambda: len(ticks) == 300)


def test_events_of_the_parent_are_left_to_it(client: Client) -> None:
    with client.events("diagnostics.tick", timeout=10) as events, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                next(events)
            except outrider.ServerGone:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        client.call("diagnostics.notify", count=1)
        assert next(events).params["n"] == 0


def test_a_child_made_by_fork_has_a_connection_of_its_own(client: Client, origin: str) -> None:
    assert client.get(f"{origin}/json").ok
    with ThreadPoolExecutor(1) as pool, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        busy = pool.submit(client.call, "diagnostics.sleep", seconds=0.5)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                same = all(client.get(f"{origin}/bytes/{n}").content == PATTERN[:n] for n in range(50))
                os._exit(0 if same else 1)
            except BaseException:
                os._exit(2)
        assert busy.result() == {"seconds": 0.5}
        for n in range(50):
            assert client.get(f"{origin}/bytes/{n}").content == PATTERN[:n]
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
