# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A server on loopback that misbehaves as asked: the path says how.

    with Hostile() as server:
        server.url("/stall/head")      # and see the methods at_… for the others
        server.wait_for("/stall/head") # until the request has arrived
        server.wait_gone("/stall/head")# until its connection has been closed by the client
"""

import contextlib
import socket
import struct
import time
import zlib

from http_server import Listening

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
LONG = 60.0


class Hostile(Listening):
    """Serves every connection in a thread of its own."""

    def __init__(self):
        self.gone = []
        super().__init__()

    def wait_gone(self, path, seconds=30.0):
        """Until the client has closed a connection that was serving the path."""
        with self.changed:
            assert self.changed.wait_for(lambda: path in self.gone, seconds), f"{path} is still connected"

    def serve(self, connection, number):
        while not self.ended.is_set():
            path = self.request(connection)
            if path is None:
                break
            self.note(self.arrived, path)
            name, _, argument = path[1:].partition("/")
            if not getattr(self, "at_" + name.replace("-", "_"))(connection, argument, path):
                break

    def request(self, connection):
        """Reads the head of a request; gives its path, or None at the end."""
        data = b""
        while b"\r\n\r\n" not in data:
            piece = connection.recv(1 if not data.startswith(b"POST") else 4096)
            if not piece:
                return None
            data += piece
            if data[:1] == b"\x16":
                # a TLS client that will never get a reply
                self.stall(connection, "/tls")
                return None
        return data.split(b" ")[1].decode()

    def stall(self, connection, path):
        """Says nothing until the client closes."""
        connection.settimeout(LONG)
        with contextlib.suppress(OSError):
            while connection.recv(65536):
                pass
        self.note(self.gone, path)

    # What it can do. True keeps the connection.

    def at_fine(self, connection, argument, path):
        body = (argument or "fine").encode()
        connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        return True

    def at_bytes(self, connection, argument, path):
        size = int(argument)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n")
        connection.sendall(b"Content-Length: %d\r\n\r\n" % size)
        block = bytes(range(256)) * 256
        while size > 0:
            connection.sendall(block[:size])
            size -= len(block)
        return True

    def at_stall(self, connection, argument, path):
        """Falls silent: at once, in the head, after it, in the body, in a chunk."""
        connection.sendall(
            {
                "": b"",
                "head": b"HTTP/1.1 200 OK\r\nContent-Le",
                "body": HEAD + b"Content-Length: 100\r\n\r\n",
                "middle": HEAD + b"Content-Length: 100\r\n\r\n0123456789",
                "chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n012",
                "continue": b"HTTP/1.1 100 Continue\r\n\r\n",
            }[argument]
        )
        self.stall(connection, path)

    def at_deaf(self, connection, argument, path):
        """Does not read the body of the request."""
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.ended.wait(float(argument))

    def at_reset(self, connection, argument, path):
        """Resets the connection: before the response, or in its body."""
        if argument:
            connection.sendall(HEAD + b"Content-Length: 100\r\n\r\n0123456789")
            time.sleep(0.05)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def at_close(self, connection, argument, path):
        """Closes: at once, in the head, in the body, in a chunk, before the last chunk."""
        connection.sendall(
            {
                "": b"",
                "head": b"HTTP/1.1 200 OK\r\nContent-Le",
                "body": HEAD + b"Content-Length: 100\r\n\r\n0123456789",
                "chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n64\r\n0123456789",
                "last": HEAD + b"Transfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n",
            }[argument]
        )

    def at_broken(self, connection, argument, path):
        """Sends what is no HTTP."""
        chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
        connection.sendall(
            {
                "text": b"hello, this is no HTTP\r\n\r\n",
                "version": b"HTTP/9.9 200 OK\r\nContent-Length: 0\r\n\r\n",
                "status": b"HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n",
                "size": chunked + b"zz\r\nhello\r\n0\r\n\r\n",
                "negative": chunked + b"-5\r\nhello\r\n0\r\n\r\n",
                "huge": chunked + b"fffffffffffffffffff\r\nhello\r\n0\r\n\r\n",
                "end": chunked + b"5\r\nhelloXX0\r\n\r\n",
                "lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
                "length": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello",
                "minus": b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
                "field": b"HTTP/1.1 200 OK\r\nBad Field: x\r\nContent-Length: 0\r\n\r\n",
                "gzip": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
            }[argument]
        )

    def at_headers(self, connection, argument, path):
        """As many bytes of headers as asked for, unless the client has had enough."""
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        line = b"X-Field: " + b"x" * 1000 + b"\r\n"
        try:
            for _ in range(int(argument) // len(line)):
                connection.sendall(line)
            connection.sendall(b"Content-Length: 0\r\n\r\n")
        except OSError:
            self.note(self.gone, path)

    def at_line(self, connection, argument, path):
        """One header of that many bytes."""
        with contextlib.suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            for _ in range(int(argument) >> 16):
                connection.sendall(b"y" * 65536)

    def at_bomb(self, connection, argument, path):
        """A little gzip that unpacks to that many bytes."""
        packer = zlib.compressobj(1, wbits=31)
        zeros = bytes(1 << 20)
        packed = b"".join(packer.compress(zeros) for _ in range(int(argument) >> 20)) + packer.flush()
        head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
        with contextlib.suppress(OSError):
            connection.sendall(head + packed)

    def at_endless(self, connection, argument, path):
        """A body without end."""
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        try:
            while not self.ended.is_set():
                connection.sendall(b"400\r\n" + b"e" * 1024 + b"\r\n")
                time.sleep(0.001)
        except OSError:
            self.note(self.gone, path)

    def at_drip(self, connection, argument, path):
        """A body of that many bytes, one every 30 ms."""
        connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % int(argument))
        for _ in range(int(argument)):
            connection.sendall(b".")
            time.sleep(0.03)
        return True
