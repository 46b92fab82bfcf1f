# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""WebSocket servers: one of the package websockets, one that sends nothing; and the messages of a stream."""

import base64
import contextlib
import hashlib
import threading

import websockets.sync.server
from http_server import Listening


@contextlib.contextmanager
def websockets_server(handler, **options):
    """The URL of a server of the package websockets."""
    with websockets.sync.server.serve(handler, "127.0.0.1", 0, **options) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}/"
        server.shutdown()


def echo(connection):
    for message in connection:
        connection.send(message)


class Deaf(Listening):
    """Opens WebSockets, and sends nothing; with `full`, nothing is read either until the event is set."""

    full = None
    fields = b""
    frames = b""

    def serve(self, connection, number):
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(4096)
        lines = [line.partition(b":") for line in head.split(b"\r\n")]
        key = next(value.strip() for name, _, value in lines if name.lower() == b"sec-websocket-key")
        digest = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
        fields = self.fields + b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
        connection.sendall(b"HTTP/1.1 101 So\r\n" + fields + base64.b64encode(digest) + b"\r\n\r\n" + self.frames)
        if self.full:
            self.full.wait(20)
        while connection.recv(4096):
            pass


def opened(wire, url, **params):
    result = wire.call("websocket.open", {"url": url, **params})["result"]
    assert result.get("stream"), result["response"]["error"]
    return result


def read(wire, stream, many):
    values = []
    while len(values) < many:
        result = wire.call("stream.read", {"stream": stream, "wait": 10})["result"]
        values += result["values"]
        assert not result["end"], result
    return values


def last(wire, stream):
    """The last read of a stream."""
    while True:
        result = wire.call("stream.read", {"stream": stream, "wait": 10})["result"]
        if result["end"]:
            return result
