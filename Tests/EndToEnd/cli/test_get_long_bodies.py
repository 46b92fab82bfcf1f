# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What follows the first MiB of a body reaches a command over a connection of its own, as bytes."""

import contextlib
import json
import os
import resource
import socket
import subprocess
import sys
import threading
import time

import contract
import pytest
from http_server import Listening
from request_client import STRANGER
from shell import LONG, outrider

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

SIZE, EARLY = 6_000_000, 500_000
BODY = bytes(range(256)) * (SIZE // 256) + b"end"


class Long(Listening):
    """A body as the path says: with its length, or in chunks; whole, cut, never ended, or gated after its beginning."""

    gate = threading.Event()

    def serve(self, connection, number):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(65536)
        path = head.split(b" ")[1].decode()
        if "gated" in path:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY[:EARLY])
            self.gate.wait(LONG)
            return connection.sendall(BODY[EARLY:])
        body = BODY if "whole" in path else BODY[:SIZE // 2]
        if "chunks" in path:
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for start in range(0, len(body), 60_000):
                piece = body[start:start + 60_000]
                connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
            if "whole" in path:
                connection.sendall(b"0\r\n\r\n")
        else:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY) + body)
        if "silent" in path:
            self.ended.wait(LONG)


@pytest.fixture(scope="module")
def long():
    with Long() as server:
        yield server


@pytest.fixture(params=["shared", "own"])
def run(request, service):
    """`outrider get` with a service that runs, and with one for this call."""
    way = ["--socket", service] if request.param == "shared" else ["--stdio"]
    return lambda *words, **more: outrider("get", *way, *words, **more)


@pytest.mark.parametrize("path", ["/whole", "/whole-chunks"])
def test_a_long_body_is_whole_in_a_file_and_on_standard_output(run, long, tmp_path, path):
    file = tmp_path / "out"
    done = run("-o", str(file), "-w", "%{size_download} %{http_code}", long.url(path))
    assert (done.returncode, done.stdout) == (0, b"%d 200" % len(BODY)), done.stderr
    assert file.read_bytes() == BODY
    assert run(long.url(path)).stdout == BODY
    assert run(long.url(path), long.url(path)).stdout == BODY + BODY


def test_the_bytes_have_a_connection_of_their_own(long):
    """In a service for this call, too; nothing of it is left."""
    done = outrider("get", "--stdio", long.url("/whole"), env={"OUTRIDER_LOG": "debug"})
    assert done.stdout == BODY and b"connected: socket" in done.stderr
    done = outrider("get", "--stdio", "-Z", long.url("/whole"), env={"OUTRIDER_LOG": "debug"})
    assert done.stdout == BODY and b"connected: socket" not in done.stderr


@pytest.mark.parametrize("path", ["/cut", "/cut-chunks"])
def test_a_long_body_that_is_cut_is_a_failure(run, long, tmp_path, path):
    file = tmp_path / "out"
    done = run("-o", str(file), long.url(path))
    assert done.returncode == 12 and b"lost in the body" in done.stderr
    assert file.read_bytes() == BODY[:SIZE // 2]


def test_a_long_body_that_stands_still_ends_with_its_timeout(run, long, tmp_path):
    done = run("-m", "1", "-o", str(tmp_path / "out"), long.url("/silent"))
    assert done.returncode == 12 and b"1 s" in done.stderr


def test_a_disk_that_is_full_is_a_failure(run, long):
    done = run("-o", "/dev/full", long.url("/whole"))
    assert done.returncode == 16 and b"/dev/full" in done.stderr


def test_a_short_body_needs_no_second_connection(origin):
    done = outrider("get", "--stdio", f"{origin}/bytes/900000", env={"OUTRIDER_LOG": "debug"})
    assert len(done.stdout) == 900_000 and b"connected: socket" not in done.stderr


def test_a_reader_that_leaves_ends_the_command(long, service):
    command = [contract.binary(), "get", "--socket", service, long.url("/whole")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(SIZE // 2)
        process.stdout.close()
        assert process.wait(LONG) == 1 and process.stderr.read() == b""


def test_a_service_without_a_free_descriptor_gives_the_body_all_the_same(long, tmp_path, place):
    """It accepts no second connection; the first carries the body to its end."""
    file = tmp_path / "out"
    with serving(place) as service:
        command = [contract.binary(), "get", "--socket", place, "-o", file, long.url("/gated")]
        with subprocess.Popen(command) as process:
            until(lambda: file.exists() and file.stat().st_size >= EARLY)
            count = len(os.listdir(f"/proc/{service.pid}/fd"))
            resource.prlimit(service.pid, resource.RLIMIT_NOFILE, (count, count))
            long.gate.set()
            assert process.wait(LONG) == 0
    assert file.read_bytes() == BODY


@contextlib.contextmanager
def serving(place):
    service = subprocess.Popen([contract.binary(), "serve", "--socket", place])
    try:
        contract.await_socket(place, service, LONG)
        yield service
    finally:
        service.kill()
        service.wait()


def until(holds):
    deadline = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_socket_of_a_starter_is_for_the_starter_alone(tmp_path):
    """Another process of the same user is refused, and the service ends with its starter's first connection."""
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as mine:
        listener.bind(path)
        listener.listen()
        command = [contract.binary(), "serve", "--stdio", "--starter-socket", str(listener.fileno())]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              pass_fds=[listener.fileno()]) as service:
            call = b'{"jsonrpc":"2.0","id":1,"method":"server.info"}\n'
            mine.connect(path)
            mine.sendall(call)
            assert json.loads(mine.makefile("rb").readline())["id"] == 1
            stranger = subprocess.run([sys.executable, "-c", STRANGER, path], capture_output=True, timeout=LONG)
            assert stranger.stdout == b"0\n", stranger
            service.stdin.close()
            assert service.wait(LONG) == 0


def test_a_socket_that_does_not_listen_is_refused():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        command = [contract.binary(), "serve", "--stdio", "--starter-socket", str(theirs.fileno())]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, pass_fds=[theirs.fileno()],
                              timeout=LONG, env=dict(os.environ))
    assert done.returncode != 0 and b"--starter-socket" in done.stderr
