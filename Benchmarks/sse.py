#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""100,000 server-sent events through Python clients, side by side in one run: events a second, medians.

sse.py [--quick] [--rounds N] [--json FILE] [--strict]

Two servers: one sends all events at once over HTTP, the other one TLS record for each, made before the first is sent.
A client's time is that from its first event to its last, all of them in its hands; curl throws them away. Reach is
httpx-sse's rate in a burst, and twice that over HTTPS. Run it with .build/bench/bin/python, after
`scripts/setup --bench` and a release build ($OUTRIDER, else .build/release/outrider).
"""
import asyncio
import contextlib
import json
import os
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import origin  # noqa: E402
from run import Bench, arguments, told  # noqa: E402

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
CHUNK = '{"id":"chatcmpl-7","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":" w%d"}}]}'
MODEL = "data: " + CHUNK + "\n\n"
SHORT = "data: %d\n\n"


# The origin


def serve(folder):
    """Plain and TLS listeners in a process of their own; prints their ports, ends with its parent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(folder, "leaf.pem"), os.path.join(folder, "leaf.key"))
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in "ab"]
    for listener, respond in zip(listeners, (burst, lambda stream: records(stream, context))):
        threading.Thread(target=accept, args=(listener, respond), daemon=True).start()
    print(*(listener.getsockname()[1] for listener in listeners), flush=True)
    sys.stdin.read()


def accept(listener, respond):
    while True:
        stream, _ = listener.accept()
        with stream:
            try:
                respond(stream)
            except OSError as problem:
                print("origin: %s" % problem, file=sys.stderr)


def wanted(path):
    """The events that a path such as /model/1000 asks for, as bytes."""
    _, kind, count = path.split("/")
    form = MODEL if kind == "model" else SHORT
    return [(form % number).encode() for number in range(int(count))]


def burst(stream):
    request = b""
    while b"\r\n\r\n" not in request:
        request += stream.recv(65536)
    events = b"".join(wanted(request.split(b" ")[1].decode()))
    stream.sendall(HEAD)
    stream.sendall(events)


def records(stream, context):
    """Speaks TLS through memory, so that all records are there before the first is sent."""
    arrived, leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(arrived, leaving, server_side=True)

    def until(work):
        while True:
            try:
                return work()
            except ssl.SSLWantReadError:
                stream.sendall(leaving.read())
                arrived.write(stream.recv(65536))

    until(tls.do_handshake)
    request = until(lambda: tls.read(65536))
    tls.write(HEAD)
    stream.sendall(leaving.read())
    for event in wanted(request.split(b" ")[1].decode()):
        tls.write(event)
    with contextlib.suppress(ssl.SSLWantReadError):
        # says that this is the end; a reply is not waited for
        tls.unwrap()
    stream.sendall(leaving.read())


# The clients, each in a process of its own


class Clock:
    """From the first event to the last."""

    def __init__(self):
        self.count, self.began = 0, None

    def through(self, events):
        for event in events:
            if self.began is None:
                self.began = time.perf_counter()
            self.count += 1
            event.data  # noqa: B018
        return self.told()

    async def through_async(self, events):
        async for event in events:
            if self.began is None:
                self.began = time.perf_counter()
            self.count += 1
            event.data  # noqa: B018
        return self.told()

    def told(self):
        print(json.dumps({"n": self.count, "seconds": time.perf_counter() - self.began}))


def httpx_sse(url, ca):
    import httpx
    from httpx_sse import connect_sse

    with httpx.Client(verify=origin.context(ca)) as client, connect_sse(client, "GET", url) as source:
        Clock().through(source.iter_sse())


def outrider(url, _):
    import outrider

    with outrider.Client() as client:
        Clock().through(client.sse(url, reconnect=False))


def outrider_async(url, _):
    import outrider

    async def main():
        async with outrider.AsyncClient() as client:
            await Clock().through_async(client.sse(url, reconnect=False))

    asyncio.run(main())


CLIENTS = {"httpx-sse": httpx_sse, "outrider": outrider, "outrider_async": outrider_async}


# The rows


class EventBench(Bench):
    def client(self, name, url, count):
        if name == "curl":
            form = "%{time_starttransfer} %{time_total}"
            command = ("curl", "-sSN", "--cacert", self.ca, "-o", "/dev/null", "-w", form, url)
            first, last = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.split()
            return count / (float(last) - float(first))
        command = (sys.executable, os.path.abspath(__file__), "--client", name, url, self.ca)
        told = json.loads(subprocess.run(command, env=self.env, check=True, stdout=subprocess.PIPE).stdout)
        assert told["n"] == count, "%s got %d events of %d" % (name, told["n"], count)
        return told["n"] / told["seconds"]

    def events(self, title, url, count, factor):
        names = ("curl", *CLIENTS)
        samples = self.interleave({name: (lambda name=name: self.client(name, url, count)) for name in names})
        medians = {name: statistics.median(some) for name, some in samples.items()}
        self.row(title, "events/s", medians, [("httpx-sse", factor)])


def main():
    parser = arguments(__doc__, "a fifth of the events")
    parser.add_argument("--origin", metavar="FOLDER", help="for the benchmark itself")
    parser.add_argument("--client", nargs=3, help="for the benchmark itself")
    options = parser.parse_args()
    if options.origin:
        return serve(options.origin)
    if options.client:
        return CLIENTS[options.client[0]](*options.client[1:])
    count = 20_000 if options.quick else 100_000
    with tempfile.TemporaryDirectory(prefix="outrider-bench-") as folder:
        origin.certificates(folder)
        command = (sys.executable, os.path.abspath(__file__), "--origin", folder)
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        http, https = map(int, server.stdout.readline().split())
        bench = EventBench(options, folder, http, https, os.path.join(folder, "ca.pem"))
        bench.start_daemon()
        try:
            plain, secure = "http://localhost:%d" % http, "https://localhost:%d" % https
            bench.events("short events in a burst, HTTP", "%s/short/%d" % (plain, count), count, 1)
            bench.events("events of a model in a burst, HTTP", "%s/model/%d" % (plain, count), count, 1)
            bench.events("events of a model, a TLS record each", "%s/model/%d" % (secure, count), count, 2)
        finally:
            bench.stop_daemon()
            server.stdin.close()
            server.wait()
    return told(bench.rows, options)


if __name__ == "__main__":
    sys.exit(main())
