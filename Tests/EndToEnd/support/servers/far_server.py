# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A network namespace with a service in it, and a cable to another one with a server."""

import contextlib
import shutil
import subprocess
import sys

import contract
import pytest
from network_namespace import island


@contextlib.contextmanager
def inhabited(**variables):
    """A namespace with a service in it that has these variables of the environment."""
    if shutil.which("ip") is None:
        pytest.skip("ip is not installed")
    with island() as place:
        if not place.exists:
            pytest.skip("no namespace can be made here: user namespaces are not permitted")
        within = [*place.inside, "env", *(f"{name}={value}" for name, value in variables.items())]
        with contract.Wire(under=within) as wire:
            place.wire = wire
            yield place


def ip(place, *words):
    ran = subprocess.run([*place.inside, "ip", *words], capture_output=True, text=True)
    if ran.returncode and "type" in words:
        pytest.skip(f"no such interface can be made here: {ran.stderr.strip()}")
    assert ran.returncode == 0, ran.stderr


def make_way(place):
    """Two interfaces with a cable between them; the near one is down."""
    ip(place, "link", "add", "way0", "type", "veth", "peer", "name", "way1")
    ip(place, "link", "set", "way1", "up")


# Every body is the address of the client; the end of `/half` waits for `/go`.
FAR = """
import http.server, threading
go = threading.Semaphore(0)
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = ("%s:%d" % self.client_address).encode()
        more = b"." if self.path == "/half" else b""
        if self.path == "/go":
            go.release()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body + more)))
        self.end_headers()
        self.wfile.write(body)
        if more:
            go.acquire()
            self.wfile.write(more)
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("0.0.0.0", 8080), Handler)
print("ready", flush=True)
server.serve_forever()
"""


# HTTP/2 whose very first response never ends; every body is the address of the client.
SHARED = """
import itertools, socket, struct, threading
def frame(kind, flags, stream, payload=b""):
    return struct.pack("!I", len(payload))[1:] + bytes([kind, flags]) + struct.pack("!I", stream) + payload
def serve(connection, address):
    read = connection.makefile("rb")
    read.read(24)
    connection.sendall(frame(4, 0, 0))
    while len(top := read.read(9)) == 9:
        payload, stream = read.read(int.from_bytes(top[:3], "big")), int.from_bytes(top[5:], "big")
        if top[3] == 6 and not top[4]:
            connection.sendall(frame(6, 1, 0, payload))
        if top[3] == 1:
            ends = 1 if next(numbers) else 0
            connection.sendall(frame(1, 4, stream, b"\\x88") + frame(0, ends, stream, b"%b:%d" % address))
numbers = itertools.count()
listener = socket.create_server(("0.0.0.0", 8080))
print("ready", flush=True)
while True:
    connection, (host, port) = listener.accept()
    threading.Thread(target=serve, args=(connection, (host.encode(), port)), daemon=True).start()
"""


@contextlib.contextmanager
def far_server(place, program):
    """The program in a namespace behind the cable, as 198.51.100.9; this side is 198.51.100.7."""
    make_way(place)
    command = [*place.inside, "unshare", "--net", sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as far:
        try:
            assert far.stdout.readline() == b"ready\n"
            ip(place, "link", "set", "way1", "netns", str(far.pid))
            there = ["nsenter", "--target", str(far.pid), "--user", "--net", "--preserve-credentials", "--", "ip"]
            for words in (["addr", "add", "198.51.100.9/24", "dev", "way1"], ["link", "set", "way1", "up"]):
                subprocess.run([*there, *words], check=True)
            ip(place, "link", "set", "way0", "up")
            ip(place, "addr", "add", "198.51.100.7/24", "dev", "way0")
            yield
        finally:
            far.kill()
