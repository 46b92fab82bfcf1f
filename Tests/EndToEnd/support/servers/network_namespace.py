# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A machine without a network: a network namespace whose loopback can be switched off and on."""

import contextlib
import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys

import contract

SIOCSIFFLAGS, SIOCSIFADDR = 0x8914, 0x8916
UP = 1
# an address beyond the loopback, though its packets stay in the machine
FAR = "198.51.100.9"
# the module runs as a program as well, and imports the same modules there
HERE = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


class Island:
    """A namespace with the small origin in it."""

    def __init__(self):
        origin = [sys.executable, str(contract.ROOT / "scripts/origin.py"), "--port", "0", "--quiet"]
        alone = ["unshare", "--user", "--map-root-user", "--net", "--"]
        self.process = subprocess.Popen(
            [*alone, sys.executable, __file__, *origin],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=HERE,
        )
        port = self.process.stdout.readline().strip()
        self.exists = bool(port)
        self.url = f"http://127.0.0.1:{port}"
        pid = str(self.process.pid)
        self.inside = ["nsenter", "--target", pid, "--user", "--net", "--preserve-credentials", "--"]

    def switch(self, on):
        self.run("on" if on else "off")

    def run(self, word):
        subprocess.run([*self.inside, sys.executable, __file__, word], check=True, env=HERE)

    @contextlib.contextmanager
    def far(self):
        """A server at an address that `leave` removes. No response ends, and that of `/silent` does not begin."""
        self.run("come")
        command = [*self.inside, sys.executable, __file__, "serve"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=HERE) as server:
            try:
                yield f"http://{FAR}:{server.stdout.readline().strip()}"
            finally:
                server.kill()

    def leave(self):
        self.run("leave")

    def close(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


@contextlib.contextmanager
def island():
    place = Island()
    try:
        yield place
    finally:
        place.close()


def loopback(on):
    """Its address comes back with it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        if not on:
            nowhere = struct.pack("HH4s8x", socket.AF_INET, 0, bytes(4))
            fcntl.ioctl(one, SIOCSIFADDR, struct.pack("16s16s8x", b"lo", nowhere))
        fcntl.ioctl(one, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", UP if on else 0))


def far(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        words = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))
        fcntl.ioctl(one, SIOCSIFADDR, struct.pack("16s16s8x", b"lo:1", words))


def serve():
    with socket.create_server((FAR, 0)) as server:
        print(server.getsockname()[1], flush=True)
        kept = []
        while True:
            kept.append(server.accept()[0])
            if b" /silent " not in kept[-1].recv(65536):
                kept[-1].sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfar")


if __name__ == "__main__":
    word, *command = sys.argv[1:]
    if word in ("come", "leave"):
        far(FAR if word == "come" else "0.0.0.0")
    elif word == "serve":
        serve()
    else:
        loopback(word != "off")
        if word not in ("on", "off"):
            os.execvp(word, [word, *command])
