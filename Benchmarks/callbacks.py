#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What a question to the client costs on stdio, and what ten interceptors cost a request.

    Benchmarks/callbacks.py [OUTRIDER] [N]

Prints the medians in microseconds. A question costs what `diagnostics.callback` takes beyond `diagnostics.echo`;
interceptors cost what a request with them takes beyond one without, to a port where nobody listens, turn by turn.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHAIN = [{"chain": [{"headers": {"X-%d" % number: "1"}} for number in range(10)]}]


class Service:
    """A service on stdio, asked by whole lines."""

    def __init__(self, binary):
        self.process = subprocess.Popen([binary, "serve", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.writer, self.reader = self.process.stdin.fileno(), self.process.stdout.fileno()

    def line(self, text):
        os.write(self.writer, text)
        return os.read(self.reader, 1 << 16)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def call(method, params):
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, separators=(",", ":"))
    return text.encode() + b"\n"


def echo(service):
    begun = time.perf_counter_ns()
    service.line(call("diagnostics.echo", {}))
    return time.perf_counter_ns() - begun


def question(service):
    asked = call("diagnostics.callback", {})
    begun = time.perf_counter_ns()
    number = service.line(asked).split(b'"id":')[1].split(b",")[0]
    service.line(b'{"jsonrpc":"2.0","id":' + number + b',"result":{}}\n')
    return time.perf_counter_ns() - begun


def requests(service, n):
    """Medians without and with interceptors, measured alternately."""
    spec = {"url": "http+unix://%2Fnowhere/", "handles": False}
    texts = [call("data.send", spec), call("data.send", {**spec, "interceptors": CHAIN})]
    found = [[], []]
    for _ in range(n):
        for text, times in zip(texts, found):
            begun = time.perf_counter_ns()
            service.line(text)
            times.append(time.perf_counter_ns() - begun)
    return [statistics.median(times) / 1000 for times in found]


def main():
    built = [ROOT / ".build/release/outrider", ROOT / ".build/debug/outrider"]
    binary = sys.argv[1] if len(sys.argv) > 1 else str(next(path for path in built if path.exists()))
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 5000
    service = Service(binary)
    for _ in range(200):
        echo(service)
        question(service)
    plain = statistics.median(echo(service) for _ in range(n)) / 1000
    asked = statistics.median(question(service) for _ in range(n)) / 1000
    print("echo %.1f us, with a question %.1f us: the question %.1f us" % (plain, asked, asked - plain))
    without, with_ten = requests(service, n)
    print("request %.1f us, with ten interceptors %.1f us: the ten %.1f us" % (without, with_ten, with_ten - without))
    service.close()


if __name__ == "__main__":
    main()
