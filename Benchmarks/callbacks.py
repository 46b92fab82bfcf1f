#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What a callback to the client costs on stdio, and what ten interceptors cost a request.

    Benchmarks/callbacks.py [OUTRIDER] [N]

Prints microseconds. A callback costs what `diagnostics.callback` takes beyond `diagnostics.echo`. Interceptors cost the
CPU time of the service that a request with them takes beyond one without, to a socket without a listener: made once
and named by a session, made once and named by the request, or written into every request.
"""

import glob
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEN = [{"headers": {"X-%d" % number: "1"}} for number in range(10)]
NOWHERE = "http+unix://%2Fnowhere/"
BLOCK = 200


class Service:
    """A service on stdio, called by whole lines."""

    def __init__(self, binary):
        self.process = subprocess.Popen([binary, "serve", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.writer, self.reader = self.process.stdin.fileno(), self.process.stdout.fileno()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def line(self, text):
        os.write(self.writer, text)
        return os.read(self.reader, 1 << 16)

    def call(self, method, params):
        return json.loads(self.line(call(method, params)))["result"]

    def cpu(self):
        """Nanoseconds that its threads have run."""
        total = 0
        for path in glob.glob("/proc/%d/task/*/schedstat" % self.process.pid):
            with open(path) as stat:
                total += int(stat.read().split()[0])
        return total


def call(method, params):
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, separators=(",", ":"))
    return text.encode() + b"\n"


def echo(service):
    begun = time.perf_counter_ns()
    service.line(call("diagnostics.echo", {}))
    return time.perf_counter_ns() - begun


def callback(service):
    called = call("diagnostics.callback", {})
    begun = time.perf_counter_ns()
    number = service.line(called).split(b'"id":')[1].split(b",")[0]
    service.line(b'{"jsonrpc":"2.0","id":' + number + b',"result":{}}\n')
    return time.perf_counter_ns() - begun


def round_trips(binary, n):
    """Medians of an echo, and of an echo with a callback on the way, in microseconds."""
    with Service(binary) as service:
        for _ in range(200):
            echo(service)
            callback(service)
        return [statistics.median(one(service) for _ in range(n)) / 1000 for one in (echo, callback)]


def chains(binary, n):
    """Microseconds of CPU time that ten interceptors cost a request, by where they stand."""
    with Service(binary) as service:
        named = [service.call("interceptor.create", {"interceptor": one})["interceptor"] for one in TEN]
        plain = service.call("session.create", {})["session"]
        session = service.call("session.create", {"interceptors": named})["session"]
        spec = {"url": NOWHERE, "handles": False}
        cells = {
            "session": ({**spec, "session": plain}, {**spec, "session": session}),
            "named": (spec, {**spec, "interceptors": named}),
            "inline": (spec, {**spec, "interceptors": TEN}),
        }
        found = {}
        for name, pair in cells.items():
            texts, costs = [call("data.send", params) for params in pair], [[], []]
            for number in range(max(2, n // BLOCK) * 2):
                text, begun = texts[number % 2], service.cpu()
                for _ in range(BLOCK):
                    service.line(text)
                costs[number % 2].append((service.cpu() - begun) / BLOCK / 1000)
            # what disturbs only ever adds
            found[name], found["request"] = min(costs[1]) - min(costs[0]), min(costs[0])
        return found


def main():
    built = [ROOT / ".build/release/outrider", ROOT / ".build/debug/outrider"]
    binary = sys.argv[1] if len(sys.argv) > 1 else str(next(path for path in built if path.exists()))
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 5000
    plain, called = round_trips(binary, n)
    print("echo %.1f us, with a callback %.1f us: the callback %.1f us" % (plain, called, called - plain))
    cost = chains(binary, n)
    print("request %(request).1f us CPU; ten interceptors: of a session %(session).1f us, named %(named).1f us, "
          "inline %(inline).1f us" % cost)


if __name__ == "__main__":
    main()
