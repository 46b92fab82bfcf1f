# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests of both clients that go through a proxy, which responds for the server."""

import asyncio
import http.server
import threading

import outrider
import pytest
from outrider._protocol.proxies import environment


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        said = self.headers.get("Proxy-Authorization")
        self.server.received.append((self.path, said))
        if self.server.guarded and said is None:
            self.send_response(407)
            self.send_header("Proxy-Authenticate", 'Basic realm="the gate"')
        else:
            self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_CONNECT(self):
        self.send_response(403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def proxy():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.received, server.guarded = [], False
    server.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


URL = "http://server.test/a?b"
ADA = "Basic YWRhOnMzY3JldA=="


def test_a_request_goes_through_the_proxy_that_it_names(client, proxy):
    assert client.get(URL, proxy=proxy.address).status == 200
    named = {"http": proxy.address, "credential": ("ada", "s3cret")}
    assert client.get(URL, proxy=named).status == 200
    assert proxy.received == [(URL, None), (URL, ADA)]


def test_an_asynchronous_one_does_so_too(service, proxy):
    async def run():
        async with outrider.AsyncClient(socket=service) as client:
            return await client.get(URL, proxy=proxy.address)

    assert asyncio.run(run()).status == 200 and proxy.received == [(URL, None)]


def test_the_environment_is_that_of_the_program(client, proxy, origin, monkeypatch):
    monkeypatch.setenv("http_proxy", proxy.address)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert client.get(origin + "/echo").status == 200 and not proxy.received
    assert client.get(origin + "/echo", proxy="environment").status == 200 and not proxy.received
    for wish in ("environment", True):
        assert client.get(URL, proxy=wish).status == 200
    assert len(proxy.received) == 2


def test_a_session_names_its_proxy_and_is_asked_for_its_password(client, proxy):
    proxy.guarded = True
    session = client.session(proxy=proxy.address)
    challenges = []

    @session.challenge
    def who(challenge):
        challenges.append((challenge.proxy, challenge.realm))
        return "ada", "s3cret"

    assert [session.get(URL).status for _ in range(2)] == [200, 200]
    assert challenges[0] == (proxy.address, "the gate") and proxy.received[1] == (URL, ADA)


def test_a_refused_tunnel_is_an_error_of_the_proxy(client, proxy):
    with pytest.raises(outrider.ProxyError) as raised:
        client.get("https://server.test/", proxy=proxy.address)
    told = raised.value.data["data"]
    assert told["status"] == 403 and told["proxy"] in proxy.address and raised.value.code == 1415


def test_variables_are_read_as_curl_does():
    assert environment({}) == {}
    assert environment({"HTTP_PROXY": "evil", "https_proxy": "", "HTTPS_PROXY": "b", "ALL_PROXY": "c"}) == {
        "https": "b",
        "url": "c",
    }
    assert environment({"http_proxy": "a", "no_proxy": " x.test, y.test z.test,"}) == {
        "http": "a",
        "bypass": ["x.test", "y.test", "z.test"],
    }
