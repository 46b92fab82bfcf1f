# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Bodies of which the most bytes reach the service raw, on a connection of their own."""

from __future__ import annotations

import asyncio
import os
import pathlib
import signal
import socket
import threading
import time
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Any

import outrider
import outrider._async.pipe
import outrider._sync.pipe
import pytest
from outrider import Client
from outrider._sync.feeding import Feeder
from peers import Scripted, request_head, until

OCTETS = b"x" * 13_000_000

Talk = Callable[[socket.socket], None]


@pytest.fixture
def raw(monkeypatch: pytest.MonkeyPatch) -> list[socket.socket]:
    """The connections that carried nothing but the bytes of a body."""
    made: list[socket.socket] = []
    for kind in (outrider._sync.pipe.RawBody, outrider._async.pipe.AsyncRawBody):

        def watched(self: Any, *given: Any, begin: Callable[..., None] = kind.__init__) -> None:
            begin(self, *given)
            made.append(self._socket)

        monkeypatch.setattr(kind, "__init__", watched)
    return made


def are_closed(connections: list[socket.socket]) -> bool:
    """Whether there were connections, and all are closed."""
    return bool(connections) and all(one.fileno() < 0 for one in connections)


def test_the_rest_of_a_long_body_has_a_connection_of_its_own(
    client: Client, service: str, origin: str, raw: list[socket.socket]
) -> None:
    pattern = bytes(range(1, 128)) * 30_000

    def pieces() -> Iterator[bytes]:
        yield from (pattern[start : start + 70_000] for start in range(0, len(pattern), 70_000))

    async def work() -> None:
        async with outrider.AsyncClient(socket=service) as other:
            assert (await other.post(f"{origin}/echo", data=pieces())).json()["body"].encode() == pattern

    assert client.post(f"{origin}/echo", data=iter([pattern[:900_000]])).json()["body"].encode() == pattern[:900_000]
    assert raw == []
    assert client.post(f"{origin}/echo", data=pieces()).json()["body"].encode() == pattern
    asyncio.run(asyncio.wait_for(work(), 60))
    assert len(raw) == 2 and are_closed(raw)


def test_a_long_body_goes_in_messages_without_another_connection(
    client: Client, binary: str, origin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str, stream: str) -> None:
        raise outrider.LimitError("too many connections", code=-32011)

    monkeypatch.setattr("outrider._sync.pipe.open_raw_body", refuse)
    assert client.post(f"{origin}/echo", data=OCTETS).json()["body"] == OCTETS.decode()
    monkeypatch.setattr("outrider._sync.pipe.open_raw_body", None)
    with Client(command=[binary, "serve", "--stdio"]) as other:
        assert other.post(f"{origin}/echo", data=OCTETS).json()["body"] == OCTETS.decode()


def test_a_full_stream_gets_its_connection_with_the_next_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection has nothing to send before, and would never see room."""
    written: list[str] = []

    class Full:
        def _socket_path(self) -> str:
            return "/nowhere"

        def invoke(self, name: str, params: dict[str, Any], **options: Any) -> dict[str, Any]:
            written.append(params["base64"])
            return {"room": 0}

    monkeypatch.setattr("outrider._sync.feeding.IN_MESSAGES", 1)
    monkeypatch.setattr("outrider._sync.pipe.open_raw_body", lambda path, stream: pytest.fail("opened too early"))
    feeder = Feeder(Full(), "s")  # type: ignore[arg-type]
    rest, room = feeder.write(memoryview(b"ab"), 0.1)
    assert feeder.write(rest, 0.1) == (b"", 0) and room == 0
    assert written == ["YWI=", ""]


@pytest.mark.parametrize("kind", ["blocking", "awaiting"])
def test_a_service_that_does_not_reply_is_not_waited_for(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = str(tmp_path / "s")
    monkeypatch.setattr("outrider._sync.pipe.ATTACHING", 0.05)
    monkeypatch.setattr("outrider._async.pipe.ATTACHING", 0.05)
    with socket.socket(socket.AF_UNIX) as silent, pytest.raises(outrider.ServerGone):
        silent.bind(path)
        silent.listen()
        if kind == "blocking":
            outrider._sync.pipe.open_raw_body(path, "s")
        else:
            asyncio.run(asyncio.wait_for(outrider._async.pipe.open_raw_body(path, "s"), 20))


def test_the_default_timeout_of_sockets_does_not_apply(
    client: Client, origin: str, raw: list[socket.socket]
) -> None:
    socket.setdefaulttimeout(20)
    try:
        assert client.post(f"{origin}/echo", data=OCTETS).json()["body"] == OCTETS.decode()
    finally:
        socket.setdefaulttimeout(None)
    assert [one.gettimeout() for one in raw] == [None]


def test_the_default_timeout_of_sockets_does_not_apply_to_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    monkeypatch.setattr("outrider._sync.pipe._attach", lambda *given: ours)
    socket.setdefaulttimeout(20)
    try:
        channel = outrider._sync.pipe.Channel("", "")
    finally:
        socket.setdefaulttimeout(None)
    assert channel._socket.gettimeout() is None
    channel.close()
    theirs.close()


@pytest.mark.parametrize("kind", ["blocking", "awaiting"])
def test_the_end_of_the_service_raises_no_signal(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Programs may give SIGPIPE its default, which ends the process."""
    seen: list[int] = []
    ours, theirs = socket.socketpair()
    theirs.close()
    monkeypatch.setattr("outrider._sync.pipe._attach", lambda *given: ours)
    before = signal.signal(signal.SIGPIPE, lambda number, frame: seen.append(number))
    try:
        with pytest.raises(BrokenPipeError):
            if kind == "blocking":
                outrider._sync.pipe.RawBody("", "").write(memoryview(b"x"), 0.1)
            else:
                asyncio.run(outrider._async.pipe.AsyncRawBody(ours).write(memoryview(b"x"), 0.1))
    finally:
        signal.signal(signal.SIGPIPE, before)
        ours.close()
    assert seen == []


def test_a_forked_child_does_not_end_the_body_of_its_parent(client: Client, origin: str) -> None:
    """Nor does the child send a part of the body."""
    parent, statuses = os.getpid(), []

    def body() -> Iterator[bytes]:
        yield OCTETS[:3_000_000]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child:
            statuses.append(os.waitpid(child, 0)[1])
            yield OCTETS[3_000_000:]

    try:
        response = client.post(f"{origin}/echo", data=body())
    except outrider.ServerGone as problem:
        os._exit(0 if os.getpid() != parent and "parent process" in str(problem) else 1)
    finally:
        if os.getpid() != parent:
            os._exit(2)
    assert statuses == [0] and response.json()["body"] == OCTETS.decode()


def test_a_long_body_that_fails_never_seems_whole(
    client: Client, scripted: Callable[[Talk], Scripted], raw: list[socket.socket]
) -> None:
    seen: list[bytes] = []

    def talk(stream: socket.socket) -> None:
        while data := stream.recv(1 << 20):
            seen.append(data[-5:])

    def body() -> Iterator[bytes]:
        for _ in range(30):
            yield bytes(100_000)
        raise KeyError("mine")

    server = scripted(talk)
    with pytest.raises(KeyError, match="mine"):
        client.post(server.url, data=body())
    until(lambda: client.call("request.list")["requests"] == [])
    assert are_closed(raw) and not b"".join(seen).endswith(b"0\r\n\r\n")


def test_a_task_that_waits_for_room_can_be_cancelled(
    service: str, scripted: Callable[[Talk], Scripted], raw: list[socket.socket]
) -> None:
    release = threading.Event()

    def talk(stream: socket.socket) -> None:
        request_head(stream)
        release.wait(30)

    async def work() -> None:
        async with outrider.AsyncClient(socket=service) as other:
            sending = asyncio.ensure_future(other.post(scripted(talk).url, data=OCTETS))
            while not raw:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending
            assert (await other.call("request.list"))["requests"] == [] and are_closed(raw)

    try:
        asyncio.run(asyncio.wait_for(work(), 60))
    finally:
        release.set()


@pytest.mark.parametrize("kind", ["blocking", "awaiting"])
def test_a_drop_in_reads_the_whole_of_an_early_response(
    service: str, scripted: Callable[[Talk], Scripted], raw: list[socket.socket], kind: str
) -> None:
    """Although the upload does not end, and the server goes on reading."""
    httpx = pytest.importorskip("httpx")
    from outrider.httpx import AsyncTransport, Transport

    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n")
        for turn in range(30):
            time.sleep(0.05)
            stream.sendall(bytes(100_000))
            with suppress(BlockingIOError):
                while turn > 20 and stream.recv(1 << 20, socket.MSG_DONTWAIT):
                    pass

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(200):
            yield bytes(100_000)

    async def work() -> int:
        async with httpx.AsyncClient(transport=AsyncTransport(socket=service)) as program:
            return len((await program.post(url, content=pieces())).content)

    url = scripted(talk).url
    if kind == "awaiting":
        assert asyncio.run(asyncio.wait_for(work(), 60)) == 3_000_000
    else:
        with httpx.Client(transport=Transport(socket=service)) as program:
            body = (bytes(100_000) for _ in range(200))
            assert len(program.post(url, content=body).content) == 3_000_000
    assert are_closed(raw)
