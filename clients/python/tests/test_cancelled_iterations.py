# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Iterations whose task is cancelled while they open something, or while they ask for the end."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import outrider
import pytest
from outrider import AsyncClient, Client
from outrider._resources.reading import give_up
from peers import Scripted, request_head

Serve = Callable[[Callable[[socket.socket], None]], Scripted]
EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: a\n\n"


class Origin:
    """Sends a head when told to, then more, and notices the end of the connection."""

    def __init__(self, head: bytes, more: bytes = b"") -> None:
        self.head, self.more = head, more
        self.asked, self.go, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.requests = 0

    def __call__(self, stream: socket.socket) -> None:
        request_head(stream)
        self.requests += 1
        self.asked.set()
        try:
            while not self.go.wait(0.02):
                if not is_open(stream):
                    return
            stream.sendall(self.head)
            while self.more:
                stream.sendall(self.more)
            stream.recv(1)
        finally:
            self.ended.set()


def is_open(stream: socket.socket) -> bool:
    try:
        return stream.recv(1, socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True


@pytest.fixture
def without_gc() -> Iterator[None]:
    """Without the collector of cycles: what a program drops ends at once."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


async def seen(event: threading.Event) -> bool:
    return await asyncio.get_running_loop().run_in_executor(None, event.wait, 60)


async def cancelled(task: asyncio.Future[Any]) -> None:
    """Ends the task, without its exception, which knows the frames of the task."""
    task.cancel()
    await asyncio.wait((task,))
    assert task.cancelled()


@pytest.mark.parametrize("kind", ["bytes", "iter_bytes", "iter_lines"])
def test_a_body_that_was_cut_short_is_no_whole_body_after_a_cancelled_read(
    service: str, scripted: Serve, kind: str
) -> None:
    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2000000\r\n\r\n" + b"x" * 900_000)

    url = scripted(talk).url

    async def work() -> None:
        async with AsyncClient(socket=service) as client, AsyncExitStack() as stack:
            asked, invoke = asyncio.Event(), client._invoke_raw

            async def held(method: str, *rest: Any, **options: Any) -> Any:
                if method == "request.wait" and not asked.is_set():
                    asked.set()
                    await asyncio.Event().wait()
                return await invoke(method, *rest, **options)

            client._invoke_raw = held  # type: ignore[method-assign]
            body: Any = client.stream(url) if kind == "bytes" else await client.get(url, body_to="stream")
            await stack.enter_async_context(body)
            body._call = held
            items = getattr(body, kind)()

            async def rest() -> list[Any]:
                return [item async for item in items]

            reading = asyncio.ensure_future(rest())
            await asyncio.wait_for(asked.wait(), 60)
            await cancelled(reading)
            for _ in range(2):
                with pytest.raises(outrider.ConnectionLost):
                    await rest()
                items = getattr(body, kind)()

    asyncio.run(asyncio.wait_for(work(), 120))


@pytest.mark.parametrize("end", ["drop", "close"])
@pytest.mark.parametrize("kind", ["bytes", "iter_bytes"])
@pytest.mark.usefixtures("without_gc")
def test_a_body_whose_opening_was_cancelled_ends_when_it_is_dropped(
    service: str, scripted: Serve, kind: str, end: str
) -> None:
    origin = Origin(b"HTTP/1.1 200 OK\r\nContent-Length: 200000000\r\n\r\n", b"x" * 65536)
    origin.go.set()
    url = scripted(origin).url

    async def work() -> None:
        async with AsyncClient(socket=service) as client:
            body: Any = client.stream(url) if kind == "bytes" else await client.get(url, body_to="stream")
            await body.__aenter__()
            items, reading = getattr(body, kind)(), body._reading
            task = asyncio.ensure_future(items.__anext__())
            while reading.piping is None:
                await asyncio.sleep(0)
            await cancelled(task)
            if end == "close":
                await body.close()
                assert reading.piping is None
            del body, items, reading, task
            assert await seen(origin.ended)

    asyncio.run(asyncio.wait_for(work(), 120))


def test_a_cancelled_reader_of_a_closed_stream_is_cancelled(service: str, scripted: Serve) -> None:
    origin = Origin(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
    origin.go.set()
    url = scripted(origin).url

    async def work() -> None:
        async with AsyncClient(socket=service) as client, client.stream(url) as stream:
            reading: Any = stream._reading
            task = asyncio.ensure_future(stream.read())
            while reading.piping is None:
                await asyncio.sleep(0)
            give_up(reading.piping)
            await cancelled(task)

    asyncio.run(asyncio.wait_for(work(), 120))


def test_another_thread_cancels_a_task() -> None:
    async def work() -> None:
        task = asyncio.ensure_future(asyncio.Event().wait())
        await asyncio.sleep(0)
        # which refuses other threads in this mode
        await asyncio.get_running_loop().run_in_executor(None, give_up, task)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(work(), 60), debug=True)
    loop = asyncio.new_event_loop()
    task = loop.create_task(asyncio.Event().wait())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    give_up(task)
    # asyncio would tell of the task's destruction
    task._log_destroy_pending = False  # type: ignore[attr-defined]


@pytest.mark.usefixtures("without_gc")
def test_a_cancelled_task_that_is_kept_keeps_no_event_stream_open(service: str, scripted: Serve) -> None:
    origin = Origin(EVENTS)
    origin.go.set()
    url = scripted(origin).url

    async def work() -> None:
        async with AsyncClient(socket=service) as client:
            events, came = client.sse(url, reconnect=False), asyncio.Event()

            async def read() -> None:
                async for _ in events:
                    came.set()

            task = asyncio.ensure_future(read())
            await asyncio.wait_for(came.wait(), 60)
            # until it waits for the next event
            await client.info()
            await cancelled(task)
            assert await seen(origin.ended) and events.stream is None
            del task

    asyncio.run(asyncio.wait_for(work(), 120))


def test_a_read_that_ends_before_the_head_sends_the_request_once(service: str, scripted: Serve) -> None:
    origin = Origin(EVENTS)
    url = scripted(origin).url

    async def work() -> None:
        async with AsyncClient(socket=service) as client:
            events = client.sse(url, json={"a": 1}, reconnect=False)
            items = events.__aiter__()
            for _ in range(3):
                task = asyncio.ensure_future(items.__anext__())
                assert await seen(origin.asked)
                await cancelled(task)
            opening = [asyncio.ensure_future(events.open()) for _ in range(2)]
            await asyncio.sleep(0)
            origin.go.set()
            assert (await items.__anext__()).data == "a"
            assert await asyncio.gather(*opening) == [events, events] and origin.requests == 1
            await items.aclose()
            assert await seen(origin.ended)

    asyncio.run(asyncio.wait_for(work(), 120))


@pytest.mark.parametrize("end", ["drop", "close", "end", "late", "enter"])
@pytest.mark.usefixtures("without_gc")
def test_an_event_stream_ends_before_the_head(service: str, scripted: Serve, end: str) -> None:
    origin = Origin(EVENTS)
    url = scripted(origin).url

    async def work() -> None:
        async with AsyncClient(socket=service) as client:
            events: Any = client.sse(url, reconnect=False)
            items = events.__aiter__()
            task = asyncio.ensure_future(events.__aenter__() if end == "enter" else items.__anext__())
            assert await seen(origin.asked)
            if end != "close":
                await cancelled(task)
            if end == "late":
                # the head has come, and no task has taken the stream
                origin.go.set()
                await asyncio.wait((events._opens,))
            if end == "end":
                await items.aclose()
            elif end == "close":
                await events.close()
                with pytest.raises(StopAsyncIteration):
                    await task
            elif end == "enter":
                assert await seen(origin.ended)
            del events, items, task
            assert await seen(origin.ended)

    asyncio.run(asyncio.wait_for(work(), 120))


def test_an_iteration_that_never_began_ends_nothing(service: str, scripted: Serve) -> None:
    origin = Origin(EVENTS)
    origin.go.set()
    url = scripted(origin).url

    async def work() -> None:
        async with AsyncClient(socket=service) as client, client.sse(url, reconnect=False) as events:
            events.__aiter__()
            assert (await events.__aiter__().__anext__()).data == "a"

    asyncio.run(asyncio.wait_for(work(), 120))


def test_a_closed_event_stream_raises_no_failure_that_came_later(client: Client, scripted: Serve) -> None:
    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(EVENTS.replace(b"\r\n\r\n", b"\r\nContent-Length: 99\r\n\r\n"))

    with client.sse(scripted(talk).url, reconnect=False) as events:
        assert client.wait(events.request or "", timeout=60, check=False)
        for event in events:
            assert event.data == "a"
            break
        assert list(events) == []


def test_cancelled_waits_for_messages_leave_nothing(service: str) -> None:
    from outrider._async.pipe import AsyncChannel

    async def work() -> None:
        channel = AsyncChannel(asyncio.get_running_loop(), b"")
        for _ in range(3):
            task = asyncio.ensure_future(channel.read(None))
            while not channel._waiting:
                await asyncio.sleep(0)
            await cancelled(task)
            assert not channel._waiting

    asyncio.run(asyncio.wait_for(work(), 60))


def test_a_watch_of_the_network_goes_on_after_a_cancelled_read(service: str) -> None:
    async def work() -> None:
        async with AsyncClient(socket=service) as client:
            invoke, results = client.invoke, []

            async def noted(*words: Any, **options: Any) -> Any:
                results.append(await invoke(*words, **options))
                return results[-1]

            client.invoke = noted  # type: ignore[method-assign]
            items: Any = client.reachability.watch(host="127.0.0.1")
            first = await items.__anext__()
            task = asyncio.ensure_future(items.__anext__())
            await asyncio.sleep(0)
            await cancelled(task)
            client._inbox().event("event.reachability", results[0])
            assert repr(await asyncio.wait_for(items.__anext__(), 60)) == repr(first)
            await items.aclose()
            assert not client._inbox()._open()
            await client.info()
            with pytest.raises(outrider.HandleError):
                await invoke("events.unsubscribe", {"subscription": results[0]["subscription"]})

    asyncio.run(asyncio.wait_for(work(), 120))
