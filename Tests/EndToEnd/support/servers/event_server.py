# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A server of event streams on loopback that does what it is told, connection by connection.

with EventServer() as server:
    url = server.at("/a", [STREAM, b"data: 1\\n\\n"], [STREAM, server.held(), b"data: 2\\n\\n"], [GONE])
    server.release()           # lets what is held go on
    server.seen["/a"]          # the requests so far; see Seen
    server.wait_gone("/a")     # until the client has closed a connection that was held or whole

A response is a list of pieces: bytes to send, `server.held()` to wait there, `RESET` to break the connection. After the
last piece the connection is closed; after `OPEN` it stays until the client leaves. The last response repeats.
"""

import socket
import struct
import threading
import time

from http_server import Listening

STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
GONE = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
RESET, OPEN = object(), object()
LONG = 20.0


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def status(code, body=b"no", kind="text/plain", more=""):
    head = f"HTTP/1.1 {code} So\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n{more}\r\n".encode() + body


class Seen:
    """A request as it arrived, and when."""

    def __init__(self, head, body):
        self.at = time.monotonic()
        line, *fields = head.decode().split("\r\n")
        self.method, self.target, _ = line.split(" ", 2)
        self.headers = {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in fields)}
        self.body = body


class EventServer(Listening):
    """Plays responses, one connection after the other for each path."""

    def __init__(self):
        self.responses, self.seen, self.gone, self.released = {}, {}, [], threading.Event()
        super().__init__()

    def at(self, path, *responses):
        self.responses[path], self.seen[path] = responses, []
        return self.url(path)

    def held(self):
        return self.released

    def release(self):
        self.released.set()

    def wait_gone(self, path):
        with self.changed:
            assert self.changed.wait_for(lambda: path in self.gone, LONG), f"{path} is still connected"

    def serve(self, connection, number):
        data = b""
        while b"\r\n\r\n" not in data:
            piece = connection.recv(65536)
            if not piece:
                return
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        seen = Seen(head, body)
        while len(seen.body) < int(seen.headers.get("content-length", 0)):
            piece = connection.recv(65536)
            if not piece:
                return
            seen.body += piece
        path = seen.target.partition("?")[0]
        count = len(self.seen[path])
        self.seen[path].append(seen)
        self.note(self.arrived, path)
        responses = self.responses[path]
        for piece in responses[min(count, len(responses) - 1)]:
            if piece is RESET:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif piece is OPEN:
                while connection.recv(4096):
                    pass
                self.note(self.gone, path)
            elif isinstance(piece, bytes):
                connection.sendall(piece)
            else:
                assert piece.wait(LONG), "it was not released"
