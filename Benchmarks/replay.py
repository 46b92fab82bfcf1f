#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cassettes beside vcrpy, in one run: a played request, loading, the cost of recording, the first event of a stream.

    Benchmarks/replay.py [--binary .build/release/outrider]

Needs vcrpy and requests; prints a table in Markdown, and exits with 1 if a goal is missed. Played requests of both
alternate in short rounds, as plain and recorded requests do, and their figure is the median of the rounds' ratios: a
machine that slows down slows both.
"""

import argparse
import contextlib
import http.server
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "clients/python/src"))
ENTRIES, ROUNDS, PLAYED_ROUNDS, RECORDED_ROUNDS = 300, 3, 21, 9


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # one packet for head and body
    wbufsize = 1 << 16
    body = b'{"id": 7, "name": "Ada"}'

    def log_message(self, *_):
        """Says nothing."""

    def do_GET(self):
        if self.path.startswith("/sse"):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for number in range(4):
                self.wfile.write(b"data: %d\n\n" % number)
                self.wfile.flush()
                time.sleep(0.5 if number < 3 else 0)
            self.close_connection = True
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        """A client that leaves a stream is no error."""


def median(work, count):
    """The median time of one call, in milliseconds."""
    times = []
    for index in range(count):
        start = time.perf_counter()
        work(index)
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def played(ask, origin, many):
    return median(lambda index: ask(f"{origin}/{index % many}"), 300)


def in_turn(works):
    """The medians of works that alternate, and that of their ratios to the first."""
    rounds = [[work() for work in works] for _ in range(PLAYED_ROUNDS)]
    times = [statistics.median(column) for column in zip(*rounds)]
    return times, [statistics.median(row[place] / row[0] for row in rounds) for place in range(len(works))]


@contextlib.contextmanager
def origin_process():
    """The URL of an origin in a process of its own, which does not share the interpreter's lock with the clients."""
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.terminate()


@contextlib.contextmanager
def service(directory):
    socket = os.path.join(directory, "s")
    process = subprocess.Popen([os.environ["OUTRIDER_BIN"], "serve", "--socket", socket, "--no-config"])
    try:
        while not os.path.exists(socket):
            time.sleep(0.01)
        yield socket
    finally:
        process.terminate()
        process.wait(10)


def outrider_figures(origin, directory, figures):
    import outrider

    tape, small = os.path.join(directory, "a.har"), os.path.join(directory, "b.har")
    # a service on a socket, as the pytest plugin starts one for each test
    with service(directory) as socket, outrider.Client(socket=socket, spawn=False) as client:
        client.get(origin + "/warm")
        plain, recorded = [], []
        for _ in range(RECORDED_ROUNDS):
            plain.append(median(lambda index: client.get(f"{origin}/{index}"), ENTRIES))
            client.call("replay.start", path=tape, mode="all")
            recorded.append(median(lambda index: client.get(f"{origin}/{index}"), ENTRIES))
            client.call("replay.stop")
        figures["plain"], figures["recorded"] = statistics.median(plain), statistics.median(recorded)
        figures["recorded/plain"] = statistics.median(late / early for early, late in zip(plain, recorded))
        client.call("replay.start", path=small, mode="all")
        client.get(origin + "/0")
        client.call("replay.stop")
        loads = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            client.call("replay.start", path=tape, mode="none")
            loads.append((time.perf_counter() - start) * 1000)
            client.call("replay.stop")
        figures["load"] = min(loads)
        for name, path, many in (("one", small, 1), ("many", tape, ENTRIES)):
            client.call("replay.start", path=path, mode="none", repeat="last")
            with vcr_played(origin, directory, figures, many) as get:
                works = (
                    lambda many=many: played(client.get, origin, many),
                    lambda get=get, many=many: played(get, origin, many),
                    lambda: median(lambda index: client.call("diagnostics.echo", value=1), 300))
                times, ratios = in_turn(works)
            client.call("replay.stop")
            figures[name], figures["vcr " + name], figures["echo " + name] = times
            figures["vcr/" + name], figures["echo/" + name] = ratios[1:]
        client.call("replay.start", path=os.path.join(directory, "sse.har"), mode="all")
        start = time.perf_counter()
        with client.sse(origin + "/sse") as events:
            for _ in events:
                break
        figures["first"] = (time.perf_counter() - start) * 1000
        client.call("replay.stop")


@contextlib.contextmanager
def vcr_played(origin, directory, figures, many):
    """A function that gets responses of a cassette of so many entries."""
    import requests
    import vcr

    tape = os.path.join(directory, f"vcr{many}.yaml")
    session = requests.Session()
    with vcr.use_cassette(tape):
        for index in range(many):
            session.get(f"{origin}/{index}")
    start = time.perf_counter()
    with vcr.use_cassette(tape, record_mode="none", allow_playback_repeats=True):
        session.get(f"{origin}/0")
        figures["vcr load"] = (time.perf_counter() - start) * 1000
        yield session.get


def vcr_figures(origin, directory, figures):
    import requests
    import vcr

    start = time.perf_counter()
    with vcr.use_cassette(os.path.join(directory, "sse.yaml")):
        with requests.get(origin + "/sse", stream=True) as response:
            next(response.iter_lines())
            figures["vcr first"] = (time.perf_counter() - start) * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default=str(ROOT / ".build/release/outrider"))
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        server = Server(("127.0.0.1", 0), Handler)
        print(server.server_port, flush=True)
        server.serve_forever()
    os.environ["OUTRIDER_BIN"] = options.binary
    figures = {}
    with origin_process() as origin, tempfile.TemporaryDirectory() as directory:
        outrider_figures(origin, directory, figures)
        vcr_figures(origin, directory, figures)
    f = figures
    rows = [
        ("played request, 1 entry", f["one"], "vcrpy", f["vcr one"], f["vcr/one"], 10, False),
        ("played request, 300 entries", f["many"], "vcrpy", f["vcr many"], f["vcr/many"], 10, False),
        ("played request", f["one"], "diagnostics.echo", f["echo one"], 1 / f["echo/one"], 3, True),
        ("loading 300 entries", f["load"], "vcrpy", f["vcr load"], f["load"], 20, True),
        ("recorded request", f["recorded"], "plain", f["plain"], f["recorded/plain"], 1.15, True),
        ("first event while recording", f["first"], "vcrpy", f["vcr first"], f["first"], 100, True),
    ]
    print("| what | ms | beside | ms | figure | goal | |\n| --- | --- | --- | --- | --- | --- | --- |")
    missed = 0
    for what, mine, beside, theirs, figure, goal, is_most in rows:
        met = figure <= goal if is_most else figure >= goal
        missed += not met
        sign = "≤" if is_most else "≥"
        verdict = "met" if met else "missed"
        print(f"| {what} | {mine:.3f} | {beside} | {theirs:.3f} | {figure:.2f} | {sign} {goal} | {verdict} |")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
