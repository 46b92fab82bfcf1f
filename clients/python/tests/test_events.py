# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Events and callbacks of the blocking client."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import outrider
import pytest
from outrider import AsyncClient, Client, Event
from outrider._resources.events import EventQueue, Listeners
from peers import until


def test_events_are_iterated_over(client: Client, origin: str) -> None:
    """[AC4]"""
    with client.events(timeout=10) as events:
        request = client.start("GET", f"{origin}/json", events=True, tag="mine")
        seen = []
        for event in events:
            assert (event.request, event.tag) == (request.handle, "mine")
            seen.append(event.name)
            if event.name == "event.finish":
                break
    assert seen[-1] == "event.finish" and "event.response" in seen and events.dropped == 0
    with client.events("event.none", timeout=0.05) as none:
        client.call("diagnostics.notify", count=3)
        assert list(none) == []


def test_an_iteration_that_is_closed_ends_in_the_thread_that_waits(client: Client) -> None:
    events = client.events("event.none")
    found: list[Event] = []
    thread = threading.Thread(target=lambda: found.extend(events), daemon=True)
    thread.start()
    until(lambda: client._live()._reading.locked())
    events.close()
    thread.join(30)
    assert not thread.is_alive() and found == []
    assert client.info()["protocol"] == 1


def test_no_iteration_is_lost_when_threads_begin_and_end_theirs_at_once() -> None:
    listeners, together = Listeners(), threading.Barrier(8)
    # many of them, so that one change takes a while
    others = [EventQueue(listeners, (), 1) for _ in range(300)]
    for other in others:
        listeners.add(other)

    def work(_: int) -> int:
        together.wait(60)
        found = 0
        for _ in range(2000):
            queue = EventQueue(listeners, (), 1)
            listeners.add(queue)
            found += queue in listeners._open()
            listeners.forget(queue)
        return found

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(work, range(8))) == [2000] * 8
    finally:
        sys.setswitchinterval(usual)
    assert listeners._open() == others


def test_events_that_nobody_takes_are_dropped_and_counted(client: Client) -> None:
    with client.events("diagnostics.tick", timeout=0.5, limit=10) as events:
        client.call("diagnostics.notify", count=25)
        assert [event.params["n"] for event in events] == list(range(15, 25)) and events.dropped == 15


def test_events_are_given_to_functions_in_order(client: Client) -> None:
    seen: list[int] = []
    done = threading.Event()

    @client.on("diagnostics.tick")
    def tick(event: outrider.Event) -> None:
        seen.append(client.call("diagnostics.echo", n=event.params["n"])["n"])
        if len(seen) == 50:
            done.set()

    client.call("diagnostics.notify", count=50)
    assert done.wait(10) and seen == list(range(50))
    client.off("diagnostics.tick", tick)
    client.call("diagnostics.notify", count=1)
    assert client.call("diagnostics.echo", a=1) == {"a": 1} and len(seen) == 50


def test_a_function_that_fails_is_a_warning(client: Client) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        done = threading.Event()
        client.on("diagnostics.tick", lambda event: 1 / 0)
        client.on("diagnostics.tick", lambda event: done.set())
        client.call("diagnostics.notify", count=1)
        assert done.wait(10)
    assert any("ZeroDivisionError" in str(each.message) for each in caught)


def test_callbacks_are_served_by_functions(client: Client) -> None:
    with pytest.raises(outrider.CallbackError) as refused:
        client.call("diagnostics.callback", method="callback.add", params={"a": 2, "b": 3})
    assert refused.value.data["error"]["code"] == -32601

    @client.on_callback("callback.add")
    def add(params: dict[str, Any]) -> dict[str, Any]:
        return {"sum": params["a"] + params["b"]}

    call = {"method": "callback.add", "params": {"a": 2, "b": 3}}
    assert client.call("diagnostics.callback", **call)["answer"] == {"sum": 5}
    assert client.get("http://127.0.0.1:1/", check=False).error is not None
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        with pytest.raises(outrider.CallbackError) as failed:
            client.call("diagnostics.callback", method="callback.add", params={})
        assert "KeyError" in failed.value.data["error"]["message"]


@pytest.mark.parametrize("failure", [ValueError("once"), SystemExit(1), KeyboardInterrupt(), GeneratorExit()])
@pytest.mark.parametrize("action", ["always", "error"])
def test_a_function_that_fails_in_any_way_is_an_error_and_is_called_again(
    client: Client, failure: BaseException, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures: list[BaseException] = [failure]
    shown: list[Any] = []
    ticks: list[int] = []
    monkeypatch.setattr(threading, "excepthook", lambda told: shown.append(told.exc_value))

    @client.on_callback("callback.add")
    def add(params: dict[str, Any]) -> dict[str, Any]:
        if failures:
            raise failures.pop()
        return {"sum": params["a"] + params["b"]}

    @client.on("diagnostics.tick")
    def tick(event: outrider.Event) -> None:
        ticks.append(1)
        if len(ticks) == 1:
            raise failure

    call = {"method": "callback.add", "params": {"a": 2, "b": 3}}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)  # type: ignore[arg-type]
        with pytest.raises(outrider.CallbackError) as refused:
            client.call("diagnostics.callback", **call)
        assert type(failure).__name__ in refused.value.data["error"]["message"]
        client.call("diagnostics.notify", count=3)
        assert client.call("diagnostics.callback", **call)["answer"] == {"sum": 5}
        until(lambda: len(ticks) == 3)
        until(lambda: len(shown) + len(caught) == 2)
        assert len(shown) == (2 if action == "error" else 0)


def test_a_thread_of_functions_that_has_ended_is_followed_by_another(client: Client) -> None:
    client.on_callback("callback.add", lambda params: {"sum": params["a"] + params["b"]})
    call = {"method": "callback.add", "params": {"a": 2, "b": 3}}
    assert client.call("diagnostics.callback", **call)["answer"] == {"sum": 5}
    inbox = client._subscriptions
    assert inbox is not None
    inbox._served = None
    inbox._waiter.wake()
    assert client.call("diagnostics.callback", **call)["answer"] == {"sum": 5}


def test_functions_are_asked_in_a_child_made_by_fork(client: Client) -> None:
    client.on_callback("callback.pid", lambda params: {"pid": os.getpid()})
    for _ in range(20):
        assert client.call("diagnostics.callback", method="callback.pid")["answer"] == {"pid": os.getpid()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                reply = client.call("diagnostics.callback", method="callback.pid")["answer"]
                os._exit(0 if reply == {"pid": os.getpid()} else 1)
            except BaseException:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_coroutine_that_fails_is_an_error_before_the_warning(service: str) -> None:
    async def main() -> None:
        failures = [ValueError("once")]

        async def add(params: dict[str, Any]) -> dict[str, Any]:
            if failures:
                raise failures.pop()
            return {"sum": params["a"] + params["b"]}

        async with outrider.AsyncClient(socket=service) as client:
            client.on_callback("callback.add", add)
            asyncio.get_running_loop().set_exception_handler(lambda loop, told: None)
            call = {"method": "callback.add", "params": {"a": 2, "b": 3}}
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with pytest.raises(outrider.CallbackError, match="once"):
                    await client.invoke("diagnostics.callback", call, timeout=10)
                reply = await client.invoke("diagnostics.callback", call, timeout=10)
                assert reply["answer"] == {"sum": 5}
                gc.collect()

    asyncio.run(main())


@pytest.mark.parametrize("reply", [{"a": [1, "\ud800"]}, {"\udc00": 1}, {"a": [1, 2**63]}])
def test_a_reply_that_the_service_cannot_read_is_refused_and_costs_no_connection(
    client: Client, reply: dict[str, Any]
) -> None:
    client.on_callback("callback.add", lambda params: reply)
    connection = client._connection
    with pytest.warns(RuntimeWarning, match="the answer"), pytest.raises(outrider.CallbackError, match="the answer"):
        client.call("diagnostics.callback", method="callback.add")
    assert client.call("diagnostics.echo", a=1) == {"a": 1}
    assert client._connection is connection


def test_tasks_share_an_iteration_and_all_end_with_it(service: str) -> None:
    async def work() -> None:
        async with AsyncClient(socket=service) as client:
            events, found = client.events("diagnostics.tick"), []

            async def take() -> None:
                async for event in events:
                    found.append(event)

            tasks = [asyncio.ensure_future(take()) for _ in range(3)]
            await client.call("diagnostics.notify", count=5)
            while len(found) < 5:
                await asyncio.sleep(0.01)
            events.close()
            await asyncio.gather(*tasks)

    asyncio.run(asyncio.wait_for(work(), 60))


def test_each_of_the_tasks_that_share_an_iteration_learns_of_the_loss(service: str) -> None:
    async def work() -> None:
        client = AsyncClient(socket=service)
        await client.info()
        events = client.events("event.none")
        tasks = [asyncio.ensure_future(events.__anext__()) for _ in range(3)]
        while events._arrived is None:
            await asyncio.sleep(0)
        client._connections[asyncio.get_running_loop()].close()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(one) for one in found] == [outrider.ServerGone] * 3
        await client.close()

    asyncio.run(asyncio.wait_for(work(), 60))


def test_an_event_of_another_thread_just_before_the_wait_is_seen(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        client, loop = AsyncClient(socket=service), asyncio.get_running_loop()
        events, create = client.events("diagnostics.tick"), loop.create_future

        def late() -> asyncio.Future[Any]:
            monkeypatch.setattr(loop, "create_future", create)
            thread = threading.Thread(target=events.take, args=(Event("diagnostics.tick", {}),))
            thread.start()
            thread.join()
            return create()

        monkeypatch.setattr(loop, "create_future", late)
        assert (await events.__anext__()).name == "diagnostics.tick"
        await client.close()

    asyncio.run(asyncio.wait_for(work(), 60))


def test_an_iteration_continues_in_the_next_event_loop(service: str) -> None:
    client = AsyncClient(socket=service)
    events = client.events("diagnostics.tick")

    async def work() -> None:
        first = asyncio.ensure_future(events.__anext__())
        await client.call("diagnostics.notify", count=1)
        await first
        # it waits, until the end of the event loop cancels it
        asyncio.ensure_future(events.__anext__()).set_name("waits")
        await asyncio.sleep(0)

    for _ in range(3):
        asyncio.run(asyncio.wait_for(work(), 60))
    asyncio.run(client.close())


def test_an_event_of_another_event_loop_wakes_an_iteration_at_once(service: str, origin: str) -> None:
    client = AsyncClient(socket=service)
    waits = threading.Event()
    found: list[tuple[str, float]] = []

    async def listen() -> None:
        await client.info()
        began = time.monotonic()
        events = client.events("event.response", timeout=20)
        asyncio.get_running_loop().call_later(0.1, waits.set)
        found.append(((await events.__anext__()).name, time.monotonic() - began))

    async def request() -> None:
        await client.get(f"{origin}/json", events=["response"])

    listener = threading.Thread(target=lambda: asyncio.run(listen()))
    listener.start()
    assert waits.wait(20)
    asyncio.run(request())
    listener.join(20)
    # the connections of event loops that have ended are closed, too
    asyncio.run(client.close())
    [(name, seconds)] = found
    assert name == "event.response" and seconds < 10


def test_the_end_of_another_event_loops_connection_ends_no_iteration(service: str, origin: str) -> None:
    client = AsyncClient(socket=service)
    waits, ended = threading.Event(), threading.Event()
    found: list[str] = []

    async def listen() -> None:
        await client.info()
        events = client.events("event.response", timeout=20)
        asyncio.get_running_loop().call_soon(waits.set)
        await asyncio.get_running_loop().run_in_executor(None, ended.wait, 20)
        await client.get(f"{origin}/json", events=["response"])
        found.append((await events.__anext__()).name)
        [connection] = [one for one in client._connections.values() if one.loop is asyncio.get_running_loop()]
        connection.close()
        with pytest.raises(outrider.ServerGone):
            await events.__anext__()

    async def end() -> None:
        await client.info()
        client._connections[asyncio.get_running_loop()].close()
        ended.set()

    listener = threading.Thread(target=lambda: asyncio.run(listen()))
    listener.start()
    assert waits.wait(20)
    asyncio.run(end())
    listener.join(20)
    assert found == ["event.response"]
    asyncio.run(client.close())


def test_the_end_of_the_last_connection_ends_an_iteration_of_another_event_loop(service: str) -> None:
    """An event loop may listen to the requests of others, without a connection of its own."""
    client = AsyncClient(socket=service)
    waits = threading.Event()
    gone: list[BaseException] = []

    async def listen() -> None:
        events = client.events(timeout=20)
        asyncio.get_running_loop().call_soon(waits.set)
        with pytest.raises(outrider.ServerGone) as problem:
            await events.__anext__()
        gone.append(problem.value)

    async def end() -> None:
        await client.info()
        listener.start()
        assert waits.wait(20)
        client._connections[asyncio.get_running_loop()].close()

    listener = threading.Thread(target=lambda: asyncio.run(listen()))
    asyncio.run(end())
    listener.join(20)
    assert gone
    asyncio.run(client.close())
