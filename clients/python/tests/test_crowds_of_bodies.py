# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Many uploads, WebSockets and downloads at once: no more than the service allows."""

import asyncio
import threading

import httpx
import outrider
import pytest
from outrider.httpx import AsyncTransport, Transport
from peers import slow_session

CROWD = 150


class Peak:
    """Bodies that count how many of them are being sent at a time."""

    def __init__(self) -> None:
        self.most = self._now = 0
        self._lock = threading.Lock()

    def _count(self, more):
        with self._lock:
            self._now += more
            self.most = max(self.most, self._now)

    def body(self, within=None):
        self._count(1)
        threading.Event().wait(0.03)
        yield b"wolf"
        if within is not None:
            yield within(iter([b"x"]))
        self._count(-1)

    async def body_in_a_task(self):
        self._count(1)
        await asyncio.sleep(0.03)
        yield b"wolf"
        self._count(-1)


def in_threads(count, send):
    found = []

    def run():
        try:
            found.append(send())
        except Exception as problem:
            found.append(problem)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_uploads_of_the_blocking_drop_ins_wait_for_two_places(service, origin, monkeypatch):
    """The service allows 256 streams, and an upload has one for each of its bodies."""
    httpx, requests = pytest.importorskip("httpx"), pytest.importorskip("requests")
    import outrider.requests
    from outrider.httpx import Transport

    monkeypatch.setattr("outrider._dropins.blocking.BODIES", 4)
    with requests.Session() as session:
        session.trust_env = False
        session.mount("http://", outrider.requests.Adapter(socket=service))
        peak = Peak()

        def within(data):
            return session.post(origin + "/echo", data=data).content

        assert in_threads(20, lambda: session.post(origin + "/echo", data=peak.body(within)).status_code) == [200] * 20
        assert peak.most <= 2
    with httpx.Client(transport=Transport(socket=service), trust_env=False, timeout=30) as client:
        peak = Peak()
        assert in_threads(20, lambda: client.post(origin + "/echo", content=peak.body()).status_code) == [200] * 20
        assert peak.most <= 2


def test_a_body_that_httpx_awaits_uploads_by_itself(service, origin, monkeypatch):
    httpx = pytest.importorskip("httpx")
    from outrider.httpx import AsyncTransport

    monkeypatch.setattr("outrider._connection.awaiting.UPLOADS", 2)

    async def work():
        async with httpx.AsyncClient(transport=AsyncTransport(socket=service), trust_env=False, timeout=30) as client:
            peak = Peak()

            async def inner():
                yield b"x"

            async def within():
                async for piece in peak.body_in_a_task():
                    yield piece
                yield (await client.post(origin + "/echo", content=inner())).content

            sent = [client.post(origin + "/echo", content=within()) for _ in range(20)]
            found = await asyncio.wait_for(asyncio.gather(*sent), 30)
            assert [response.status_code for response in found] == [200] * 20
            assert peak.most <= 2

    asyncio.run(work())


def test_bodies_in_pieces_wait_for_places(service, origin, monkeypatch):
    """Requests that such a body makes wait for none, for the body keeps its own place."""
    monkeypatch.setattr("outrider._sync.connected.UPLOADED", 2)
    monkeypatch.setattr("outrider._connection.awaiting.UPLOADED", 2)
    with outrider.Client(socket=service) as client:
        peak = Peak()

        def within():
            # the beginning is looked at before the body has a place
            yield b"x"
            yield from peak.body()
            yield client.post(origin + "/echo", data=iter([b"x"])).content

        assert in_threads(20, lambda: client.post(origin + "/echo", data=within()).status) == [200] * 20
        assert peak.most <= 2
        assert not client._connection.feeds

    async def work():
        async with outrider.AsyncClient(socket=service) as client:
            peak = Peak()

            async def within():
                async for piece in peak.body_in_a_task():
                    yield piece
                yield (await client.post(origin + "/echo", data=iter([b"x"]))).content

            sent = [client.post(origin + "/echo", data=within()) for _ in range(20)]
            found = await asyncio.wait_for(asyncio.gather(*sent), 30)
            assert [response.status for response in found] == [200] * 20
            assert peak.most <= 2

    asyncio.run(work())


def test_a_crowd_of_websockets_and_followed_downloads_with_functions(service, origin, tmp_path):
    async def work():
        async with outrider.AsyncClient(socket=service) as client:
            session = slow_session(client)

            async def talk():
                async with session.websocket(origin.replace("http", "ws") + "/websocket") as socket:
                    await socket.send("wolf")
                    return await socket.recv()

            async def saved(place):
                path = tmp_path / str(place)
                return (await session.download(origin + "/json", path, progress=lambda progress: None)).status

            found = await asyncio.wait_for(asyncio.gather(*[talk() for _ in range(CROWD)]), 30)
            assert found == ["wolf"] * CROWD
            found = await asyncio.wait_for(asyncio.gather(*[saved(place) for place in range(CROWD)]), 30)
            assert found == [200] * CROWD

    asyncio.run(work())


def test_a_body_of_a_session_uses_the_session_while_all_places_are_taken(service, origin):
    async def work():
        async with outrider.AsyncClient(socket=service) as client:
            session, begun, full = client.session(), [], asyncio.Event()

            @session.adapter
            async def sign(attempt):
                pass

            async def body():
                begun.append(1)
                if len(begun) == 56:
                    full.set()
                yield b"wolf"
                await full.wait()
                yield (await session.get(origin + "/json")).content

            sent = [session.post(origin + "/echo", data=body()) for _ in range(80)]
            found = await asyncio.wait_for(asyncio.gather(*sent), 30)
            assert [response.status for response in found] == [200] * 80

    asyncio.run(work())


def test_a_crowd_of_started_requests_with_functions(service, origin, tmp_path):
    """The start waits while many functions run, for the service lets 64 callbacks wait."""

    async def work():
        async with outrider.AsyncClient(socket=service) as client:
            session = slow_session(client)

            async def send():
                return (await (await session.start("GET", origin + "/json")).response()).status

            async def save(place):
                started = await session.download.start(origin + "/json", tmp_path / str(place))
                return (await started.response()).status

            sent = [one for place in range(CROWD) for one in (send(), save(place))]
            assert await asyncio.wait_for(asyncio.gather(*sent), 30) == [200] * 2 * CROWD
            started = [await session.start("GET", origin + "/json") for _ in range(CROWD)]
            assert [(await one.response()).status for one in started] == [200] * CROWD

    asyncio.run(work())
    with outrider.Client(socket=service) as client:
        session = client.session()

        @session.adapter
        def sign(attempt):
            threading.Event().wait(0.005)

        started = [session.start("GET", origin + "/json") for _ in range(CROWD)]
        assert [one.response().status for one in started] == [200] * CROWD
        found = in_threads(CROWD, lambda: session.start("GET", origin + "/json").response().status)
        assert found == [200] * CROWD
        assert not client._connection.turns


def test_bodies_that_fail_leave_no_stream(service, client, origin):
    """A connection may have 256 streams."""
    requests = 260

    async def work():
        async def body():
            raise KeyError("mine")
            yield b""

        other = outrider.AsyncClient(socket=service)
        async with other, httpx.AsyncClient(transport=AsyncTransport(other)) as awaiting:
            for _ in range(requests):
                with pytest.raises(KeyError, match="mine"):
                    await awaiting.post(f"{origin}/echo", content=body())

    def body():
        raise KeyError("mine")
        yield b""

    asyncio.run(work())
    with httpx.Client(transport=Transport(client)) as blocking:
        for _ in range(requests):
            with pytest.raises(KeyError, match="mine"):
                blocking.post(f"{origin}/echo", content=body())
