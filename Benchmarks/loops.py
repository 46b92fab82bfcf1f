#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Several event loops beside one, in one run: calls of clients that are not the bottleneck.

    Benchmarks/loops.py [--binary .build/release/outrider] [--loops 2] [--clients 4] [--seconds 3] [--rounds 5]
                        [--share 0.25]

Each client is a process that sends bursts of calls as bytes made beforehand, and counts the lines of the replies. The
calls are played from a cassette, so that no server takes part. Where there are no more processors than loops, the
clients take some of their time: the table says how many processors the loops had. Prints a table in Markdown, and exits
with 1 if the loops serve less than 0.85 times one loop for each processor that they had.

With `--share` each loop gets that part of a processor and no more, by a control group of its own: a machine with slower
loops, where the clients are not the bottleneck, however few processors there are. That needs root and the controller
`cpu` of control groups, version 1.
"""

import argparse
import contextlib
import http.server
import json
import os
import pathlib
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BURST = 64
GOAL = 0.85
GROUPS = pathlib.Path("/sys/fs/cgroup/cpu")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Says nothing."""

    def do_GET(self):
        body = b'{"id": 7, "name": "Ada"}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def line(method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"


def client(path, cassette, url, seconds):
    """The calls per second of one client."""
    with socket.socket(socket.AF_UNIX) as wire:
        wire.connect(path)
        wire.sendall(line("replay.start", path=cassette, mode="none", repeat="last"))
        assert b'"result"' in wire.recv(1 << 16)
        calls, count, end = line("data.send", url=url, handles=False) * BURST, 0, time.monotonic() + seconds
        while time.monotonic() < end:
            wire.sendall(calls)
            left = BURST
            while left > 0:
                piece = wire.recv(1 << 18)
                if not piece or b'"error"' in piece:
                    sys.exit(f"a call failed: {piece[:300]!r}")
                left -= piece.count(b"\n")
            count += BURST
    print(count / seconds)


@contextlib.contextmanager
def limited(process, share):
    """Each loop of the service has so much of a processor in each 10 ms."""
    if share is None:
        yield
        return
    tasks = pathlib.Path(f"/proc/{process}/task").iterdir()
    loops = [task.name for task in tasks if (task / "comm").read_text().startswith("NIO-ELT")]
    groups = []
    try:
        for loop in loops:
            group = GROUPS / f"outrider-loop-{loop}"
            group.mkdir()
            groups.append(group)
            (group / "cpu.cfs_period_us").write_text("10000")
            (group / "cpu.cfs_quota_us").write_text(str(int(share * 10000)))
            (group / "tasks").write_text(loop)
        yield
    except OSError as problem:
        sys.exit(f"--share needs a control group for each loop: {problem}")
    finally:
        for group in groups:
            for task in (group / "tasks").read_text().split():
                (GROUPS / "tasks").write_text(task)
            group.rmdir()


@contextlib.contextmanager
def serving(binary, place, *arguments):
    path = os.path.join(place, "s")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    process = subprocess.Popen([binary, "serve", "--socket", path, "--no-config", *arguments])
    try:
        while not os.path.exists(path):
            time.sleep(0.01)
        yield path, process.pid
    finally:
        process.terminate()
        process.wait()


def record(binary, place):
    """A cassette with one entry, and its URL."""
    cassette = os.path.join(place, "cassette.har")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/item"
    with serving(binary, place, "--replay", cassette + ":all") as (path, _), socket.socket(socket.AF_UNIX) as wire:
        wire.connect(path)
        wire.sendall(line("data.send", url=url))
        assert b'"status":200' in wire.recv(1 << 16)
    server.shutdown()
    return cassette, url


def measure(binary, place, cassette, url, loops, options):
    """Calls per second of all clients, and the processors that the clients keep busy."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with serving(binary, place, "--loops", str(loops)) as (path, process), limited(process, options.share):
        command = [sys.executable, __file__, "--client", path, cassette, url, "--seconds", str(options.seconds)]
        clients = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(options.clients)]
        rates = [float(each.communicate()[0]) for each in clients]
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return sum(rates), used / options.seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=str(ROOT / ".build/release/outrider"))
    parser.add_argument("--loops", type=int, default=2)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--share", type=float, help="of a processor, for each loop; all that there is, if absent")
    parser.add_argument("--client", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        return client(*options.client, options.seconds)
    with tempfile.TemporaryDirectory() as place:
        cassette, url = record(options.binary, place)
        rows = []
        for _ in range(options.rounds):
            rows.append([measure(options.binary, place, cassette, url, n, options) for n in (1, options.loops)])
    rates, used = ([statistics.median(row[at][part] for row in rows) for at in (0, 1)] for part in (0, 1))
    left = options.loops if options.share else min(options.loops, (os.cpu_count() or 1) - used[1])
    ratio = statistics.median(many[0] / one[0] for one, many in rows)
    print(f"| played calls of {options.clients} clients | 1 loop | {options.loops} loops |\n| --- | --- | --- |")
    print(f"| calls per second | {rates[0]:,.0f} | {rates[1]:,.0f} |")
    print(f"| processors of the clients | {used[0]:.2f} | {used[1]:.2f} |")
    where = f"each on {options.share:g} of a processor" if options.share else f"on {left:.2f} processors"
    print(f"\n{ratio:.2f} times one loop, {where} (goal: {GOAL * left:.2f})")
    return 0 if ratio >= GOAL * left else 1


if __name__ == "__main__":
    sys.exit(main())
