# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Processes, sockets and sessions that tests talk to."""

from __future__ import annotations

import asyncio
import os
import select
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import outrider
from outrider._connection.waiters import Turns

ROOT = Path(__file__).resolve().parents[3]
"""The repository."""

PATTERN = bytes(range(256)) * 40_000
"""What the origin's ``/bytes/N`` begins with."""


def slow_session(client: outrider.AsyncClient) -> outrider.AsyncSession:
    """A session with a function that the service waits for."""
    session = client.session()

    @session.adapter
    async def sign(attempt: object) -> None:
        await asyncio.sleep(0.05)

    return session


def serve(binary: str, path: str) -> subprocess.Popen[bytes]:
    """Starts a service on ``path`` and waits until it listens."""
    child = subprocess.Popen([binary, "serve", "--socket", path], stdin=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while True:
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(path)
                return child
            except OSError:
                if child.poll() is not None or time.monotonic() > deadline:
                    child.kill()
                    status = child.wait()
                    raise RuntimeError(f"{binary} did not listen on {path}; exit status {status}") from None
        threading.Event().wait(0.01)


def until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    """Waits until something holds, and fails when it never does."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"it did not come to hold within {seconds:g} seconds"
        threading.Event().wait(0.01)


def held(turns: Turns) -> bool:
    """Whether another thread has the turn."""
    lock = turns.lock()
    if lock.acquire(False):
        lock.release()
        return False
    return True


def await_bytes(live: Any) -> None:
    """Waits until bytes are in the socket of an awaiting client's connection, whose event loop stands still."""
    assert select.select([live._transport.get_extra_info("socket")], [], [], 20)[0]


def stop(child: subprocess.Popen[bytes]) -> None:
    """Ends a process that was started here."""
    child.terminate()
    try:
        child.wait(10)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def shut(listener: socket.socket) -> None:
    """Closes it, and wakes the thread that waits in accept(), which close() alone does not."""
    try:
        listener.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    listener.close()


class Peer:
    """A server for faults that no real part produces.

    It waits for a line (on a Unix socket) or a request's head (on TCP), sends the next of its replies, and closes
    the connection after the last one. ``None``-like silence is an empty reply: then it just holds the connection.
    """

    def __init__(self, replies: Sequence[bytes], path: str | None) -> None:
        self.received: list[bytes] = []
        self._replies = replies
        self._end = b"\n" if path else b"\r\n\r\n"
        self._ended = threading.Event()
        self._open: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        self._listener.bind(path or ("127.0.0.1", 0))
        self._listener.listen(16)
        self.path = path or ""
        self.url = "" if path else f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                stream, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(stream)
            threading.Thread(target=self._serve, args=(stream,), daemon=True).start()

    def _serve(self, stream: socket.socket) -> None:
        try:
            for reply in self._replies:
                seen = b""
                while self._end not in seen:
                    data = stream.recv(65536)
                    if not data:
                        return
                    seen += data
                self.received.append(seen)
                if not reply:
                    self._ended.wait()
                stream.sendall(reply)
        except OSError:
            pass
        finally:
            stream.close()

    def close(self) -> None:
        """Ends it and all its connections."""
        self._ended.set()
        shut(self._listener)
        for stream in self._open:
            try:
                stream.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        if self.path:
            os.unlink(self.path)


class Scripted:
    """A server on loopback that hands each connection to a function, in a thread of its own."""

    def __init__(self, talk: Callable[[socket.socket], None]) -> None:
        self._talk = talk
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                stream, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(stream,), daemon=True).start()

    def _serve(self, stream: socket.socket) -> None:
        with stream:
            try:
                self._talk(stream)
            except OSError:
                pass

    def close(self) -> None:
        """Takes no more connections."""
        shut(self._listener)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """One chunk of a body; an empty one ends it."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def request_head(stream: socket.socket) -> bytes:
    """What a client sends up to the end of the head, and maybe some of the body."""
    seen = b""
    while b"\r\n\r\n" not in seen and (data := stream.recv(65536)):
        seen += data
    return seen


def whole_request(stream: socket.socket) -> bytes:
    """A request with the body that its Content-Length announces.

    A server that closes with unread bytes resets the connection, which clients see as another failure.
    """
    seen = request_head(stream)
    head, _, body = seen.partition(b"\r\n\r\n")
    fields = (line.partition(b":") for line in head.split(b"\r\n")[1:])
    length = next((int(value) for name, _, value in fields if name.lower() == b"content-length"), 0)
    while len(body) < length and (data := stream.recv(65536)):
        body += data
    return head + b"\r\n\r\n" + body
