# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A server on loopback whose responses come when the test says so, chunk by chunk.

    with Feeder() as feeder:
        feeder.url("/hand/a")              # and see the methods at_… for the others
        feeder.give("/hand/a", b"abc")     # a chunk of its own
        feeder.end("/hand/a")
"""

import queue
import socket
import struct

from http_server import Listening

LONG = 60.0
HEAD = b"HTTP/1.1 %d Said\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n"
PATTERN = bytes(range(256)) * 256


def pattern(size):
    """The bytes of `/length/SIZE`."""
    return (PATTERN * (size // len(PATTERN) + 1))[:size]


class Feeder(Listening):
    """Serves every connection in a thread of its own."""

    def __init__(self):
        self.gone, self.hands, self.sent = [], {}, {}
        super().__init__()

    # What the test does

    def hand(self, path):
        return self.hands.setdefault(path, queue.Queue())

    def give(self, path, *chunks):
        for chunk in chunks:
            self.hand(path).put(chunk)

    def end(self, path):
        self.hand(path).put(None)

    def cut(self, path):
        """Resets the connection."""
        self.hand(path).put(False)

    def wait_gone(self, path, seconds=30.0):
        """Until the client has closed a connection that was serving the path."""
        with self.changed:
            assert self.changed.wait_for(lambda: path in self.gone, seconds), f"{path} is still connected"

    def stalled(self, path, still=0.5):
        """How many bytes of the body went out when nothing has gone out for so many seconds."""
        with self.changed:
            while True:
                before = self.sent.get(path, 0)
                moved = self.changed.wait_for(lambda before=before: self.sent.get(path, 0) != before, still)
                if not moved and before:
                    return before

    # What it can do. True keeps the connection.

    def serve(self, connection, number):
        connection.settimeout(LONG)
        while True:
            head = b""
            while b"\r\n\r\n" not in head:
                piece = connection.recv(4096)
                if not piece:
                    return
                head += piece
            path = head.split(b" ")[1].decode()
            self.note(self.arrived, path)
            name, _, argument = path[1:].partition("/")
            try:
                if not getattr(self, "at_" + name)(connection, path, argument):
                    return
            except OSError:
                self.note(self.gone, path)
                return

    def at_hand(self, connection, path, argument, status=200, kind=b"text/plain"):
        """What the test gives, each piece as a chunk."""
        connection.sendall(HEAD % (status, kind))
        return self.more(connection, path)

    def more(self, connection, path):
        while True:
            chunk = self.next(connection, path)
            if chunk is False:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return False
            connection.sendall(b"%x\r\n%s\r\n" % (len(chunk or b""), chunk or b""))
            if chunk is None:
                return True

    def next(self, connection, path):
        """The next piece, unless the client leaves first: then an error."""
        while True:
            try:
                return self.hand(path).get(timeout=0.05)
            except queue.Empty:
                connection.setblocking(False)
                try:
                    if not connection.recv(1, socket.MSG_PEEK):
                        raise ConnectionResetError
                except BlockingIOError:
                    pass
                finally:
                    connection.settimeout(LONG)

    def at_late(self, connection, path, argument):
        """The head comes only with the first piece."""
        first = self.next(connection, path)
        connection.sendall(HEAD % (200, b"text/plain") + b"%x\r\n%s\r\n" % (len(first), first))
        return self.more(connection, path)

    def at_refused(self, connection, path, argument):
        """The same with status 401."""
        return self.at_hand(connection, path, argument, 401)

    def at_typed(self, connection, path, argument):
        """The same with the media type that follows."""
        return self.at_hand(connection, path, argument, kind=argument.replace("~", ";").encode())

    def at_flaky(self, connection, path, argument):
        """The first time 503, then as `/hand`."""
        if self.arrived.count(path) > 1:
            return self.at_hand(connection, path, argument)
        connection.sendall(b"HTTP/1.1 503 Not Now\r\nContent-Length: 3\r\n\r\nnot")
        return True

    def at_length(self, connection, path, argument):
        """So many bytes of the pattern."""
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n" % argument.encode())
        self.pour(connection, path, int(argument))
        return True

    def at_endless(self, connection, path, argument):
        """Bytes as long as the client takes them."""
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        self.pour(connection, path, 1 << 60)

    def at_short(self, connection, path, argument):
        """Promises a million bytes, and sends fewer."""
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        self.pour(connection, path, int(argument))

    def at_redirect(self, connection, path, argument):
        location = f"/hand/{argument}".encode()
        connection.sendall(b"HTTP/1.1 301 Moved\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % location)
        return True

    def pour(self, connection, path, size):
        left = size
        while left:
            left -= connection.send(memoryview(PATTERN)[(size - left) % 256 :][:left])
            with self.changed:
                self.sent[path] = size - left
                self.changed.notify_all()
