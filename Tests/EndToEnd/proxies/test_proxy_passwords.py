# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Proxies that want to know who asks: what they are told, and that no other server is."""

import http.server
import json
from urllib.parse import urlsplit

import contract
import pytest
from callback_client import converse
from digest_server import ADA, PASSWORD
from proxy_server import Odd, Proxy
from request_client import get, result
from upload_server import Reader, Taker

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.mark.parametrize("closes", [False, True])
@pytest.mark.parametrize("algorithm", ["MD5", "SHA-256", "SHA-256-sess"])
def test_digest_is_signed_for_a_tunnel_on_the_same_connection_where_that_stays(trusting, listen, algorithm, closes):
    """[M13]"""
    url = f"https://localhost:{listen('good')}/"
    with Proxy(algorithm, closes=closes) as proxy:
        said = {"url": proxy.address, "credential": {**ADA, "schemes": ["digest"]}}
        response = get(trusting, url, method="GET", proxy=said, metrics=True)
    assert (response["status"], response["attempts"]) == (200, 1) and not proxy.faults
    assert proxy.statuses == [407, 200] and proxy.connections == (2 if closes else 1)
    assert len(response["metrics"]["attempts"]) == 2


@pytest.mark.parametrize("secure", [False, True])
def test_a_tunnel_leads_to_the_target_of_connect_to(trusting, home, listen, secure):
    """Also for http: a proxy that forwards would look for the host of the URL. A signature names the target."""
    port = listen("good") if secure else urlsplit(home.url()).port
    url = "https://localhost/" if secure else "http://elsewhere.test/echo"
    with Proxy("MD5") as proxy:
        said = {"url": proxy.address, "credential": {**ADA, "schemes": ["digest"]}}
        response = get(trusting, url, proxy=said, connectTo=f"127.0.0.1:{port}")
    assert response["status"] == 200 and not proxy.faults and proxy.statuses == [407, 200]
    assert {(one.method, one.path) for one in proxy.requests} == {("CONNECT", f"127.0.0.1:{port}")}


def test_a_session_learns_what_its_proxy_wants(trusting, home, listen):
    url = f"https://localhost:{listen('good')}/"
    with Proxy("SHA-256") as proxy:
        said = {"url": proxy.address, "credential": {**ADA, "schemes": ["digest"]}}
        session = result(trusting.call("session.create", {"proxy": said}))["session"]
        for target in (url, url, home.url(), home.url()):
            assert get(trusting, target, session=session)["status"] == 200
    # a tunnel is used again, and a nonce is not asked for twice
    assert proxy.statuses == [407, 200, 200, 200] and not proxy.faults


@pytest.mark.parametrize("qop", ["auth", "auth-int"])
def test_a_request_for_the_whole_has_a_proof_of_its_own(wire, qop):
    """A 304 about another response is followed by a second request: with Digest, a count is for one request alone."""

    class Other(Taker):
        def serve(self, connection, number):
            head = Reader(connection).until(b"\r\n\r\n")
            seen.append(b"if-none-match" in head.lower())
            status, tag = ("304 Not Modified", "other") if seen[-1] else ("200 OK", "1")
            fields = f'ETag: "{tag}"\r\nCache-Control: max-age=0\r\nContent-Length: {0 if seen[-1] else 2}\r\n'
            connection.sendall(f"HTTP/1.1 {status}\r\n{fields}\r\n{'' if seen[-1] else 'ok'}".encode())

    seen = []
    with Proxy("SHA-256", qop=qop) as proxy, Other() as origin:
        said = {"url": proxy.address, "credential": {**ADA, "schemes": ["digest"]}}
        session = result(wire.call("session.create", {"proxy": said, "cache": True}))["session"]
        for _ in range(2):
            response = get(wire, origin.url("/"), session=session, serialize={"as": "text"})
            assert (response["status"], response["body"]["text"]) == (200, "ok"), response
    assert seen == [False, True, False] and proxy.faults == [] and proxy.statuses == [407, 200, 200, 200]


@pytest.mark.parametrize("secure", [False, True])
def test_a_wrong_password_is_tried_once(trusting, home, listen, secure):
    """[M4]"""
    url = f"https://localhost:{listen('good')}/" if secure else home.url()
    for options, statuses in (({"basic": True}, [407]), ({"algorithm": "SHA-256"}, [407, 407])):
        with Proxy(**options) as proxy:
            response = get(trusting, url, proxy={"url": proxy.address, "credential": {**ADA, "password": "wrong"}})
        assert proxy.statuses == statuses
        if not secure:
            assert response["status"] == 407
            continue
        assert "status" not in response and response["body"]["kind"] == "none"
        error = response["error"]
        assert (error["code"], error["phase"], error["data"]["status"]) == (1416, "proxy", 407)
        assert "does not accept the user and the password" in error["message"], error
        assert any(one["name"] == "Proxy-Authenticate" for one in error["data"]["headers"])


@pytest.mark.parametrize("proxy", ["http://127.0.0.1", "http://ada:s3cret@127.0.0.1"])
def test_a_proxy_without_a_scheme_that_is_supported(wire, proxy):
    fields = b"Proxy-Authenticate: Negotiate\r\nProxy-Authenticate: NTLM\r\n"

    def act(connection, head):
        connection.sendall(b"HTTP/1.1 407 Who\r\n" + fields + b"Content-Length: 0\r\n\r\n")

    with Odd(act) as server:
        error = get(wire, "https://localhost:1/", proxy=f"{proxy}:{server.port}")["error"]
    assert error["code"] == 1416 and "offers only Negotiate, NTLM" in error["message"], error


def test_a_request_of_its_own_does_not_use_the_connection_of_a_refusal(wire):
    """mitmproxy 8 never replies to a second CONNECT on a connection."""
    refusal = b'HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm="x"\r\nContent-Length: 0\r\n\r\n'

    def act(connection, head):
        known = b"Proxy-Authorization" in head
        connection.sendall(b"HTTP/1.1 502 Gone\r\nContent-Length: 0\r\n\r\n" if known else refusal)
        proxy.until_gone(connection)

    with Odd(act) as proxy:
        for user, code in (("", 1416), ("", 1416), ("ada:s3cret@", 1415)):
            address = f"http://{user}127.0.0.1:{proxy.port}"
            error = get(wire, "https://localhost:1/", proxy=address)["error"]
            assert error["code"] == code, error
        assert proxy.connections == 3


@pytest.mark.parametrize("secure", [False, True])
def test_the_credentials_of_a_session_for_its_proxy(trusting, home, listen, secure):
    """[M3] [M13]"""
    url = f"https://localhost:{listen('good')}/" if secure else home.url()
    with Proxy("MD5") as proxy, Proxy("MD5") as other:
        credentials = [{"url": proxy.address, "proxy": True, "realm": "the gate", **ADA}]
        params = {"proxy": proxy.address, "credentials": credentials}
        session = result(trusting.call("session.create", params))["session"]
        assert get(trusting, url, session=session)["status"] == 200
        # for this proxy only
        assert get(trusting, url, session=session, proxy=other.address).get("status") == (None if secure else 407)
        shown = result(trusting.call("session.get", {"session": session}))
    assert proxy.statuses == [407, 200] and other.statuses == [407]
    assert shown["credentials"][0]["proxy"] is True and PASSWORD not in json.dumps(shown)


def test_a_servers_credentials_are_not_for_a_proxy_at_the_same_place(wire, home):
    with Proxy("MD5") as proxy:
        session = result(wire.call("session.create", {"credentials": [{"url": proxy.address, **ADA}]}))["session"]
        response = get(wire, home.url(), session=session, proxy=proxy.address, auth=ADA)
    assert response["status"] == 407 and proxy.statuses == [407]


@pytest.mark.parametrize("secure", [False, True])
def test_the_clients_code_is_asked_for_the_password_of_a_proxy(trusting, home, listen, secure):
    """[3.K.1] [M9] [M13]"""
    url = f"https://localhost:{listen('good')}/" if secure else home.url()
    with Proxy("SHA-256") as proxy:
        session = result(trusting.call("session.create", {"proxy": proxy.address}))["session"]
        params = {"url": url, "session": session, "challenge": {"callback": "who"}}
        functions = {"challenge": lambda params: {"credential": ADA, "persistence": "forSession"}}
        reply, callbacks = converse(trusting, "data.send", params, functions)
        assert reply["result"]["status"] == 200
        ((kind, callback),) = callbacks
        assert kind == "challenge" and callback["proxy"] is True and callback["proxyUrl"] == proxy.address
        assert callback["response"]["status"] == 407 and callback["offers"][0]["realm"] == "the gate"
        # it was kept
        assert get(trusting, home.url(), session=session)["status"] == 200
    assert proxy.statuses == [407, 200, 200]


def test_code_that_knows_no_password_leaves_the_failure(trusting, listen):
    with Proxy("SHA-256") as proxy:
        url = f"https://localhost:{listen('good')}/"
        params = {"url": url, "proxy": proxy.address, "challenge": {"callback": "who"}}
        reply, callbacks = converse(trusting, "data.send", params, {"challenge": lambda params: {}})
    assert reply["result"]["error"]["code"] == 1416 and len(callbacks) == 1


def test_a_request_is_given_a_password_for_its_proxy(wire, home):
    with Proxy("MD5") as proxy:
        params = {"url": home.url(), "proxy": proxy.address, "startImmediately": False}
        request = result(wire.call("data.start", params))["request"]
        wire.call("request.authenticate", {"request": request, **ADA, "proxy": True})
        wire.call("request.resume", {"request": request})
        assert result(wire.call("request.wait", {"request": request}))["status"] == 200
    request = result(wire.call("data.start", {"url": home.url(), "startImmediately": False}))["request"]
    error = wire.call("request.authenticate", {"request": request, **ADA, "proxy": True})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == "/proxy"


def test_a_body_is_sent_again_when_the_proxy_asks_in_the_middle(wire):
    """[M12]"""
    with Proxy("MD5") as proxy, Taker() as origin:
        body = {"text": "x" * 3_000_000}
        said = {"url": proxy.address, "credential": {**ADA, "schemes": ["digest"]}}
        response = get(wire, origin.url("/count"), method="POST", body=body, proxy=said)
    assert response["body"]["text"] == "3000000" and proxy.statuses == [407, 200]


def test_one_who_speaks_through_a_tunnel_is_no_proxy(trusting, certificates, listen):
    """A server that sends 407 in a tunnel gets no password of a proxy. [AD10]"""
    said = []

    class Liar(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            said.append(self.headers.get("Proxy-Authorization"))
            self.send_response(407)
            self.send_header("Proxy-Authenticate", 'Basic realm="the gate"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with Proxy(basic=True) as proxy:
        response = get(trusting, f"https://localhost:{listen('good', page=Liar)}/", proxy=proxy.named)
    assert response["status"] == 407 and said == [None] and proxy.statuses == [200]


def test_nobody_uses_the_tunnel_of_another(trusting, listen):
    """A tunnel belongs to who asked for it, though connections are shared by all. [AD10]"""
    url = f"https://localhost:{listen('good')}/"
    with Proxy() as proxy:
        for user in (None, "ada", "bob"):
            said = {"url": proxy.address, **({"credential": {"username": user, "password": "x"}} if user else {})}
            for _ in range(2):
                assert get(trusting, url, proxy=said)["status"] == 200
    assert len(proxy.connects) == 3
    assert [one.field("proxy-authorization") is None for one in proxy.connects] == [True, False, False]
