# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Messages of WebSockets that are special: long ones, JSON, and those that wait while the program closes."""

from __future__ import annotations

import asyncio
import json
import math
import socket
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import outrider
import pytest
from outrider import AsyncClient, Client
from peers import held, until
from test_websockets import Serve, _received, address, echoing, frame, shake


@pytest.fixture
def stdio(binary: str) -> Iterator[Client]:
    """A client of a service of its own, without a socket for the messages."""
    with Client(command=[binary, "serve", "--stdio"]) as made:
        yield made


def test_every_value_is_sent_as_json(client: Client, stdio: Client, scripted: Serve) -> None:
    for one in (client, stdio):
        with one.websocket(address(scripted(echoing))) as ws:
            for value in (None, False, {"a": [1.5, "é"]}):
                ws.send_json(value)
                assert json.loads(ws.recv(timeout=10)) == value


def test_a_message_that_is_too_long_for_the_service_is_refused(client: Client, scripted: Serve) -> None:
    with client.websocket(address(scripted(echoing))) as ws:
        with pytest.raises(ValueError, match="at most 67108864 bytes, not 67108865"):
            ws.send(bytes((64 << 20) + 1))
        # and it is still open
        ws.send("one")
        assert ws.recv(timeout=10) == "one"


def flooding(stream: socket.socket) -> None:
    """Sends without a pause until the Close frame comes, and responds to it behind its messages."""
    shake(stream)
    closed = threading.Event()

    def listen() -> None:
        while _received(stream)[0] != 8:
            pass
        closed.set()

    threading.Thread(target=listen, daemon=True).start()
    while not closed.is_set():
        stream.sendall(frame(2, b"x" * 50_000))
    stream.sendall(frame(8, struct.pack("!H", 1000)))


def test_messages_that_wait_hold_no_close_up(client: Client, stdio: Client, scripted: Serve) -> None:
    for one in (client, stdio):
        ws = one.websocket(address(scripted(flooding)), compression=False)
        assert len(ws.recv(timeout=10)) == 50_000
        # more than the service reads ahead is on its way
        time.sleep(0.2)
        ws.close()
        assert ws.close_code == 1000


def paired(stream: socket.socket) -> None:
    """Sends two messages at once for each message."""
    shake(stream)
    while _received(stream)[0] == 1:
        stream.sendall(frame(1, b"a") + frame(1, b"b"))
    stream.sendall(frame(8, struct.pack("!H", 1000)))


def test_each_message_goes_to_one_of_the_tasks_that_receive(
    client: Client, service: str, stdio: Client, scripted: Serve
) -> None:
    for one in (client, stdio):
        with one.websocket(address(scripted(paired))) as ws, ThreadPoolExecutor(2) as threads:
            readers = [threads.submit(ws.recv, timeout=60) for _ in "ab"]
            ws.send("go")
            assert sorted(reader.result() for reader in readers) == ["a", "b"]
            waiting = threads.submit(ws.recv, timeout=math.inf)
            until(lambda one=ws: held(one._turns))  # type: ignore[misc]
            with pytest.raises(outrider.RequestTimeout):
                ws.recv(timeout=0.05)
            ws.send("go")
            assert {waiting.result(), ws.recv(timeout=60)} == {"a", "b"}

    async def work() -> None:
        async with AsyncClient(socket=service) as other, other.websocket(address(scripted(paired))) as ws:
            first, second, cancelled = [asyncio.ensure_future(ws.recv()) for _ in "abc"]
            await ws.send("go")
            cancelled.cancel()
            assert await asyncio.wait_for(asyncio.gather(first, second), 60) == ["a", "b"]
            with pytest.raises(outrider.RequestTimeout):
                await ws.recv(timeout=0.05)

    asyncio.run(work())
