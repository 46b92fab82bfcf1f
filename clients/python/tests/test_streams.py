# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Bodies as they come, through both clients, against the real service."""

from __future__ import annotations

import asyncio
import io
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import outrider
import pytest
from outrider import AsyncClient, Client
from peers import PATTERN, Peer, stop

MakePeer = Callable[..., Peer]


def chunked(*chunks: bytes, head: bytes = b"Content-Type: text/plain; charset=utf-8") -> bytes:
    """A response whose body comes in these chunks, and ends."""
    body = b"".join([b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks])
    return b"HTTP/1.1 200 OK\r\n%s\r\nTransfer-Encoding: chunked\r\n\r\n%s0\r\n\r\n" % (head, body)


@pytest.fixture(params=["socket", "stdio"])
def either(request: pytest.FixtureRequest, service: str, binary: str) -> Any:
    """A client on a socket, where bytes come raw, and one on stdio, where they cannot."""
    ways = {"socket": {"socket": service}, "stdio": {"command": [binary, "serve", "--stdio"]}}
    with Client(**ways[request.param]) as made:
        yield made


def test_the_head_is_there_and_then_the_lines(either: Client, peer: MakePeer) -> None:
    server = peer(chunked(b"one\r", b"\ntw", b"o\n\nthr\xc3", b"\xa9e"))
    with either.stream(server.url) as s:
        s.raise_for_status()
        assert (s.status, s.ok, s.headers["content-type"]) == (200, True, "text/plain; charset=utf-8")
        assert list(s.lines()) == ["one", "two", "", "thrée"]
        assert list(s.lines()) == []
    assert "stream" in repr(s).lower()


def test_a_stream_iterates_over_its_lines(client: Client, peer: MakePeer) -> None:
    with client.stream(peer(chunked(b"a\nb")).url) as s:
        assert list(s) == ["a", "b"]


def test_text_values_and_frames(either: Client, peer: MakePeer) -> None:
    with either.stream(peer(chunked("grö".encode()[:3], "grö".encode()[3:])).url) as s:
        assert "".join(s.text()) == "grö"
    with either.stream(peer(chunked("grö".encode("latin-1"))).url) as s:
        assert "".join(s.text("latin-1")) == "grö"
    with either.stream(peer(chunked(b'{"a":1}{"b"', b":2}\n[3]")).url) as s:
        assert list(s.json()) == [{"a": 1}, {"b": 2}, [3]]
    with either.stream(peer(chunked(b"\2ab", b"\0\1c")).url) as s:
        assert list(s.frames("varint")) == [b"ab", b"", b"c"]


def test_a_value_that_is_wrong_raises_and_a_new_iteration_goes_on(client: Client, peer: MakePeer) -> None:
    with client.stream(peer(chunked(b'{"a":1}\nso on\n{"b":2}\n')).url) as s:
        found = []
        with pytest.raises(outrider.SerializationError, match="not JSON"):
            for value in s.json(lines=True):
                found.append(value)
        assert found == [{"a": 1}]
        assert list(s.json(lines=True)) == [{"b": 2}]


def test_a_charset_that_a_server_made_up_is_utf_8(client: Client, peer: MakePeer) -> None:
    """As for the lines of a response. The program's own charset must be known."""
    made_up = chunked("café\nx".encode(), head=b"Content-Type: text/plain; charset=klingon")
    assert list(client.get(peer(made_up).url).iter_lines()) == ["café", "x"]
    with client.stream(peer(made_up).url) as s:
        assert list(s.lines()) == ["café", "x"]
    with client.stream(peer(made_up).url) as s:
        assert "".join(s.text()) == "café\nx"
    with client.stream(peer(made_up).url) as s, pytest.raises(outrider.SerializationError, match="not known"):
        list(s.lines("klingon"))


def test_bytes_and_files_of_them(either: Client, origin: str, tmp_path: Path) -> None:
    expected = (PATTERN * (3_000_000 // len(PATTERN) + 1))[:3_000_000]
    with either.stream(f"{origin}/bytes/3000000") as s:
        assert s.read() == expected
    with either.stream(f"{origin}/bytes/3000000") as s:
        path = s.save(tmp_path / "body")
    assert Path(path).read_bytes() == expected
    with either.stream(f"{origin}/bytes/10") as s, pytest.raises(FileExistsError):
        s.save(path)


def test_a_stream_is_a_file(client: Client, peer: MakePeer) -> None:
    """[R11]"""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name in "ab":
            entry = tarfile.TarInfo(name)
            entry.size = 100_000
            tar.addfile(entry, io.BytesIO(name.encode() * 100_000))
    body = packed.getvalue()
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
    with client.stream(peer(head + body).url) as s:
        file = s.raw()
        assert file.readable() and file.fileno() > 0
        with tarfile.open(fileobj=file, mode="r|gz") as tar:
            got = {entry.name: tar.extractfile(entry).read() for entry in tar}  # type: ignore[union-attr]
    assert got == {"a": b"a" * 100_000, "b": b"b" * 100_000}
    assert file.closed


def test_a_body_that_is_cut_short_raises_after_what_came(either: Client, peer: MakePeer) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
    for take in ("bytes", "lines"):
        with either.stream(peer(head + b"one\ntwo").url) as s:
            found: list[Any] = []
            with pytest.raises(outrider.ConnectionLost):
                for item in getattr(s, take)():
                    found.append(item)
            assert found == ([b"one\ntwo"] if take == "bytes" else ["one"])


def test_what_is_refused_raises_at_once_and_its_body_is_there(either: Client, origin: str) -> None:
    with pytest.raises(outrider.ValidationError) as caught:
        either.stream(f"{origin}/status/404", validate=True)
    assert caught.value.response.text == "404 Not Found\n"
    with pytest.raises(outrider.ConnectError):
        either.stream("http://127.0.0.1:1/")
    with either.stream(f"{origin}/status/404") as s:
        assert (s.status, s.ok) == (404, False)
        with pytest.raises(outrider.StatusError):
            s.raise_for_status()
    with either.stream("http://127.0.0.1:1/", check=False) as s:
        assert isinstance(s.response.error, outrider.ConnectError)


def test_what_is_left_is_cancelled_and_nothing_stays(either: Client, origin: str) -> None:
    for take in ("bytes", "lines", None):
        with either.stream(f"{origin}/bytes/100000000") as s:
            if take:
                next(iter(getattr(s, take)(**({"max_item": 1 << 24} if take == "lines" else {}))))
        s.close()
    assert either.call("request.list")["requests"] == []


def test_one_stream_is_read_as_one_thing(client: Client, peer: MakePeer) -> None:
    with client.stream(peer(chunked(b"a\nb\n")).url) as s:
        assert next(s.lines()) == "a"
        with pytest.raises(RuntimeError, match="lines"):
            next(s.text())


def test_an_iteration_goes_on_where_the_last_one_stopped(either: Client, peer: MakePeer, origin: str) -> None:
    table = chunked(b"name,age\nada,36\nalan,41\n")
    with either.stream(peer(table).url) as s:
        assert next(s.lines()) == "name,age"
        assert next(iter(s)) == "ada,36"
        assert (list(s), list(s)) == (["alan,41"], [])
    with either.stream(peer(chunked(b"1 2 so\n3 4")).url) as s:
        assert next(s.json()) == 1
        with pytest.raises(outrider.SerializationError):
            list(s.json())
        assert list(s.json()) == [3, 4]
    with either.stream(peer(chunked(b"\1a\1b\1c")).url) as s:
        assert next(s.frames("varint")) == b"a" and list(s.frames("varint")) == [b"b", b"c"]
    expected = (PATTERN * (3_000_000 // len(PATTERN) + 1))[:3_000_000]
    for take in ("read", "bytes", "text"):
        with either.stream(f"{origin}/bytes/3000000") as s:
            if take == "text":
                text = next(s.text("latin-1")) + "".join(s.text("latin-1"))
                assert len(text) == len(expected) and text[:128].encode() == expected[:128]
            else:
                first = next(s.bytes())
                assert first + (s.read() if take == "read" else b"".join(s.bytes())) == expected
                assert s.read() == b""


def test_an_iteration_over_a_response_goes_on_where_the_last_one_stopped(either: Client, origin: str) -> None:
    r = either.get(f"{origin}/bytes/3000000", body_to="stream")
    first = next(r.iter_bytes())
    assert len(first) + sum(map(len, r.iter_bytes())) == 3_000_000


def test_what_is_wrong_is_told_even_if_what_came_before_it_was_left(either: Client, peer: MakePeer) -> None:
    with either.stream(peer(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\none\ntwo\n").url) as s:
        assert next(s.lines()) == "one"
        with pytest.raises(outrider.ConnectionLost):
            list(s.lines())


@pytest.mark.parametrize("way", ["socket", "stdio"])
def test_an_awaiting_iteration_goes_on_where_the_last_one_stopped(
    way: str, service: str, binary: str, origin: str, peer: MakePeer
) -> None:
    ways: dict[str, Any] = {"socket": {"socket": service}, "stdio": {"command": [binary, "serve", "--stdio"]}}
    lines = peer(chunked(b"one\ntwo\nthree"))

    async def work() -> None:
        async with AsyncClient(**ways[way]) as client:
            async with client.stream(lines.url) as s:
                assert await s.lines().__anext__() == "one"
                assert [line async for line in s] == ["two", "three"]
            async with client.stream(f"{origin}/bytes/3000000") as s:
                first = await s.bytes().__anext__()
                assert len(first) + len(await s.read()) == 3_000_000 and await s.read() == b""

    asyncio.run(work())


def test_a_stream_refuses_what_has_no_meaning_for_it(client: Client) -> None:
    with pytest.raises(TypeError, match="body_to"):
        client.stream("http://127.0.0.1:1/", body_to="file")


def test_a_timeout_is_for_each_silence(client: Client, peer: MakePeer) -> None:
    """Not for the whole, which may take as long as it likes."""
    # it waits for another request
    server = peer(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this", b"")
    with client.stream(server.url, timeout=2) as s, pytest.raises(outrider.RequestTimeout):
        s.read()


def test_a_timeout_is_for_the_head_also_where_there_is_no_connection(
    client: Client, service: str, peer: MakePeer, impatient: None
) -> None:
    server = peer(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this", b"")
    # all connections that the service opens to one host
    held = [client.stream(server.url) for _ in range(64)]
    for _ in range(2):
        with pytest.raises(outrider.RequestTimeout):
            client.stream(server.url, timeout=0.3)
        with pytest.raises(outrider.RequestTimeout):
            client.get(server.url, timeout=0.3, body_to="stream")

    async def work() -> None:
        async with AsyncClient(socket=service, timeout=0.3) as awaiting:
            with pytest.raises(outrider.RequestTimeout):
                await awaiting.stream(server.url).__aenter__()

    asyncio.run(work())
    for s in held:
        s.close()
    assert client.call("request.list")["requests"] == []


def test_two_threads_read_two_streams_of_one_client(client: Client, origin: str) -> None:
    sizes: list[int] = []

    def work() -> None:
        with client.stream(f"{origin}/bytes/500000") as s:
            sizes.append(sum(len(text) for text in s.text("latin-1")))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sizes == [500_000] * 4


@pytest.mark.parametrize("way", ["socket", "stdio"])
def test_the_awaiting_client_does_the_same(way: str, service: str, binary: str, origin: str, peer: MakePeer) -> None:
    ways: dict[str, Any] = {"socket": {"socket": service}, "stdio": {"command": [binary, "serve", "--stdio"]}}
    lines, cut = peer(chunked(b"one\n", b"two")), peer(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")

    async def work() -> None:
        async with AsyncClient(**ways[way]) as client:
            async with client.stream(lines.url) as s:
                s.raise_for_status()
                assert (s.status, s.ok, "content-type" in s.headers) == (200, True, True)
                assert [line async for line in s] == ["one", "two"]
            async with client.stream(f"{origin}/bytes/3000000") as s:
                assert len(await s.read()) == 3_000_000
            async with client.stream(f"{origin}/json") as s:
                assert [value async for value in s.json()] == [{"id": 1, "x": 0.1}]
            async with client.stream(f"{origin}/bytes/100000000") as s:
                async for _ in s.bytes():
                    break
            async with client.stream(cut.url) as s:
                with pytest.raises(outrider.ConnectionLost):
                    await s.read()
            with pytest.raises(outrider.ConnectError):
                async with client.stream("http://127.0.0.1:1/"):
                    pass
            assert (await client.call("request.list"))["requests"] == []

    asyncio.run(asyncio.wait_for(work(), 60))


def test_an_awaiting_stream_must_be_opened(service: str) -> None:
    async def work() -> None:
        async with AsyncClient(socket=service) as client:
            with pytest.raises(RuntimeError, match="async with"):
                await client.stream("http://127.0.0.1:1/").read()

    asyncio.run(work())


def test_the_service_that_goes_ends_a_stream(binary: str, directory: str, origin: str) -> None:
    from peers import serve

    path = f"{directory}/gone.sock"
    child = serve(binary, path)
    with Client(socket=path) as client:
        s = client.stream(f"{origin}/bytes/100000000")
        pieces = s.bytes()
        next(pieces)
        stop(child)
        with pytest.raises(outrider.OutriderError):
            for _ in pieces:
                pass
        s.close()


# body_to="stream": a response whose body comes when it is asked for


def test_a_response_can_have_its_body_as_a_stream(either: Client, origin: str, tmp_path: Path) -> None:
    expected = (PATTERN * (3_000_000 // len(PATTERN) + 1))[:3_000_000]
    with either.get(f"{origin}/bytes/3000000", body_to="stream") as r:
        r.raise_for_status()
        assert (r.status, r.body_kind, r.size) == (200, "stream", 0)
        pieces = list(r.iter_bytes(100_000))
        assert max(map(len, pieces)) <= 100_000 and b"".join(pieces) == expected
        assert list(r.iter_bytes()) == []
        with pytest.raises(RuntimeError, match="read once"):
            r.content  # noqa: B018
    assert either.get(f"{origin}/bytes/3000000", body_to="stream").content == expected
    r = either.get(f"{origin}/json", body_to="stream")
    assert r.json() == {"id": 1, "x": 0.1} and r.text == r.content.decode()
    path = either.get(f"{origin}/bytes/3000000", body_to="stream").save(tmp_path / "body")
    assert Path(path).read_bytes() == expected
    (posted,) = either.many([("POST", f"{origin}/echo")], data="hello", body_to="stream")
    assert not isinstance(posted, Exception) and b"hello" in posted.content


def test_it_comes_as_it_comes_and_can_be_left(client: Client, peer: MakePeer) -> None:
    server = peer(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", b"")
    with client.get(server.url, body_to="stream", timeout=5) as r:
        assert next(r.iter_bytes()) == b"abc"
    # the rest was cancelled, and nothing is left of it
    assert client.call("request.list")["requests"] == []
    r.close()
    assert client.get(peer(chunked(b"x")).url, body_to="stream").content == b"x"


def test_what_cuts_it_short_raises_behind_what_had_come(either: Client, peer: MakePeer) -> None:
    server = peer(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\nabc")
    r = either.get(server.url, body_to="stream")
    found = []
    with pytest.raises(outrider.ConnectionLost):
        for piece in r.iter_bytes():
            found.append(piece)
    assert b"".join(found) == b"abc"


def test_a_refused_response_has_its_body_at_once(client: Client, origin: str) -> None:
    with pytest.raises(outrider.ValidationError) as caught:
        client.get(f"{origin}/status/404", body_to="stream", validate=True)
    response = caught.value.response
    assert response is not None and response.status == 404 and response.body_kind != "stream"


def test_there_too_a_timeout_is_for_each_silence(client: Client, peer: MakePeer) -> None:
    server = peer(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", b"")
    with client.get(server.url, body_to="stream", timeout=2) as r, pytest.raises(outrider.RequestTimeout):
        list(r.iter_bytes())


def test_the_awaiting_client_can_have_it_too(service: str, origin: str, tmp_path: Path) -> None:
    async def run() -> None:
        expected = (PATTERN * (500_000 // len(PATTERN) + 1))[:500_000]
        async with AsyncClient(socket=service) as client:
            async with await client.get(f"{origin}/bytes/500000", body_to="stream") as r:
                with pytest.raises(RuntimeError, match="read"):
                    r.content  # noqa: B018
                assert b"".join([piece async for piece in r.iter_bytes(50_000)]) == expected
                with pytest.raises(RuntimeError, match="read once"):
                    await r.read()
            r = await client.get(f"{origin}/bytes/500000", body_to="stream")
            assert await r.read() == expected == r.content
            r = await client.get(f"{origin}/bytes/500000", body_to="stream")
            assert Path(await r.save(tmp_path / "body")).read_bytes() == expected
            async with await client.get(f"{origin}/bytes/500000", body_to="stream") as left:
                assert left.status == 200
            assert (await client.call("request.list"))["requests"] == []

    asyncio.run(run())
