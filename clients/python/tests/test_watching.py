# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Following what happens to requests, with both clients."""

from __future__ import annotations

import asyncio
import threading
import warnings

import outrider
import pytest
from outrider import AsyncClient, Client, Event
from peers import serve, stop, until


def test_topics_are_iterated_over(client: Client, origin: str) -> None:
    with client.watch("request.created", "request.finished", timeout=10) as events:
        response = client.get(f"{origin}/json", tag="mine")
        first, second = next(events), next(events)
    assert (first.topic, second.topic) == ("request.created", "request.finished")
    assert first.request == second.request and (first.tag, second.seq) == ("mine", 1)
    assert second.detail["status"] == response.status and events.dropped == 0
    client.get(f"{origin}/json")
    assert list(events) == []


def test_topics_are_given_to_a_function(client: Client, origin: str) -> None:
    seen: list[str | None] = []
    done = threading.Event()

    def watch(event: Event) -> None:
        seen.append(event.topic)
        if len(seen) == 1:
            raise ZeroDivisionError("of one event, and no other")
        # it may use the client
        client.call("diagnostics.echo", n=len(seen))
        if event.topic == "request.finished":
            done.set()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        watching = client.watch("request.*", function=watch)
        client.get(f"{origin}/json")
        assert done.wait(10)
    assert seen[0] == "request.created" and "request.prepared" in seen
    assert any("request.created" in str(each.message) for each in caught)
    watching.close()
    watching.close()
    assert client.stats()["events"]["subscriptions"] == 0


def test_a_subscription_of_one_session_and_of_one_request(client: Client, origin: str) -> None:
    session = client.call("session.create", name="watched")["session"]
    request = client.start("GET", f"{origin}/json", start_immediately=False)
    with client.watch("request.*", session=session, timeout=0.2) as of_session, client.watch(
        "request.*", request=request, timeout=20
    ) as of_request:
        client.get(f"{origin}/json")
        request.resume()
        assert request.response().ok
        seen = [next(of_request)]
        while seen[-1].topic != "request.finished":
            seen.append(next(of_request))
        assert {event.request for event in seen} == {request.handle} and list(of_session) == []


def test_two_subscriptions_do_not_mix(client: Client, origin: str) -> None:
    with client.watch("request.finished", timeout=10) as one, client.watch("attempt.*", timeout=10) as other:
        client.get(f"{origin}/json")
        assert next(one).topic == "request.finished" and next(other).topic == "attempt.created"


def test_what_is_too_much_is_dropped_and_counted(client: Client, origin: str) -> None:
    kept: list[object] = []
    with client.watch("request.finished", queue=5, timeout=0.2) as events:
        client.many([f"{origin}/json"] * 30)
        client.call("diagnostics.echo")

        def are_counted() -> bool:
            kept.extend(events)
            return len(kept) + events.dropped == 30

        until(are_counted)


def test_bad_wishes(client: Client) -> None:
    with pytest.raises(ValueError, match="topic"):
        client.watch()
    with pytest.raises(outrider.InvalidCall, match="did you mean request"):
        client.watch("request.finnished")
    with pytest.raises(TypeError):
        client.watch("*", speed=1)  # type: ignore[call-arg]
    assert client.stats()["events"]["subscriptions"] == 0


def test_the_end_of_the_service_ends_an_iteration(binary: str, directory: str) -> None:
    path = f"{directory}/w.sock"
    child = serve(binary, path)
    with Client(socket=path, spawn=False) as client:
        events = client.watch("*", timeout=30)
        stop(child)
        with pytest.raises(outrider.ServerGone):
            next(events)
        events.close()


def test_the_awaiting_client_does_the_same(service: str, origin: str) -> None:
    async def work() -> None:
        async with AsyncClient(socket=service) as client:
            async with client.watch("request.created", "request.finished", timeout=10) as events:
                await client.many([f"{origin}/json"] * 3)
                topics = [(await events.__anext__()).topic for _ in range(6)]
                assert sorted(map(str, topics)) == ["request.created"] * 3 + ["request.finished"] * 3
            await client.get(f"{origin}/json")
            assert [event async for event in events] == []
            assert (await client.stats())["events"]["subscriptions"] == 0

            seen: list[str | None] = []
            arrived = asyncio.Event()

            async def take(event: Event) -> None:
                await asyncio.sleep(0)
                seen.append(event.topic)
                if event.topic == "attempt.completed":
                    arrived.set()

            watching = client.watch("attempt.*", function=take)
            await watching.begin()
            await client.get(f"{origin}/json")
            await asyncio.wait_for(arrived.wait(), 10)
            assert seen[0] == "attempt.created"
            await watching.aclose()
            with pytest.raises(outrider.InvalidCall):
                async with client.watch("nothing.*"):
                    pass
            # iterated over without `async with`, it subscribes by itself
            alone = client.watch("request.finished", timeout=5)
            task = asyncio.ensure_future(alone.__anext__())
            while alone.subscription is None:
                await asyncio.sleep(0.01)
            await client.get(f"{origin}/json")
            assert (await task).topic == "request.finished"
            await alone.aclose()

    asyncio.run(asyncio.wait_for(work(), 60))


def test_the_end_of_the_service_ends_an_awaited_iteration(binary: str, directory: str) -> None:
    path = f"{directory}/aw.sock"
    child = serve(binary, path)

    async def work() -> None:
        async with AsyncClient(socket=path, spawn=False) as client, client.watch("*", timeout=30) as events:
            await asyncio.get_running_loop().run_in_executor(None, stop, child)
            with pytest.raises(outrider.ServerGone):
                await events.__anext__()

    asyncio.run(asyncio.wait_for(work(), 60))


def test_subscriptions_that_are_left_end_with_their_client(service: str) -> None:
    with Client(socket=service) as other:
        with Client(socket=service) as client:
            kept = client.watch("*")
            assert other.stats()["events"]["subscriptions"] == 1
        until(lambda: other.stats()["events"]["subscriptions"] == 0)
    kept.close()


def test_a_function_goes_on_after_a_restart_of_the_service(binary: str, directory: str, origin: str) -> None:
    path = f"{directory}/rw.sock"
    child = serve(binary, path)
    seen: list[str | None] = []

    def restart() -> None:
        nonlocal child
        child.kill()
        child.wait()
        child = serve(binary, path)

    def told(caught: list[warnings.WarningMessage]) -> bool:
        return any("no more events of request.finished until" in str(each.message) for each in caught)

    async def awaiting() -> None:
        async with AsyncClient(socket=path, spawn=False) as client:
            watching = client.watch("request.finished", function=lambda event: seen.append(event.tag))
            await watching.begin()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                for tag in ("d", "e", "f"):
                    await client.get(f"{origin}/json", tag=tag)
                    while tag not in seen:
                        await asyncio.sleep(0.01)
                    await asyncio.get_running_loop().run_in_executor(None, restart)
                while not told(caught):
                    await asyncio.sleep(0.01)
            await watching.aclose()
            # the end of a watch whose connection has ended opens no other one
            assert client._here() is None

    try:
        with Client(socket=path, spawn=False) as client:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                watching = client.watch("request.finished", function=lambda event: seen.append(event.tag))
                for tag in ("a", "b", "c"):
                    client.get(f"{origin}/json", tag=tag)
                    until(lambda one=tag: one in seen)
                    restart()
                until(lambda: told(caught))
            watching.close()
            assert client._connection is not None and client._connection.dead is not None
            client.get(f"{origin}/json", tag="x")
            assert client.stats()["events"]["subscriptions"] == 0
        asyncio.run(asyncio.wait_for(awaiting(), 60))
        assert seen == ["a", "b", "c", "d", "e", "f"]
    finally:
        stop(child)


def test_a_function_of_a_session_that_has_gone_is_told(binary: str, directory: str, origin: str) -> None:
    path = f"{directory}/sw.sock"
    child = serve(binary, path)
    try:
        with Client(socket=path, spawn=False) as client, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            handle = client.call("session.create")["session"]
            client.watch("request.*", session=handle, function=print)
            stop(child)
            child = serve(binary, path)
            assert client.get(f"{origin}/json").ok
            until(lambda: any("watch again: the new connection" in str(each.message) for each in caught))
    finally:
        stop(child)
