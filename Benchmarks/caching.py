#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cached responses from Python: Outrider beside requests-cache (SQLite) and hishel (SQLite), interleaved in one run.

    Benchmarks/caching.py [--hits N] [--rounds N] [--entries N] [--best] [--json FILE] [--write]

$OUTRIDER is the binary; without it the release build. Needs requests-cache and hishel beside requests and httpx
(`scripts/setup --bench`). Each row is a figure and the goal for it; ratios are of medians in this run, or with
`--best` of the least times of all rounds. A missing peer is left out and named. `--write` puts the table into
docs/guide/caching.md.
"""

import argparse
import contextlib
import hashlib
import hmac
import http.server
import json
import os
import pathlib
import random
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "clients/python/src"))
PAGE, SECTION = ROOT / "docs/guide/caching.md", "## Costs"
BODY = b"x" * 1024


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.seen += 1
        time.sleep(self.server.pause)
        self.send_response(200)
        self.send_header("Cache-Control", "max-age=36000")
        # a million entries must have room in a cache of 1 GiB, the most that a request may choose
        body = BODY[:200] if self.path.startswith("/many/") else BODY
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Origin(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen, self.pause = 0, 0.0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"


class Service:
    """The binary on a socket of its own, with its caches in a directory."""

    def __init__(self, binary, folder):
        self.path = str(folder / "socket")
        command = [binary, "serve", "--socket", self.path, "--caches", str(folder / "caches")]
        self.began = time.perf_counter()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def __enter__(self):
        while True:
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
                probe.connect(self.path)
                return self
            if time.perf_counter() - self.began > 20:
                raise SystemExit("the service did not start")
            time.sleep(0.0005)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def client(self):
        import outrider

        return outrider.Client(socket=self.path, spawn=False)

    def memory(self):
        lines = pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))

    @contextlib.contextmanager
    def on_one_processor(self):
        """This program and the service share a processor. Otherwise the service polls for a moment between calls, which
        counts as CPU time, too."""
        before = os.sched_getaffinity(0)
        self.place({min(before)})
        try:
            yield
        finally:
            self.place(before)

    def place(self, processors):
        """Moves this program and all threads of the service to the processors."""
        threads = [int(task.name) for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()]
        for thread in (0, *threads):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(thread, processors)

    def cpu(self):
        """Seconds of all threads so far, from the scheduler: `stat` counts in ticks."""
        total = 0
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                total += int((task / "schedstat").read_text().split()[0])
        return total / 1e9


class Wire:
    """Newline-framed JSON-RPC: what a hit costs without a client library."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")
        self.number = 0

    def call(self, method, params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.socket.sendall(json.dumps(message).encode() + b"\n")
        while True:
            reply = json.loads(self.file.readline())
            if reply.get("id") == self.number:
                return reply["result"]


def typical(values):
    """The median of the rounds; with `--best` the least, for a machine that others use meanwhile."""
    return min(values) if "--best" in sys.argv else statistics.median(values)


def timed(work, count):
    """Microseconds for each of so many runs of the work."""
    began = time.perf_counter()
    for number in range(count):
        work(number)
    return (time.perf_counter() - began) / count * 1e6


def peers(folder, url):
    """Functions that give a fresh hit, by name."""
    found = {}
    with contextlib.suppress(ImportError):
        import requests_cache

        session = requests_cache.CachedSession(
            str(folder / "requests"), backend="sqlite", cache_control=True, expire_after=36000)
        found["requests-cache"] = lambda _: session.get(url).content
    with contextlib.suppress(ImportError):
        import hishel
        from hishel.httpx import CacheClient

        client = CacheClient(storage=hishel.SqliteStorage(database_path=str(folder / "hishel.db")), trust_env=False)
        found["hishel"] = lambda _: client.get(url).content
    for name, work in found.items():
        work(0)
        assert work(1) == BODY, name
    return found


def fresh_hits(report, service, origin, folder, options):
    url = origin.url("fresh")
    with service.client() as client, client.session(cache="bench") as session:
        ours = {
            "outrider": lambda _: session.get(url).content,
            "echo": lambda _: client.invoke("diagnostics.echo", {"text": BODY.decode()}),
        }
        ours["outrider"](0)
        assert session.get(url).cache["status"] == "hit"
        rows = {**ours, **peers(folder, url)}
        times = {name: [] for name in rows}
        for _ in range(options.rounds):
            for name, work in rows.items():
                times[name].append(timed(work, options.hits))
    medians = {name: typical(values) for name, values in times.items()}
    for name, value in medians.items():
        report(f"fresh hit of 1 KB, {name}", f"{value:.0f} µs", "")
    for name in ("requests-cache", "hishel"):
        if name in medians:
            report(f"{name} / outrider", f"{medians[name] / medians['outrider']:.1f}", "at least 5")
        else:
            report(name, "not installed", "")
    report("outrider / diagnostics.echo", f"{medians['outrider'] / medians['echo']:.2f}", "at most 1.3")


def cost_of_a_hit(report, service, origin, options):
    """What the service itself computes for a hit: beside an echo, which is all that is not the cache's."""
    wire, url = Wire(service.path), origin.url("fresh")
    hit = {"url": url, "cache": "bench", "handles": False}
    wire.call("data.send", hit)
    rows = {"hit": ("data.send", hit), "echo": ("diagnostics.echo", {"text": BODY.decode()})}
    values = {name: [] for name in rows}
    with service.on_one_processor():
        for _ in range(options.rounds):
            for name, (method, params) in rows.items():
                before = service.cpu()
                for _ in range(options.hits):
                    wire.call(method, params)
                values[name].append((service.cpu() - before) / options.hits * 1e6)
    costs = {name: typical(found) for name, found in values.items()}
    report("CPU of the service for a hit, system calls and wake-up included", f"{costs['hit']:.0f} µs", "")
    report("CPU of the service for an echo", f"{costs['echo']:.0f} µs", "")
    report("CPU of a hit beyond an echo", f"{costs['hit'] - costs['echo']:.0f} µs", "at most 30 µs")


def storing(report, service, origin, options):
    wire = Wire(service.path)
    times = {"stored": [], "not stored": []}
    for number in range(options.rounds):
        for name, mode in (("stored", "default"), ("not stored", "noStore")):
            def send(index, mode=mode, number=number):
                url = origin.url(f"store/{mode}/{number}/{index}")
                wire.call("data.send", {"url": url, "cache": {"name": "storing", "mode": mode}})

            times[name].append(timed(send, options.hits // 4))
    ratio = typical(times["stored"]) / typical(times["not stored"])
    report("a response that is stored / one that is not", f"{ratio:.2f}", "at most 1.10")


def one_url(report, service, origin):
    origin.seen, origin.pause = 0, 0.5
    url = origin.url("cold")
    wires = [Wire(service.path) for _ in range(20)]
    threads = [
        threading.Thread(target=wire.call, args=("data.send", {"url": url, "cache": "bench"})) for wire in wires]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    origin.pause = 0.0
    report("20 programs, one cold URL", f"{origin.seen} request(s)", "1")


def checksum(data):
    """CRC-32C."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ 0x82F63B78 if value & 1 else value >> 1
    return value ^ 0xFFFFFFFF


def filled(folder, origin, name, count):
    """Copies the one row of a store so often, under other URLs, as rows of an earlier version: with one checksum."""
    place = folder / "caches" / name
    secret = (place / "secret").read_bytes()
    with sqlite3.connect(place / "cache.db") as database:
        columns = "principal, variant, storedAt, usedHour, size, head, body, file, bodySize, checksum"
        row = database.execute(f"SELECT {columns} FROM entry").fetchone()
        # of the head and the body, not of the URL
        row = (*row[:-1], checksum(row[5] + row[6]))
        marks = ", ".join("?" * 12)

        def rows():
            for number in range(1, count):
                url = origin.url(f"many/{number}")
                key = hmac.new(secret, url.encode(), hashlib.sha256).digest()[:16]
                yield (key, url, *row)

        database.execute("PRAGMA synchronous = OFF")
        database.executemany(f"INSERT INTO entry (urlKey, url, {columns}) VALUES ({marks})", rows())
        database.execute("UPDATE total SET entries = ?, bytes = ?", (count, count * row[4]))
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()


def first_use(binary, folder, origin, cache, count, hits):
    """Milliseconds of the opening with a hit, MB of the entries, and microseconds of a hit. A service of its own has no
    entry in memory, and none is used twice: of a few entries all would soon be there."""
    with Service(binary, folder) as service:
        wire = Wire(service.path)
        wire.call("diagnostics.echo", {})
        before = service.memory()
        began = time.perf_counter()
        first = wire.call("data.send", {"url": origin.url("many/7"), "cache": cache})
        opened = (time.perf_counter() - began) * 1000
        assert first["cache"]["status"] == "hit", first["cache"]
        numbers = random.Random(1).sample(range(8, count), min(hits, count // 2))

        def send(index):
            wire.call("data.send", {"url": origin.url(f"many/{numbers[index]}"), "cache": cache})

        hit = timed(send, len(numbers))
        return opened, service.memory() - before, hit


def many_entries(report, binary, origin, options):
    figures = {}
    for count in (1000, options.entries):
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            cache = {"name": "many", "maxBytes": 1 << 30}
            with Service(binary, folder) as service:
                wire = Wire(service.path)
                wire.call("data.send", {"url": origin.url("many/0"), "cache": cache})
                wire.call("cache.stats", {"cache": "many"})
            filled(folder, origin, "many", count)
            rounds = [first_use(binary, folder, origin, cache, count, options.hits) for _ in range(options.rounds)]
            opened, memory, hit = zip(*rounds)
            figures[count] = typical(opened), max(memory), typical(hit)
    for count, (opened, memory, hit) in figures.items():
        report(f"{count} entries: opening, with the first hit", f"{opened:.1f} ms", "at most 50 ms")
        report(f"{count} entries: more memory", f"{memory:.0f} MB", "at most 60 MB")
        report(f"{count} entries: a first hit, from the disk", f"{hit:.0f} µs", "")
    ratio = figures[options.entries][2] / figures[1000][2]
    report(f"a first hit of {options.entries} entries / of 1000", f"{ratio:.2f}", "at most 1.5")


def write(rows):
    """Puts the table behind the heading, which is the last of the page."""
    head = PAGE.read_text().partition(SECTION)[0].rstrip()
    lines = ["| what | figure | goal |", "| --- | --- | --- |"]
    lines += [f"| {row['what']} | {row['figure']} | {row['goal']} |" for row in rows]
    command = "Benchmarks/caching.py --best --write" if "--best" in sys.argv else "Benchmarks/caching.py --write"
    told = (
        f"`{command}` measures the costs, with all programs in turn in a single run. For CPU time the program and the"
        " service share a processor; otherwise the service polls between calls that follow each other closely, and that"
        " time counts, too:"
    )
    PAGE.write_text("\n".join([head, "", SECTION, "", told, "", *lines, ""]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hits", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--best", action="store_true", help="take the least of the rounds in place of the median")
    parser.add_argument("--json")
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    options = parser.parse_args()
    binary = os.environ.get("OUTRIDER") or str(ROOT / ".build/release/outrider")
    rows = []

    def report(what, figure, goal):
        rows.append({"what": what, "figure": figure, "goal": goal})
        print(f"{what:<48} {figure:>14}   {goal}", flush=True)

    with tempfile.TemporaryDirectory() as place:
        folder, origin = pathlib.Path(place), Origin()
        with Service(binary, folder) as service:
            fresh_hits(report, service, origin, folder, options)
            cost_of_a_hit(report, service, origin, options)
            storing(report, service, origin, options)
            one_url(report, service, origin)
    many_entries(report, binary, origin, options)
    if options.write:
        write(rows)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
