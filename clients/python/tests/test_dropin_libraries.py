# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What libraries on top of requests do with a response and its parts, through the adapter."""

from __future__ import annotations

import gzip
import io
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import Any

import pytest

pytest.importorskip("requests")
import requests
from outrider import Client
from outrider._dropins.calls import Reader
from outrider.requests import Adapter, install
from peers import CHUNKED, Scripted, chunk, request_head, until, whole_request
from requests.adapters import HTTPAdapter
from urllib3.response import GzipDecoder
from urllib3.util import Retry


def test_single_bytes_of_a_stream_are_no_calls_of_their_own(
    session: requests.Session, scripted: Callable[..., Scripted], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default of ``iter_content`` is a byte, and that of ``iter_lines`` 512 of them."""
    lines = b"".join(b"%d\n" % number for number in range(9000))

    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(CHUNKED + chunk(lines) + chunk(b""))

    calls: list[Any] = []
    whole = Reader.call

    def counted(reader: Reader, *sizes: Any) -> Any:
        calls.append(sizes)
        return whole(reader, *sizes)

    monkeypatch.setattr(Reader, "call", counted)
    url = scripted(talk).url
    assert b"".join(session.get(url, stream=True).iter_content()) == lines
    assert list(session.get(url, stream=True).iter_lines(chunk_size=1)) == lines.split()
    assert len(calls) < 1000


@pytest.mark.skipif(not hasattr(GzipDecoder, "has_unconsumed_tail"), reason="urllib3 before 2.6 decodes whole pieces")
def test_pieces_are_no_longer_than_asked_after_decoding(
    session: requests.Session, scripted: Callable[..., Scripted]
) -> None:
    """A program that counts what it gets, and stops at its limit, would be too late."""
    body = gzip.compress(bytes(3_000_000))

    def talk(stream: socket.socket) -> None:
        request_head(stream)
        head = CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
        stream.sendall(head + chunk(body) + chunk(b""))

    url = scripted(talk).url
    sizes = [len(piece) for piece in session.get(url, stream=True).iter_content(10_000)]
    assert sum(sizes) == 3_000_000 and max(sizes) <= 10_000
    assert sum(len(piece) for piece in session.get(url, stream=True).iter_content(None)) == 3_000_000
    raw = session.get(url, stream=True).raw
    assert len(b"".join(raw.read_chunked(-1, decode_content=True))) == 3_000_000


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """A frame of HTTP/2."""
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def test_lines_of_http2_come_on_arrival(client: Client, scripted: Callable[..., Scripted]) -> None:
    """Such a body has no chunks, and ``iter_lines`` asks for 512 bytes."""
    read = threading.Event()

    def talk(stream: socket.socket) -> None:
        seen = stream.recv(24, socket.MSG_WAITALL)
        stream.sendall(frame(4, 0, 0))
        while seen[3:4] not in (b"", b"\1"):
            seen = stream.recv(9, socket.MSG_WAITALL)
            stream.recv(int.from_bytes(seen[:3], "big"), socket.MSG_WAITALL)
        number = int.from_bytes(seen[5:], "big")
        # 0x88 is :status 200
        stream.sendall(frame(4, 1, 0) + frame(1, 4, number, b"\x88") + frame(0, 0, number, b"one\n"))
        threading.Thread(target=end, args=(stream, number), daemon=True).start()
        while head := stream.recv(9, socket.MSG_WAITALL):
            content = stream.recv(int.from_bytes(head[:3], "big"), socket.MSG_WAITALL)
            if head[3:5] == b"\6\0":
                # an idle connection is asked whether it lives
                stream.sendall(frame(6, 1, 0, content))

    def end(stream: socket.socket, number: int) -> None:
        with suppress(OSError):
            if read.wait(60):
                stream.sendall(frame(0, 1, number, b"two\n"))

    name = client.call("session.create", httpVersion="2")["session"]
    with requests.Session() as session:
        session.mount("http://", Adapter(client, session=name))
        response = session.get(scripted(talk).url, stream=True, timeout=30)
        lines = response.iter_lines()
        assert response.raw.version == 20 and next(lines) == b"one"
        read.set()
        assert list(lines) == [b"two"]


def test_a_failure_comes_after_the_bytes_before_it(
    session: requests.Session, scripted: Callable[..., Scripted]
) -> None:
    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nabcd")

    pieces = session.get(scripted(talk).url, stream=True).iter_content(1)
    assert list(islice(pieces, 4)) == [b"a", b"b", b"c", b"d"]
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        next(pieces)


def test_docker_reads_chunk_by_chunk_and_shuts_the_socket(
    session: requests.Session, scripted: Callable[..., Scripted]
) -> None:
    gone = threading.Event()

    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(CHUNKED + chunk(b'{"status":"pulling"}\r\n'))
        while stream.recv(4096):
            pass
        gone.set()

    response = session.get(scripted(talk).url, stream=True)
    reader: Any = response.raw
    assert reader._fp.chunked
    data = reader.read(1)
    while reader._fp.chunk_left:
        data += reader.read(reader._fp.chunk_left)
    assert data == b'{"status":"pulling"}\r\n'
    reader._fp.fp.raw._sock.shutdown(socket.SHUT_RDWR)
    until(gone.is_set)
    assert reader._fp.fp is None and reader._fp.chunk_left == 0 and reader.read() == b""


@pytest.fixture
def installed(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every session of this process goes through the service."""
    monkeypatch.setattr(HTTPAdapter, "send", HTTPAdapter.send)
    install(socket=service)


@pytest.mark.usefixtures("installed")
def test_libraries_that_make_their_sessions_go_through_the_service(origin: str) -> None:
    response = requests.get(f"{origin}/redirect/2", timeout=20)
    assert response.ok and len(response.history) == 2 and isinstance(response.connection, Adapter)
    with requests.Session() as session:
        session.mount("http://", HTTPAdapter(pool_connections=2))
        assert isinstance(session.get(f"{origin}/json").connection, Adapter)


@pytest.mark.usefixtures("installed")
def test_an_adapter_that_connects_in_another_way_keeps_that_way(origin: str) -> None:
    class Other(HTTPAdapter):
        def init_poolmanager(self, *values: Any, **named: Any) -> None:
            super().init_poolmanager(*values, **named)  # type: ignore[no-untyped-call, unused-ignore]

    with requests.Session() as session:
        session.mount("http://", Other())
        assert isinstance(session.get(f"{origin}/json").connection, Other)


RETRIES: dict[str, tuple[Retry, str, list[bytes]]] = {
    "a status, then success": (Retry(3, status_forcelist=[503]), "GET", [b"503", b"503", b"200"]),
    "a status, too often": (Retry(1, status_forcelist=[503]), "GET", [b"503", b"503", b"200"]),
    "the last response": (Retry(1, status_forcelist=[503], raise_on_status=False), "GET", [b"503", b"503", b"200"]),
    "a POST": (Retry(3, status_forcelist=[503]), "POST", [b"503", b"200"]),
    "a POST that may be repeated": (
        Retry(3, status_forcelist=[503], allowed_methods=None), "POST", [b"503", b"200"],
    ),
    "a lost connection": (Retry(2), "GET", [b"", b"", b"200"]),
    "connections lost too often": (Retry(1), "GET", [b"", b"", b"200"]),
    "no retry": (Retry(0, read=False), "GET", [b"", b"200"]),
    "Retry-After": (Retry(1), "GET", [b"429", b"200"]),
}


@pytest.mark.parametrize("name", RETRIES)
def test_retries_of_an_adapter_apply_as_in_urllib3(
    service: str, scripted: Callable[..., Scripted], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The bodies of retried requests, their number, and the outcome."""
    retries, method, replies = RETRIES[name]

    def outcome() -> tuple[str, list[bytes]]:
        bodies: list[bytes] = []

        def talk(stream: socket.socket) -> None:
            bodies.append(whole_request(stream).partition(b"\r\n\r\n")[2])
            if status := replies[len(bodies) - 1]:
                stream.sendall(
                    b"HTTP/1.1 %s x\r\nRetry-After: 0\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx" % status
                )

        with requests.Session() as session:
            session.mount("http://", HTTPAdapter(max_retries=retries))
            try:
                response = session.request(method, scripted(talk).url, data=io.BytesIO(b"abc"), timeout=20)
            except requests.RequestException as problem:
                return f"{type(problem).__name__} {type(problem.args[0]).__name__}", bodies
            return f"{response.status_code} {response.text}", bodies

    native = outcome()
    monkeypatch.setattr(HTTPAdapter, "send", HTTPAdapter.send)
    install(socket=service)
    assert outcome() == native


@pytest.mark.parametrize("status", [b"", b"503"], ids=["a lost connection", "a status"])
@pytest.mark.usefixtures("installed")
def test_a_body_that_cannot_be_rewound_is_not_sent_again(scripted: Callable[..., Scripted], status: bytes) -> None:
    """A second request would have the rest of the body only, as with urllib3."""
    bodies: list[bytes] = []

    def talk(stream: socket.socket) -> None:
        body = request_head(stream).partition(b"\r\n\r\n")[2]
        while not body.endswith(b"0\r\n\r\n") and (data := stream.recv(4096)):
            body += data
        bodies.append(body)
        if status or len(bodies) > 1:
            stream.sendall(b"HTTP/1.1 %s x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % (status or b"200"))

    with requests.Session() as session:
        retries = Retry(3, status_forcelist=[503], allowed_methods=None)
        session.mount("http://", HTTPAdapter(max_retries=retries))
        try:
            found = session.post(scripted(talk).url, data=iter([b"ab", b"cd"]), timeout=20).status_code
        except requests.ConnectionError:
            found = 0
    assert found == int(status or 0)
    assert len(bodies) == 1 and b"ab" in bodies[0] and b"cd" in bodies[0]


def test_a_body_of_known_length_is_not_chunked(session: requests.Session, origin: str) -> None:
    response = session.get(f"{origin}/bytes/9", stream=True)
    assert not response.raw._fp.chunked and response.content == bytes(range(9))


def test_requests_ntlm_finds_no_certificate(session: requests.Session, origin: str) -> None:
    response = session.get(f"{origin}/bytes/9", stream=True)
    assert not hasattr(response.raw._fp.fp.raw._sock, "getpeercert")


class Enough(Exception):
    """What a signal handler raises."""


def test_a_signal_handler_does_not_wait_for_a_body_that_another_thread_reads(
    client: Client, scripted: Callable[..., Scripted]
) -> None:
    go, main = threading.Event(), threading.get_ident()

    def talk(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
        go.wait(60)
        stream.sendall(b"ok")

    session = requests.Session()
    session.mount("http://", Adapter(client=client))
    response = session.get(scripted(talk).url, stream=True)
    file: Any = response.raw._fp
    connection: Any = client._connection
    found: list[bytes] = []
    thread = threading.Thread(target=lambda: found.append(file.read1(9)), daemon=True)

    def read(*_: Any) -> None:
        # only the interrupted thread can read the reply
        thread.start()
        until(lambda: len(connection._waiting) == 1)
        with pytest.raises(RuntimeError, match="within another call"):
            file.read1(1)
        raise Enough

    def interrupt() -> None:
        until(lambda: connection._leader == main)
        signal.pthread_kill(main, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, read)
    helper = threading.Thread(target=interrupt, daemon=True)
    try:
        helper.start()
        with pytest.raises(Enough):
            client.call("diagnostics.sleep", seconds=50)
    finally:
        signal.signal(signal.SIGUSR1, before)
        go.set()
    thread.join(60)
    helper.join(60)
    assert found == [b"ok"]
