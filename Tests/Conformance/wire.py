# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A connection to outrider over stdio, with Content-Length framing; used by the adapters of the suites."""

import itertools
import json
import os
import select
import socket
import subprocess
import time

BINARY = os.environ.get("OUTRIDER", "outrider")


class Gone(Exception):
    """The service ended, or sent no reply in time."""


class Failed(Exception):
    """A JSON-RPC error."""

    def __init__(self, error):
        super().__init__(f"{error['code']} {error['message']}")
        self.error = error


class Wire:
    """One service of our own; calls one after the other."""

    def __init__(self, *options):
        self.process = subprocess.Popen(
            [BINARY, "serve", "--stdio", "--framing", "header", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        self.source = self.process.stdout.fileno()
        self.ids = itertools.count(1)
        self.read = b""

    def send(self, body):
        """Sends bytes as one frame."""
        try:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        except BrokenPipeError:
            raise Gone("it closed its input") from None

    def receive(self, seconds):
        """The next message, decoded."""
        deadline = time.monotonic() + seconds
        while True:
            head, gap, rest = self.read.partition(b"\r\n\r\n")
            if gap:
                size = int(head.partition(b":")[2])
                if len(rest) >= size:
                    self.read = rest[size:]
                    return json.loads(rest[:size])
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.source], [], [], left)[0]:
                raise Gone(f"no reply within {seconds} seconds")
            piece = os.read(self.source, 1 << 20)
            if not piece:
                raise Gone("it closed the connection")
            self.read += piece

    def call(self, method, params, seconds=30):
        """The result of a call."""
        number = next(self.ids)
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.send(json.dumps(message).encode())
        while True:
            reply = self.receive(seconds)
            if reply.get("id") == number and "method" not in reply:
                if "error" in reply:
                    raise Failed(reply["error"])
                return reply["result"]

    def close(self):
        """Ends the service the way a client does: by closing its input."""
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class SocketWire(Wire):
    """A connection to a service that others started, on a Unix socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.source = self.socket.fileno()
        self.ids = itertools.count(1)
        self.read = b""

    def send(self, body):
        try:
            self.socket.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        except OSError:
            raise Gone("it closed the connection") from None

    def close(self):
        self.socket.close()
