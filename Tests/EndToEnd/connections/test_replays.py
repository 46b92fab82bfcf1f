# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests on kept connections that die before the response."""

import contextlib
import re
import socket
import threading
import time

import contract
import pytest
import tls_server
from http_server import Listening
from listeners import shut
from upload_server import Reader

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


class Fickle:
    """Responds to the first request of each connection, reads the second to its end, and closes."""

    def __init__(self):
        self.methods = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.serve, args=self.listener.accept()[:1], daemon=True).start()

    def serve(self, connection):
        with connection, connection.makefile("rb") as reader:
            for _ in range(2):
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    if not (line := reader.readline()):
                        return
                    head += line
                self.methods.append(head.split(b" ", 1)[0].decode())
                length = re.search(rb"(?i)content-length: *(\d+)", head)
                reader.read(int(length[1]) if length else 0)
                if len(self.methods) % 2:
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


@pytest.fixture
def fickle():
    server = Fickle()
    yield server
    shut(server.listener)


@pytest.mark.parametrize("size", [1000, 1 << 20])
def test_a_file_that_was_sent_whole_is_not_sent_again(wire, fickle, tmp_path, size):
    body = tmp_path / "body"
    body.write_bytes(b"x" * size)
    assert wire.call("data.send", {"url": fickle.url}, 20)["result"]["ok"]
    params = {"url": fickle.url, "method": "PUT", "body": {"file": str(body)}}
    put = wire.call("data.send", params, 20)["result"]
    assert put["error"]["code"] == 1404 and fickle.methods == ["GET", "PUT"]


def test_bytes_that_were_sent_whole_are_sent_again(wire, fickle):
    """[P1]"""
    assert wire.call("data.send", {"url": fickle.url}, 20)["result"]["ok"]
    put = wire.call("data.send", {"url": fickle.url, "method": "PUT", "body": {"text": "x" * 100_000}}, 20)["result"]
    assert put["ok"] and fickle.methods == ["GET", "PUT", "PUT"]


@pytest.mark.parametrize("key", ["Idempotency-Key", "X-Other-Key"])
def test_a_post_is_sent_again_only_with_a_key_by_which_its_server_notices_that(wire, fickle, key):
    assert wire.call("data.send", {"url": fickle.url}, 20)["result"]["ok"]
    params = {"url": fickle.url, "method": "POST", "headers": {key: "a1"}, "body": {"text": "x" * 100_000}}
    post = wire.call("data.send", params, 20)["result"]
    is_sent_again = key == "Idempotency-Key"
    assert post["ok"] == is_sent_again, post
    assert fickle.methods == ["GET", "POST", "POST"][: 3 if is_sent_again else 2]


def path_of(connection):
    """Reads the head of a request."""
    reader = connection.makefile("rb")
    path = reader.readline().decode().split(" ")[1]
    while reader.readline().strip():
        pass
    return path


def until_one_waits(wire):
    limit = time.monotonic() + 10
    while not wire.call("server.stats")["result"]["pool"]["waiting"]:
        assert time.monotonic() < limit


class Parting(Listening):
    """Ends its first connection with the segment that holds the response, when it is told to."""

    def __init__(self):
        self.go = threading.Event()
        super().__init__()

    def serve(self, connection, number):
        self.note(self.arrived, path_of(connection))
        if number == 1:
            assert self.go.wait(10)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        connection.shutdown(socket.SHUT_WR)
        connection.recv(4096)


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_a_request_does_not_go_over_a_connection_that_has_ended(wire, method):
    """A POST would be lost, since it may not be sent again."""
    with Parting() as server:
        session = wire.call("session.create", {"connectionsPerHost": 1})["result"]["session"]
        first = wire.start("data.send", {"url": server.url("/first"), "session": session})
        server.wait_for("/first")
        second = wire.start("data.send", {"url": server.url("/second"), "session": session, "method": method})
        until_one_waits(wire)
        server.go.set()
        replies = wire.replies([first, second])
        assert all(reply["result"]["ok"] for reply in replies.values()), replies
        assert server.arrived == ["/first", "/second"] and server.connections == 2


class Overflowing(Listening):
    """The response to the first request, of that many bytes, has another one behind it that nothing asked for."""

    def __init__(self, size, context=None):
        self.go, self.size, self.context = threading.Event(), size, context
        super().__init__()

    def serve(self, connection, number):
        if self.context:
            connection = self.context.wrap_socket(connection, server_side=True)
        self.note(self.arrived, path_of(connection))
        if number > 1:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            return connection.recv(4096)
        assert self.go.wait(10)
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %05d\r\n\r\n"
        length = self.size - len(head % 0)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        connection.sendall(head % length + b"x" * length)
        connection.sendall(head % 6 + b"forged")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
        return connection.recv(4096)


def overflow(wire, server, scheme):
    session = wire.call("session.create", {"connectionsPerHost": 1})["result"]["session"]
    first = wire.start("data.send", {"url": server.url("/first", scheme), "session": session})
    server.wait_for("/first")
    second = wire.start("data.send", {"url": server.url("/second", scheme), "session": session})
    until_one_waits(wire)
    server.go.set()
    replies = wire.replies([first, second])
    assert replies[second]["result"]["body"]["text"] == "ok", replies[second]
    assert server.connections == 2


@pytest.mark.parametrize("size", [1024, 2048, 4096, 8192])
def test_bytes_that_came_before_a_request_are_not_its_response(wire, size):
    """RFC 9112 section 9.2: also where a read of the service ends exactly with the response before them."""
    with Overflowing(size) as server:
        overflow(wire, server, "http")


@pytest.mark.parametrize("size", [2026, 4074, 8170])
def test_the_same_behind_tls(trusting, certificates, size):
    with Overflowing(size, tls_server.context(certificates, "good")) as server:
        overflow(trusting, server, "https")


class Unexpected(Listening):
    """Refuses the expectation of its first request when it is told to, and holds back the response to the second."""

    def __init__(self):
        self.refuse = threading.Event()
        super().__init__()

    def serve(self, connection, number):
        self.note(self.arrived, path_of(connection))
        if number == 1:
            assert self.refuse.wait(10)
            connection.sendall(b"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")
        else:
            time.sleep(3.5 if number == 2 else 0)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        connection.recv(4096)


def test_a_request_that_is_sent_again_waits_for_a_connection_beyond_its_idle_time(wire):
    with Unexpected() as server:
        session = wire.call("session.create", {"connectionsPerHost": 1})["result"]["session"]
        post = {"method": "POST", "body": {"text": "x"}, "expectContinue": True, "timeout": {"idle": 3}}
        first = wire.start("data.send", {"url": server.url("/first"), "session": session, **post})
        server.wait_for("/first")
        second = wire.start("data.send", {"url": server.url("/second"), "session": session})
        until_one_waits(wire)
        server.refuse.set()
        replies = wire.replies([first, second])
        assert all(reply["result"]["ok"] for reply in replies.values()), replies
        assert server.arrived == ["/first", "/second", "/first"]


class Straying(Listening):
    """Sends bytes that belong to no response behind the second request of its first connection."""

    def __init__(self, stray):
        self.stray = stray
        super().__init__()

    def serve(self, connection, number):
        self.note(self.arrived, path_of(connection))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        if number == 1:
            self.note(self.arrived, path_of(connection))
            connection.sendall(self.stray + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate")
        connection.recv(4096)


STRAYS = {"the rest of a body": b"x</html>\r\n", "an empty line and a chunk": b"\r\n0\r\n\r\n"}


@pytest.mark.parametrize("name", STRAYS)
def test_bytes_that_come_late_behind_a_response_do_not_fail_the_next_request(wire, name):
    """RFC 9112 section 9.2: the request goes over a connection of its own."""
    with Straying(STRAYS[name]) as server:
        assert wire.call("data.send", {"url": server.url("/first")}, 20)["result"]["ok"]
        second = wire.call("data.send", {"url": server.url("/second")}, 20)["result"]
        assert second["ok"] and second["body"]["text"] == "ok", second
        assert server.arrived == ["/first", "/second", "/second"]


def test_a_post_before_which_late_bytes_come_is_not_sent_again(wire):
    with Straying(b"stray") as server:
        assert wire.call("data.send", {"url": server.url("/first")}, 20)["result"]["ok"]
        params = {"url": server.url("/second"), "method": "POST", "body": {"text": "x"}}
        error = wire.call("data.send", params, 20)["result"]["error"]
        assert error["code"] == 1408 and "no response" in error["message"], error
        assert server.arrived == ["/first", "/second"]


class Impatient(Listening):
    """Ends its first connection behind the second request, with a 408."""

    def serve(self, connection, number):
        self.note(self.arrived, path_of(connection))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        if number > 1:
            return connection.recv(4096)
        self.note(self.arrived, path_of(connection))
        return connection.sendall(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


@pytest.mark.parametrize(("method", "status"), [("GET", 200), ("POST", 408)])
def test_a_408_that_ends_a_kept_connection_is_not_the_response_to_a_request_that_may_be_repeated(wire, method, status):
    """RFC 9110 section 15.5.9: the server sent the 408 because no request had come."""
    with Impatient() as server:
        assert wire.call("data.send", {"url": server.url("/first")}, 20)["result"]["ok"]
        second = wire.call("data.send", {"url": server.url("/second"), "method": method}, 20)["result"]
        assert second["status"] == status, second
        assert server.arrived == ["/first", "/second", "/second"][:2 if status == 408 else 3]
        assert server.connections == (1 if status == 408 else 2)


class Refusing(Listening):
    """Asks for a password, and sends more of that page behind the next request on the same connection."""

    def serve(self, connection, number):
        reader = Reader(connection)
        head = reader.until(b"\r\n\r\n")
        self.note(self.arrived, number)
        if b"Proxy-Authorization" in head:
            connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            return connection.recv(4096)
        challenge = b'Proxy-Authenticate: Digest realm="r", nonce="n", qop="auth"\r\n'
        connection.sendall(b"HTTP/1.1 407 Who\r\n%sContent-Length: 4\r\n\r\n<h1>" % challenge)
        reader.until(b"\r\n\r\n")
        self.note(self.arrived, number)
        connection.sendall(b"</h1>")
        return connection.recv(4096)


def test_bytes_of_a_refusal_that_come_late_do_not_fail_the_tunnel(wire):
    """The tunnel is asked for once more, on a connection of its own."""
    credential = {"username": "ada", "password": "s", "schemes": ["digest"]}
    with Refusing() as proxy:
        guarded = {"url": proxy.url(""), "credential": credential}
        response = wire.call("data.send", {"url": "https://origin.test/", "proxy": guarded}, 20)["result"]
        assert (response["error"]["code"], response["error"]["data"]["status"]) == (1415, 403), response
        assert proxy.arrived == [1, 1, 2]


class Proving(Listening):
    """Wants a proof (Digest) of each request, refuses expectations, and loses the connection at the second count."""

    def serve(self, connection, number):
        reader = Reader(connection)
        while head := reader.until(b"\r\n\r\n"):
            count = re.search(rb"nc=(\w+)", head)
            self.note(self.arrived, count and int(count[1], 16))
            if not count:
                challenge = b'WWW-Authenticate: Digest realm="r", nonce="n", qop="auth"\r\n'
                connection.sendall(b"HTTP/1.1 401 Who\r\n%sContent-Length: 0\r\n\r\n" % challenge)
            elif b"\r\nExpect:" in head:
                return connection.sendall(b"HTTP/1.1 417 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            elif b"/lost" in head and int(count[1], 16) == 2:
                return None
            else:
                connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: %s\r\nContent-Length: 0\r\n\r\n"
                                   % (b"close" if b"POST" in head else b"keep-alive"))  # fmt: skip


def test_a_proof_is_not_sent_twice(wire):
    """RFC 7616 section 3.4: the count rises with each request, also with those that the exchange does not see."""
    auth = {"username": "ada", "password": "s"}
    with Proving() as server:
        places = [{"url": server.url("/"), **auth}]
        session = wire.call("session.create", {"credentials": places})["result"]["session"]
        for _ in range(2):
            spec = {"session": session, "url": server.url("/lost")}
            assert wire.call("data.send", spec, 20)["result"]["status"] == 200
        assert server.arrived == [None, 1, 2, 3]
    with Proving() as server:
        body = {"method": "POST", "body": {"text": "x"}, "expectContinue": True, "auth": auth}
        assert wire.call("data.send", {"url": server.url("/"), **body}, 20)["result"]["status"] == 200
        assert server.arrived == [None, 1, 2]
