# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A server that keeps what it was sent, byte for byte, and responds 200 to everything.

with Capture() as capture:
    ... send something to capture.url("/x") ...
    request = capture.take()        request.line, .fields, .body, .raw
"""

import queue
import socket
import threading
from typing import NamedTuple

from listeners import shut

SECONDS = 10
# no response at all, for as long as the client waits
HELD = b""
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nok"


class Captured(NamedTuple):
    """One request as it came."""

    line: bytes
    fields: "list[tuple[bytes, bytes]]"
    body: bytes
    raw: bytes

    def first(self, name: str) -> "bytes | None":
        return next((value for known, value in self.fields if known.lower() == name.lower().encode()), None)


class Capture:
    """Listens on loopback, or on a Unix socket when a path is given."""

    def __init__(self, path: "str | None" = None, response: bytes = RESPONSE) -> None:
        self.socket = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        self.socket.bind(path or ("127.0.0.1", 0))
        self.socket.listen(64)
        self.response = response
        self.requests: "queue.Queue[Captured]" = queue.Queue()
        self.port = 0 if path else self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def __enter__(self) -> "Capture":
        return self

    def __exit__(self, *_: object) -> None:
        shut(self.socket)

    def url(self, target: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{target}"

    def take(self) -> Captured:
        return self.requests.get(timeout=SECONDS)

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.converse, args=(connection,), daemon=True).start()

    def converse(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(SECONDS)
            try:
                # the beginning of a TLS handshake, which gets what no client of TLS expects
                if connection.recv(1, socket.MSG_PEEK) != b"\x16":
                    with connection.makefile("rb") as stream:
                        self.requests.put(read(stream))
                connection.sendall(self.response)
                while self.response == HELD and connection.recv(1):
                    pass
            except (OSError, ValueError):
                return


def read(stream: "socket.SocketIO") -> Captured:  # type: ignore[name-defined]
    """One request with its body, however that is framed."""
    raw = [line := stream.readline()]
    if not line:
        raise ValueError("nothing came")
    fields = []
    while (field := stream.readline()) not in (b"\r\n", b""):
        raw.append(field)
        name, _, value = field.partition(b":")
        fields.append((name, value.strip(b" \t\r\n")))
    raw.append(b"\r\n")
    request = Captured(line, fields, b"", b"")
    if b"chunked" in (request.first("Transfer-Encoding") or b"").lower():
        pieces = []
        while size := int(stream.readline().split(b";")[0], 16):
            pieces.append(stream.read(size))
            stream.readline()
        stream.readline()
        body = b"".join(pieces)
    else:
        body = stream.read(int(request.first("Content-Length") or 0))
    return request._replace(body=body, raw=b"".join(raw) + body)
