# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What follows the first MiB of a body reaches a command over a connection of its own, as bytes."""

import os
import socket
import subprocess

import contract
import pytest
from http_server import Listening
from shell import LONG, outrider

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

SIZE = 6_000_000
BODY = bytes(range(256)) * (SIZE // 256) + b"end"


class Long(Listening):
    """A body as the path says: with its length, or in chunks; whole, cut, or never ended."""

    def serve(self, connection, number):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(65536)
        path = head.split(b" ")[1].decode()
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


def test_a_reader_that_leaves_ends_the_command(long, service):
    command = [contract.binary(), "get", "--socket", service, long.url("/whole")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(SIZE // 2)
        process.stdout.close()
        assert process.wait(LONG) == 1 and process.stderr.read() == b""


def test_a_socket_that_does_not_listen_is_refused():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        command = [contract.binary(), "serve", "--stdio", "--starter-socket", str(theirs.fileno())]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, pass_fds=[theirs.fileno()],
                              timeout=LONG, env=dict(os.environ))
    assert done.returncode != 0 and b"--starter-socket" in done.stderr
