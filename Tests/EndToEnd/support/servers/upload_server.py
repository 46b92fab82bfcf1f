# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A server on loopback that takes the bodies of requests exactly as they come, and responds when and how the path says.

with Taker() as taker:
    taker.url("/keep")        # and see the methods at_… for the others
    taker.taken[0].body       # what came, and taken[0].head, .fields, .framing
"""

import contextlib
import socket
import struct
import threading

from http_server import Listening

LONG = 60.0
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Taken:
    """One request as it came: `framing` is "length", "chunked" or "none"."""

    def __init__(self, head, connection):
        self.head, self.connection = head, connection
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.path = lines[0].split(" ")[:2]
        self.fields = [tuple(line.split(": ", 1)) for line in lines[1:] if line]
        self.framing, self.body, self.chunks, self.early = "none", b"", [], False

    def field(self, name):
        values = [value for other, value in self.fields if other.lower() == name]
        assert len(values) <= 1, f"{name} came {len(values)} times"
        return values[0] if values else None


class Taker(Listening):
    """Serves every connection in a thread of its own."""

    def __init__(self):
        self.taken = []
        self.received = self.broken = 0
        self.go = threading.Event()
        super().__init__()

    def __exit__(self, *raised):
        self.go.set()
        super().__exit__(*raised)

    def until(self, holds, seconds=20.0):
        """Until what it counts has come so far."""
        with self.changed:
            assert self.changed.wait_for(lambda: holds(self), seconds), (self.received, self.broken)

    def last(self):
        return self.taken[-1]

    def serve(self, connection, number):
        connection.settimeout(LONG)
        reader = Reader(connection)
        while head := reader.until(b"\r\n\r\n"):
            request = Taken(head, number)
            self.note(self.arrived, request.path)
            name, _, argument = request.path[1:].partition("/")
            if not getattr(self, "at_" + name)(connection, reader, request, argument):
                break

    def take(self, reader, request):
        """Reads the body of a request, and remembers both."""
        body = bytearray()
        try:
            if request.field("transfer-encoding") == "chunked":
                request.framing = "chunked"
                while size := int(reader.until(b"\r\n") or reader.exactly(1), 16):
                    request.chunks.append(size)
                    body += reader.exactly(size)
                    assert reader.exactly(2) == b"\r\n"
                assert reader.exactly(2) == b"\r\n"
            elif request.field("content-length") is not None:
                request.framing = "length"
                body += reader.exactly(int(request.field("content-length")))
        finally:
            request.body = bytes(body)
            self.note(self.taken, request)

    # What it can do. True keeps the connection.

    def at_keep(self, connection, reader, request, argument):
        self.take(reader, request)
        connection.sendall(OK)
        return True

    def at_count(self, connection, reader, request, argument):
        """Throws the body away, and responds with its length."""
        left = size = int(request.field("content-length"))
        while left:
            left -= len(reader.some(left))
        self.taken.append(request)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%d" % (len(str(size)), size))
        return True

    def at_later(self, connection, reader, request, argument):
        """Reads the body only when the test says `go`."""
        self.go.wait(LONG)
        return self.at_keep(connection, reader, request, argument)

    def at_watch(self, connection, reader, request, argument):
        """Counts the bytes of the body in `received` as they come; keeps nothing, and responds with the length."""
        left = size = int(request.field("content-length"))
        try:
            while left:
                count = len(reader.some(left))
                left -= count
                with self.changed:
                    self.received += count
                    self.changed.notify_all()
        except (OSError, EOFError):
            with self.changed:
                self.broken += 1
                self.changed.notify_all()
            raise
        self.taken.append(request)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%d" % (len(str(size)), size))
        return True

    def at_refuse(self, connection, reader, request, argument):
        """Responds before the body, and closes at once: bytes still on their way meet a reset."""
        self.taken.append(request)
        connection.sendall(b"HTTP/1.1 %d No\r\nContent-Length: 6\r\nConnection: close\r\n\r\nenough" % int(argument))

    def at_insist(self, connection, reader, request, argument):
        """Refuses before the body, but says why only behind the whole body."""
        # the kernel takes little of the body by itself
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        connection.sendall(b"HTTP/1.1 %d No\r\nTransfer-Encoding: chunked\r\n\r\n" % int(argument))
        self.take(reader, request)
        connection.sendall(b"6\r\nenough\r\n0\r\n\r\n")
        return True

    def at_talk(self, connection, reader, request, argument):
        """Refuses before the body, goes on with its page until the test says `go`, and reads nothing."""
        self.taken.append(request)
        connection.sendall(b"HTTP/1.1 %d No\r\nTransfer-Encoding: chunked\r\n\r\n" % int(argument))
        while not self.go.wait(0.1):
            connection.sendall(b"1\r\n.\r\n")
        connection.sendall(b"4\r\nover\r\n0\r\n\r\n")

    def at_page(self, connection, reader, request, argument):
        """Refuses before the body with a page of 3 MB, and reads nothing."""
        self.taken.append(request)
        page = bytes(3_000_000)
        connection.sendall(b"HTTP/1.1 %d No\r\nContent-Length: %d\r\n\r\n" % (int(argument), len(page)))
        connection.sendall(page)
        self.go.wait(LONG)

    def at_times(self, connection, reader, request, argument):
        """Takes the body, and responds with a status so many times, then with 200: `503/2`."""
        status, _, times = argument.partition("/")
        if sum(one.path == request.path for one in self.taken) >= int(times):
            return self.at_keep(connection, reader, request, argument)
        self.take(reader, request)
        connection.sendall(b"HTTP/1.1 %d Not yet\r\nContent-Length: 0\r\n\r\n" % int(status))
        return True

    def at_on(self, connection, reader, request, argument):
        """Takes the body, and sends the client on: `307/keep`."""
        status, _, path = argument.partition("/")
        self.take(reader, request)
        head = f"HTTP/1.1 {status} On\r\nLocation: /{path}\r\nContent-Length: 0\r\n\r\n"
        connection.sendall(head.encode())
        return True

    def at_cut(self, connection, reader, request, argument):
        """Takes so many bytes of the body, and resets the connection."""
        reader.exactly(int(argument))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def at_continue(self, connection, reader, request, argument):
        """Says 100 Continue, and notes whether the body had come before that."""
        request.early = reader.has_some()
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        return self.at_keep(connection, reader, request, argument)

    def at_expectation(self, connection, reader, request, argument):
        """Knows no expectations."""
        if request.field("expect"):
            self.taken.append(request)
            connection.sendall(b"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")
            return True
        return self.at_keep(connection, reader, request, argument)

    def at_final(self, connection, reader, request, argument):
        """Responds without the body, and waits for the next step of the client."""
        connection.sendall(b"HTTP/1.1 %d Final\r\nContent-Length: 5\r\n\r\nfinal" % int(argument))
        with contextlib.suppress(OSError, EOFError):
            while True:
                request.body += reader.some(65536)
        self.note(self.taken, request)


class Reader:
    """Bytes of a connection, as many as wanted."""

    def __init__(self, connection):
        self.connection, self.buffer = connection, b""

    def has_some(self):
        """Whether anything is there already."""
        if self.buffer:
            return True
        self.connection.setblocking(False)
        try:
            return bool(self.connection.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return False
        finally:
            self.connection.settimeout(LONG)

    def fill(self):
        piece = self.connection.recv(1 << 18)
        if not piece:
            raise EOFError
        self.buffer += piece

    def until(self, mark):
        """What stands before the mark; None at the end."""
        while mark not in self.buffer:
            try:
                self.fill()
            except EOFError:
                if self.buffer:
                    raise
                return None
        found, self.buffer = self.buffer.split(mark, 1)
        return found

    def some(self, most):
        if not self.buffer:
            self.fill()
        found, self.buffer = self.buffer[:most], self.buffer[most:]
        return found

    def exactly(self, size):
        pieces, left = [], size
        while left:
            pieces.append(self.some(left))
            left -= len(pieces[-1])
        return b"".join(pieces)
