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
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import outrider
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


def test_a_started_request_that_is_dropped_leaves_nothing_after_its_end(client: Client, origin: str) -> None:
    request = client.start("GET", f"{origin}/json")
    response = request.response()
    del request
    assert requests(client) != [] and response.json()["id"] == 1
    del response
    until(lambda: requests(client) == [])
    for _ in range(8):
        client.start("GET", f"{origin}/json")
    until(lambda: client.start("GET", f"{origin}/json").response().ok and client._dropped == [])
    until(lambda: requests(client) == [])


@pytest.mark.parametrize("way", ["closed", "dropped", "unused"])
def test_a_client_keeps_no_function_of_a_session_that_has_ended(client: Client, origin: str, way: str) -> None:
    called: list[int] = []

    def use() -> weakref.ref[Any]:
        session = client.session()

        @session.adapter
        def sign(attempt: Any) -> None:
            called.append(attempt.attempt)

        for _ in range(2 if way == "closed" else way == "dropped"):
            assert session.get(f"{origin}/json").ok
            if way == "closed":
                session.close()
        return weakref.ref(sign)

    function = use()
    gc.collect()
    assert function() is None and called == {"closed": [1, 1], "dropped": [1], "unused": []}[way]


def test_a_started_request_keeps_the_functions_of_its_session(client: Client, origin: str) -> None:
    called: list[int] = []

    def start() -> Any:
        session = client.session()

        @session.retrier
        def again(answered: Any) -> bool:
            called.append(answered.attempt)
            return False

        return session.start("GET", f"{origin}/status/503", validate=True, check=False)

    request = start()
    gc.collect()
    assert request.response().status == 503 and called == [1]


def test_event_streams_that_are_refused_leave_no_stream(client: Client, service: str, origin: str) -> None:
    """A connection may have 256 streams."""

    async def work() -> None:
        async with AsyncClient(socket=service) as other:
            for _ in range(260):
                with pytest.raises(outrider.StreamError, match="no event stream"):
                    await other.sse(f"{origin}/json").open()

    asyncio.run(work())
    for _ in range(260):
        with pytest.raises(outrider.StreamError, match="no event stream"):
            client.sse(f"{origin}/json")


def test_started_requests_with_a_stream_that_are_dropped_are_cancelled(client: Client, peer: MakePeer) -> None:
    server = peer(ENDLESS, b"")
    for _ in range(260):
        client.start("GET", server.url, body_to="stream")
    response = client.start("GET", server.url, body_to="stream").response()
    gc.collect()
    assert next(response.iter_bytes()) == b"one\ntwo\n"
    del response
    until(lambda: requests(client) == [])


def test_a_started_request_with_a_stream_gives_a_body_of_any_length(client: Client, service: str, origin: str) -> None:
    request = client.start("GET", f"{origin}/bytes/3000000", body_to="stream")
    assert len(request.response().content) == 3_000_000
    with pytest.raises(outrider.ConnectError):
        client.start("GET", "http://127.0.0.1:1/", body_to="stream").response()

    async def work() -> int:
        async with AsyncClient(socket=service) as other:
            started = await other.start("GET", f"{origin}/bytes/3000000", body_to="stream")
            return len(await (await started.response()).read())

    assert asyncio.run(work()) == 3_000_000


def test_a_started_request_of_the_awaiting_client_leaves_nothing_after_its_end(service: str, origin: str) -> None:
    async def work() -> None:
        async with AsyncClient(socket=service) as client:
            for _ in range(4):
                await client.start("GET", f"{origin}/json")
            while client._dropped:
                assert (await (await client.start("GET", f"{origin}/json")).response()).ok
            while (await client.call("request.list"))["requests"]:
                await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(work(), 30))


def test_a_started_request_whose_handle_is_known_stays(client: Client, origin: str, tmp_path: Path) -> None:
    handle = client.start("GET", f"{origin}/json").handle
    told = client.start("GET", f"{origin}/json").response()
    assert told is not None and told.request is not None
    looked = told.request
    del told
    client.download.start(f"{origin}/json", tmp_path / "a", detach=True, name="file").response()
    body = client.start("GET", f"{origin}/bytes/9000000").response().handle
    client.start("GET", f"{origin}/json", detach=True, name="kept")
    for _ in range(2):
        for request in (handle, looked, "kept"):
            response = client.wait(request)
            assert response is not None and response.json()["id"] == 1
        saved = client.wait("file")
        assert saved is not None and saved.ok
        assert client.call("response.read", response=body, bytes=3)["end"] is False
        gc.collect()
    for name in ("kept", "file"):
        client.call("request.forget", request=name)


def test_a_body_with_the_names_of_options_is_no_wish_for_them(client: Client, origin: str) -> None:
    for options in ({"json": {"events": [], "detach": True}}, {"detach": False}):
        client.start("POST", f"{origin}/echo", **options).response()
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
