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
            time.sleep(2.5 if number == 2 else 0)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        connection.recv(4096)


def test_a_request_that_is_sent_again_waits_for_a_connection_beyond_its_idle_time(wire):
    with Unexpected() as server:
        session = wire.call("session.create", {"connectionsPerHost": 1})["result"]["session"]
        post = {"method": "POST", "body": {"text": "x"}, "expectContinue": True, "timeout": {"idle": 2}}
        first = wire.start("data.send", {"url": server.url("/first"), "session": session, **post})
        server.wait_for("/first")
        second = wire.start("data.send", {"url": server.url("/second"), "session": session})
        until_one_waits(wire)
        server.refuse.set()
        replies = wire.replies([first, second])
        assert all(reply["result"]["ok"] for reply in replies.values()), replies
        assert server.arrived == ["/first", "/second", "/first"]
