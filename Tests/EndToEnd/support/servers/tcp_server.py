# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""TCP servers on loopback that do what a function says, and the calls of a client that talks to them.

with Host(lambda connection: connection.sendall(b"220 ready\r\n")) as host:
    stream = dial(wire, host.port)["stream"]
"""

import base64
import contextlib
import socket
import threading

from listeners import shut
from request_client import result

LONG = 20


class Host:
    """Gives each connection to the function, in a thread of its own, and closes it behind that."""

    def __init__(self, act, family=socket.AF_INET, address=("127.0.0.1", 0)):
        self.act = act
        self.listener = socket.socket(family)
        self.listener.bind(address)
        self.listener.listen(64)
        self.threads = []
        self.connections = []
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def port(self):
        return self.listener.getsockname()[1]

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                connection.settimeout(LONG)
                self.connections.append(connection)
                thread = threading.Thread(target=self.serve, args=(connection,), daemon=True)
                thread.start()
                self.threads.append(thread)

    def serve(self, connection):
        with connection, contextlib.suppress(OSError):
            self.act(connection)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shut(self.listener)
        for thread in self.threads:
            thread.join(0.1)
        # what still waits for a client that goes on is woken
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(LONG)


def echo(connection):
    """Gives back what comes, and ends when the client does."""
    while piece := connection.recv(65536):
        connection.sendall(piece)
    connection.shutdown(socket.SHUT_WR)


def dial(wire, port, host="127.0.0.1", **more):
    opened = result(wire.call("tcp.open", {"host": host, "port": port, **more}))
    assert opened["ok"], opened
    return opened


def write(wire, stream, data):
    return result(wire.call("stream.write", {"stream": stream, "base64": base64.b64encode(data).decode()}))


def read(wire, stream, **more):
    """The bytes of one read, and whether they are the last."""
    piece = result(wire.call("stream.read", {"stream": stream, "wait": 10, **more}))
    return base64.b64decode(piece["base64"]), piece["end"]


def line(wire, stream):
    """Reads up to the end of a line, and not a byte more."""
    data = b""
    while not data.endswith(b"\n"):
        piece, end = read(wire, stream, bytes=1)
        data += piece
        assert not end or data.endswith(b"\n"), data
    return data


def rest(wire, stream):
    data = b""
    while True:
        piece, end = read(wire, stream, bytes=1 << 20)
        data += piece
        if end:
            return data
