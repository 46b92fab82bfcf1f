# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A service that ends while programs use it: the next call finds or starts the next service."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from collections.abc import Iterator

import outrider
import pytest
from outrider import AsyncClient, Client
from peers import shut

CALLBACK = {"method": "callback.ask", "timeout": 30}


@pytest.fixture
def own(binary: str, directory: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The place of a service that clients start."""
    path = f"{directory}/stopping.sock"
    monkeypatch.setenv("OUTRIDER_SOCKET", path)
    monkeypatch.setenv("OUTRIDER_BIN", binary)
    yield path
    try:
        with Client(spawn=False) as last:
            last.call("server.stop")
    except outrider.OutriderError:
        # it has ended, or is about to
        pass


@pytest.mark.parametrize("way", ["call", "many"])
def test_the_call_after_a_refusal_starts_the_next_service(own: str, way: str) -> None:
    asked, release = threading.Event(), threading.Event()
    with Client() as client:

        @client.on_callback("callback.ask")
        def ask(params: object) -> None:
            asked.set()
            release.wait(30)

        first = client.info()["pid"]
        # a call that the service waits for
        client._live().post([("diagnostics.callback", CALLBACK)])
        assert asked.wait(30)
        client.call("server.stop", grace=20)
        if way == "many":
            refused = client.many(["http://127.0.0.1:1/"] * 3)
            assert [type(one) for one in refused] == [outrider.ServerStopping] * 3
        else:
            with pytest.raises(outrider.ServerStopping) as caught:
                client.info()
            assert caught.value.retryable
        release.set()
        assert client.info()["pid"] != first


def test_a_call_that_runs_ends_well_beside_the_next_service(own: str) -> None:
    async def work() -> None:
        asked, release = asyncio.Event(), asyncio.Event()
        async with AsyncClient() as client:

            @client.on_callback("callback.ask")
            async def ask(params: object) -> dict[str, str]:
                asked.set()
                await release.wait()
                return {"said": "yes"}

            first = (await client.info())["pid"]
            before = client.events()
            running = asyncio.ensure_future(client.invoke("diagnostics.callback", CALLBACK))
            await asyncio.wait_for(asked.wait(), 30)
            await client.call("server.stop", grace=20)
            with pytest.raises(outrider.ServerStopping):
                await client.info()
            release.set()
            after, second = client.events(timeout=0.2), (await client.info())["pid"]
            assert second != first and (await running)["answer"] == {"said": "yes"}
            with pytest.raises(outrider.ServerGone):
                await before.__anext__()
            assert [event async for event in after] == [] and (await client.info())["pid"] == second

    asyncio.run(work())


@pytest.fixture
def deaf(directory: str) -> Iterator[str]:
    """The socket of a service that ends two connections without reading them, and answers on others."""
    path = f"{directory}/deaf.sock"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()

    def answer(stream: socket.socket) -> None:
        with stream, stream.makefile("rb") as lines:
            for call in map(json.loads, lines):
                if "id" in call:
                    reply = {"jsonrpc": "2.0", "id": call["id"], "result": {"heard": True}}
                    stream.sendall(json.dumps(reply).encode() + b"\n")

    def run() -> None:
        for number in range(4):
            try:
                stream, _ = listener.accept()
            except OSError:
                return
            if number < 2:
                stream.recv(1, socket.MSG_PEEK)
                stream.close()
            else:
                threading.Thread(target=answer, args=(stream,), daemon=True).start()

    threading.Thread(target=run, daemon=True).start()
    yield path
    shut(listener)
    os.unlink(path)


def test_a_call_that_no_service_has_read_is_sent_again(deaf: str) -> None:
    with Client(socket=deaf) as client:
        assert client.info() == {"heard": True}


def test_an_awaited_call_that_no_service_has_read_is_sent_again(deaf: str) -> None:
    async def work() -> None:
        async with AsyncClient(socket=deaf) as client:
            events = client.events(timeout=0.2)
            assert await client.info() == {"heard": True}
            assert [event async for event in events] == []

    asyncio.run(work())


def test_a_batch_that_no_service_has_read_is_sent_again(deaf: str) -> None:
    with Client(socket=deaf) as client:
        outcomes = client.many(["http://h/"] * 3, check=False)
        assert [type(one) for one in outcomes] == [outrider.Response] * 3


def test_an_awaited_batch_that_no_service_has_read_is_sent_again(deaf: str) -> None:
    async def work() -> None:
        async with AsyncClient(socket=deaf) as client:
            outcomes = await client.many(["http://h/"] * 3, check=False)
            assert [type(one) for one in outcomes] == [outrider.AsyncResponse] * 3

    asyncio.run(work())
