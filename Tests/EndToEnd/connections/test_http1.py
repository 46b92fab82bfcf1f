# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Connections of HTTP/1.1: how long they are kept, and the limits of their responses."""

import socket

import contract
import pytest
from http_server import Listening

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


class Keeping(Listening):
    """Answers every request with the same bytes, and notes the end of each connection as "end"."""

    def __init__(self, answer):
        self.answer = answer
        super().__init__()

    def serve(self, connection, number):
        reader = connection.makefile("rb")
        while line := reader.readline():
            while reader.readline().strip():
                pass
            self.note(self.arrived, line.split()[1].decode())
            connection.sendall(self.answer)
        self.note(self.arrived, "end")


def kept(value):
    return f"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nKeep-Alive: {value}\r\n\r\nok".encode()


def test_an_idle_connection_ends_before_its_server_ends_it(wire):
    """The server promises one second; the service alone would keep the connection for a minute."""
    with Keeping(kept("max=100, timeout=1")) as server:
        for path in ["/a", "/b"]:
            assert wire.call("data.send", {"url": server.url(path)}, 20)["result"]["ok"]
            server.wait_for("end", server.connections)
        assert server.arrived == ["/a", "end", "/b", "end"] and server.connections == 2


def test_a_connection_without_idle_time_is_not_used_again(wire):
    with Keeping(kept("timeout=0")) as server:
        for path in ["/a", "/b"]:
            assert wire.call("data.send", {"url": server.url(path)}, 20)["result"]["ok"]
        server.wait_for("end", 2)
        assert server.connections == 2


@pytest.mark.parametrize("value", ["timeout=600", "max=100", "timeout=soon"])
def test_a_connection_with_time_left_is_used_again(wire, value):
    with Keeping(kept(value)) as server:
        for path in ["/a", "/b"]:
            assert wire.call("data.send", {"url": server.url(path)}, 20)["result"]["ok"]
        assert server.arrived == ["/a", "/b"] and server.connections == 1


class LoggingIn(Keeping):
    """Knows the user of a connection from the last message of NTLM on. The user may not have the path /denied."""

    def __init__(self):
        super().__init__(b"")

    def serve(self, connection, number):
        reader = connection.makefile("rb")
        is_known = False
        while line := reader.readline():
            path, challenge = line.split()[1].decode(), "NTLM"
            while field := reader.readline().strip():
                is_known = is_known or field == b"Authorization: NTLM three"
                if field == b"Authorization: NTLM one":
                    challenge = "NTLM TlRMTVNTUAACtwo"
            self.note(self.arrived, path)
            status = "200 OK" if is_known and path != "/denied" else "401 Unauthorized"
            head = f"HTTP/1.1 {status}\r\nWWW-Authenticate: {challenge}\r\nContent-Length: 0\r\n\r\n"
            connection.sendall(head.encode())
        self.note(self.arrived, "end")


@pytest.mark.parametrize("path, last", [("/a", 200), ("/denied", 401)])
def test_no_request_is_sent_under_the_login_of_another(wire, path, last):
    """NTLM logs a connection in, so that the connection ends with the request of the login."""
    with LoggingIn() as server:

        def status(path, *message):
            headers = {"Authorization": f"NTLM {message[0]}"} if message else {}
            return wire.call("data.send", {"url": server.url(path), "headers": headers}, 20)["result"]["status"]

        assert [status(path, "one"), status(path, "three"), status("/b")] == [401, last, 401]
        server.wait_for("end", 1)
        # both messages of the login came on one connection
        assert server.arrived.count(path) == 2 and server.connections == 2


@pytest.mark.parametrize("line", [b"5;" + b"x" * (17 << 10), b"0" * (17 << 10)], ids=["extension", "digits"])
def test_a_long_line_of_a_chunk_is_named(wire, line):
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    with Keeping(head + line + b"\r\nhello\r\n0\r\n\r\n") as server:
        error = wire.call("data.send", {"url": server.url("/")}, 20)["result"]["error"]
        assert error["code"] == 1411
        assert "has a chunk whose size and extensions are longer than 16 KiB" in error["message"]


class Leisurely(Listening):
    """Takes a little of the body five times a second for a while, then the rest at once, or nothing more."""

    def __init__(self, takes_all, is_early=False):
        self.takes_all, self.is_early = takes_all, is_early
        super().__init__()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 10)

    def serve(self, connection, number):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(1)
        if self.is_early:
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        left = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        for _ in range(15):
            left -= len(connection.recv(64 << 10))
            self.ended.wait(0.2)
        if not self.takes_all:
            self.ended.wait(60)
        while left > 0:
            left -= len(connection.recv(64 << 10))
        late = b"2\r\nok\r\n0\r\n\r\n"
        connection.sendall(late if self.is_early else b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


@pytest.mark.parametrize("is_early", [False, True])
@pytest.mark.parametrize("takes_all", [True, False])
def test_an_upload_that_moves_is_not_idle(wire, tmp_path, takes_all, is_early):
    """A piece of the body takes longer than the timeout, though bytes move all the time, or at first. The head of the
    response may come before."""
    body = tmp_path / "body"
    body.write_bytes(b"x" * (12 << 20))
    with Leisurely(takes_all, is_early) as server:
        params = {"url": server.url("/"), "method": "PUT", "body": {"file": str(body)}, "timeout": {"idle": 2.0}}
        response = wire.call("data.send", params, 60)["result"]
    assert response["ok"] == takes_all, response
    assert takes_all or (response["error"]["code"], response["error"]["phase"]) == (
        1405, "response" if is_early else "request")


@pytest.mark.parametrize("takes_all", [True, False])
def test_the_wait_for_a_response_begins_behind_the_request(wire, takes_all):
    """The kernel has the whole body at once, and the server does not."""
    with Leisurely(takes_all) as server:
        params = {"url": server.url("/"), "method": "PUT", "timeout": {"firstByte": 2.0}}
        response = wire.call("data.send", {**params, "body": {"text": "x" * (1 << 20)}}, 60)["result"]
    assert response["ok"] == takes_all, response
    assert takes_all or (response["error"]["code"], response["error"]["phase"]) == (1405, "firstByte")
