#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What it costs a request to be watched: no monitor, its end alone, and all topics, sent or left in the queue.

    Benchmarks/monitors.py [OUTRIDER] [N]

Prints medians in microseconds of `data.send` to a server on loopback that responds at once. The ways take turns, so
that the noise of the machine meets all of them alike. Without subscribers a topic costs one load and one branch: the
first line is what a request costs at all, and the second what noise there is.
"""

import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
WAYS = [
    ("no monitor", None),
    ("no monitor, again", None),
    ("request.finished, sent", {"topics": ["request.finished"]}),
    ("all topics, sent", {"topics": ["*"]}),
    ("all topics, left in the queue", {"topics": ["*"], "pull": True}),
]


def serve(listener):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=respond, args=(connection,), daemon=True).start()


def respond(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while connection.recv(65536):
        connection.sendall(RESPONSE)


class Service:
    """A service on stdio; what is not a reply is read and thrown away."""

    def __init__(self, binary):
        self.process = subprocess.Popen([binary, "serve", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.writer, self.reader = self.process.stdin.fileno(), self.process.stdout.fileno()
        self.rest = b""

    def call(self, text):
        """The line of the reply."""
        os.write(self.writer, text)
        while True:
            while b"\n" not in self.rest:
                self.rest += os.read(self.reader, 1 << 18)
            line, self.rest = self.rest.split(b"\n", 1)
            if line.startswith(b'{"jsonrpc":"2.0","id":'):
                return line

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def message(method, params):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"


def main():
    built = [ROOT / ".build/release/outrider", ROOT / ".build/debug/outrider"]
    binary = sys.argv[1] if len(sys.argv) > 1 else str(next(path for path in built if path.exists()))
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 3000
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    request = message("data.send", {"url": f"http://127.0.0.1:{listener.getsockname()[1]}/", "handles": False})
    services = [Service(binary) for _ in WAYS]
    for service, (_, wish) in zip(services, WAYS):
        if wish:
            service.call(message("events.subscribe", wish))
        for _ in range(200):
            service.call(request)
    times = [[] for _ in WAYS]
    for _ in range(n):
        for service, found in zip(services, times):
            began = time.perf_counter_ns()
            service.call(request)
            found.append(time.perf_counter_ns() - began)
    base = statistics.median(times[0])
    for (name, _), found in zip(WAYS, times):
        median = statistics.median(found)
        print(f"{name:32} {median / 1000:8.1f} µs  {(median - base) / 1000:+8.1f} µs")
    for service in services:
        service.close()


if __name__ == "__main__":
    main()
