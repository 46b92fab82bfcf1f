# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""outrider.httpx: both clients of httpx behave with the transport as they do with their own."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("httpx")
import httpx
import outrider
from outrider.httpx import AsyncTransport, Transport
from peers import CHUNKED, Peer, Scripted, chunk, request_head, until, whole_request

Do = Callable[[httpx.AsyncClient], Any]


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)


class Both:
    """One way to use either client: a request, and what came of it."""

    def __init__(self, service: str | None, kind: str) -> None:
        self.service, self.kind = service, kind

    def request(self, method: str, url: str, *, consume: bool = True, **options: Any) -> httpx.Response:
        """The response, with its body unless it is not to be consumed."""
        if self.kind == "blocking":
            transport = None if self.service is None else Transport(socket=self.service)
            with httpx.Client(transport=transport, trust_env=False) as client:
                return self._consumed(client, client.build_request(method, url, **options), consume)
        return asyncio.run(self._awaited(method, url, consume, options))

    @staticmethod
    def _consumed(client: httpx.Client, request: httpx.Request, consume: bool) -> httpx.Response:
        r = client.send(request, stream=not consume, follow_redirects=True)
        r.close()
        return r

    async def _awaited(self, method: str, url: str, consume: bool, options: dict[str, Any]) -> httpx.Response:
        if isinstance(options.get("content"), Iterator):
            options["content"] = self._turned(options["content"])
        transport = None if self.service is None else AsyncTransport(socket=self.service)
        async with httpx.AsyncClient(transport=transport, trust_env=False) as client:
            r = await client.send(
                client.build_request(method, url, **options), stream=not consume, follow_redirects=True
            )
            await r.aclose()
            return r

    @staticmethod
    async def _turned(given: Iterator[bytes]) -> AsyncIterator[bytes]:
        for each in given:
            yield each


@pytest.fixture(params=["blocking", "awaiting"])
def ours(request: pytest.FixtureRequest, service: str) -> Both:
    return Both(service, request.param)


@pytest.fixture
def native(ours: Both) -> Both:
    return Both(None, ours.kind)


SENT: dict[str, Callable[[], dict[str, Any]]] = {
    "a plain request": dict,
    "parameters": lambda: {"params": {"a": "1 2", "b": ["x", "y"]}},
    "bytes": lambda: {"method": "POST", "content": b"abc"},
    "a form": lambda: {"method": "POST", "data": {"a": "1", "b": "2"}},
    "json": lambda: {"method": "PUT", "json": {"a": [1, 2]}},
    "nothing": lambda: {"method": "POST"},
    "an empty body": lambda: {"method": "DELETE", "content": b""},
    "a generator": lambda: {"method": "POST", "content": iter([b"ab", b"", b"cd"])},
    "a large body": lambda: {"method": "POST", "content": b"y" * 3_000_000},
    "a file": lambda: {
        "method": "POST",
        "files": {"a": b"x"},
        "headers": {"Content-Type": "multipart/form-data; boundary=b"},
    },
    "repeated fields": lambda: {"headers": [("X-A", "1"), ("x-b", "caf\u00e9".encode()), ("X-A", "2")]},
    "cookies": lambda: {"cookies": {"a": "1"}},
    "a fragment and a user in the URL": lambda: {"at": "http://ada:x@HOST/echo?q=1#top"},
    "an escaped path": lambda: {"at": "http://HOST/echo/a%2Fb/%7Ec?x=%20+y"},
}


@pytest.mark.parametrize("name", SENT)
def test_a_server_receives_the_same_request_as_without_the_transport(
    ours: Both, native: Both, origin: str, name: str
) -> None:
    def received(by: Both) -> dict[str, Any]:
        options = SENT[name]()
        url = options.pop("at", "http://HOST/echo").replace("HOST", origin.partition("://")[2])
        seen: dict[str, Any] = by.request(options.pop("method", "GET"), url, **options).json()
        seen["headers"] = sorted([key.lower(), value] for key, value in seen["headers"] if key.lower() != "connection")
        return seen

    assert received(ours) == received(native)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "json"),
        ("GET", "gzip"),
        ("GET", "deflate"),
        ("GET", "chunked"),
        ("GET", "headers"),
        ("GET", "status/204"),
        ("GET", "status/404"),
        ("HEAD", "bytes/500"),
        ("GET", "redirect/3"),
        ("GET", "bytes/2000000"),
    ],
)
def test_a_program_receives_the_same_response_as_without_the_transport(
    ours: Both, native: Both, origin: str, method: str, path: str
) -> None:
    def received(by: Both) -> dict[str, Any]:
        r = by.request(method, f"{origin}/{path}")
        fields = [field for field in r.headers.raw if field[0] != b"Date"]
        seen = (r.status_code, r.reason_phrase, r.url, r.http_version, r.encoding, [each.url for each in r.history])
        return {"seen": seen, "fields": fields, "content": r.content}

    assert received(ours) == received(native)


def test_cookies_are_those_of_httpx(service: str, peer: Callable[..., Peer]) -> None:
    head = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX: y\r\nset-cookie: b=2\r\nContent-Length: 0\r\n\r\n"
    server = peer(head, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    with httpx.Client(transport=Transport(socket=service)) as client:
        r = client.get(server.url)
        assert r.headers.get_list("set-cookie") == ["a=1", "b=2"]
        client.get(server.url)
    assert b"Cookie: a=1; b=2\r\n" in server.received[1]


# Bodies that flow


def test_chunks_are_given_as_they_come(service: str, scripted: Callable[..., Scripted]) -> None:
    seen = threading.Event()

    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(CHUNKED + chunk(b"first\n"))
        assert seen.wait(20)
        stream.sendall(chunk(b"second\n") + chunk(b""))

    with httpx.Client(transport=Transport(socket=service)) as client, client.stream("GET", scripted(talk).url) as r:
        lines = r.iter_lines()
        assert next(lines) == "first"
        seen.set()
        assert list(lines) == ["second"]


@pytest.mark.parametrize("way", ["closed", "dropped"])
def test_a_response_without_a_reader_ends_its_request(
    service: str, scripted: Callable[..., Scripted], way: str
) -> None:
    over = threading.Event()

    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(CHUNKED + chunk(b"x"))
        stream.recv(1)
        over.set()

    with httpx.Client(transport=Transport(socket=service)) as client:
        r = client.send(client.build_request("GET", scripted(talk).url), stream=True)
        if way == "closed":
            r.close()
        del r
        gc.collect()
        assert over.wait(20)


def test_a_cancelled_task_ends_its_request(service: str, scripted: Callable[..., Scripted]) -> None:
    begun, over = threading.Event(), threading.Event()

    def talk(stream: socket.socket) -> None:
        request_head(stream)
        begun.set()
        stream.recv(1)
        over.set()

    async def main() -> None:
        async with httpx.AsyncClient(transport=AsyncTransport(socket=service)) as client:
            task = asyncio.ensure_future(client.get(scripted(talk).url))
            assert await asyncio.to_thread(begun.wait, 20)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(over.wait, 20)

    asyncio.run(main())


def test_a_generator_that_fails_fails_the_request(ours: Both, scripted: Callable[..., Scripted]) -> None:
    def talk(stream: socket.socket) -> None:
        while stream.recv(65536):
            pass

    def body() -> Iterator[bytes]:
        yield b"x" * 10
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ours.request("POST", scripted(talk).url, content=body())


@pytest.mark.parametrize("length", ["2", "5"])
def test_a_body_that_contradicts_its_length_is_refused(ours: Both, origin: str, length: str) -> None:
    with pytest.raises(httpx.LocalProtocolError, match=f"{length} bytes"):
        ours.request("POST", f"{origin}/echo", content=b"abc", headers={"Content-Length": length})


def test_an_early_response_ends_an_upload_without_end(ours: Both, scripted: Callable[..., Scripted]) -> None:
    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    def body() -> Iterator[bytes]:
        while True:
            yield bytes(100_000)

    assert ours.request("POST", scripted(talk).url, content=body()).status_code == 413


def test_many_tasks_use_one_client(service: str, origin: str) -> None:
    async def main() -> list[int]:
        async with httpx.AsyncClient(transport=AsyncTransport(socket=service)) as client:
            found = await asyncio.gather(*[client.get(f"{origin}/bytes/{size}") for size in range(1, 51)])
            return [len(r.content) for r in found]

    assert asyncio.run(main()) == list(range(1, 51))


def test_one_transport_serves_one_event_loop_after_the_other(service: str, origin: str) -> None:
    transport = AsyncTransport(socket=service)

    async def main() -> int:
        async with httpx.AsyncClient(transport=transport) as client:
            return (await client.get(f"{origin}/json")).status_code

    assert [asyncio.run(main()) for _ in range(2)] == [200, 200]


def test_another_event_loop_than_that_of_asyncio_is_refused(service: str) -> None:
    call = AsyncTransport(socket=service).handle_async_request(httpx.Request("GET", "http://127.0.0.1:1/"))
    with pytest.raises(RuntimeError, match="in trio, use"):
        call.send(None)


def test_nothing_is_left_of_requests_that_have_ended(
    service: str, client: outrider.Client, scripted: Callable[..., Scripted], origin: str
) -> None:
    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    with httpx.Client(transport=Transport(client)) as program:
        assert program.get(f"{origin}/json").is_success
        assert program.post(f"{origin}/echo", content=iter([b"a"])).is_success
        assert program.post(scripted(talk).url, content=iter([bytes(100_000)] * 100)).status_code == 413
        with program.stream("GET", f"{origin}/bytes/9000000"):
            pass
        for content in (None, iter([b"a"])):
            with pytest.raises(httpx.ConnectError):
                program.post("http://127.0.0.1:1/", content=content)
        until(lambda: client.call("request.list")["requests"] == [])


# Time and failures


@pytest.mark.parametrize(
    ("response", "timeout", "kind"),
    [
        (b"", httpx.Timeout(None, read=0.1), httpx.ReadTimeout),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", None, httpx.RemoteProtocolError),
        (CHUNKED + b"5\r\nab", None, httpx.RemoteProtocolError),
        (b"nonsense\r\n\r\n", None, httpx.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", None, httpx.DecodingError),
    ],
)
def test_a_broken_response_is_the_same_failure_as_without_the_transport(
    ours: Both, native: Both, peer: Callable[..., Peer], response: bytes, timeout: Any, kind: type[Exception]
) -> None:
    for by in (native, ours):
        with pytest.raises(kind) as caught:
            by.request("GET", peer(response).url, timeout=timeout)
        assert type(caught.value) is kind and caught.value.request.method == "GET"  # type: ignore[attr-defined]


def test_a_connection_that_ends_before_a_head_is_the_same_failure(
    ours: Both, native: Both, scripted: Callable[..., Scripted]
) -> None:
    for by in (native, ours):
        with pytest.raises(httpx.RemoteProtocolError):
            by.request("POST", scripted(lambda stream: whole_request(stream) and None).url, content=b"x")


def test_a_server_that_takes_no_body_is_a_write_timeout(ours: Both, scripted: Callable[..., Scripted]) -> None:
    over = threading.Event()

    def talk(stream: socket.socket) -> None:
        over.wait(20)

    with pytest.raises(httpx.WriteTimeout, match="took nothing"):
        ours.request("PUT", scripted(talk).url, content=b"x" * 50_000_000, timeout=httpx.Timeout(None, write=0.2))
    over.set()


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("http://127.0.0.1:1/", httpx.ConnectError),
        ("https://ORIGIN/", httpx.ConnectError),
        ("ftp://127.0.0.1/", httpx.UnsupportedProtocol),
    ],
)
def test_a_server_that_cannot_be_reached_is_the_same_failure(
    ours: Both, native: Both, origin: str, url: str, kind: type[Exception]
) -> None:
    for by in (native, ours):
        with pytest.raises(kind) as caught:
            by.request("GET", url.replace("ORIGIN", origin.partition("://")[2]), timeout=10)
        assert type(caught.value) is kind


def test_a_proxy_is_used_and_its_refusal_is_a_proxy_error(service: str, peer: Callable[..., Peer]) -> None:
    server = peer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    with httpx.Client(transport=Transport(socket=service, proxy=server.url)) as client:
        assert client.get("http://server.test/a").text == "ok"
    assert server.received[0].startswith(b"GET http://server.test/a HTTP/1.1\r\n")
    refusing = peer(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
    refused = Transport(socket=service, proxy=refusing.url)
    with httpx.Client(transport=refused) as client, pytest.raises(httpx.ProxyError):
        client.get("https://server.test/")


def test_what_the_service_cannot_do_is_refused_with_a_remedy(ours: Both, origin: str) -> None:
    with pytest.raises(httpx.LocalProtocolError, match=r"header X-A: .*UTF-8"):
        ours.request("GET", origin, headers={"X-A": b"\xe9"})
    with pytest.raises(httpx.LocalProtocolError, match="target"):
        ours.request("GET", origin, extensions={"target": b"*"})
    with pytest.raises(httpx.LocalProtocolError, match="sni_hostname"):
        ours.request("GET", "https://127.0.0.1:1/", extensions={"sni_hostname": "example.org"})
    with pytest.raises(httpx.LocalProtocolError, match="Host"):
        ours.request("GET", "http://server.test/", headers={"Host": "example.org"})


def test_without_a_service_it_is_a_connect_error(tmp_path: Any) -> None:
    transport = Transport(socket=tmp_path / "none")
    with httpx.Client(transport=transport) as client, pytest.raises(httpx.ConnectError):
        client.get("http://127.0.0.1:1/")


def test_a_transport_shares_a_client(service: str, client: outrider.Client, origin: str) -> None:
    with httpx.Client(transport=Transport(client, tag="mine", priority="low")) as program:
        assert program.get(f"{origin}/json").json()["id"] == 1
    assert client.get(f"{origin}/json").status == 200

    async def main() -> None:
        async with outrider.AsyncClient(socket=service) as shared:
            async with httpx.AsyncClient(transport=AsyncTransport(shared)) as awaiting:
                assert (await awaiting.get(f"{origin}/json")).json()["id"] == 1
            assert (await shared.get(f"{origin}/json")).status == 200

    asyncio.run(main())
