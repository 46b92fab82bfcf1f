#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What the Python client adds to a call: beside a bare socket loop with `json`, and beside requests for long bodies.

    Benchmarks/client.py [--rounds N] [--calls N] [--json FILE]

$OUTRIDER is the binary; without it the release build. Needs nginx, and requests for the long bodies. All programs take
turns in one process and one run. Each row is the median of the rounds: µs of wall time and of CPU of this process for a
call, and the ratio of both to the row that it is compared with.
"""

import argparse
import asyncio
import base64
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "clients/python/src"), str(ROOT / "Benchmarks")]
import origin  # noqa: E402

# the service puts up to 8 MiB into a result
LENGTHS = {"100 KiB": 100 << 10, "1 MiB": 1 << 20, "4 MiB": 4 << 20}


def frame(number, url):
    params = {"url": url, "serialize": {"as": "base64"}}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "data.send", "params": params}).encode() + b"\n"


def body(message):
    return json.loads(base64.b64decode(message["result"]["body"]["base64"]))


class Bare:
    """A socket and `json`, and nothing else."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.number = 0

    def call(self, method, params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.socket.sendall(json.dumps(message).encode() + b"\n")
        data = self.socket.recv(1 << 16)
        while data[-1] != 10:
            data += self.socket.recv(1 << 16)
        return json.loads(data)

    def get(self, url):
        return self.call("data.send", {"url": url, "serialize": {"as": "base64"}})

    def many(self, urls, window=64):
        """All of them, with so many on their way; the messages in their order."""
        found, first, rest, done = [None] * len(urls), self.number + 1, b"", 0
        while done < len(urls):
            sent = self.number + 1 - first
            upto = min(len(urls), done + window)
            if upto > sent:
                self.socket.sendall(b"".join([frame(first + place, urls[place]) for place in range(sent, upto)]))
                self.number += upto - sent
            *lines, rest = (rest + self.socket.recv(1 << 18)).split(b"\n")
            for line in lines:
                message = json.loads(line)
                found[message["id"] - first] = message
                done += 1
        return found


class BareProtocol(asyncio.Protocol):
    """The same for asyncio: a future for each call."""

    def __init__(self, loop):
        self.loop, self.rest, self.waiting, self.number = loop, b"", {}, 0

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            self.waiting.pop(message["id"]).set_result(message)

    async def get(self, url):
        self.number += 1
        future = self.waiting[self.number] = self.loop.create_future()
        self.transport.write(frame(self.number, url))
        return await future


def repeated(call):
    def work(count):
        for _ in range(count):
            call()

    return work


def small(client, bare, url):
    """Name, work, and what it is compared with: one call after the other, and many at once."""
    text = "x" * 1024
    session = client.session()
    return [
        ("echo of 1 KiB, bare", repeated(lambda: bare.call("diagnostics.echo", {"text": text})), None),
        ("echo of 1 KiB, client.call", repeated(lambda: client.call("diagnostics.echo", text=text)), 1.15),
        ("JSON of 1 KiB, bare", repeated(lambda: body(bare.get(url))), None),
        ("JSON of 1 KiB, client.get", repeated(lambda: client.get(url).json()), 1.15),
        ("JSON of 1 KiB, session.get", repeated(lambda: session.get(url).json()), 1.15),
        ("64 at once, bare", lambda count: [body(one) for one in bare.many([url] * count)], None),
        ("64 at once, client.many", lambda count: [one.json() for one in client.many([url] * count)], 1.3),
    ]


def awaited(loop, path, url):
    import outrider

    client = outrider.AsyncClient(socket=path, spawn=False)
    _, bare = loop.run_until_complete(loop.create_unix_connection(lambda: BareProtocol(loop), path))

    async def ours():
        return (await client.get(url)).json()

    async def theirs():
        return body(await bare.get(url))

    def work(call):
        async def worker(count):
            for _ in range(count):
                await call()

        async def workers(count):
            await asyncio.gather(*[worker(max(1, count // 64)) for _ in range(64)])

        return lambda count: loop.run_until_complete(workers(count))

    rows = [("64 tasks, bare", work(theirs), None), ("64 tasks, AsyncClient.get", work(ours), 1.3)]
    return rows, lambda: loop.run_until_complete(client.close())


def long(client, base, name, ca):
    try:
        import requests
    except ImportError:
        print("requests is not installed: no rows of long bodies")
        return []
    peer = requests.Session()
    peer.trust_env, peer.verify = False, ca
    url = f"{base}/{name.replace(' ', '')}.json"

    def streamed():
        with client.get(url, body_to="stream") as response:
            return sum(map(len, response.iter_bytes()))

    def peer_streamed():
        return sum(map(len, peer.get(url, stream=True).iter_content(1 << 16)))

    assert client.get(url).content == client.get(url).content == peer.get(url).content
    assert streamed() == peer_streamed()
    kind = f"{name}, {base.partition(':')[0]}"
    return [
        (f"{kind}, content, requests", repeated(lambda: peer.get(url).content), None),
        (f"{kind}, content, client.get", repeated(lambda: client.get(url).content), 1.0),
        (f"{kind}, json(), requests", repeated(lambda: peer.get(url).json()), None),
        (f"{kind}, json(), client.get", repeated(lambda: client.get(url).json()), 0.8),
        (f"{kind}, stream, requests", repeated(peer_streamed), None),
        (f"{kind}, stream, client.get", repeated(streamed), 1.0),
    ]


def measured(work, count):
    cpu, wall = time.process_time(), time.perf_counter()
    work(count)
    return (time.perf_counter() - wall) / count * 1e6, (time.process_time() - cpu) / count * 1e6


def compared(rows, count, rounds, found):
    samples = {name: [] for name, _, _ in rows}
    for _, work, _ in rows:
        work(64)
    for _ in range(rounds):
        for name, work, _ in rows:
            samples[name].append(measured(work, count))
    beside = None
    for name, _, goal in rows:
        wall, cpu = (statistics.median(values) for values in zip(*samples[name]))
        line = f"{name:<40} {wall:9.1f} µs {cpu:9.1f} µs CPU"
        row = {"what": name, "wall_us": wall, "cpu_us": cpu, "goal": goal}
        if goal is None:
            beside = wall, cpu
        else:
            row.update(wall_ratio=wall / beside[0], cpu_ratio=cpu / beside[1])
            line += f"   {row['wall_ratio']:.2f} x, {row['cpu_ratio']:.2f} x CPU, goal {goal}"
        print(line, flush=True)
        found.append(row)


def write_bodies(folder):
    www = folder / "www"
    www.mkdir()
    for name, size in LENGTHS.items():
        rows = [{"id": n, "name": f"row {n}", "value": n * 1.5, "note": "x" * 20} for n in range(size // 88)]
        text = json.dumps(rows)[:-1].ljust(size - 1) + "]"
        assert len(text) == size
        www.joinpath(name.replace(" ", "") + ".json").write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=640)
    parser.add_argument("--json")
    options = parser.parse_args()
    binary = os.environ.get("OUTRIDER") or str(ROOT / ".build/release/outrider")
    found = []
    with tempfile.TemporaryDirectory(prefix="outrider-bench-") as place:
        folder = pathlib.Path(place)
        write_bodies(folder)
        with origin.nginx(place) as (http, https, ca):
            path = str(folder / "socket")
            command = [binary, "serve", "--socket", path]
            service = subprocess.Popen(command, env=dict(os.environ, SSL_CERT_FILE=ca), stdin=subprocess.DEVNULL)
            try:
                run(path, f"http://localhost:{http}", f"https://localhost:{https}", ca, options, found)
            finally:
                service.terminate()
                service.wait()
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")


def run(path, http, https, ca, options, found):
    import outrider

    while not os.path.exists(path):
        time.sleep(0.001)
    url = f"{http}/1k.json"
    with outrider.Client(socket=path, spawn=False) as client:
        compared(small(client, Bare(path), url), options.calls, options.rounds, found)
        rows, close = awaited(asyncio.new_event_loop(), path, url)
        compared(rows, options.calls, options.rounds, found)
        close()
        for base in (http, https):
            for name in LENGTHS:
                compared(long(client, base, name, ca), max(1, options.calls // 64), options.rounds, found)


if __name__ == "__main__":
    main()
