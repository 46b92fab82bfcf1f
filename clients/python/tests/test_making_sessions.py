# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Where a session is made, and where it ends: with threads, signal handlers, forks, event loops and services that go
away."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import tempfile
import threading
import warnings
from collections.abc import Callable
from typing import Any

import outrider
import pytest
from outrider import AsyncClient, Client
from outrider._connection.wire import Unsent
from peers import shut, until


class Enough(Exception):
    """What a signal handler raises."""


def names(client: Client) -> list[Any]:
    return [one.get("name") for one in client.call("session.list")["sessions"]]


def test_a_session_that_a_signal_handler_makes_meanwhile_is_the_only_one(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, before = client.session(), len(names(client))
    create, made = session._create, []

    def interrupted(connection: Any) -> Any:
        monkeypatch.undo()
        made.append(session.handle)
        return create(connection)

    monkeypatch.setattr(session, "_create", interrupted)
    made.append(session.handle)
    assert made[0] == made[1]
    until(lambda: len(names(client)) == before + 1)


def test_a_signal_handler_does_not_wait_for_a_session_that_another_thread_makes(client: Client) -> None:
    session, main, found = client.session(), threading.get_ident(), []
    client.info()
    connection: Any = client._connection
    thread = threading.Thread(target=lambda: found.append(session.handle), daemon=True)

    def use(*_: Any) -> None:
        # only the interrupted thread can read the reply
        thread.start()
        until(lambda: "session.create" in connection._in_flight())
        with pytest.raises(RuntimeError, match="within another call"):
            session.get("http://127.0.0.1:9/")
        raise Enough

    def give_up(*_: Any) -> None:
        raise TimeoutError("the signal handler waits")

    def interrupt() -> None:
        until(lambda: connection._leader == main)
        signal.pthread_kill(main, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, use), signal.signal(signal.SIGALRM, give_up)
    helper = threading.Thread(target=interrupt, daemon=True)
    signal.alarm(60)
    try:
        helper.start()
        with pytest.raises(Enough):
            client.call("diagnostics.sleep", seconds=50)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGUSR1, before[0])
        signal.signal(signal.SIGALRM, before[1])
    thread.join(60)
    helper.join(60)
    assert found == [session.handle]


def test_a_function_does_not_wait_for_the_session_of_a_task_without_a_place(service: str) -> None:
    async def main() -> None:
        async with AsyncClient(socket=service) as client:
            called, full = asyncio.Event(), asyncio.Event()

            @client.on_callback("callback.ask")
            async def use(_: dict[str, Any]) -> None:
                called.set()
                await full.wait()
                await asyncio.wait_for(client.session().handle(), 30)

            async def queued(most: int) -> None:
                while len(queue) < most:
                    await asyncio.sleep(0.001)

            asked = asyncio.ensure_future(client.call("diagnostics.callback", timeout=50))
            await called.wait()
            queue = client._here()._queue
            others = [asyncio.ensure_future(client.call("diagnostics.sleep", seconds=50)) for _ in range(250)]
            await asyncio.wait_for(queued(5), 30)
            others.append(asyncio.ensure_future(client.session().handle()))
            await asyncio.wait_for(queued(len(queue) + 1), 30)
            full.set()
            await asked
            for other in others:
                other.cancel()
            await asyncio.gather(*others, return_exceptions=True)

    asyncio.run(main())


def test_a_shared_session_ends_in_another_event_loop(client: Client, service: str) -> None:
    awaiting = AsyncClient(socket=service)
    session = awaiting.session(name="loops", shared=True)
    asyncio.run(session.handle())
    assert "loops" in names(client)
    asyncio.run(session.close())
    assert "loops" not in names(client)

    running, other = asyncio.new_event_loop(), asyncio.new_event_loop()
    running.run_until_complete(session.handle())
    assert "loops" in names(client)
    other.run_until_complete(session.close())
    assert "loops" not in names(client)
    # a client cannot end the connections of an event loop that stands still
    other.close()
    running.run_until_complete(awaiting.close())
    running.close()


def in_child(work: Callable[[], object]) -> int:
    """The exit status of a forked child after the work."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            try:
                work()
                os._exit(0)
            except BaseException:
                os._exit(1)
        return os.waitpid(child, 0)[1]


def test_a_forked_child_ends_shared_sessions_only(client: Client) -> None:
    shared, own = client.session(name="forks", shared=True), client.session()
    handle = own.handle
    assert shared.handle and "forks" in names(client)
    assert in_child(own.close) == 0 and in_child(own._drop) == 0
    assert client.call("session.get", session=handle) and own.handle == handle
    assert in_child(shared.close) == 0
    assert "forks" not in names(client)


def test_a_shared_session_is_found_again_after_a_lost_connection_and_a_fork(client: Client, origin: str) -> None:
    session = client.session(name="found", shared=True, headers={"X-Shared": "1"})

    @session.adapter
    def mark(attempt: Any) -> None:
        attempt.headers["X-Marked"] = "2"

    def is_marked() -> bool:
        text = session.get(f"{origin}/echo").text.lower()
        return "x-shared" in text and "x-marked" in text

    assert is_marked()
    handle = session.handle
    lost = client._here()
    assert lost is not None
    lost._stream.shutdown(socket.SHUT_RDWR)
    # by the functions of this connection
    assert is_marked() and session.handle == handle and client._here() is not lost
    assert in_child(lambda: os._exit(0 if session.handle == handle else 1)) == 0

    def add() -> None:
        session.adapter(mark)
        with pytest.raises(RuntimeError, match="before the fork"):
            session.get(f"{origin}/echo")

    assert in_child(add) == 0
    # the functions are still those of the parent
    assert is_marked()
    session.close()
    assert "found" not in names(client)


def test_a_shared_session_serves_several_event_loops(client: Client, service: str) -> None:
    async def made(is_last: bool) -> str:
        handle = await session.handle()
        if is_last:
            await session.close()
            await awaiting.close()
        return handle

    awaiting = AsyncClient(socket=service)
    session = awaiting.session(name="several", shared=True)
    assert asyncio.run(made(is_last=False)) == asyncio.run(made(is_last=True))
    assert "several" not in names(client)


class Loop:
    """An event loop that runs in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(120)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(60)
        self.loop.close()


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_the_functions_of_a_shared_session_serve_several_event_loops(service: str, origin: str, lost: int) -> None:
    client, loops = AsyncClient(socket=service), [Loop(), Loop()]
    session = client.session(name=f"functions-{lost}", shared=True)

    def fields(loop: Loop) -> set[str]:
        text = loop.run(session.get(f"{origin}/echo")).text.lower()
        return {name for name in ("x-first", "x-second") if name in text}

    @session.adapter(timeout=30)
    def first(attempt: Any) -> None:
        attempt.headers["X-First"] = "1"

    try:
        assert fields(loops[0]) == {"x-first"}

        @session.adapter(timeout=30)
        def second(attempt: Any) -> None:
            attempt.headers["X-Second"] = "2"

        both = {"x-first", "x-second"}
        assert [fields(loop) for loop in (loops[1], loops[0], loops[1])] == [both] * 3
        if lost < 2:
            connection = client._connections[loops[lost].loop]
            assert connection.socket is not None
            connection.socket.shutdown(socket.SHUT_RDWR)
            until(lambda: connection.dead is not None)
            assert fields(loops[lost]) == both
        else:
            # where they ran
            loops.pop(0).stop()
        assert [fields(loop) for loop in loops] == [both] * len(loops)
        loops[-1].run(session.close())
        connections = list(client._connections.values())
        loops[-1].run(client.close())
        until(lambda: all(one.dead is not None for one in connections))
    finally:
        for loop in loops:
            loop.stop()


def test_the_shared_session_of_another_object_is_taken(client: Client, service: str) -> None:
    session, other = client.session(name="taken", shared=True), client.session(name="taken", shared=True)
    assert session.handle
    with pytest.raises(outrider.HandleError, match="already"):
        _ = other.handle
    session.close()
    assert other.handle
    other.close()


def test_a_forked_child_leaves_the_event_loop_of_its_parent_alone(service: str) -> None:
    client, loop = AsyncClient(socket=service), asyncio.new_event_loop()
    session = client.session()
    handle = loop.run_until_complete(session.handle())
    assert in_child(lambda: asyncio.run(session.close())) == 0
    assert in_child(lambda: (loop.close(), session._drop())) == 0
    assert loop.run_until_complete(client.call("session.get", session=handle))
    assert loop.run_until_complete(session.handle()) == handle
    loop.run_until_complete(client.close())
    loop.close()


def test_a_session_of_a_service_that_is_stopping_ends_there(client: Client, service: str) -> None:
    session = client.session()
    handle, connection = session.handle, client._connection
    client._retire(connection)
    assert session.handle != handle
    session.close()

    def gone() -> bool:
        message = connection.call("session.get", f'{{"session":"{handle}"}}', 30)
        return isinstance(message, dict) and "error" in message

    until(gone)

    async def main() -> None:
        async with AsyncClient(socket=service) as awaiting:
            session = awaiting.session()
            handle, connection = await session.handle(), awaiting._here()
            awaiting._retire(connection)
            assert await session.handle() != handle
            await session.close()
            while "error" not in await connection.call("session.get", f'{{"session":"{handle}"}}', 30):
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_dropped_session_of_a_closed_event_loop_ends(client: Client, service: str) -> None:
    awaiting = AsyncClient(socket=service)
    session = awaiting.session()
    # a look at the handle keeps the session
    asyncio.run(session._handle())
    [connection] = awaiting._connections.values()
    del session
    # nothing can be sent, so the connection ends with all its sessions
    assert connection.dead == "its event loop is closed"
    asyncio.run(awaiting.info())
    assert len(awaiting._connections) == 1
    asyncio.run(awaiting.close())


def test_a_session_is_made_once_on_the_next_connection(client: Client) -> None:
    client.info()
    first: Any = client._connection

    def call(*_: Any) -> None:
        first.close()
        raise Unsent("the service has gone")

    first.call = call
    session = client.session(name="mine")
    handle = session.handle
    # a second session of the name would be refused
    assert session.handle == handle and list(session._made) == [client._connection] != [first]
    assert list(session._making) == [client._connection] and list(client._defaults.sessions) == [handle]


def test_services_that_end_at_once_are_asked_a_few_times_only(directory: str) -> None:
    path, count = f"{tempfile.mkdtemp(dir=directory)}/s", 0
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)

    def run() -> None:
        nonlocal count
        while True:
            try:
                stream, _ = listener.accept()
            except OSError:
                return
            count += 1
            stream.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        with Client(socket=path) as client, pytest.raises(outrider.ServerGone):
            client.session().handle  # noqa: B018
        assert 0 < count <= 20
        count = 0

        async def main() -> None:
            async with AsyncClient(socket=path) as client:
                with pytest.raises(outrider.ServerGone):
                    await client.session().handle()

        asyncio.run(main())
        assert 0 < count <= 20
    finally:
        shut(listener)
        thread.join(60)


def test_two_threads_leave_the_connections_of_closed_event_loops(service: str) -> None:
    client = AsyncClient(socket=service)
    loops = [asyncio.new_event_loop() for _ in range(2)]
    for loop in loops:
        loop.run_until_complete(client.info())
    for loop in loops:
        loop.close()
    first = client._connections[loops[0]]
    drop = first.drop

    def meanwhile() -> None:
        drop()
        for loop in loops:
            # as another thread does that opens a connection
            if other := client._connections.pop(loop, None):
                other.drop()

    first.drop = meanwhile  # type: ignore[method-assign]
    asyncio.run(client.info())
    assert len(client._connections) == 1
    asyncio.run(client.close())
