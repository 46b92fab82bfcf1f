# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""outrider.requests: time, failures, threads and processes are as without the adapter."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("requests")
import outrider
import outrider.requests
import requests
from peers import CHUNKED, Peer, Scripted, request_head, serve, stop, until

# Time


def test_a_silent_server_is_a_read_timeout(session: requests.Session, peer: Callable[..., Peer]) -> None:
    with pytest.raises(requests.ReadTimeout, match="Read timed out") as caught:
        session.get(peer(b"").url, timeout=(5, 0.1))
    assert isinstance(caught.value.__cause__, outrider.RequestTimeout) and caught.value.request.method == "GET"


@pytest.mark.parametrize("body", [None, b"x", "generator"])
def test_a_server_that_falls_silent_in_the_body_is_what_requests_makes_of_it(
    session: requests.Session, scripted: Callable[..., Scripted], body: Any
) -> None:
    over = threading.Event()

    def talk(stream: socket.socket) -> None:
        seen = request_head(stream)
        while body == "generator" and not seen.endswith(b"0\r\n\r\n"):
            seen += stream.recv(65536)
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
        over.wait(20)

    url = scripted(talk).url
    for stream in (False, True):
        with pytest.raises(requests.ConnectionError, match="Read timed out"):
            data = iter([b"x"]) if body == "generator" else body
            # on a busy machine, the head takes a part of that time
            _ = session.post(url, data=data, timeout=1, stream=stream).content
    over.set()


def test_the_pauses_of_a_generator_are_no_silence_of_the_server(session: requests.Session, origin: str) -> None:
    def body() -> Iterator[bytes]:
        yield b"a"
        threading.Event().wait(1.3)
        yield b"b"

    assert session.post(f"{origin}/echo", data=body(), timeout=1).json()["body"] == "ab"


@pytest.mark.parametrize("timeout", [None, (3.05, None), (None, 5), 5, requests.adapters.TimeoutSauce(total=5)])
def test_every_form_of_timeout_is_taken(session: requests.Session, origin: str, timeout: Any) -> None:
    assert session.get(f"{origin}/json", timeout=timeout).ok


@pytest.mark.parametrize("timeout", [(1, 2, 3), "soon", 0, -1])
def test_a_timeout_that_makes_no_sense_is_refused_as_by_requests(
    session: requests.Session, native: requests.Session, origin: str, timeout: Any
) -> None:
    with pytest.raises(ValueError) as without:
        native.get(origin, timeout=timeout)
    with pytest.raises(ValueError) as with_adapter:
        session.get(origin, timeout=timeout)
    assert str(with_adapter.value) == str(without.value)


# Failures


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", requests.exceptions.ChunkedEncodingError),
        (CHUNKED + b"5\r\nab", requests.exceptions.ChunkedEncodingError),
        (CHUNKED + b"xyz\r\n", requests.exceptions.ChunkedEncodingError),
        (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
            requests.exceptions.ContentDecodingError,
        ),
        (b"nonsense\r\n\r\n", requests.ConnectionError),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", requests.exceptions.InvalidHeader),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_broken_response_is_the_same_failure_as_without_the_adapter(
    session: requests.Session,
    native: requests.Session,
    peer: Callable[..., Peer],
    response: bytes,
    kind: Any,
    stream: bool,
) -> None:
    for by in (native, session):
        with pytest.raises(kind) as caught:
            _ = by.get(peer(response).url, stream=stream).content
        assert type(caught.value) is kind


def test_a_refused_connection_is_a_connection_error(session: requests.Session) -> None:
    with pytest.raises(requests.ConnectionError, match=r"127\.0\.0\.1:1 refused the connection") as caught:
        session.get("http://127.0.0.1:1/")
    assert type(caught.value) is requests.ConnectionError
    assert isinstance(caught.value.args[0].reason, Exception)


def test_a_server_without_tls_is_an_ssl_error(session: requests.Session, origin: str) -> None:
    with pytest.raises(requests.exceptions.SSLError):
        session.get(origin.replace("http:", "https:"), timeout=10)


def test_a_proxy_is_used_and_its_refusal_is_a_proxy_error(session: requests.Session, peer: Callable[..., Peer]) -> None:
    server = peer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    r = session.get("http://server.test/a", proxies={"http": server.url.replace("//", "//ada:s3cret@")})
    assert r.text == "ok" and server.received[0].startswith(b"GET http://server.test/a HTTP/1.1\r\n")
    assert server.received[0].count(b"Proxy-Authorization: Basic YWRhOnMzY3JldA==") == 1
    refusing = peer(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
    with pytest.raises(requests.exceptions.ProxyError):
        session.get("https://server.test/", proxies={"https": refusing.url})


@pytest.mark.parametrize("options", [{"verify": False}, {"verify": __file__}, {"cert": __file__}])
def test_options_of_tls_do_not_matter_without_tls(
    session: requests.Session, origin: str, options: dict[str, Any]
) -> None:
    assert session.get(f"{origin}/json", **options).ok
    with pytest.raises(OSError, match="invalid path: /none"):
        session.get(origin.replace("http:", "https:"), verify="/none")
    with pytest.raises(OSError, match="certificate file, invalid path: /none"):
        session.get(origin.replace("http:", "https:"), cert="/none")


def test_a_header_that_cannot_be_sent_is_refused(session: requests.Session, origin: str) -> None:
    with pytest.raises(outrider.requests.UnsupportedOption, match=r"header X-A: .*UTF-8"):
        session.get(origin, headers={"X-A": b"\xe9"})
    # servers on loopback and in private networks may be given another name
    assert session.get(f"{origin}/json", headers={"Host": "example.org"}).ok
    with pytest.raises(requests.exceptions.InvalidHeader, match="Host"):
        session.get("http://server.test/", headers={"Host": "example.org"})


def test_an_unknown_credential_is_an_exception_of_requests(service: str, origin: str) -> None:
    with requests.Session() as made:
        made.mount("http://", outrider.requests.Adapter(socket=service, credential="no-such"))
        with pytest.raises(requests.RequestException) as caught:
            made.get(origin)
        assert isinstance(caught.value.__cause__, outrider.OutriderError)
        # the program's own credentials come first
        assert made.get(f"{origin}/echo", auth=("ada", "x")).ok


def test_a_credential_goes_to_its_own_origins_only(service: str, client: outrider.Client, origin: str) -> None:
    client.oauth.create("own", client_id="app", token_url=f"{origin}/token", token="a0", origins=origin)
    with requests.Session() as made:
        made.trust_env = False
        made.mount("http://", outrider.requests.Adapter(socket=service, credential="own"))
        for at, tokens in ((origin, ["Bearer a0"]), (origin.replace("127.0.0.1", "localhost"), [])):
            seen = made.get(f"{at}/echo").json()["headers"]
            assert [value for name, value in seen if name.lower() == "authorization"] == tokens


def test_without_a_service_it_is_a_connection_error(tmp_path: Any) -> None:
    with requests.Session() as made:
        made.mount("http://", outrider.requests.Adapter(socket=tmp_path / "none"))
        with pytest.raises(requests.ConnectionError):
            made.get("http://127.0.0.1:1/")


# Threads, processes, copies


def test_many_threads_use_one_session(session: requests.Session, origin: str) -> None:
    found: list[int] = []

    def work() -> None:
        for size in range(1, 11):
            found.append(len(session.get(f"{origin}/bytes/{size}").content) - size)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert found == [0] * 80


def test_a_session_works_after_a_fork(session: requests.Session, origin: str) -> None:
    assert session.get(f"{origin}/json").ok
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = b"0"
        try:
            status = str(session.get(f"{origin}/json").status_code).encode()
        finally:
            os.write(writer, status)
            os._exit(0)
    assert session.get(f"{origin}/json").ok
    assert os.read(reader, 10) == b"200"
    os.waitpid(child, 0)
    os.close(reader)
    os.close(writer)


def test_a_session_can_be_pickled_unless_its_adapter_was_given_a_client(
    session: requests.Session, client: outrider.Client, origin: str
) -> None:
    copy = pickle.loads(pickle.dumps(session))
    assert copy.get(f"{origin}/json").json() == {"id": 1, "x": 0.1}
    copy.close()
    copied = pickle.loads(pickle.dumps(session.get(f"{origin}/json")))
    assert copied.json() == {"id": 1, "x": 0.1}
    with pytest.raises(pickle.PicklingError, match="socket="):
        pickle.dumps(outrider.requests.Adapter(client))


def test_an_adapter_shares_a_client(client: outrider.Client, origin: str) -> None:
    with requests.Session() as made:
        made.mount("http://", outrider.requests.Adapter(client, tag="mine", retry=True, priority="low"))
        assert made.get(f"{origin}/json").json()["id"] == 1
    assert client.get(f"{origin}/json").status == 200


def test_a_new_service_is_found(binary: str, directory: str, origin: str) -> None:
    path = f"{directory}/again.sock"
    with requests.Session() as made:
        made.mount("http://", outrider.requests.Adapter(socket=path))
        for _ in range(2):
            child = serve(binary, path)
            try:
                assert made.get(f"{origin}/json").ok
            finally:
                stop(child)


def test_nothing_is_left_of_requests_that_have_ended(client: outrider.Client, origin: str) -> None:
    with requests.Session() as made:
        made.mount("http://", outrider.requests.Adapter(client))
        assert made.get(f"{origin}/json").ok and made.get(f"{origin}/json", stream=True).content
        made.get(f"{origin}/bytes/9000000", stream=True).close()
        assert made.post(f"{origin}/echo", data=iter([b"a"])).ok
        for data in (None, iter([b"a"])):
            with pytest.raises(requests.ConnectionError):
                made.post("http://127.0.0.1:1/", data=data, stream=True)
        until(lambda: client.call("request.list")["requests"] == [])


def test_the_core_of_the_package_loads_neither_library() -> None:
    code = "import outrider as o, sys; o.Client, o.AsyncClient; print({'requests', 'httpx'} & set(sys.modules))"
    source = os.path.dirname(os.path.dirname(outrider.__file__))
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": source}, capture_output=True, text=True
    )
    assert done.stdout == "set()\n", done.stderr
