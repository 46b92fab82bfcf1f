#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Measures the memory of the service for idle clients: `Benchmarks/idle.py [N]`, 10,000 by default.

Each client connects, says one `server.info`, and waits. Prints KiB per client while all are connected, and what stays
after they have left. The aim: at most 20 KiB each, and nothing that stays. A second round makes a named session with a
callback in each client, which refers to its client: what stays after a third round beyond the second is a leak.
"""
import json
import os
import pathlib
import re
import resource
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "server.info", "params": {}}).encode() + b"\n"
SESSION = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session.create", "params": {
    "name": "mine", "interceptors": [{"callback": "mine", "asks": ["adapt"]}]}}).encode() + b"\n"


def resident(process):
    with open(f"/proc/{process.pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))


def connect(path, many, call=CALL):
    clients = []
    for _ in range(many):
        client = socket.socket(socket.AF_UNIX)
        client.connect(path)
        client.sendall(call)
        clients.append(client)
        while not client.recv(1 << 16).endswith(b"\n"):
            pass
    return clients


def visit(path, many, process):
    """What the process has after so many clients with sessions have come and gone."""
    for client in connect(path, many, SESSION):
        client.close()
    time.sleep(2)
    return resident(process)


def main():
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    binary = os.environ.get("OUTRIDER") or str(ROOT / ".build/release/outrider")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s")
        command = [binary, "serve", "--socket", path, "--max-clients", str(many + 10)]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        try:
            while not os.path.exists(path):
                time.sleep(0.02)
            time.sleep(0.3)
            # what a service allocates once
            for client in connect(path, 20):
                client.close()
            time.sleep(0.3)
            start = resident(process)
            clients = connect(path, many)
            full = resident(process)
            for client in clients:
                client.close()
            time.sleep(2)
            end = resident(process)
            rounds = [visit(path, many, process) for _ in range(2)]
        finally:
            process.terminate()
            process.wait()
    each, left = (full - start) / many, (end - start) / 1024
    print(f"{many} idle clients: {each:.1f} KiB each; {left:.1f} MiB more than before they came")
    leak = (rounds[1] - rounds[0]) / many
    print(f"{many} clients with a session that refers to them: {leak:.2f} KiB each stay")
    return 0 if full - start <= 20 * many and leak < 1 else 1


if __name__ == "__main__":
    sys.exit(main())
