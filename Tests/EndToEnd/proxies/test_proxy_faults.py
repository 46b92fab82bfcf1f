# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Proxies that do not do what proxies do, and requests that are given up while one is asked."""

import base64
import contextlib
import os
import socket
import time
from urllib.parse import urlsplit

import contract
import pytest
from http_server import Listening
from proxy_server import Odd, Proxy
from request_client import get, memory, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

ORIGIN = "https://origin.test:8443/secret?token=t"
OPEN = b"HTTP/1.1 200 OK\r\n\r\n"


def sends(response, waits=True):
    """Responds so, and then waits for the client to go, or goes first."""

    def act(connection, head):
        with contextlib.suppress(OSError):
            connection.sendall(response)
            while waits and connection.recv(1 << 16):
                pass

    return act


def failure(wire, proxy, url=ORIGIN, **more):
    response = get(wire, url, proxy=proxy.address, **more)
    assert not response["ok"] and "status" not in response and response["body"] == {"kind": "none", "size": 0}
    return response["error"]


REFUSALS = {
    "with a page": b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n<h1>",
    "with a redirect": b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    "with cookies": b"HTTP/1.1 503 Busy\r\nSet-Cookie: a=secret\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "with a body without end": b"HTTP/1.1 502 Bad Gateway\r\n\r\nfor ever",
    "in HTTP/1.0": b"HTTP/1.0 404 Not here\r\nContent-Length: 9999999\r\n\r\n",
    "with a response that informs first": b"HTTP/1.1 102 Wait\r\n\r\nHTTP/1.1 418 Teapot\r\nContent-Length: 0\r\n\r\n",
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_a_failure_and_never_the_response(wire, name):
    """What is not authenticated must not speak for the server. [AD9]"""
    with Odd(sends(REFUSALS[name])) as proxy:
        error = failure(wire, proxy)
    status = int(REFUSALS[name].rpartition(b"HTTP/1.")[2].split()[1])
    assert (error["code"], error["phase"], error["data"]["status"]) == (1415, "proxy", status)
    assert error["retryable"] == (status in (502, 503)) and "secret" not in str(error["data"])


@pytest.mark.parametrize("waits", [False, True])
def test_a_refusal_counts_without_its_body(wire, waits):
    """Neither the end of the connection nor a stall hides the status. [AD9]"""
    with Odd(sends(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 500\r\n\r\n<h1>", waits)) as proxy:
        error = failure(wire, proxy)
    assert (error["code"], error["data"]["status"], error["retryable"]) == (1415, 403, False), error


def test_a_demand_for_a_password_counts_without_its_body(wire):
    demand = b'HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm="x"\r\nContent-Length: 500\r\n\r\n<h1>'
    with Odd(sends(demand, waits=False)) as proxy:
        error = failure(wire, proxy)
    assert (error["code"], error["data"]["status"]) == (1416, 407), error


@pytest.mark.parametrize("scheme", ["http", "socks5h"])
def test_a_banner_that_comes_together_with_the_acceptance_is_read(wire, scheme):
    """SSH and SMTP servers speak first; their bytes may stand behind the proxy's in a segment."""
    with Greeting(scheme) as proxy:
        opened = result(wire.call("tcp.open", {"host": "ssh.test", "port": 22, "proxy": proxy.address}))
        assert opened["ok"], opened
        read = result(wire.call("stream.read", {"stream": opened["stream"], "wait": 10}, 20))
        assert base64.b64decode(read["base64"]) == b"SSH-2.0-test\r\n"
        wire.call("request.cancel", {"request": opened["request"]})


class Greeting(Listening):
    """A proxy whose acceptance and the banner of the server behind it come in one piece."""

    def __init__(self, scheme):
        self.scheme = scheme
        super().__init__()

    address = property(lambda self: f"{self.scheme}://127.0.0.1:{self.port}")

    def serve(self, connection, number):
        connection.recv(1 << 16)
        accepted = OPEN
        if self.scheme != "http":
            connection.sendall(b"\5\0")
            connection.recv(1 << 16)
            accepted = b"\5\0\0\1" + bytes(6)
        connection.sendall(accepted + b"SSH-2.0-test\r\n")
        with contextlib.suppress(OSError):
            while connection.recv(1 << 16):
                pass


NO_PROXIES = {
    "garbage": (b"\x16\x03\x01\x00\x02nonsense\r\n\r\n", 1408),
    "SSH": (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", 1408),
    "SSH, which waits": (b"SSH-2.0-OpenSSH_9.2\r\n", 1408),
    "an alert of TLS": (b"\x15\x03\x01\x00\x02\x02\x46", 1408),
    "HTTP/2": (b"HTTP/2.0 200 OK\r\n\r\n", 1408),
    "a status that is none": (b"HTTP/1.1 2x0 OK\r\n\r\n", 1408),
    "a field without a colon": (b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", 1408),
    "a NUL": (b"HTTP/1.1 200 OK\r\nA: \0\r\n\r\n", 1408),
    "another protocol": (b"HTTP/1.1 101 Switching\r\n\r\n", 1408),
    "informing without end": (b"HTTP/1.1 103 Hint\r\n\r\n" * 30, 1408),
    "a body behind the acceptance": (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 1408),
    "a response behind the acceptance": (OPEN + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", 1408),
    "too long a head": (b"HTTP/1.1 200 OK\r\nA: " + b"a" * 70_000, 1411),
    "too many fields": (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 5_000 + b"\r\n", 1408),
}


@pytest.mark.parametrize("name", NO_PROXIES)
def test_what_is_no_proxy_is_said_to_be_none(wire, name):
    """[AD11]"""
    response, code = NO_PROXIES[name]
    with Odd(sends(response)) as proxy:
        error = failure(wire, proxy)
    assert (error["code"], error["data"]["cause"]["code"], error["phase"]) == (1409, code, "proxy"), error
    assert f"127.0.0.1:{proxy.port}" in error["message"] and not error["retryable"]


def test_what_comes_into_a_tunnel_before_the_server_could_speak_is_not_taken_for_it(wire):
    """In a piece of its own, which TLS sees. [AD9]"""

    def act(connection, head):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(OPEN)
        connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")

    with Odd(act) as proxy:
        error = failure(wire, proxy)
    assert error["code"] == 1406 and error["phase"] == "tls"


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 ", b"HTTP/1.1 200 OK\r\nA: b\r\n"])
def test_a_proxy_that_hangs_up(wire, said):
    """[AD11]"""
    with Odd(sends(said, waits=False)) as proxy:
        error = failure(wire, proxy)
    assert (error["code"], error["data"]["cause"]["code"]) == (1409, 1404) and error["retryable"]


@pytest.mark.parametrize(("said", "words"), [
    (b"", " closed the connection without an answer"),
    (b"HTTP/1.1 200 OK\r\nA: b\r\n", " closed the connection before the head of the response was complete"),
    (b"HTTP/1.1 100 Continue\r\n\r\n", " closed the connection before the head of the response was complete"),
    (b"SSH-2.0\r\n\r\n", " is not proper HTTP/1.1"),
], ids=["nothing", "half a head", "100", "ssh"])
def test_a_proxy_that_breaks_off_a_forwarded_request_is_named(wire, said, words):
    """The failure named the server, to which the service has no connection."""
    with Odd(sends(said, waits=False)) as proxy:
        error = failure(wire, proxy, "http://origin.test/")
    assert f"the proxy 127.0.0.1:{proxy.port}{words}" in error["message"], error


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 407 Who\r\nContent-Length: 9\r\n\r\n"])
def test_a_proxy_that_stalls_is_waited_for_as_long_as_for_a_connection(wire, said):
    """[AD11]"""
    with Odd(sends(said)) as proxy:
        error = failure(wire, proxy, timeout={"connect": 0.2})
    assert (error["code"], error["phase"]) == (1405, "proxy")
    assert f"the proxy 127.0.0.1:{proxy.port}" in error["message"]


def test_a_server_that_stalls_in_the_tunnel_is_not_the_proxys_fault(wire):
    with Odd(sends(OPEN)) as proxy:
        error = failure(wire, proxy, timeout={"tls": 0.2})
    assert (error["code"], error["phase"]) == (1405, "tls") and "origin.test" in error["message"]


def test_nobody_listens_where_the_proxy_should_be(wire, home):
    """[AD11]"""
    with Listening() as gone:
        address = f"http://127.0.0.1:{gone.port}"
    for url in (ORIGIN, home.url()):
        error = get(wire, url, proxy=address)["error"]
        assert (error["code"], error["data"]["cause"]["code"], error["retryable"]) == (1409, 1402, True)
        assert error["data"]["proxy"] == address.removeprefix("http://")
    assert not home.seen


def test_a_proxy_whose_name_nobody_knows(wire, home):
    error = get(wire, home.url(), proxy="http://no.such.host.invalid:3128")["error"]
    assert (error["code"], error["data"]["cause"]["code"]) == (1409, 1401)


@pytest.mark.parametrize("challenge", [b"", b"Proxy-Authenticate: Negotiate\r\n", b"Proxy-Authenticate: ,,=\r\n"])
def test_a_proxy_whose_challenges_cannot_be_met(wire, challenge):
    response = b"HTTP/1.1 407 Who\r\n" + challenge + b"Connection: close\r\nContent-Length: 0\r\n\r\n"
    with Odd(sends(response)) as proxy:
        for user in (None, "ada"):
            said = {"url": proxy.address, **({"credential": {"username": user, "password": "secret"}} if user else {})}
            response = get(wire, ORIGIN, proxy=said)
            assert response["error"]["code"] == 1416 and response["attempts"] == 1
    assert proxy.connections == 2


def test_a_proxy_that_is_never_content_is_asked_a_few_times(wire):
    def act(connection, head):
        connection.sendall(
            b'HTTP/1.1 407 Who\r\nProxy-Authenticate: Digest realm="x", nonce="%d", qop="auth", stale=true\r\n'
            b"Content-Length: 0\r\nConnection: close\r\n\r\n" % time.monotonic_ns()
        )

    with Odd(act) as proxy:
        response = get(wire, ORIGIN, proxy={"url": proxy.address, "credential": {"username": "ada", "password": "x"}})
    assert response["error"]["code"] == 1416 and proxy.connections <= 10


def test_a_head_without_end_takes_no_memory(wire):
    """[AD11]"""
    gone = []

    def act(connection, head):
        piece = b"A: " + b"a" * 65_530
        try:
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            for _ in range(1_600):
                connection.sendall(piece)
        except OSError:
            gone.append(True)

    with Odd(act) as proxy:
        failure(wire, proxy)
        before = memory(wire)
        error = failure(wire, proxy)
        assert error["data"]["cause"]["code"] == 1411
        assert memory(wire) - before < 16 << 20
        deadline = time.monotonic() + 20
        while len(gone) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert len(gone) == 2


# Retries


def test_a_proxy_that_is_busy_is_asked_again_by_a_policy(wire):
    with Odd(sends(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")) as proxy:
        retry = {"limit": 2, "scale": 0.001, "errors": ["proxyRefused"]}
        response = get(wire, ORIGIN, proxy=proxy.address, retry=retry)
        assert get(wire, ORIGIN, proxy=proxy.address, retry=True)["attempts"] == 1
    assert response["error"]["code"] == 1415 and response["attempts"] == 3 and proxy.connections == 4


def test_a_proxy_that_comes_back_is_found_by_the_usual_policy(wire, home):
    """A proxy that cannot be connected to is a network that may pass."""
    with Listening() as gone:
        port = gone.port
    response = get(wire, home.url(), proxy=f"http://127.0.0.1:{port}", retry={"limit": 2, "scale": 0.001})
    assert response["error"]["code"] == 1409 and response["attempts"] == 3


# Giving up


def descriptors(wire):
    return len(os.listdir(f"/proc/{wire.process.pid}/fd"))


def comes_to(holds, seconds=20):
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.01)
    return holds()


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200", b"HTTP/1.1 407 Who\r\nContent-Length: 9\r\n\r\n"])
def test_a_request_that_is_cancelled_while_the_proxy_is_asked_lets_go_of_it(wire, said):
    """[AD12]"""
    def act(connection, head):
        connection.sendall(said)
        proxy.until_gone(connection)

    with Odd(act) as proxy:
        for count in range(1, 21):
            number = wire.start("data.send", {"url": ORIGIN, "proxy": proxy.address})
            proxy.wait_for("CONNECT", count)
            wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
            assert wire.reply(number)["error"]["code"] == -32800
            proxy.wait_for("gone", count)
            if count == 1:
                open_before = descriptors(wire)
    assert comes_to(lambda: descriptors(wire) <= open_before)
    assert result(wire.call("server.stats", {}))["pool"]["connections"] == 0


def test_one_that_waits_for_a_place_gets_that_of_one_that_was_cancelled_at_the_proxy(trusting, listen):
    port = listen("good")
    with Proxy() as good, Odd(lambda connection, head: odd.until_gone(connection)) as odd:
        session = result(trusting.call("session.create", {"connectionsPerHost": 1, "proxy": odd.address}))["session"]
        url = f"https://localhost:{port}/"
        first = trusting.start("data.send", {"url": url, "session": session})
        odd.wait_for("CONNECT")
        second = trusting.start("data.send", {"url": url, "session": session})
        # another way has another limit
        assert get(trusting, url, session=session, proxy=good.address)["status"] == 200
        trusting.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": first}})
        odd.wait_for("CONNECT", 2)
        trusting.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": second}})
        odd.wait_for("gone", 2)


def test_a_client_that_disappears_leaves_no_proxy_waiting(listening):
    """[AD12]"""
    with Odd(lambda connection, head: proxy.until_gone(connection)) as proxy:
        with contract.Wire(listening) as wire:
            wire.start("data.send", {"url": ORIGIN, "proxy": proxy.address})
            proxy.wait_for("CONNECT")
        proxy.wait_for("gone")


def test_a_connection_that_was_kept_for_a_password_is_let_go_when_the_proxy_ends_it(wire):
    def act(connection, head):
        connection.sendall(b'HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm="x"\r\nContent-Length: 0\r\n\r\n')

    with Odd(act) as proxy:
        for count in range(20):
            assert get(wire, ORIGIN, proxy=proxy.address)["error"]["code"] == 1416
            if count == 0:
                open_before = descriptors(wire)
    assert comes_to(lambda: descriptors(wire) <= open_before)


# SOCKS


SOCKS = {
    "not SOCKS": ([b"HTTP/1.1 400 Bad\r\n\r\n"], 1409),
    "version 4": ([b"\x00\x5a" + b"\0" * 6], 1409),
    "no way to say who asks": ([b"\x05\xff"], 1416),
    "a way that was not offered": ([b"\x05\x01"], 1416),
    "a password": ([b"\x05\x02"], 1416),
    "not permitted": ([b"\x05\x00", b"\x05\x02\x00\x01" + b"\0" * 6], 1415),
    "refused, and no more": ([b"\x05\x00", b"\x05\x05"], 1415),
    "an address of no kind": ([b"\x05\x00", b"\x05\x00\x00\x09" + b"\0" * 6], 1409),
    "more than a reply": ([b"\x05\x00", b"\x05\x00\x00\x01" + b"\0" * 6 + b"HTTP/1.1 200 OK\r\n\r\n"], 1409),
    "the end": ([b"\x05\x00", b""], 1409),
}


@pytest.mark.parametrize("name", SOCKS)
def test_a_socks_proxy_that_does_not_lead_there(wire, home, name):
    """[AD11]"""
    pieces, code = SOCKS[name]

    class Socks(Listening):
        def serve(self, connection, number):
            for piece in pieces:
                if connection.recv(1 << 16):
                    connection.sendall(piece)

    with Socks() as proxy:
        error = get(wire, home.url(), proxy=f"socks5h://127.0.0.1:{proxy.port}")["error"]
    assert (error["code"], error["data"]["proxy"]) == (code, f"127.0.0.1:{proxy.port}") and not home.seen
    if code == 1415 or name == "the end":
        assert urlsplit(home.url()).netloc in error["message"]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_drips_its_response_is_waited_for_as_long_as_for_a_connection(wire, scheme):
    """A byte now and then does not extend the deadline of the head of the response to CONNECT."""

    def act(connection, head):
        with contextlib.suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            while True:
                connection.sendall(b"x")
                time.sleep(0.05)

    with Odd(act) as proxy:
        began = time.monotonic()
        error = failure(wire, proxy, f"{scheme}://origin.test/", timeout={"connect": 0.5, "firstByte": 0.5, "idle": 5})
        assert time.monotonic() - began < 4
        assert error["code"] in (1405, 1409) and error["retryable"]
