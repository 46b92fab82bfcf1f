# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A service with the smallest budget for large payloads, and an origin for it."""

import contextlib
import hashlib
import re
import socket
import threading
import time

import contract
import pytest
from listeners import shut
from socket_service import running

MIB = 1 << 20
LEAST = 16 * MIB


class Origin:
    """Responds with the hash of a body; with `hold`, reads no body until `release`.

    `/size/N` responds with N letters, `/hops/N` with N redirects of long URLs and then a long head, `/half` with the
    beginning of a long line.
    """

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.release = threading.Event()
        self.held = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.serve, args=self.listener.accept()[:1], daemon=True).start()

    def serve(self, connection):
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as stream:
            while line := stream.readline():
                length, fields = 0, []
                while (field := stream.readline()) not in (b"\r\n", b""):
                    fields.append(field)
                    if found := re.match(rb"(?i)content-length: (\d+)", field):
                        length = int(found.group(1))
                chunked = any(field.lower().startswith(b"transfer-encoding") for field in fields)
                path = line.split()[1].decode()
                if path.startswith("/hold"):
                    self.held += 1
                    self.release.wait(60)
                body = self.chunks(stream) if chunked else stream.read(length)
                if path.startswith("/half"):
                    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 2000000\r\n\r\n"
                    connection.sendall(head + b"data: " + b"x" * 900_000)
                    self.release.wait(60)
                    return
                if path.startswith("/hops/"):
                    connection.sendall(self.hop(int(path.split("/")[2].partition("?")[0])))
                    continue
                found = hashlib.sha256(body).hexdigest().encode()
                if path.startswith("/size/"):
                    found = letters(int(path.rpartition("/")[2]))
                head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(found)
                connection.sendall(head + found)

    @staticmethod
    def hop(left):
        if not left:
            return b"HTTP/1.1 200 OK\r\nX-Long: %s\r\nContent-Length: 0\r\n\r\n" % letters(50_000).replace(b"\n", b"")
        where = b"/hops/%d?%s" % (left - 1, b"x" * 5000)
        return b"HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % where

    @staticmethod
    def chunks(stream):
        body = b""
        while size := int(stream.readline() or b"0", 16):
            body += stream.read(size)
            stream.readline()
        stream.readline()
        return body


def letters(count):
    return (b"abcdefghijklmnopqrstuvwxyz0123456789\n" * (count // 37 + 1))[:count]


@contextlib.contextmanager
def serving(folder, under=(), disk=None):
    """The socket of a service in the folder; its private files are in `disk`."""
    path = str(folder / "s")
    with running(path, "--memory", str(LEAST), under=under, variables={"TMPDIR": str(disk or folder)}):
        yield path


def memory(path):
    with contract.Wire(path) as wire:
        return wire.call("server.stats")["result"]["memory"]


def until(path, right, seconds=15):
    end = time.monotonic() + seconds
    while not right(found := memory(path)):
        assert time.monotonic() < end, found
        time.sleep(0.05)
    return found


def origins():
    """A fixture: an origin for each test.

    origin = origins()
    """

    @pytest.fixture
    def origin():
        origin = Origin()
        yield origin
        origin.release.set()
        shut(origin.listener)

    return origin


def services():
    """A fixture: the socket of a service with the smallest budget, for each test."""

    @pytest.fixture
    def service(tmp_path):
        with serving(tmp_path) as path:
            yield path

    return service
