# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What is dropped without being closed leaves nothing behind in the service."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from outrider import AsyncClient, Client
from peers import Peer, until

MakePeer = Callable[..., Peer]

ENDLESS = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\none\ntwo\n"
EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: one\n\ndata: two\n\n"
HERE = Path(__file__).resolve().parent


@pytest.fixture(params=["socket", "stdio"])
def either(request: pytest.FixtureRequest, service: str, binary: str) -> Any:
    ways = {"socket": {"socket": service}, "stdio": {"command": [binary, "serve", "--stdio"]}}
    with Client(**ways[request.param]) as made:
        yield made


def requests(client: Client) -> list[Any]:
    return client.call("request.list")["requests"]  # type: ignore[no-any-return]


WAYS: dict[str, Callable[[Client, str], Any]] = {
    "lines": lambda client, url: next(client.stream(url).lines()),
    "bytes": lambda client, url: next(client.stream(url).bytes()),
    "stream": lambda client, url: client.stream(url).status,
    "raw": lambda client, url: client.stream(url).raw().read(1) if client._command is None else None,
    "response": lambda client, url: client.get(url, body_to="stream").status,
    "pieces": lambda client, url: next(client.get(url, body_to="stream").iter_bytes()),
    "many": lambda client, url: client.many([{"url": url, "body_to": "stream"}] * 2),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_stream_that_is_dropped_is_cancelled(either: Client, peer: MakePeer, way: str) -> None:
    server = peer(ENDLESS, b"")
    for _ in range(8):
        # more than there are connections to one host
        WAYS[way](either, server.url)
    until(lambda: requests(either) == [])


def test_what_is_still_in_use_is_not_cancelled(client: Client, peer: MakePeer) -> None:
    server = peer(ENDLESS, b"")
    lines = client.stream(server.url).lines()
    pieces = client.get(server.url, body_to="stream").iter_bytes()
    pipe = client.stream(server.url).raw()
    gc.collect()
    assert (next(lines), next(pieces), pipe.read(3)) == ("one", b"one\ntwo\n", b"one")
    assert (next(lines), len(requests(client))) == ("two", 3)
    del lines, pieces, pipe
    until(lambda: requests(client) == [])


def test_a_stream_that_was_read_to_its_end_leaves_nothing(client: Client, origin: str) -> None:
    assert list(client.stream(f"{origin}/json").json())
    assert client.get(f"{origin}/json", body_to="stream").json()
    assert b"".join(client.get(f"{origin}/json", body_to="stream").iter_bytes())
    until(lambda: requests(client) == [])


def test_events_of_a_server_that_are_dropped_are_cancelled(either: Client, peer: MakePeer) -> None:
    server = peer(EVENTS, b"")
    for _ in range(8):
        either.sse(server.url)
        for event in either.sse(server.url):
            assert event.data == "one"
            break
    until(lambda: {one["state"] for one in requests(either)} == {"cancelled"})


def test_a_finalizer_waits_for_nobody(client: Client, peer: MakePeer) -> None:
    """It may run in a thread that holds every lock of the connection."""
    server = peer(ENDLESS, b"")
    streams = [client.stream(server.url) for _ in range(3)]
    connection = client._live()
    with connection._writing, connection._reading:
        streams.pop()
        dropper = threading.Thread(target=streams.pop)
        dropper.start()
        dropper.join(10)
        assert not dropper.is_alive()
    until(lambda: len(requests(client)) == 1)


def test_after_a_fork_and_at_the_end_nothing_is_said(service: str, peer: MakePeer) -> None:
    program = """
import os, sys, outrider
client = outrider.Client(socket=sys.argv[1])
stream, source = client.stream(sys.argv[2]), client.sse(sys.argv[3])
child = os.fork()
if child == 0:
    del stream, source
    os._exit(0)
os.waitpid(child, 0)
assert next(stream.lines()) == "one" and next(iter(source)).data == "one"
cycle = [stream, client.get(sys.argv[2], body_to="stream")]
cycle.append(cycle)
kept = client.watch("request.*")
"""
    words = [sys.executable, "-c", program, service, peer(ENDLESS, b"").url, peer(EVENTS, b"").url]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent / "src")}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_events_are_kept_for_nobody_who_has_gone(client: Client, origin: str) -> None:
    for _ in range(3):
        watch = client.watch("request.*", timeout=10)
        events = client.events("event.finish", timeout=10)
        client.wait(client.start("GET", f"{origin}/json", events=["finish"]))
        for event in watch:
            assert event.topic == "request.created"
            break
        for _ in events:
            break
        else:
            pytest.fail("no event came")
        # what is still there can be gone on with
        assert next(watch).topic is not None
        del watch, events
    assert client._inbox()._open() == []
    until(lambda: client.stats()["events"]["subscriptions"] == 0)


def test_a_function_goes_on_without_its_watch(client: Client, service: str, origin: str) -> None:
    seen: list[Any] = []
    client.watch("request.finished", function=seen.append)
    gc.collect()
    client.get(f"{origin}/json")
    until(lambda: len(seen) == 1)

    async def work() -> None:
        async with AsyncClient(socket=service) as awaiting:
            arrived = asyncio.Event()
            await awaiting.watch("request.finished", function=lambda _: arrived.set()).begin()
            gc.collect()
            await awaiting.get(f"{origin}/json")
            await asyncio.wait_for(arrived.wait(), 30)
            before = (await awaiting.stats())["events"]["subscriptions"]
            async for _ in awaiting.watch("session.*", timeout=0.01):
                pass
            watch = awaiting.watch("request.*")
            await watch.begin()
            await awaiting.get(f"{origin}/json")
            async for _ in watch:
                break
            del watch
            while (await awaiting.stats())["events"]["subscriptions"] != before:
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(work(), 60))


@pytest.mark.parametrize("way", ["socket", "stdio"])
def test_the_awaiting_client_leaves_nothing_either(way: str, service: str, binary: str, peer: MakePeer) -> None:
    ways: dict[str, Any] = {"socket": {"socket": service}, "stdio": {"command": [binary, "serve", "--stdio"]}}
    server, source = peer(ENDLESS, b""), peer(EVENTS, b"")

    async def work() -> None:
        async with AsyncClient(**ways[way]) as client:
            for _ in range(8):
                assert (await client.get(server.url, body_to="stream")).status == 200
                stream = await client.stream(server.url).__aenter__()
                dropped = [stream]
                del stream
                threading.Thread(target=dropped.clear).start()
            for _ in range(1000):
                if (await client.call("request.list"))["requests"] == []:
                    break
                await asyncio.sleep(0.01)
            else:
                raise AssertionError("something was left")
            for _ in range(8):
                await client.sse(source.url).open()

    asyncio.run(work())
