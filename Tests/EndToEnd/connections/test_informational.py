# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""103 Early Hints (RFC 8297) over HTTP/1.1 and HTTP/2: seen by subscribers, and never taken for the response."""

import contextlib
import socket
import struct
import threading

import contract
import pytest
from listeners import shut
from shell import outrider
from subscription_client import subscribe, told, topics

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

LINK = b"</style.css>; rel=preload"
SETTINGS, HEADERS, DATA = 4, 1, 0


def literal(name, value):
    """A field that no table gets (RFC 7541 section 6.2.2)."""
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


def frame(kind, flags, stream, payload=b""):
    return struct.pack("!I", len(payload))[1:] + bytes([kind, flags]) + struct.pack("!I", stream) + payload


def old(connection, hints):
    """HTTP/1.1."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += connection.recv(4096)
    hint = b"HTTP/1.1 103 Early Hints\r\nLink: %s\r\n\r\n" % LINK
    connection.sendall(hint * hints + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")


def new(connection, hints):
    """HTTP/2 with prior knowledge."""
    read = connection.makefile("rb")
    assert read.read(24).startswith(b"PRI")
    connection.sendall(frame(SETTINGS, 0, 0))
    while True:
        head = read.read(9)
        if len(head) < 9:
            return
        read.read(int.from_bytes(head[:3], "big"))
        if head[3] == HEADERS:
            hint = frame(HEADERS, 4, 1, literal(b":status", b"103") + literal(b"link", LINK))
            connection.sendall(
                hint * hints + frame(HEADERS, 4, 1, literal(b":status", b"200")) + frame(DATA, 1, 1, b"done"))


SPEAKERS = {"1.1": old, "2": new}


@pytest.fixture(params=SPEAKERS)
def server(request):
    """Gives a function that takes a number of hints and gives the URL, and the version."""
    with contextlib.ExitStack() as stack:
        def serve(hints):
            listener = socket.create_server(("127.0.0.1", 0))
            stack.callback(shut, listener)

            def run():
                with contextlib.suppress(OSError):
                    while True:
                        connection = listener.accept()[0]
                        with connection, contextlib.suppress(OSError):
                            SPEAKERS[request.param](connection, hints)

            threading.Thread(target=run, daemon=True).start()
            return f"http://127.0.0.1:{listener.getsockname()[1]}/", request.param

        yield serve


def test_hints_are_told_and_are_not_the_response(wire, server):
    url, version = server(2)
    subscribe(wire, "attempt.informed", "attempt.answered", "request.finished")
    events, result = told(wire, "data.send", {"url": url, "httpVersion": version, "timeout": 5})
    assert result["status"] == 200 and result["body"]["text"] == "done" and result["httpVersion"] == version
    assert all(field["name"].lower() != "link" for field in result["headers"])
    assert topics(events) == ["attempt.informed"] * 2 + ["attempt.answered", "request.finished"]
    for event in events[:2]:
        detail = event["detail"]
        assert (detail["status"], detail["attempt"]) == (103, 1), detail
        (field,) = detail["headers"]
        assert (field["name"].lower(), field["value"]) == ("link", LINK.decode())


def test_twenty_hints_are_enough(wire, server):
    url, version = server(20)
    assert wire.call("data.send", {"url": url, "httpVersion": version, "timeout": 5}, 10)["result"]["status"] == 200
    url, version = server(21)
    error = wire.call("data.send", {"url": url, "httpVersion": version, "timeout": 5}, 10)["result"]["error"]
    assert error["code"] in (1408, 1411) and "20 informational" in error["message"], error
    assert not error["retryable"]


def test_the_shell_shows_hints(service, server):
    url, version = server(1)
    option = {"1.1": "--http1.1", "2": "--http2-prior-knowledge"}[version]
    done = outrider("get", "--socket", service, "-v", option, url)
    assert done.returncode == 0 and done.stdout == b"done", done
    assert f"< HTTP/{version} 103".encode() in done.stderr and LINK in done.stderr, done.stderr
