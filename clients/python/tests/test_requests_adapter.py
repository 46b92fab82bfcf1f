# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""outrider.requests: a session of requests behaves with the adapter as it does with its own."""

from __future__ import annotations

import gc
import io
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("requests")
import requests
from outrider import Client
from outrider.requests import Adapter
from peers import CHUNKED, Peer, Scripted, chunk, request_head

# The same on the wire as without the adapter


SENT: dict[str, Callable[[], dict[str, Any]]] = {
    "a plain request": dict,
    "parameters": lambda: {"params": {"a": "1 2", "b": ["x", "y"]}},
    "bytes": lambda: {"method": "POST", "data": b"abc"},
    "text": lambda: {"method": "POST", "data": "naïve".encode()},
    "a form": lambda: {"method": "POST", "data": {"a": "1", "b": "2"}},
    "json": lambda: {"method": "PUT", "json": {"a": [1, 2]}},
    "nothing": lambda: {"method": "POST"},
    "an empty body": lambda: {"method": "DELETE", "data": b""},
    "a generator": lambda: {"method": "POST", "data": iter([b"ab", b"", b"cd"])},
    "an open file": lambda: {"method": "POST", "data": io.BytesIO(b"x" * 100_000)},
    "a large body": lambda: {"method": "POST", "data": b"y" * 3_000_000},
    "a body of GET": lambda: {"data": b"abc"},
    "fields that are left out": lambda: {"headers": {"Accept": None, "Accept-Encoding": None}},
    "repeated values": lambda: {"headers": {"X-A": "1, 2", "x-b": b"caf\xc3\xa9"}},
    "user and password": lambda: {"auth": ("ada", "s3cret")},
    "cookies": lambda: {"cookies": {"a": "1"}},
    "a fragment and a user in the URL": lambda: {"at": "http://ada:x@HOST/echo?q=1#top"},
    "an escaped path": lambda: {"at": "http://HOST/echo/a%2Fb/%7Ec/../d?x=%20+y"},
}


@pytest.mark.parametrize("name", SENT)
def test_a_server_receives_the_same_request_as_without_the_adapter(
    session: requests.Session, native: requests.Session, origin: str, name: str
) -> None:
    def received(by: requests.Session) -> dict[str, Any]:
        options = SENT[name]()
        url = options.pop("at", "http://HOST/echo").replace("HOST", origin.partition("://")[2])
        seen: dict[str, Any] = by.request(options.pop("method", "GET"), url, **options).json()
        seen["headers"] = sorted((key.lower(), value) for key, value in seen["headers"] if key.lower() != "connection")
        return seen

    without = received(native)
    without["headers"] = [each for each in without["headers"] if not each[1].startswith("python-urllib3")]
    assert received(session) == without


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
        ("GET", "status/599"),
        ("HEAD", "bytes/500"),
        ("GET", "redirect/3"),
        ("GET", "bytes/2000000"),
        ("GET", "trailers"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_program_receives_the_same_response_as_without_the_adapter(
    session: requests.Session, native: requests.Session, origin: str, method: str, path: str, stream: bool
) -> None:
    def received(by: requests.Session) -> dict[str, Any]:
        r = by.request(method, f"{origin}/{path}", stream=stream)
        fields = [field for field in r.raw.headers.items() if field[0] != "Date"]
        seen = (r.status_code, r.reason, r.url, r.encoding, r.raw.version, [each.status_code for each in r.history])
        return {"seen": seen, "fields": fields, "content": r.content}

    assert received(session) == received(native)


def test_a_trace_is_sent_without_a_body(session: requests.Session, peer: Callable[..., Peer]) -> None:
    server = peer(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    assert session.request("TRACE", server.url).status_code == 200
    assert server.received[0].startswith(b"TRACE / HTTP/1.1\r\n") and b"Content-Length" not in server.received[0]


def test_cookies_are_those_of_requests(session: requests.Session, peer: Callable[..., Peer]) -> None:
    head = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Expires=Fri, 31 Dec 2099 23:59:59 GMT\r\nX: y\r\nset-cookie: b=2\r\n"
    server = peer(head + b"Content-Length: 0\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    r = session.get(server.url)
    assert r.cookies.get_dict() == {"a": "1", "b": "2"}
    assert r.raw.headers.getlist("Set-Cookie") == ["a=1; Expires=Fri, 31 Dec 2099 23:59:59 GMT", "b=2"]
    session.get(server.url)
    assert b"Cookie: a=1; b=2\r\n" in server.received[1]


def test_a_stored_response_changes_no_cookies(client: Client, peer: Callable[..., Peer]) -> None:
    """A hit shows Set-Cookie to the owner of the cache; the jar of requests has a newer value by then."""
    head = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=%d; Path=/b\r\nCache-Control: max-age=%d\r\nContent-Length: 0\r\n\r\n"
    server = peer(head % (1, 600), head % (2, 0))
    with client.session(cache=True) as cached, requests.Session() as session:
        session.mount("http://", Adapter(client, session=cached.handle))
        for path in ("a", "b", "a"):
            assert session.get(server.url + path).ok
        assert session.cookies.get_dict() == {"a": "2"} and len(server.received) == 2


def test_a_field_that_is_not_ascii_has_a_character_for_each_byte(
    session: requests.Session, peer: Callable[..., Peer]
) -> None:
    server = peer("HTTP/1.1 200 OK\r\nX-A: é\r\nContent-Length: 0\r\n\r\n".encode())
    assert session.get(server.url).headers["X-A"] == "é".encode().decode("latin-1")


# Bodies that flow


def test_the_raw_response_is_one_of_urllib3(session: requests.Session, origin: str) -> None:
    r = session.get(f"{origin}/gzip", stream=True)
    assert r.raw.read(4, decode_content=True) == b"this" and r.raw.read(5, decode_content=True) == b" was "
    assert b"".join(r.raw.stream(7, decode_content=True)) == b"compressed with gzip\n"
    assert r.raw.closed and r.raw.read(1) == b""
    r = session.get(f"{origin}/gzip", stream=True)
    assert r.raw.read(2) == b"\x1f\x8b" and len(r.raw.read()) == int(r.headers["Content-Length"]) - 2
    r.raw.release_conn()
    r = session.get(f"{origin}/bytes/100", stream=True)
    assert io.BufferedReader(r.raw).read(10) == bytes(range(10))
    r.raw.close()
    assert r.raw.closed


def test_chunks_are_given_as_they_come(session: requests.Session, scripted: Callable[..., Scripted]) -> None:
    seen = threading.Event()

    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(CHUNKED + chunk(b"first\n"))
        assert seen.wait(20)
        stream.sendall(chunk(b"second\n") + chunk(b""))

    r = session.get(scripted(talk).url, stream=True)
    lines = r.iter_lines()
    assert next(lines) == b"first"
    seen.set()
    assert list(lines) == [b"second"]


def test_a_program_that_does_not_read_holds_the_server_up(
    session: requests.Session, scripted: Callable[..., Scripted]
) -> None:
    sent, over = [0], threading.Event()

    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        try:
            while True:
                sent[0] += stream.send(bytes(65536))
        finally:
            over.set()

    r = session.get(scripted(talk).url, stream=True)
    assert len(r.raw.read(100_000)) == 100_000
    held = -1
    while held != sent[0]:
        held = sent[0]
        threading.Event().wait(0.2)
    assert held < 30_000_000
    r.close()
    assert over.wait(20)


def test_threads_that_read_the_same_body_lose_no_bytes(
    session: requests.Session, scripted: Callable[..., Scripted]
) -> None:
    content = bytes(range(251)) * 20_000

    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content) + content)

    r = session.get(scripted(talk).url, stream=True)
    file: Any = r.raw._fp
    found: list[bytes] = []

    def read() -> None:
        while piece := file.read1(1000):
            found.append(piece)

    threads = [threading.Thread(target=read, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    lost = Counter(content) - Counter(b"".join(found))
    assert not lost
    assert file.closed


def test_a_response_that_is_dropped_ends_its_request(
    session: requests.Session, scripted: Callable[..., Scripted]
) -> None:
    over = threading.Event()

    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(CHUNKED + chunk(b"x"))
        stream.recv(1)
        over.set()

    r = session.get(scripted(talk).url, stream=True)
    del r
    gc.collect()
    assert over.wait(20)


def test_a_response_outlives_its_session_and_the_session_its_end(session: requests.Session, origin: str) -> None:
    r = session.get(f"{origin}/bytes/3000000", stream=True)
    session.close()
    assert len(r.content) == 3_000_000
    assert session.get(f"{origin}/json").ok


def test_a_generator_is_sent_as_it_yields_and_runs_in_the_thread_of_the_program(
    session: requests.Session, scripted: Callable[..., Scripted]
) -> None:
    seen = threading.Event()
    threads = set()

    def talk(stream: socket.socket) -> None:
        body = request_head(stream)
        while b"first" not in body:
            body += stream.recv(65536)
        seen.set()
        while not body.endswith(b"0\r\n\r\n"):
            body += stream.recv(65536)
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    def body() -> Iterator[bytes]:
        threads.add(threading.get_ident())
        yield b"first"
        assert seen.wait(20)
        yield b"second"

    assert session.post(scripted(talk).url, data=body()).text == "ok"
    assert threads == {threading.get_ident()}


def test_a_generator_that_fails_fails_the_request_and_no_whole_body_arrives(
    session: requests.Session, scripted: Callable[..., Scripted]
) -> None:
    received: list[bytes] = []
    over = threading.Event()

    def talk(stream: socket.socket) -> None:
        body = b""
        while data := stream.recv(65536):
            body += data
        received.append(body)
        over.set()

    def body() -> Iterator[bytes]:
        yield b"x" * 10
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        session.post(scripted(talk).url, data=body())
    if over.wait(20) and received[0]:
        assert not received[0].endswith(b"0\r\n\r\n")


def test_a_generator_of_integers_is_refused(session: requests.Session, origin: str) -> None:
    with pytest.raises(TypeError, match="bytes or text is sent, not int"):
        session.post(f"{origin}/echo", data=(number for number in (5, 6)))


def test_an_early_response_ends_an_upload_without_end(
    session: requests.Session, scripted: Callable[..., Scripted]
) -> None:
    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    def body() -> Iterator[bytes]:
        while True:
            yield bytes(100_000)

    assert session.post(scripted(talk).url, data=body()).status_code == 413


def test_more_responses_of_one_host_are_open_than_a_session_of_the_service_allows(
    session: requests.Session, origin: str
) -> None:
    held = [session.get(f"{origin}/bytes/9000000", stream=True, timeout=20) for _ in range(10)]
    assert {len(r.content) for r in held} == {9_000_000}


def test_options_of_the_other_adapter_are_refused_with_a_remedy() -> None:
    with pytest.raises(TypeError, match="no option max_retries: write retry="):
        Adapter(max_retries=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"no option pool_maxsize: .* connections="):
        Adapter(pool_maxsize=100)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"no option retries$"):
        Adapter(retries=3)  # type: ignore[arg-type]
