# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Calls whose task is cancelled, by a time limit for instance: the next read of a stream continues where the last one
ended, and nothing that a call has opened is left behind."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import threading
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import outrider
import pytest
from outrider import AsyncClient
from peers import CHUNKED, Scripted, await_bytes, chunk, request_head

Serve = Callable[[Callable[[socket.socket], None]], Scripted]
NUMBERS = [b"%d" % number for number in range(500)]
SHORT = 0.0002
"""Seconds: less than a call takes."""


def count(stream: socket.socket) -> None:
    """Sends numbers, one line for each, with pauses."""
    for number in NUMBERS:
        stream.sendall(number + b"\n")
        time.sleep(0.001)


def count_in_a_body(stream: socket.socket) -> None:
    request_head(stream)
    stream.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    count(stream)


def chat(stream: socket.socket, head: bytes) -> None:
    """Sends the numbers as messages of a WebSocket, and a Close frame."""
    [key] = [line.split(b": ")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key")]
    token = b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    upgraded = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    stream.sendall(upgraded + b"Sec-WebSocket-Accept: " + token + b"\r\n\r\n")
    for number in NUMBERS:
        stream.sendall(bytes([0x81, len(number)]) + number)
        time.sleep(0.001)
    stream.sendall(b"\x88\x02\x03\xe8")
    stream.recv(6)


async def impatient(read: Callable[[], Awaitable[Any]]) -> tuple[list[Any], int]:
    """The results of the reads up to an empty result, and the number of cancelled reads."""
    found, cancelled, patience = [], 0, SHORT
    while True:
        try:
            piece = await asyncio.wait_for(read(), patience)
        except asyncio.TimeoutError:
            cancelled += 1
            # until the time suffices for a call on this machine
            patience *= 1.3
            continue
        if not piece:
            return found, cancelled
        found.append(piece)
        patience = SHORT


def test_a_tcp_connection_loses_nothing(service: str, scripted: Serve) -> None:
    server = scripted(count)

    async def work() -> None:
        async with AsyncClient(socket=service) as client, client.tcp("127.0.0.1", server.port) as connection:
            lines, cancelled = await impatient(connection.read_line)
            assert [line.strip() for line in lines] == NUMBERS and cancelled > 0

    asyncio.run(work())


@pytest.mark.parametrize("kind", ["bytes", "lines"])
def test_a_stream_loses_nothing(service: str, scripted: Serve, kind: str) -> None:
    server = scripted(count_in_a_body)

    async def work() -> None:
        async with AsyncClient(socket=service) as client:
            async with client.stream(f"http://127.0.0.1:{server.port}/") as stream:

                async def read() -> Any:
                    async for piece in getattr(stream, kind)():
                        return piece

                found, cancelled = await impatient(read)
            text = b"".join(found) if kind == "bytes" else "".join(f"{line}\n" for line in found).encode()
            assert text.split() == NUMBERS and cancelled > 0

    asyncio.run(work())


@pytest.mark.parametrize("kind", ["bytes", "lines", "tcp", "events", "iter_bytes", "iter_lines", "long", "messages"])
def test_an_iteration_goes_on_after_a_cancelled_read(service: str, scripted: Serve, kind: str) -> None:
    def talk(stream: socket.socket) -> None:
        if kind == "tcp":
            return count(stream)
        head = request_head(stream)
        if kind == "messages":
            return chat(stream, head)
        # more than 256 KiB come on a connection of their own
        form = {"events": b"data: %s\n\n", "long": b"%1000s"}.get(kind, b"%s\n")
        mime = b"event-stream" if kind == "events" else b"plain"
        length = b"Content-Length: %d\r\n" % (1000 * len(NUMBERS)) if kind == "long" else b""
        stream.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/%s\r\n%s\r\n" % (mime, length))
        for number in NUMBERS:
            stream.sendall(form % number)
            time.sleep(0.001)

    server = scripted(talk)
    url = f"http://127.0.0.1:{server.port}/"

    async def opened(client: AsyncClient, stack: AsyncExitStack) -> AsyncIterator[Any]:
        if kind == "messages":
            return (await stack.enter_async_context(client.websocket(url))).__aiter__()
        if kind == "tcp":
            return (await stack.enter_async_context(client.tcp("127.0.0.1", server.port))).lines()
        if kind == "events":
            return client.sse(url, reconnect=False).__aiter__()
        body: Any = client.stream(url) if kind in ("bytes", "lines") else await client.get(url, body_to="stream")
        items: AsyncIterator[Any] = getattr(await stack.enter_async_context(body), kind.replace("long", "iter_bytes"))()
        return items

    async def work() -> None:
        async with AsyncClient(socket=service) as client, AsyncExitStack() as stack:
            items = await opened(client, stack)

            async def read() -> Any:
                async for item in items:
                    return item

            found, cancelled = await impatient(read)
        texts = [item.data if kind == "events" else item for item in found]
        whole = b"".join(text if isinstance(text, bytes) else text.encode() for text in texts)
        assert whole.replace(b"\n", b"").replace(b" ", b"") == b"".join(NUMBERS) and cancelled > 0

    asyncio.run(work())


def test_the_end_of_a_loop_closes_an_event_stream_that_is_kept(service: str, scripted: Serve) -> None:
    ended = threading.Event()

    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: a\n\n")
        stream.recv(1)
        ended.set()

    server = scripted(talk)

    async def work() -> None:
        async with AsyncClient(socket=service) as client:
            events = client.sse(f"http://127.0.0.1:{server.port}/", reconnect=False)
            async for event in events:
                assert event.data == "a"
                break
            assert await asyncio.get_running_loop().run_in_executor(None, ended.wait, 30)
            assert events.stream is None

    asyncio.run(work())


@pytest.mark.parametrize("arrives", ["before", "between", "with", "after"])
def test_a_reply_around_the_cancellation_goes_to_the_next_read(service: str, scripted: Serve, arrives: str) -> None:
    go, sent = threading.Event(), threading.Event()

    def talk(stream: socket.socket) -> None:
        go.wait(20)
        stream.sendall(b"first")
        sent.set()
        stream.recv(1)
        stream.sendall(b"second")

    server = scripted(talk)

    async def work() -> None:
        async with AsyncClient(socket=service) as client, client.tcp("127.0.0.1", server.port) as connection:
            reading = asyncio.create_task(connection.read())
            await client.info()
            live = await client._live()
            receive = live.data_received

            def received(data: bytes) -> None:
                # in the same turn of the event loop, before the task runs again
                if arrives == "between":
                    reading.cancel()
                receive(data)
                if arrives == "before":
                    reading.cancel()

            if arrives in ("before", "between"):
                live.data_received = received  # type: ignore[method-assign]
            go.set()
            if arrives == "with":
                # the reply waits in the socket while the task ends
                await_bytes(live)
            sent.wait(20)
            if arrives in ("with", "after"):
                reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            live.data_received = receive  # type: ignore[method-assign]
            first = await connection.read(min=5)
            await connection.write(b"x")
            assert (first, await connection.read()) == (b"first", b"second")
            assert not live._left_reads

    asyncio.run(work())


def test_a_task_that_waits_for_bytes_ends_when_another_closes_the_stream(service: str, scripted: Serve) -> None:
    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(CHUNKED + chunk(b"hello"))
        stream.recv(1)

    async def work() -> None:
        async with AsyncClient(socket=service) as client, client.stream(scripted(talk).url) as s:
            items = s.bytes()
            assert await items.__anext__() == b"hello"
            readers = [asyncio.ensure_future(s.read()) for _ in range(2)]
            for _ in range(20):
                await asyncio.sleep(0)
            await s.close()
            for reader in readers:
                with pytest.raises(ValueError, match="closed"):
                    await asyncio.wait_for(reader, 30)

    asyncio.run(asyncio.wait_for(work(), 90))


@pytest.mark.parametrize("declared", [True, False])
def test_tasks_that_wait_for_bytes_all_see_the_end(service: str, scripted: Serve, declared: bool) -> None:
    go = threading.Event()

    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello" if declared else CHUNKED + chunk(b"hello"))
        go.wait(60)
        stream.sendall(b"world" if declared else chunk(b"world") + chunk(b""))
        stream.recv(1)

    async def work() -> None:
        async with AsyncClient(socket=service) as client, client.stream(scripted(talk).url) as s:
            items = s.bytes()
            assert await items.__anext__() == b"hello"
            readers = [asyncio.ensure_future(s.read()) for _ in range(3)]
            await until_waiting(s._pipe, 3)
            go.set()
            found = await asyncio.wait_for(asyncio.gather(*readers), 60)
            assert b"".join(found) == b"world"

    asyncio.run(asyncio.wait_for(work(), 90))


async def until_waiting(pipe: Any, count: int) -> None:
    """Waits until so many tasks wait for bytes."""
    while len(pipe._turns) < count:
        await asyncio.sleep(0)


def test_a_stream_whose_event_loop_has_ended_is_closed(service: str, scripted: Serve) -> None:
    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(CHUNKED + chunk(b"hello"))
        stream.recv(1)

    client, loop = AsyncClient(socket=service), asyncio.new_event_loop()
    stream = client.stream(scripted(talk).url)

    async def work() -> asyncio.Task[Any]:
        await stream.__aenter__()
        items = stream.bytes()
        assert await items.__anext__() == b"hello"
        waiting = asyncio.ensure_future(stream.read())
        await until_waiting(stream._pipe, 1)
        return waiting

    waiting = loop.run_until_complete(asyncio.wait_for(work(), 90))
    loop.close()
    pipe: Any = stream._pipe
    asyncio.run(asyncio.wait_for(stream.close(), 60))
    assert pipe._socket.fileno() == -1 and not waiting.done()
    # its destruction would be told otherwise
    waiting._log_destroy_pending = False  # type: ignore[attr-defined]
    asyncio.run(client.close())


def test_a_closed_stream_leaves_no_read_behind(service: str, scripted: Serve) -> None:
    go = threading.Event()

    def talk(stream: socket.socket) -> None:
        go.wait(20)
        stream.sendall(b"first")
        stream.recv(1)

    server = scripted(talk)

    async def work() -> None:
        async with AsyncClient(socket=service) as client:
            live = await client._live()
            async with client.tcp("127.0.0.1", server.port) as connection:
                reading = asyncio.create_task(connection.read())
                await client.info()
                go.set()
                await_bytes(live)
                reading.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await reading
                assert len(live._left_reads) == 1
            assert not live._left_reads and not live._waiting

    asyncio.run(work())


@pytest.mark.parametrize("arrives", ["before", "after"])
@pytest.mark.parametrize(
    ("method", "name", "look"),
    [
        ("events.subscribe", "subscription", "events.unsubscribe"),
        ("reachability.watch", "subscription", "events.unsubscribe"),
        ("session.create", "session", "session.get"),
        ("upload.open", "stream", "stream.finish"),
        ("data.start", "request", "request.get"),
        ("data.start", "stream", "stream.read"),
        ("stream.open", "request", "request.get"),
        ("stream.open", "stream", "stream.read"),
        ("data.send", "request", "request.get"),
    ],
)
def test_what_a_cancelled_call_has_opened_is_ended(
    service: str, origin: str, method: str, name: str, look: str, arrives: str
) -> None:
    params: dict[str, dict[str, Any]] = {
        "events.subscribe": {"topics": ["request.*"]},
        "reachability.watch": {"host": "127.0.0.1"},
        "data.start": {"url": f"{origin}/json", "bodyTo": "stream"},
        "stream.open": {"url": f"{origin}/json"},
        "data.send": {"url": f"{origin}/json", "bodyTo": "stream"},
    }
    found: list[str] = []

    async def work() -> None:
        async with AsyncClient(socket=service) as client:
            await client.info()
            live = await client._live()
            receive = live.data_received

            def received(data: bytes) -> None:
                found.append(json.loads(data.split(b"\n")[0])["result"][name])
                # in the same turn of the event loop, before the task runs again
                if arrives == "after":
                    call.cancel()
                receive(data)
                if arrives == "before":
                    call.cancel()

            live.data_received = received  # type: ignore[method-assign]
            call = asyncio.ensure_future(client.invoke(method, params.get(method, {})))
            with pytest.raises(asyncio.CancelledError):
                await call
            live.data_received = receive  # type: ignore[method-assign]
            with pytest.raises(outrider.HandleError):
                await client.invoke(look, {name: found[0]})

    asyncio.run(asyncio.wait_for(work(), 30))


def test_a_detached_request_outlives_its_cancelled_call(service: str, origin: str) -> None:
    async def work() -> None:
        async with AsyncClient(socket=service) as client:
            await client.info()
            live = await client._live()
            receive = live.data_received

            def received(data: bytes) -> None:
                call.cancel()
                receive(data)

            live.data_received = received  # type: ignore[method-assign]
            params = {"url": f"{origin}/json", "detach": True, "name": "cancelled-call"}
            call = asyncio.ensure_future(client.invoke("data.start", params))
            with pytest.raises(asyncio.CancelledError):
                await call
            live.data_received = receive  # type: ignore[method-assign]
            assert (await client.invoke("request.get", {"request": "cancelled-call"}))["detached"]

    asyncio.run(asyncio.wait_for(work(), 30))
