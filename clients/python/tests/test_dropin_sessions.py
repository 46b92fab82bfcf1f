# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The drop-ins have one session in the service, however many requests begin at the same time."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("httpx")
import httpx
import outrider
from outrider._dropins.blocking import Link
from outrider.httpx import AsyncTransport, Transport
from peers import until


def sessions(client: outrider.Client) -> list[str]:
    return [one["session"] for one in client.call("session.list")["sessions"]]


def test_threads_that_begin_at_the_same_time_share_a_session(client: outrider.Client, origin: str) -> None:
    before, count = sessions(client), 4
    barrier = threading.Barrier(count)
    with httpx.Client(transport=Transport(client)) as program, ThreadPoolExecutor(count) as pool:

        def get(url: str) -> httpx.Response:
            barrier.wait(20)
            return program.get(url)

        for _ in range(2):
            assert all(r.status_code == 200 for r in pool.map(get, [f"{origin}/json"] * count))
            until(lambda: len(sessions(client)) == len(before) + 1)
            [own] = set(sessions(client)) - set(before)
            # after that the service does not know the session any more, as after its restart
            client.call("session.close", session=own)
    until(lambda: sessions(client) == before)


def test_tasks_that_begin_at_the_same_time_share_a_session(service: str, origin: str) -> None:
    async def main() -> None:
        async with outrider.AsyncClient(socket=service) as shared:

            async def own() -> set[str]:
                return {one["session"] for one in (await shared.call("session.list"))["sessions"]} - before

            async def settle(count: int) -> set[str]:
                while len(found := await own()) != count:
                    await asyncio.sleep(0.01)
                return found

            before: set[str] = set()
            before |= await own()
            async with httpx.AsyncClient(transport=AsyncTransport(shared)) as program:
                for _ in range(2):
                    found = await asyncio.gather(*[program.get(f"{origin}/json") for _ in range(8)])
                    assert [r.status_code for r in found] == [200] * 8
                    [one] = await asyncio.wait_for(settle(1), 20)
                    await shared.call("session.close", session=one)
            await asyncio.wait_for(settle(0), 20)

    asyncio.run(main())


def test_the_end_of_a_transport_ends_its_session_although_a_cancelled_task_holds_it(service: str, origin: str) -> None:
    async def main() -> None:
        async with outrider.AsyncClient(socket=service) as shared:

            async def settle(count: int) -> None:
                while len((await shared.call("session.list"))["sessions"]) != count:
                    await asyncio.sleep(0.01)

            before = len((await shared.call("session.list"))["sessions"])
            async with httpx.AsyncClient(transport=AsyncTransport(shared)) as program:
                task = asyncio.ensure_future(program.get(f"{origin}/delay/30"))
                await settle(before + 1)
                task.cancel()
                [held] = await asyncio.gather(task, return_exceptions=True)
            await asyncio.wait_for(settle(before), 20)
            assert isinstance(held, asyncio.CancelledError)

    asyncio.run(main())


def test_threads_that_begin_at_the_same_time_share_a_client(service: str) -> None:
    barrier = threading.Barrier(4)

    class Slow:
        """Settings whose socket all threads read before one of them has made the client."""

        @property
        def socket(self) -> str:
            barrier.wait(20)
            return service

    settings: Any = Slow()
    link = Link(settings, None)
    with ThreadPoolExecutor(4) as pool:
        leases = list(pool.map(lambda _: link.lease(), range(4)))
    assert len(set(map(id, leases))) == 1
