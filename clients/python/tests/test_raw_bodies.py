# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Bodies that come as raw bytes, through both clients, and what must not show that they did."""

from __future__ import annotations

import asyncio
import gc
import pickle
import threading
from base64 import b64decode
from collections.abc import Callable, Iterator
from typing import Any

import outrider
import pytest
from outrider import AsyncClient, Client
from outrider._dropins.exchanges import BodyState
from outrider._protocol import frames
from outrider._resources import facts
from peers import PATTERN, Peer, serve, stop

SIZES = [0, 1, 511, 512, 65535, 65536, 65537, 1 << 20, (1 << 20) + 1, 12 << 20]


WHOLE = PATTERN + PATTERN[: 3 << 20]


def expected(size: int) -> bytes:
    return WHOLE[:size]


@pytest.fixture(params=["socket", "stdio"])
def either(request: pytest.FixtureRequest, service: str, binary: str) -> Iterator[Client]:
    made = Client(socket=service) if request.param == "socket" else Client(command=[binary, "serve", "--stdio"])
    with made:
        yield made


@pytest.mark.parametrize("size", SIZES)
def test_bodies_of_every_length_arrive_whole(either: Client, origin: str, size: int) -> None:
    url = f"{origin}/bytes/{size}"
    for _ in range(2):
        assert either.get(url).content == expected(size)
    assert b"".join(either.get(url).iter_bytes(100_000)) == expected(size)
    assert either.info()["version"]


def test_both_forms_of_a_body_say_the_same(client: Client, origin: str) -> None:
    short, long = client.get(f"{origin}/bytes/511"), client.get(f"{origin}/bytes/512")
    assert client._connection is not None and long._content == expected(512)
    for r, size in ((short, 511), (long, 512)):
        assert r.status == 200 and r.ok and r.size == size and r.body_kind == "base64" and r.error is None
        assert b64decode(r.raw["body"]["base64"]) == b64decode(r.body["base64"]) == r.content == expected(size)
        assert sorted(r.body) == ["base64", "contentType", "kind", "size"]
        copy = pickle.loads(pickle.dumps(r))
        assert (copy.content, copy.status, copy.raw) == (r.content, 200, r.raw)


def test_a_response_may_be_looked_at_in_any_order(client: Client, origin: str) -> None:
    url = f"{origin}/bytes/70000"
    first = client.get(url)
    assert first.headers["Content-Type"] == "application/octet-stream"
    assert first.content == expected(70000) and first.content is first.content
    second = pickle.loads(pickle.dumps(client.get(url)))
    assert second.content == expected(70000)


def test_a_call_by_its_name_has_its_result_in_base64(client: Client, origin: str) -> None:
    result = client.call("data.send", url=f"{origin}/bytes/70000", serialize={"as": "base64"})
    assert result["body"]["kind"] == "base64" and b64decode(result["body"]["base64"]) == expected(70000)


def test_a_stored_body_ends_with_its_response(client: Client, origin: str) -> None:
    """The service would keep it for ten minutes, and at most 4 GiB of such bodies."""
    url = f"{origin}/bytes/{9 << 20}"
    [listed] = client.many([url])
    assert isinstance(listed, outrider.Response)
    responses = [listed, client.get(url), client.post(url, data=iter([b"wolf"])), client.get(url, events=["finish"])]
    responses.append(client.get(url, progress=lambda progress: None))
    handles = [str(response._stored) for response in responses]
    assert [len(next(response.iter_bytes(9))) for response in responses] == [9] * 5
    asked = client.get(url)
    handle = asked.handle
    responses.clear()
    del listed, asked
    gc.collect()
    for one in handles:
        with pytest.raises(outrider.HandleError):
            client.call("response.read", response=one)
    assert client.call("response.read", response=handle, bytes=5)["end"] is False


def test_a_stored_body_is_read_in_pieces_of_any_length(client: Client, origin: str) -> None:
    size = 9 << 20
    with client.get(f"{origin}/bytes/{size}") as response:
        assert response.body_kind == "stored"
        assert b"".join(response.iter_bytes(1 << 20)) == expected(size)
        assert b"".join(response.iter_bytes(200_001)) == expected(size)
        piece = client.call("response.read", response=response.handle, bytes=5000)
        assert b64decode(piece["base64"]) == expected(5000) and piece["end"] is False
        assert response.content == expected(size)


def test_a_started_request_is_waited_for(client: Client, origin: str) -> None:
    request = client.start("GET", f"{origin}/bytes/300000")
    response = client.wait(request)
    assert response is not None and response._content == expected(300000)


def test_a_failed_exchange_keeps_its_body(client: Client, origin: str) -> None:
    with pytest.raises(outrider.ValidationError) as caught:
        client.get(f"{origin}/bytes/70000", validate={"status": [404]})
    assert caught.value.response is not None and caught.value.response.content == expected(70000)


def test_many_requests_have_their_own_bodies(client: Client, origin: str) -> None:
    sizes = [size for size in (10, 5000, 70_000, 400_000) for _ in range(30)]
    responses = client.many([f"{origin}/bytes/{size}" for size in sizes])
    for size, response in zip(sizes, responses):
        assert not isinstance(response, Exception) and response.content == expected(size)


def test_threads_share_a_connection(client: Client, origin: str) -> None:
    faults: list[Any] = []

    def work(number: int) -> None:
        try:
            for turn in range(12):
                size = (number * 977 + turn * 40_000) % 500_000
                if client.get(f"{origin}/bytes/{size}").content != expected(size):
                    faults.append((number, size))
                text = f"{number}\n" * 2000
                if client.call("diagnostics.echo", text=text)["text"] != text:
                    faults.append(number)
        except BaseException as problem:
            faults.append(problem)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert faults == []


@pytest.mark.parametrize("size", SIZES)
def test_the_awaiting_client_gets_the_same(service: str, origin: str, size: int) -> None:
    async def main() -> None:
        async with AsyncClient(socket=service) as client:
            url = f"{origin}/bytes/{size}"
            assert (await client.get(url)).content == expected(size)
            for r in await asyncio.gather(*[client.get(url) for _ in range(5)]):
                assert r.content == expected(size)
            for response in await client.many([url] * 5):
                assert not isinstance(response, Exception) and response.content == expected(size)

    asyncio.run(main())


def test_calls_of_the_awaiting_client_may_be_cancelled_at_any_time(service: str, origin: str) -> None:
    async def main() -> None:
        async with AsyncClient(socket=service) as client:
            for turn in range(40):
                task = asyncio.ensure_future(client.get(f"{origin}/bytes/900000"))
                for _ in range(turn):
                    await asyncio.sleep(0)
                await asyncio.sleep(turn / 8000)
                task.cancel()
                try:
                    assert (await task).content == expected(900_000)
                except asyncio.CancelledError:
                    pass
                assert (await client.call("diagnostics.echo", turn=turn)) == {"turn": turn}

    asyncio.run(main())


def test_a_call_that_is_late_leaves_the_connection_in_step(client: Client, origin: str) -> None:
    for turn in range(30):
        try:
            message = client._message("data.send", f'{{"url":"{origin}/bytes/900000"}}', 0.0005 * turn)
            assert message is not None
        except outrider.RequestTimeout:
            pass
        assert client.get(f"{origin}/bytes/5000").content == expected(5000)


@pytest.mark.parametrize("cut", [0, 1, 5000])
def test_a_service_that_goes_amid_a_body_has_gone(peer: Callable[..., Peer], cut: int) -> None:
    line = b'{"raw":6000,"jsonrpc":"2.0","id":1,"result":{"ok":true,"body":{"kind":"raw","size":6000}}}\n'
    unready = peer(line + bytes(cut), unix=True)
    with Client(socket=unready.path) as client, pytest.raises(outrider.ServerGone):
        client.get("http://127.0.0.1/")

    async def main() -> None:
        other = peer(line + bytes(cut), unix=True)
        async with AsyncClient(socket=other.path) as client:
            with pytest.raises(outrider.ServerGone):
                await client.get("http://127.0.0.1/")

    asyncio.run(main())


def test_a_body_that_stops_coming_is_late(peer: Callable[..., Peer]) -> None:
    line = b'{"raw":6000,"jsonrpc":"2.0","id":1,"result":{"ok":true,"body":{"kind":"raw","size":6000}}}\n'
    stuck = peer(line + bytes(5999), b"", unix=True)
    with Client(socket=stuck.path) as client, pytest.raises(outrider.RequestTimeout):
        client._message("data.send", "{}", 0.2)


def test_the_greeting_comes_once_and_has_no_reply(peer: Callable[..., Peer]) -> None:
    """So an older service, which does not know it, says nothing either."""
    response = b'{"jsonrpc":"2.0","id":%d,"result":{}}\n'
    service = peer(response % 1, response % 2, b"", unix=True)
    with Client(socket=service.path) as client:
        client.call("a.b")
        client.call("c.d")
    assert service.received[0].startswith(
        b'{"jsonrpc":"2.0","method":"server.hello","params":{"rawBodies":true,"maxInline":8388608}}\n'
        b'{"jsonrpc":"2.0","id":1,'
    )
    assert b"hello" not in service.received[1]


def test_a_service_that_is_killed_amid_bodies_has_gone(binary: str, directory: str, origin: str) -> None:
    path = f"{directory}/amid.sock"
    child = serve(binary, path)
    seen: list[Any] = []

    def work(client: Client) -> None:
        try:
            while client.get(f"{origin}/bytes/1000000").content == expected(1_000_000):
                seen.append(None)
        except outrider.OutriderError as problem:
            seen.append(problem)

    try:
        with Client(socket=path, spawn=False) as client:
            threads = [threading.Thread(target=work, args=(client,)) for _ in range(3)]
            for thread in threads:
                thread.start()
            while len(seen) < 5:
                threading.Event().wait(0.005)
            child.kill()
            for thread in threads:
                thread.join(20)
            assert not any(thread.is_alive() for thread in threads)
        assert [type(one).__name__ for one in seen if one is not None].count("ServerGone") >= 1
    finally:
        stop(child)


def test_bytes_of_calls_are_not_written_in_base64_on_their_way(
    either: Client, origin: str, scripted: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """That takes most of the time of a program that streams through a service on stdio."""
    size = 9 << 20
    url, port = f"{origin}/bytes/{size}", scripted(lambda stream: stream.sendall(expected(300_000))).port

    def read() -> None:
        with either.stream(url) as stream:
            assert b"".join(stream.bytes()) == expected(size)
        responses = [either.get(url, body_to="stream"), either.post(url, data=iter([b"wolf"]))]
        for response in [*responses, either.get(url, progress=lambda progress: None)]:
            assert len(b"".join(response.iter_bytes())) == size
        assert either.post(f"{origin}/bytes/100000", data=iter([b"wolf"])).content == expected(100_000)
        with pytest.raises(outrider.ValidationError) as caught:
            either.get(f"{origin}/bytes/100000", validate={"status": [404]})
        assert caught.value.response.content == expected(100_000)
        with either.tcp("127.0.0.1", port) as connection:
            assert connection.read(300_000, min=300_000) == expected(300_000)

    # loads the modules that import the function for sending
    read()
    written: list[int] = []
    in_base64 = frames.in_base64

    def noted(content: bytes) -> str:
        written.append(len(content))
        return in_base64(content)

    monkeypatch.setattr(frames, "in_base64", noted)
    monkeypatch.setattr(facts, "in_base64", noted)
    read()
    assert written == []


def test_a_body_for_requests_is_not_copied_for_each_piece_of_it() -> None:
    """Eight megabytes in pieces of ten kilobytes took a quarter of a second."""
    content = expected(100_000)
    body = BodyState(Any, print, {"body": {"kind": "base64", "base64": content}}, None)
    assert [body.inline(10_000) for _ in range(9)] == [content[at : at + 10_000] for at in range(0, 90_000, 10_000)]
    assert body._first.obj is content and body.inline(20_000) == content[90_000:] and body.inline(5) == b""


def test_a_body_for_requests_is_not_written_in_base64_on_its_way(
    session: Any, origin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(content: bytes) -> str:
        raise AssertionError("a body was written in base64")

    session.get(f"{origin}/bytes/100000")
    monkeypatch.setattr(frames, "in_base64", refused)
    assert session.get(f"{origin}/bytes/100000").content == expected(100_000)
