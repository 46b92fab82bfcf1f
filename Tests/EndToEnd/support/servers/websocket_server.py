# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""WebSocket servers: one of the package websockets, one that sends nothing, one that acts by hand; and the messages of
a stream."""

import base64
import contextlib
import hashlib
import threading
import time

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
    version = b"1.1"
    fields = b""
    frames = b""

    def serve(self, connection, number):
        head = b""
        while b"\r\n\r\n" not in head:
            piece = connection.recv(4096)
            if not piece:
                return
            head += piece
        lines = [line.partition(b":") for line in head.split(b"\r\n")]
        key = next(value.strip() for name, _, value in lines if name.lower() == b"sec-websocket-key")
        digest = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
        fields = self.fields + b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
        head = b"HTTP/" + self.version + b" 101 So\r\n" + fields + base64.b64encode(digest) + b"\r\n\r\n"
        connection.sendall(head + self.frames)
        if self.full:
            self.full.wait(20)
        while connection.recv(4096):
            pass


class Frames:
    """The frames of a connection, for a server that acts by hand."""

    def __init__(self, connection):
        self.connection = connection
        self.held = b""

    def head(self):
        """The fields of a request, by their lower-case names."""
        while b"\r\n\r\n" not in self.held:
            self.more()
        head, _, self.held = self.held.partition(b"\r\n\r\n")
        lines = [line.partition(":") for line in head.decode().split("\r\n")[1:]]
        return {name.lower(): value.strip() for name, _, value in lines}

    def accept(self, fields=None):
        key = (fields or self.head())["sec-websocket-key"].encode()
        digest = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
        fields = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
        self.send(b"HTTP/1.1 101 So\r\n" + fields + base64.b64encode(digest) + b"\r\n\r\n")

    def send(self, data):
        self.connection.sendall(data)

    def next(self, pause=0):
        """The kind and the payload of a frame; a pause precedes each read of up to 16 KiB."""
        first, second = self.take(2, pause)
        length = second & 127
        if length > 125:
            length = int.from_bytes(self.take(2 if length == 126 else 8, pause), "big")
        mask = self.take(4, pause)
        payload = self.take(length, pause)
        # a long payload is not looked at
        if length < 4096:
            payload = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
        return first & 15, payload

    def take(self, count, pause):
        pieces, got = [self.held], len(self.held)
        while got < count:
            time.sleep(pause)
            pieces.append(self.connection.recv(16384))
            if not pieces[-1]:
                raise EOFError
            got += len(pieces[-1])
        data = b"".join(pieces)
        self.held = data[count:]
        return data[:count]

    def more(self):
        piece = self.connection.recv(4096)
        if not piece:
            raise EOFError
        self.held += piece


class Acting(Listening):
    """Gives each connection, as frames, and its number to the function."""

    def __init__(self, act):
        self.act = act
        super().__init__()

    def serve(self, connection, number):
        self.act(Frames(connection), number)


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
