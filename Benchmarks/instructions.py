#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Counts the instructions that the service executes for one request, by kind of request.

    Benchmarks/instructions.py [--kinds KIND,…] [--requests N]

Runs $OUTRIDER, or the release build, under `valgrind --tool=callgrind`, once with N requests and once with 3 N, in
sequence on one connection to a small origin. The difference, divided by 2 N, is one request: start and end cancel out.
Times on a shared machine vary; this number does not, within half a percent.
"""
import argparse
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]

KINDS = {
    "plain": {},
    "adapter": {"interceptors": [{"headers": {"X-Api": "1"}}]},
    "events": {"events": True},
    "validator": {"validate": True},
    "retry": {"retry": True},
}


def serve(listener):
    body = b'{"ok": true, "items": [1, 2, 3]}'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=respond, args=(connection, head + body), daemon=True).start()


def respond(connection, response):
    waiting = b""
    with connection:
        while chunk := connection.recv(65536):
            waiting += chunk
            while b"\r\n\r\n" in waiting:
                waiting = waiting.split(b"\r\n\r\n", 1)[1]
                connection.sendall(response)


def run(binary, folder, url, params, requests):
    """The instructions of the service for so many requests, its start and its end."""
    path, out = os.path.join(folder, "o.sock"), os.path.join(folder, "callgrind.out")
    command = ("valgrind", "--tool=callgrind", "--callgrind-out-file=" + out, binary, "serve", "--socket", path)
    service = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        client = connect(path, service)
        for number in range(requests):
            call(client, number, "data.send", dict(params, url=url))
        client[0].close()
    finally:
        service.terminate()
        service.wait(60)
    summary = re.search(r"^(?:summary|totals): (\d+)", pathlib.Path(out).read_text(), re.MULTILINE)
    os.unlink(out)
    return int(summary.group(1))


def connect(path, service):
    for _ in range(600):
        if service.poll() is not None:
            raise SystemExit("the service did not start")
        try:
            client = socket.socket(socket.AF_UNIX)
            client.connect(path)
            return client, client.makefile("rb")
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the service does not listen")


def call(client, number, method, params):
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    client[0].sendall(json.dumps(message).encode() + b"\n")
    while True:
        reply = json.loads(client[1].readline())
        if reply.get("id") == number:
            break
    if "error" in reply or reply["result"].get("failure"):
        raise SystemExit(f"{method} failed: {reply}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", default=",".join(KINDS), help="which requests; all, if absent")
    parser.add_argument("--requests", type=int, default=500)
    options = parser.parse_args()
    binary = os.environ.get("OUTRIDER") or str(ROOT / ".build/release/outrider")
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    url = "http://127.0.0.1:%d/a" % listener.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        # valgrind cannot read the debug information that Swift writes
        stripped = os.path.join(folder, "outrider")
        subprocess.run(("strip", "--strip-debug", "-o", stripped, binary), check=True)
        for kind in options.kinds.split(","):
            few, many = (run(stripped, folder, url, KINDS[kind], options.requests * n) for n in (1, 3))
            print(f"{kind:10} {(many - few) // (2 * options.requests):9,}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
