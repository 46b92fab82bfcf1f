# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A client that does not read for a while: no timeout runs meanwhile, whatever the request carried."""

import base64
import socket
import threading
import time

import contract
import pytest
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

UPLOAD, LENGTH = 1 << 20, 20_000_000


@pytest.fixture
def slow():
    """Takes a body in small pieces, so that the kernel of the client still holds some when its service looks."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    listener.bind(("127.0.0.1", 0))
    listener.listen()

    def serve():
        connection, _ = listener.accept()
        with connection:
            head, got = b"", 0
            while b"\r\n\r\n" not in head:
                head += connection.recv(1024)
            got = len(head) - head.index(b"\r\n\r\n") - 4
            for most in (80_000, 0):
                # the first look of the service comes after the head
                time.sleep(0.05)
                while got < UPLOAD - most:
                    got += len(connection.recv(4096))
            try:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % LENGTH + bytes(LENGTH))
            except OSError:
                # a client that gave up
                pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    listener.close()
    thread.join(10)


def test_a_response_behind_an_upload_waits_for_its_reader(wire, slow, tmp_path):
    (tmp_path / "body").write_bytes(bytes(UPLOAD))
    body = {"file": str(tmp_path / "body")}
    params = {"url": slow, "method": "POST", "body": body, "mode": "pull", "timeout": {"idle": 3}}
    stream = result(wire.call("stream.open", params))["stream"]
    time.sleep(5)  # clock: longer than the timeout
    got = 0
    while True:
        piece = result(wire.call("stream.read", {"stream": stream, "bytes": 1 << 20}))
        assert "error" not in piece, piece["error"]
        got += len(base64.b64decode(piece.get("base64", "")))
        if piece.get("end"):
            break
    assert got == LENGTH
