# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Long bodies, which come by way of private files once a URL has given one: the program sees no difference."""

from __future__ import annotations

import asyncio
import copy
import os
import pickle
import socket
from collections.abc import Callable
from typing import Any

import outrider
import pytest
from outrider import AsyncClient, Client
from outrider._resources import spooling
from outrider._sync import spooled
from peers import CHUNKED, Peer, Scripted, chunk, request_head, serve, stop, until

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s\r\n"


def reply(size: int, fields: bytes = b"") -> bytes:
    """A response whose body has that many bytes."""
    return HEAD % (size, fields) + body(size)


def body(size: int) -> bytes:
    """Bytes of every value."""
    return (bytes(range(256)) * (size // 256 + 1))[:size]


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The parameters of each request for a file."""
    seen: list[str] = []
    plain = spooling.in_file

    def noted(params: str) -> str:
        seen.append(params)
        return plain(params)

    monkeypatch.setattr(spooled, "in_file", noted)
    return seen


@pytest.mark.parametrize("size", [65_537, 300_000, 1 << 20, (1 << 20) + 1, 3_000_000])
def test_a_body_by_file_is_the_same_response(client: Client, origin: str, files: list[str], size: int) -> None:
    first, second = client.get(f"{origin}/bytes/{size}"), client.get(f"{origin}/bytes/{size}")
    assert len(files) == 1
    assert (first.body_kind, first.size, first.path) == (second.body_kind, second.size, second.path)
    assert (first.handle is None) == (second.handle is None)
    assert first.raw["body"].keys() - second.raw["body"].keys() <= {"base64"}
    assert first.content == second.content and len(second.content) == size
    assert first.raw["body"].get("base64") == (second.raw["body"]["base64"] if size <= 1 << 20 else None)
    for one in (copy.deepcopy(second), pickle.loads(pickle.dumps(second))):
        assert one.content == first.content and one.headers == second.headers


def test_a_url_with_short_bodies_is_asked_as_before(
    client: Client, peer: Callable[..., Peer], files: list[str]
) -> None:
    server = peer(*[reply(size) for size in (10, 70_000, 0, 70_000, 65_000, 10)])
    sizes = [len(client.get(server.url + "?n=1", params={"m": place}).content) for place in range(6)]
    assert sizes == [10, 70_000, 0, 70_000, 65_000, 10]
    # the third and the fifth followed a long body
    assert len(files) == 2


def test_files_leave_nothing_behind(binary: str, directory: str, origin: str, files: list[str]) -> None:
    path = f"{directory}/files.sock"
    child = serve(binary, path)
    try:
        with Client(socket=path) as client:
            for _ in range(5):
                client.get(f"{origin}/bytes/200000")
            assert len(files) == 4
            shown = client.get(f"{origin}/bytes/1", body_to="file").path
            assert shown is not None
            until(lambda: os.listdir(os.path.dirname(shown)) == [os.path.basename(shown)])
    finally:
        stop(child)


def test_without_room_for_files_the_body_comes_in_the_message(
    binary: str, directory: str, origin: str, files: list[str]
) -> None:
    path = f"{directory}/full.sock"
    child = serve(binary, path)
    try:
        with Client(socket=path) as client:
            kept = client.get(f"{origin}/bytes/200000", body_to="file").path
            assert kept is not None
            os.unlink(kept)
            os.rmdir(os.path.dirname(kept))
            contents = [client.get(f"{origin}/bytes/200000").content for _ in range(4)]
            assert len({*contents}) == 1 and len(contents[0]) == 200_000
            assert len(files) == 1
    finally:
        stop(child)


def test_files_that_are_not_visible_here(
    client: Client, origin: str, files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spooling, "whole", lambda path, size: None)
    contents = [client.get(f"{origin}/bytes/150000").content for _ in range(4)]
    assert len({*contents}) == 1 and len(contents[0]) == 150_000 and len(files) == 1


def test_requests_that_look_at_the_body_are_asked_as_before(client: Client, origin: str, files: list[str]) -> None:
    url = f"{origin}/bytes/100000"
    client.get(url)
    session = client.session()
    seen: list[int] = []

    @session.validator
    def check(answered: Any) -> bool:
        seen.append(len(answered.content))
        return True

    ways: list[dict[str, Any]] = [{"max_inline": 0}, {"body_to": "stored"}, {"validate": True}, {"retry": 1}]
    for options in ways:
        assert len(client.get(url, **options).content) >= 100_000
    assert session.get(url).ok
    assert len(client.post(f"{origin}/echo", data=body(100_000)).content) > 100_000
    assert not files


def test_failures_are_the_same(client: Client, files: list[str]) -> None:
    answers = [reply(80_000), HEAD % (90_000, b"") + body(70_000), b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno"]

    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(answers.pop(0))

    server = Scripted(talk)
    client.get(server.url)
    with pytest.raises(outrider.ConnectionLost) as lost:
        client.get(server.url)
    assert lost.value.response.content == body(70_000) and lost.value.response.complete is False
    assert client.get(server.url).status == 404 and len(files) == 2


def test_a_cache_keeps_bodies_that_came_by_file(client: Client, peer: Callable[..., Peer], files: list[str]) -> None:
    server = peer(*[reply(90_000, fields) for fields in (b"", b"Cache-Control: max-age=60\r\n")])
    with client.session(cache=True) as session:
        contents = [session.get(server.url) for _ in range(4)]
        assert [one.cache["status"] for one in contents] == ["miss", "miss", "hit", "hit"]
        assert {one.content for one in contents} == {body(90_000)} and len(files) == 3


def test_the_awaiting_client_has_read_them(service: str, origin: str) -> None:
    async def work() -> None:
        async with AsyncClient(socket=service) as client:
            for size in (70_000, 2_000_000):
                for _ in range(3):
                    assert len((await client.get(f"{origin}/bytes/{size}")).content) == size
            found = await asyncio.gather(*[client.get(f"{origin}/bytes/70000") for _ in range(20)])
            assert {len(one.content) for one in found} == {70_000}

    asyncio.run(work())


@pytest.mark.parametrize("size", [0, 1000, 70_000, 3_000_000])
def test_a_streamed_response_is_whole(service: str, client: Client, origin: str, size: int) -> None:
    url = f"{origin}/bytes/{size}"
    with client.get(url, body_to="stream") as r:
        assert b"".join(r.iter_bytes(50_000)) == client.get(url).content
        assert (r._pipe is not None) == (size > 65_536)
    assert len(client.get(url, body_to="stream").content) == size

    async def work() -> None:
        async with AsyncClient(socket=service) as awaiting, await awaiting.get(url, body_to="stream") as r:
            assert sum([len(piece) async for piece in r.iter_bytes()]) == size

    asyncio.run(work())


def test_a_streamed_response_without_a_length_and_one_that_is_cut_short(client: Client) -> None:
    parts = [body(70_000)] * 3
    answers = [
        CHUNKED + b"".join([chunk(part) for part in parts]) + b"0\r\n\r\n",
        HEAD % (300_000, b"") + body(200_000),
    ]

    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(answers.pop(0))

    server = Scripted(talk)
    with client.get(server.url, body_to="stream") as r:
        assert b"".join(r.iter_bytes()) == b"".join(parts)
    came: list[bytes] = []
    with client.get(server.url, body_to="stream") as r:
        with pytest.raises(outrider.ConnectionLost):
            for piece in r.iter_bytes():
                came.append(piece)
        assert b"".join(came) == body(200_000) and r._pipe is not None
        with pytest.raises(RuntimeError, match="read once"):
            _ = r.content


def test_a_folder_with_long_bodies_is_expected_to_have_more(client: Client, origin: str, files: list[str]) -> None:
    sizes = [100_000, 100_001, 100_002, 10, 100_003, 100_004]
    for size in sizes:
        assert len(client.get(f"{origin}/bytes/{size}?q={size}").content) == size
    # of two others of the folder: the third and the fourth; the fourth was short
    assert [int(one.partition("q=")[2].partition('"')[0]) for one in files] == [100_002, 10]
    client.get(f"{origin}/bytes/100005")
    assert len(files) == 3
