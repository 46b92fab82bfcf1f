# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests of both clients that go through a proxy, which responds for the server."""

import asyncio
import http.server
import threading

import outrider
import pytest
from outrider._protocol.access import environment


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
        "http": "c",
        "https": "b",
    }
    assert environment({"http_proxy": "a", "no_proxy": " x.test, y.test z.test,"}) == {
        "http": "a",
        "bypass": ["x.test", "y.test", "z.test"],
    }


def test_a_variable_that_another_one_replaces_does_not_count(client, proxy, monkeypatch):
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, proxy.address)
    monkeypatch.setenv("all_proxy", "socks://127.0.0.1:1080/")
    assert client.get(URL, proxy="environment").status == 200 and len(proxy.received) == 1


@pytest.mark.parametrize("value", ["socks4://127.0.0.1:1", "http://h:1/path"])
def test_a_variable_that_cannot_be_used_fails_only_its_scheme(client, proxy, monkeypatch, value):
    monkeypatch.setenv("http_proxy", proxy.address)
    monkeypatch.setenv("https_proxy", value)
    assert client.get(URL, proxy="environment").status == 200 and len(proxy.received) == 1
    with pytest.raises(outrider.ProxyError) as raised:
        client.get(URL.replace("http", "https", 1), proxy="environment")
    assert "https-proxy-cannot-be-used" in str(raised.value) and len(proxy.received) == 1


@pytest.mark.parametrize(
    "item",
    ["<local>", "/var/run/docker.sock", "10.0.0.0/33", "http://foo", "[::1", "192.168.*", "a;b", "1.2.3.999", "x:0"],
)
def test_an_unusual_item_of_no_proxy_is_left_out(client, proxy, origin, monkeypatch, item):
    monkeypatch.setenv("http_proxy", proxy.address)
    monkeypatch.setenv("no_proxy", f"{item},127.0.0.1")
    assert client.get(origin + "/echo", proxy="environment").status == 200 and not proxy.received


def test_usual_items_of_no_proxy_are_kept(client, proxy, origin, monkeypatch):
    items = ["a.test", ".a.test", "*.a.test", "a_b.test:80", "::1", "[::1]:80", "fe80::/10", "10.0.0.0/8", "127.0.0.1"]
    assert environment({"no_proxy": ",".join(items)})["bypass"] == items
    monkeypatch.setenv("http_proxy", proxy.address)
    monkeypatch.setenv("no_proxy", ",".join(items))
    assert client.get(origin + "/echo", proxy="environment").status == 200 and not proxy.received
