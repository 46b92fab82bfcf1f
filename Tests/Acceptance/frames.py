# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The server's side of a WebSocket by hand (RFC 6455), and the client's side of the service: calls and records."""

import base64
import contextlib
import hashlib
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


def shake(connection, more=b""):
    """Accepts the opening handshake."""
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(65536)
        if not piece:
            raise ConnectionError("no handshake")
        head += piece
    fields = (line.partition(b":") for line in head.split(b"\r\n"))
    key = next(value.strip() for name, _, value in fields if name.lower() == b"sec-websocket-key")
    accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    fields = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept
    connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\n" + fields + more + b"\r\n\r\n")


def frame(opcode, payload=b"", final=True, compressed=False):
    first, size = final << 7 | compressed << 6 | opcode, len(payload)
    if size < 126:
        return bytes([first, size]) + payload
    return bytes([first]) + (struct.pack("!BH", 126, size) if size < 65536 else struct.pack("!BQ", 127, size)) + payload


def exactly(connection, size):
    found = bytearray()
    while len(found) < size:
        piece = connection.recv(size - len(found))
        if not piece:
            raise ConnectionError("the end")
        found += piece
    return bytes(found)


def received(connection):
    """The opcode and the payload of the next frame."""
    first, second = exactly(connection, 2)
    size = second & 0x7F
    if size > 125:
        size = int.from_bytes(exactly(connection, 2 if size == 126 else 8), "big")
    mask = exactly(connection, 4)
    masked = exactly(connection, size)
    key = (mask * (size // 4 + 1))[:size]
    return first & 15, (int.from_bytes(masked, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")


def until(connection, opcode):
    """The payload of the next frame with that opcode."""
    while True:
        found, payload = received(connection)
        if found == opcode:
            return payload


def echo(connection):
    shake(connection)
    while True:
        opcode, payload = received(connection)
        connection.sendall(frame(opcode, payload))
        if opcode == CLOSE:
            return


class Server:
    """Gives each connection to a function, in a thread of its own."""

    def __init__(self, act, address="127.0.0.1"):
        self.act = act
        self.listener = socket.create_server((address, 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.url = f"ws://127.0.0.1:{self.port}/"
        self.connections = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.connections.append(connection)
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection, contextlib.suppress(OSError):
            self.act(connection)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # a thread that waits in accept() is not woken by close()
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for one in self.connections:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


class Service:
    """A service of its own, on a socket; `under` is a command before it."""

    def __init__(self, under=()):
        self.folder = tempfile.TemporaryDirectory(prefix="or-", dir="/tmp")
        self.path = f"{self.folder.name}/s"
        command = [*under, os.environ.get("OUTRIDER", "outrider"), "serve", "--socket", self.path, "--idle-exit", "60"]
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
        while True:
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
                probe.connect(self.path)
                return
            time.sleep(0.01)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    @property
    def memory(self):
        """Bytes resident."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS"))

    @property
    def wakes(self):
        """How often its threads have gone to sleep."""
        found = 0
        for thread in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{thread}/status") as status:
                found += next(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt"))
        return found

    @property
    def sockets(self):
        folder, found = f"/proc/{self.process.pid}/fd", 0
        for one in os.listdir(folder):
            with contextlib.suppress(OSError):
                found += os.readlink(f"{folder}/{one}").startswith("socket:")
        return found


class Client:
    """A connection to the service: one call after the other."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.settimeout(60)
        self.file = self.socket.makefile("rb")
        self.number = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def reply(self, method, **params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.socket.sendall(json.dumps(message).encode() + b"\n")
        while True:
            reply = json.loads(self.file.readline())
            if reply.get("id") == self.number:
                return reply

    def call(self, method, **params):
        reply = self.reply(method, **params)
        assert "result" in reply, reply
        return reply["result"]

    def open(self, url, **params):
        """The stream of a WebSocket."""
        result = self.call("websocket.open", url=url, **params)
        assert "stream" in result, result
        return result["stream"]

    def attach(self, stream):
        """A second connection that carries the stream both ways."""
        made = socket.socket(socket.AF_UNIX)
        made.connect(self.path)
        call = {"jsonrpc": "2.0", "id": 1, "method": "stream.attach", "params": {"stream": stream, "direction": "both"}}
        made.sendall(json.dumps(call).encode() + b"\n")
        line = b""
        while not line.endswith(b"\n"):
            line += made.recv(1)
        assert b'"result"' in line, line
        return made


def record(kind, payload):
    return struct.pack("!BI", kind, len(payload)) + payload


def records(connection):
    """Kind and payload of each record until the end."""
    buffer = bytearray()
    while True:
        piece = connection.recv(1 << 18)
        if not piece:
            return
        buffer += piece
        at = 0
        while len(buffer) - at >= 5:
            kind, size = struct.unpack_from("!BI", buffer, at)
            if len(buffer) - at - 5 < size:
                break
            yield kind, bytes(buffer[at + 5 : at + 5 + size])
            at += 5 + size
        del buffer[:at]


def child(*words):
    """This interpreter with other words of the same program."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "conversations.py")
    command = [sys.executable, "-S", program, *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
