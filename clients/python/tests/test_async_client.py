# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The awaiting client, against the real service."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import outrider
import pytest
from outrider import AsyncClient, AsyncResponse
from outrider._connection.wire import IN_FLIGHT
from peers import PATTERN, Peer, serve, stop

Work = Callable[[AsyncClient], Coroutine[Any, Any, None]]


@pytest.fixture
def run(service: str) -> Callable[[Work], None]:
    """Runs a coroutine with a client of the running service."""

    def runner(work: Work) -> None:
        async def main() -> None:
            async with AsyncClient(socket=service) as client:
                await asyncio.wait_for(work(client), 60)

        asyncio.run(main())

    return runner


async def running(client: AsyncClient, calls: int) -> None:
    """Waits until that many calls are running in the service, this one included."""
    while (await client.stats())["calls"]["running"] != calls:
        await asyncio.sleep(0.01)


def test_what_the_service_is_to_judge_raises_its_own_error(run: Callable[[Work], None], origin: str) -> None:
    async def work(client: AsyncClient) -> None:
        with pytest.raises(outrider.StatusError):
            await client.get(f"{origin}/status/404", validate=True)
        with pytest.raises(outrider.SchemaError) as misfit:
            await client.get(f"{origin}/json", serialize={"schema": {"required": ["name"]}})
        assert misfit.value.instance_pointer == "/name"

    run(work)


def test_requests_of_every_kind(run: Callable[[Work], None], origin: str) -> None:
    async def work(client: AsyncClient) -> None:
        r = await client.get(f"{origin}/json", params={"a": 1})
        assert (r.status, r.json(), r.url) == (200, {"id": 1, "x": 0.1}, f"{origin}/json?a=1")
        for method in ("post", "put", "patch", "delete", "options"):
            r = await getattr(client, method)(f"{origin}/echo", json=[1])
            assert r.json()["method"] == method.upper() and r.json()["body"] == "[1]"
        assert (await client.head(f"{origin}/json")).content == b""
        assert (await client.request("PURGE", f"{origin}/echo")).json()["method"] == "PURGE"
        assert (await client.info())["protocol"] == 1 and await client.stats()

    run(work)


def test_many_at_once_and_in_order(run: Callable[[Work], None], origin: str) -> None:
    async def work(client: AsyncClient) -> None:
        gathered = await asyncio.gather(*[client.get(f"{origin}/bytes/{size}") for size in range(150)])
        assert [len(r.content) for r in gathered] == list(range(150))
        for window in (1, 64, 256):
            responses = await client.many([f"{origin}/bytes/{size}" for size in range(150)], window=window)
            assert [len(r.content) for r in responses if isinstance(r, AsyncResponse)] == list(range(150))
        crowd = await asyncio.gather(*[client.call("diagnostics.echo", n=n) for n in range(2000)])
        assert crowd == [{"n": n} for n in range(2000)]
        crowds = await asyncio.gather(*[client.many([f"{origin}/json"] * 100, window=100) for _ in range(8)])
        assert all(isinstance(r, AsyncResponse) for responses in crowds for r in responses)
        bad, good = await client.many(["http://127.0.0.1:1/", f"{origin}/json"])
        assert isinstance(bad, outrider.ConnectError) and isinstance(good, AsyncResponse)
        assert await client.many([]) == []
        kept, inline = await client.many(
            [{"url": f"{origin}/bytes/2000000", "body_to": "stored"}, f"{origin}/bytes/2000000"]
        )
        with pytest.raises(RuntimeError, match="has not been read"):
            kept.content  # noqa: B018
        assert len(inline.content) == len(await kept.read()) == 2_000_000

    run(work)


def test_a_call_that_lasts_long_holds_up_no_batch(run: Callable[[Work], None], origin: str) -> None:
    async def work(client: AsyncClient) -> None:
        tasks = [asyncio.create_task(client.call("diagnostics.sleep", seconds=50)) for _ in range(30)]
        await running(client, 31)
        batches = asyncio.gather(*[client.many([f"{origin}/json"] * 300, window=256) for _ in range(2)])
        assert await client.call("diagnostics.echo", n=1) == {"n": 1}
        assert all(isinstance(r, AsyncResponse) for responses in await batches for r in responses)
        assert not any(task.done() for task in tasks)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert client._here()._free == IN_FLIGHT  # type: ignore[union-attr]

    run(work)


def test_a_request_of_a_batch_may_wait_for_another_call(run: Callable[[Work], None], origin: str) -> None:
    """As of a function that fetches a token with the same client."""

    async def work(client: AsyncClient) -> None:
        async with client.session() as session:

            @session.adapter(timeout=20)
            async def sign(attempt: Any) -> None:
                attempt.headers["X-Own"] = str((await client.call("diagnostics.echo", n=1))["n"])

            tasks = [asyncio.create_task(client.call("diagnostics.sleep", seconds=50)) for _ in range(IN_FLIGHT - 50)]
            await running(client, len(tasks) + 1)
            responses = await session.many([f"{origin}/echo"] * 100, window=50)
            assert not any(task.done() for task in tasks)
            for task in tasks:
                task.cancel()
        assert all(isinstance(r, AsyncResponse) and r.status == 200 for r in responses), responses

    run(work)


def test_failures_raise(run: Callable[[Work], None], origin: str) -> None:
    async def work(client: AsyncClient) -> None:
        with pytest.raises(outrider.ConnectError):
            await client.get("http://127.0.0.1:1/")
        assert (await client.get("http://127.0.0.1:1/", check=False)).error is not None
        with pytest.raises(outrider.StatusError):
            (await client.get(f"{origin}/status/500")).raise_for_status()
        with pytest.raises(outrider.UnknownMethod):
            await client.call("no.such")
        with pytest.raises(outrider.RequestTimeout):
            await client.get(f"{origin}/delay/20", timeout=0.1)
        with pytest.raises(outrider.RequestTimeout):
            await client.invoke("diagnostics.sleep", {"seconds": 30}, timeout=0.05)
        assert await client.call("diagnostics.echo", a=1) == {"a": 1}

    run(work)


def test_a_cancelled_task_cancels_its_call(run: Callable[[Work], None]) -> None:
    """[AC2]"""

    async def work(client: AsyncClient) -> None:
        task = asyncio.create_task(client.call("diagnostics.sleep", seconds=30))
        await running(client, 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await running(client, 1)

    run(work)


def test_large_bodies_are_read_unless_they_are_to_be_kept(
    run: Callable[[Work], None], origin: str, tmp_path: Path
) -> None:
    async def work(client: AsyncClient) -> None:
        r = await client.get(f"{origin}/bytes/8388608")
        assert r.body_kind == "base64" and r.content == PATTERN[:8_388_608]
        r = await client.get(f"{origin}/bytes/8388609")
        assert r.body_kind == "stored" and r.content == PATTERN[:8_388_609]
        (one,) = await client.many([f"{origin}/bytes/2000000"])
        assert isinstance(one, AsyncResponse) and one.content == PATTERN[:2_000_000]
        async with await client.get(f"{origin}/bytes/2000000", body_to="stored") as r:
            with pytest.raises(RuntimeError, match="read"):
                r.content  # noqa: B018
            assert b"".join([piece async for piece in r.iter_bytes(300_000)]) == PATTERN[:2_000_000]
            assert Path(await r.save(tmp_path / "a")).read_bytes() == PATTERN[:2_000_000]
            assert await r.read() == PATTERN[:2_000_000]
        small = await client.get(f"{origin}/json")
        await small.save(tmp_path / "b")
        assert (tmp_path / "b").read_bytes() == small.content == await small.read()

    run(work)


def test_events_and_callbacks(run: Callable[[Work], None], origin: str) -> None:
    async def work(client: AsyncClient) -> None:
        async with client.events(timeout=10) as events:
            request = await client.start("GET", f"{origin}/json", events=["finish"])
            async for event in events:
                assert event.name == "event.finish" and event.request == request.handle
                break
        seen: list[int] = []

        @client.on("diagnostics.tick")
        async def tick(event: outrider.Event) -> None:
            seen.append((await client.call("diagnostics.echo", n=event.params["n"]))["n"])

        client.on("diagnostics.tick", lambda event: seen.append(-1))
        await client.call("diagnostics.notify", count=5)
        while len(seen) < 10:
            await asyncio.sleep(0.01)
        assert sorted(seen) == [-1] * 5 + [0, 1, 2, 3, 4]
        client.off("diagnostics.tick")

        @client.on_callback("callback.add")
        async def add(params: dict[str, Any]) -> dict[str, Any]:
            await asyncio.sleep(0)
            return {"sum": params["a"] + params["b"]}

        reply = await client.call("diagnostics.callback", method="callback.add", params={"a": 2, "b": 3})
        assert reply["answer"] == {"sum": 5}
        with pytest.raises(outrider.CallbackError):
            await client.call("diagnostics.callback", method="callback.other")
        done = await client.wait(await client.start("GET", f"{origin}/json"))
        assert done is not None and done.status == 200

    run(work)


def test_one_client_serves_several_event_loops(service: str) -> None:
    client = AsyncClient(socket=service)

    async def once() -> dict[str, Any]:
        return await client.call("diagnostics.echo", a=1)

    async def last() -> None:
        await client.close()

    for _ in range(3):
        assert asyncio.run(once()) == {"a": 1}
    asyncio.run(last())
    gc.collect()


def descriptors() -> int:
    """How many this process has open."""
    return len(os.listdir("/proc/self/fd"))


def test_event_loops_at_the_same_time_have_a_connection_each(service: str) -> None:
    client = AsyncClient(socket=service)

    async def work(number: int) -> None:
        for _ in range(100):
            assert await client.call("diagnostics.echo", a=number) == {"a": number}
        client._connections[asyncio.get_running_loop()].close()
        await asyncio.sleep(0)

    before = descriptors()
    peak = 0
    with ThreadPoolExecutor(3) as pool:
        busy = [pool.submit(asyncio.run, work(number)) for number in range(3)]
        while not all(each.done() for each in busy):
            peak = max(peak, descriptors())
            threading.Event().wait(0.005)
        for each in busy:
            each.result()
    # an event loop has three of its own, and starting a connection may take a few
    assert peak - before <= 3 * (4 + 3), (before, peak)


def test_one_event_loop_after_the_other_leaves_no_connections_behind(service: str) -> None:
    client = AsyncClient(socket=service)

    async def connections() -> int:
        return int((await client.stats())["connections"])

    gc.collect()
    gc.disable()
    try:
        first = asyncio.run(connections())
        assert max([asyncio.run(connections()) for _ in range(20)]) <= first + 2
    finally:
        gc.enable()
        asyncio.run(client.close())
        gc.collect()


def test_a_service_of_ones_own_belongs_to_one_event_loop(binary: str) -> None:
    client = AsyncClient(command=[binary, "serve", "--stdio"])
    first = asyncio.new_event_loop()
    assert first.run_until_complete(client.info())
    child = client._child
    assert child is not None

    async def elsewhere() -> None:
        with pytest.raises(outrider.ServerGone, match="another event loop"):
            await client.info()
        await client.close()

    asyncio.run(elsewhere())
    # the end of its input has ended it, and no signal after a while
    assert child.returncode == 0
    first.run_until_complete(asyncio.sleep(0))
    first.close()
    gc.collect()


def test_a_client_that_is_closed_while_it_connects_leaves_nothing_behind(binary: str, service: str) -> None:
    async def main(**how: Any) -> None:
        client = AsyncClient(**how)
        call = asyncio.create_task(client.info())
        while not client._opening:
            await asyncio.sleep(0)
        await client.close()
        with pytest.raises(outrider.ServerGone, match="closed"):
            await call
        assert not client._connections and client._child is None

    before = descriptors()
    asyncio.run(main(socket=service))
    asyncio.run(main(command=[binary, "serve", "--stdio"]))
    assert descriptors() == before


def test_a_service_that_goes_away_and_comes_back(binary: str, directory: str) -> None:
    path = f"{directory}/async.sock"

    async def main() -> None:
        async with AsyncClient(socket=path) as client:
            child = serve(binary, path)
            waiting = asyncio.create_task(client.call("diagnostics.sleep", seconds=30))
            await asyncio.wait_for(running(client, 2), 30)
            child.kill()
            with pytest.raises(outrider.ServerGone) as caught:
                await waiting
            assert "diagnostics.sleep" in caught.value.in_flight
            stop(child)
            with pytest.raises(outrider.ServerNotFound):
                await client.info()
            child = serve(binary, path)
            assert await client.info()
            # The loop has no chance to see the old service end.
            stop(child)
            child = serve(binary, path)
            assert await client.info()
            stop(child)

    asyncio.run(main())


def test_a_service_of_ones_own_on_stdio(binary: str, origin: str) -> None:
    async def main() -> int | None:
        async with AsyncClient(command=[binary, "serve", "--stdio"]) as client:
            assert (await client.get(f"{origin}/json")).ok
            child = client._child
        assert child is not None
        return child.returncode

    assert asyncio.run(main()) == 0


@pytest.mark.parametrize("reply", [b"hello\n", b'{"jsonrpc":"2.0","id":1,"result":{}'])
def test_a_service_that_breaks_the_protocol_is_an_error(peer: Callable[..., Peer], reply: bytes) -> None:
    async def main(path: str) -> None:
        async with AsyncClient(socket=path) as client:
            with pytest.raises(outrider.ServerGone):
                await client.info()

    asyncio.run(main(peer(reply, unix=True).path))


@pytest.mark.usefixtures("impatient")
def test_silence_ends_with_an_error(peer: Callable[..., Peer]) -> None:
    async def main(path: str) -> None:
        async with AsyncClient(socket=path) as client:
            began = time.monotonic()
            with pytest.raises(outrider.RequestTimeout):
                await client.get("http://h/", timeout=0.05)
            (late,) = await client.many(["http://h/"], timeout=0.05)
            assert isinstance(late, outrider.RequestTimeout) and time.monotonic() - began < 15

    asyncio.run(main(peer(b"", unix=True).path))


def test_wrong_arguments_are_refused_before_anything_is_sent(service: str) -> None:
    async def refused(work: Awaitable[Any], problem: type[Exception]) -> None:
        with pytest.raises(problem):
            await work

    async def main() -> None:
        async with AsyncClient(socket=service) as client:
            await refused(client.get("http://h/", parms={}), TypeError)  # type: ignore[call-arg]
            await refused(client.many(["http://h/"], window=999), ValueError)
        await refused(client.info(), outrider.ServerGone)

    asyncio.run(main())
