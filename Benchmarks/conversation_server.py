#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The server of conversations.py: WebSockets that echo, burst or rest, and a source of bytes."""
import os
import socket
import struct
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Tests/Acceptance"))
import frames  # noqa: E402


def serve():
    """Prints the ports of a WebSocket server and of a source of bytes, ends with its parent."""
    listeners = [socket.create_server(("127.0.0.1", 0), backlog=512) for _ in "ab"]
    for listener, act in zip(listeners, (converse, pour)):
        threading.Thread(target=accept, args=(listener, act), daemon=True).start()
    print(*(listener.getsockname()[1] for listener in listeners), flush=True)
    sys.stdin.read()


KEPT = []


def accept(listener, act):
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=quietly, args=(act, connection), daemon=True).start()


def quietly(act, connection):
    try:
        act(connection)
    except OSError:
        connection.close()


def pour(connection):
    """As many megabytes as the line says."""
    block = bytes(1 << 20)
    for _ in range(int(connection.recv(100))):
        connection.sendall(block)
    connection.close()


def converse(connection):
    path = connection.recv(65536, socket.MSG_PEEK).split(b" ")[1].decode()
    _, kind, *numbers = path.split("/")
    deflates = kind == "deflate"
    frames.shake(connection, b"\r\nSec-WebSocket-Extensions: permessage-deflate" if deflates else b"")
    if kind == "idle":
        KEPT.append(connection)
    elif kind == "burst":
        burst(connection, *map(int, numbers))
    else:
        echo(connection)


def burst(connection, count, size):
    """Begins with the first message of the client."""
    frames.received(connection)
    some = max(1, min(count, (1 << 18) // size))
    block = frames.frame(frames.TEXT, b"m" * size) * some
    for _ in range(count // some):
        connection.sendall(block)
    connection.sendall(frames.frame(frames.CLOSE, struct.pack("!H", 1000)))
    connection.recv(100)
    connection.close()


def echo(connection):
    """All that is there at once; the compression of a message stays, for both directions have the same messages."""
    buffer, out = b"", []
    while True:
        piece = connection.recv(1 << 18)
        if not piece:
            return connection.close()
        buffer += piece
        at = 0
        while len(buffer) - at >= 6:
            first, size, start = buffer[at], buffer[at + 1] & 127, at + 2
            if size == 126:
                size, start = int.from_bytes(buffer[start : start + 2], "big"), start + 2
            end = start + 4 + size
            if end > len(buffer):
                break
            key = (buffer[start : start + 4] * (size // 4 + 1))[:size]
            payload = int.from_bytes(buffer[start + 4 : end], "big") ^ int.from_bytes(key, "big")
            head = bytes((first, size)) if size < 126 else struct.pack("!BBH", first, 126, size)
            out.append(head + payload.to_bytes(size, "big"))
            at = end
        buffer = buffer[at:]
        connection.sendall(b"".join(out))
        out.clear()


if __name__ == "__main__":
    serve()
