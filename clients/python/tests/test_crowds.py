# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Many requests at once whose functions the service calls: no more than it lets wait."""

import asyncio
import gc
import os
import threading

import outrider
import pytest
from peers import CHUNKED, chunk, request_head, slow_session

CROWD = 150


def test_a_crowd_of_requests_with_functions_fails_none(service, origin):
    """The service lets 64 callbacks wait, and fails the next; the functions make requests of their own."""

    async def work():
        async with outrider.AsyncClient(socket=service) as client:
            session, other = client.session(), client.session()
            called = []

            @session.adapter
            async def sign(attempt):
                called.append(attempt.url)
                if len(called) in (1, 50):
                    assert (await other.get(origin + "/json")).status == 200
                await asyncio.sleep(0.01)

            @other.validator
            async def check(answered):
                await asyncio.sleep(0.01)

            responses = await asyncio.gather(*[session.get(origin + "/echo") for _ in range(CROWD)])
            assert [response.status for response in responses] == [200] * CROWD == [200] * len(called)
            found = await session.many([origin + "/echo"] * CROWD, window=CROWD)
            assert [getattr(one, "status", one) for one in found] == [200] * CROWD

            @session.validator
            async def stay(answered):
                await asyncio.Event().wait()

            tasks = [asyncio.create_task(session.get(origin + "/echo")) for _ in range(CROWD)]
            while len(called) < 3 * CROWD - 100:
                await asyncio.sleep(0.01)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            assert all(task.cancelled() for task in tasks)
            assert (await other.get(origin + "/json")).status == 200

    asyncio.run(work())


def test_a_crowd_of_threads(service, origin):
    with outrider.Client(socket=service) as client:
        session, other = client.session(), client.session()
        together = threading.Barrier(CROWD)
        called, found = [], []

        @session.adapter
        def sign(attempt):
            called.append(attempt.url)
            if len(called) in (1, 50):
                assert other.get(origin + "/json").status == 200

        @other.validator
        def check(answered):
            return True

        def send():
            together.wait()
            try:
                found.append(session.get(origin + "/echo").status)
            except outrider.OutriderError as problem:
                found.append(problem)

        threads = [threading.Thread(target=send) for _ in range(CROWD)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [200] * CROWD
        found = session.many([origin + "/echo"] * CROWD, window=CROWD)
        assert [getattr(one, "status", one) for one in found] == [200] * CROWD


def test_a_crowd_of_streams_with_functions(service, origin, tmp_path):
    """Streams, event streams, downloads and several lists of requests share the places."""

    async def work():
        async with outrider.AsyncClient(socket=service) as client:
            session = slow_session(client)

            async def lines():
                async with session.stream(origin + "/json") as stream:
                    return stream.status

            async def events():
                async with session.sse(origin + "/events/2") as source:
                    return source.response.status

            async def saved(place):
                return (await session.download(origin + "/json", tmp_path / f"async-{place}")).status

            lists = [session.many([origin + "/json"] * CROWD) for _ in range(3)]
            sent = [one for place in range(50) for one in (lines(), events(), saved(place))]
            *found, first, second, third = await asyncio.wait_for(asyncio.gather(*sent, *lists), 60)
            assert found == [200] * 150
            assert [getattr(one, "status", one) for one in first + second + third] == [200] * 3 * CROWD
            assert client._connections[asyncio.get_running_loop()].turns._value == 56

    asyncio.run(work())
    with outrider.Client(socket=service) as client:
        session = client.session()
        together, found = threading.Barrier(83), []

        @session.adapter
        def sign(attempt):
            pass

        def send(one):
            together.wait()
            try:
                found.extend(one())
            except outrider.OutriderError as problem:
                found.append(problem)

        def lines():
            with session.stream(origin + "/json") as stream:
                return [stream.status]

        def listed():
            return [getattr(one, "status", one) for one in session.many([origin + "/json"] * CROWD)]

        threads = [threading.Thread(target=send, args=(one,)) for one in [lines] * 80 + [listed] * 3]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [200] * (80 + 3 * CROWD)
        assert not client._connection.turns


def test_a_function_makes_a_call_while_all_places_wait_for_it(service, origin):
    """At most 240 calls are in flight: the calls of functions have places of their own."""

    async def work():
        async with outrider.AsyncClient(socket=service) as client:

            async def fetch(asked):
                await asyncio.gather(*[client.get(origin + "/json") for _ in range(30)])
                return "token", 3600

            name = f"crowd-{os.getpid()}"
            credential = await client.oauth.refresher(fetch, name, origins=origin)
            sent = [client.get(origin + "/echo", auth=credential) for _ in range(300)]
            responses = await asyncio.wait_for(asyncio.gather(*sent), 20)
            assert {response.status for response in responses} == {200}

    asyncio.run(work())
    with outrider.Client(socket=service) as client:
        together, begun, found = threading.Barrier(300), threading.Event(), []

        @client.oauth.refresher(f"crowd-of-{os.getpid()}", origins=origin)
        def credential(asked):
            begun.wait(20)
            client.get(origin + "/json")
            return "token", 3600

        def send():
            together.wait()
            try:
                found.append(client.get(origin + "/echo", auth=credential).status)
            except outrider.OutriderError as problem:
                found.append(problem)

        threads = [threading.Thread(target=send) for _ in range(300)]
        for thread in threads:
            thread.start()
        while len(client._connection._waiting) < 240:
            begun.wait(0.01)
        begun.set()
        for thread in threads:
            thread.join()
        assert found == [200] * 300


def test_a_crowd_of_requests_waits_for_places(service, origin):
    """The service allows 256 streams: the transport opens fewer, and further requests wait, as with a pool."""

    httpx = pytest.importorskip("httpx")
    from outrider.httpx import AsyncTransport

    async def letters():
        yield b"wolf"

    async def work():
        async with httpx.AsyncClient(transport=AsyncTransport(socket=service), trust_env=False, timeout=30) as client:
            found = await asyncio.gather(*[client.get(origin + "/json") for _ in range(400)])
            found += await asyncio.gather(*[client.post(origin + "/echo", content=letters()) for _ in range(300)])
            assert [response.status_code for response in found] == [200] * 700

    asyncio.run(work())


def test_a_request_waits_for_a_place_as_long_as_for_a_pool(service, origin, scripted, monkeypatch):
    httpx = pytest.importorskip("httpx")
    from outrider.httpx import AsyncTransport

    monkeypatch.setattr("outrider._connection.awaiting.BODIES", 3)

    def talk(stream):
        request_head(stream)
        stream.sendall(CHUNKED + chunk(b"x"))
        stream.recv(1)

    async def work():
        url = scripted(talk).url
        async with httpx.AsyncClient(transport=AsyncTransport(socket=service), trust_env=False, timeout=30) as client:
            kept = [await client.send(client.build_request("GET", url), stream=True) for _ in range(3)]
            with pytest.raises(httpx.PoolTimeout, match="read or close them"):
                await client.get(origin + "/json", timeout=httpx.Timeout(30, pool=0.01))
            waiting = asyncio.create_task(client.get(origin + "/json"))
            await kept.pop().aclose()
            assert (await waiting).status_code == 200
            with pytest.raises(httpx.ConnectError):
                await client.get("http://127.0.0.1:1/")
            kept.clear()
            gc.collect()
            assert len(await asyncio.gather(*[client.get(origin + "/json") for _ in range(9)])) == 9

    asyncio.run(work())


def test_threads_with_unread_bodies_wait_for_places(service, origin, scripted, monkeypatch):
    requests = pytest.importorskip("requests")
    import outrider.requests

    monkeypatch.setattr("outrider._dropins.blocking.BODIES", 3)
    monkeypatch.setattr("outrider.requests._PATIENCE", 0.1)

    def talk(stream):
        request_head(stream)
        stream.sendall(CHUNKED + chunk(b"x"))
        stream.recv(1)

    url = scripted(talk).url
    with requests.Session() as session:
        session.trust_env = False
        session.mount("http://", outrider.requests.Adapter(socket=service))
        kept = [session.get(url, stream=True) for _ in range(3)]
        with pytest.raises(requests.ConnectionError, match="read or close them"):
            session.get(origin + "/json", stream=True)
        assert session.get(origin + "/json").status_code == 200
        kept.pop().close()
        with pytest.raises(requests.ConnectionError):
            session.get("http://127.0.0.1:1/", stream=True)
        assert [session.get(origin + "/json", stream=True).json() for _ in range(5)]
        kept.clear()
        gc.collect()
        monkeypatch.setattr("outrider.requests._PATIENCE", 20)
        together, found = threading.Barrier(20), []

        def send():
            together.wait()
            found.append(len(session.get(origin + "/bytes/100000", stream=True).content))

        threads = [threading.Thread(target=send) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [100_000] * 20


def test_a_blocking_request_of_httpx_waits_for_a_place(service, origin, monkeypatch):
    httpx = pytest.importorskip("httpx")
    from outrider.httpx import Transport

    monkeypatch.setattr("outrider._dropins.blocking.BODIES", 2)
    timeout = httpx.Timeout(30, pool=0.1)
    with httpx.Client(transport=Transport(socket=service), trust_env=False, timeout=timeout) as client:
        url = origin + "/bytes/3000000"
        kept = [client.send(client.build_request("GET", url), stream=True) for _ in range(2)]
        with pytest.raises(httpx.PoolTimeout, match="read or close them"):
            client.get(origin + "/json")
        kept.pop().close()
        assert client.get(origin + "/json").status_code == 200
