#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""WebSockets beside websockets, aiohttp and picows, TCP streams beside socat, interleaved in one run: medians.

conversations.py [--quick] [--only ROW] [--rounds N] [--json FILE] [--strict]

Absolute numbers mean little on a shared machine; the ratios are what counts. Run it with .build/bench/bin/python, after
`scripts/setup --bench` and a release build ($OUTRIDER, else .build/release/outrider).
"""
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../Tests/Acceptance")]
import frames  # noqa: E402
from run import Bench, arguments, told  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")


# The clients, each in a process of its own


class Sync:
    """What websockets and Outrider have in common."""

    @staticmethod
    def connect(name, url):
        if name == "websockets":
            from websockets.sync.client import connect

            return connect(url, compression=None, max_size=None)
        import outrider

        return outrider.Client().websocket(url, compression=False, max_message=1 << 24)

    @classmethod
    def burst(cls, name, url):
        with cls.connect(name, url) as ws:
            ws.send("go")
            count, began = 0, None
            for _ in ws:
                if began is None:
                    began = time.perf_counter()
                count += 1
            return {"n": count, "seconds": time.perf_counter() - began}

    @classmethod
    def echo(cls, name, url, count):
        with cls.connect(name, url) as ws:
            times, message = [], "m" * 125
            for _ in range(int(count)):
                began = time.perf_counter()
                ws.send(message)
                ws.recv()
                times.append(time.perf_counter() - began)
            return {"n": int(count), "p50": statistics.median(times)}


class Async:
    """The same for asyncio; with aiohttp the names differ."""

    @staticmethod
    async def run(name, url, work):
        if name == "aiohttp":
            import aiohttp

            async with aiohttp.ClientSession() as session, session.ws_connect(url, max_msg_size=0) as ws:
                return await work(ws, ws.send_str, ws.receive)
        if name == "websockets_async":
            from websockets.asyncio.client import connect

            async with connect(url, compression=None, max_size=None) as ws:
                return await work(ws, ws.send, ws.recv)
        import outrider

        async with outrider.AsyncClient() as client:
            async with client.websocket(url, compression=False, max_message=1 << 24) as ws:
                return await work(ws, ws.send, ws.recv)

    @classmethod
    def burst(cls, name, url):
        async def work(ws, send, receive):
            await send("go")
            count, began = 0, None
            async for _ in ws:
                if began is None:
                    began = time.perf_counter()
                count += 1
            return {"n": count, "seconds": time.perf_counter() - began}

        return asyncio.run(cls.run(name, url, work))

    @classmethod
    def flight(cls, name, url, count):
        """64 messages are under way at any time."""

        async def work(ws, send, receive):
            message, began = "m" * 125, time.perf_counter()
            for _ in range(64):
                await send(message)
            for _ in range(int(count) - 64):
                await receive()
                await send(message)
            for _ in range(64):
                await receive()
            return {"n": int(count), "seconds": time.perf_counter() - began}

        return asyncio.run(cls.run(name, url, work))


class Callbacks:
    """picows has no loop over messages: a method of its listener gets each."""

    @staticmethod
    def burst(name, url):
        from picows import WSListener, WSMsgType, ws_connect

        class Counter(WSListener):
            count, began = 0, None

            def on_ws_connected(self, transport):
                transport.send(WSMsgType.TEXT, b"go")

            def on_ws_frame(self, transport, frame):
                if frame.msg_type == WSMsgType.CLOSE:
                    self.ended = time.perf_counter()
                    transport.send_close(frame.get_close_code())
                    transport.disconnect()
                    return
                frame.get_payload_as_utf8_text()
                self.began = self.began or time.perf_counter()
                self.count += 1

        async def work():
            transport, counter = await ws_connect(Counter, url, max_frame_size=1 << 24)
            await transport.wait_disconnected()
            return {"n": counter.count, "seconds": counter.ended - counter.began}

        return asyncio.run(work())


def client(work, name, *words):
    is_async = name.endswith("_async") or name == "aiohttp"
    kind = Callbacks if name == "picows" else Async if is_async else Sync
    print(json.dumps(getattr(kind, work)(name, *words)))


# The rows


class Conversations(Bench):
    def __init__(self, options, folder, web, source):
        super().__init__(options, folder, 0, 0, "")
        for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
            self.env.pop(name)
        self.web, self.source = f"ws://127.0.0.1:{web}", source

    def client(self, work, name, *words):
        command = (sys.executable, os.path.abspath(__file__), "--client", work, name, *map(str, words))
        return json.loads(subprocess.run(command, env=self.env, check=True, stdout=subprocess.PIPE).stdout)

    def bursts(self, title, count, size, reach):
        names = ("websockets", "websockets_async", "aiohttp", "picows", "outrider", "outrider_async")
        url, rates = f"{self.web}/burst/{count}/{size}", {}

        def once(name):
            found = self.client("burst", name, url)
            assert found["n"] == count, f"{name} got {found['n']} messages of {count}"
            return found["n"] / found["seconds"] * (size / 1e6 if size > 1000 else 1)

        samples = self.interleave({name: (lambda name=name: once(name)) for name in names})
        rates = {name: statistics.median(some) for name, some in samples.items()}
        self.row(title, "MB/s" if size > 1000 else "messages/s", rates, reach)

    def small(self):
        # a whole number of blocks of the server
        count = ((1 << 18) // 125) * (50 if self.options.quick else 200)
        self.bursts("receive 125 bytes in a burst", count, 125, [("websockets", 5), ("aiohttp", 1), ("picows", 0.8)])

    def middle(self):
        count = 1600 if self.options.quick else 6400
        self.bursts("receive 64 KiB", count, 65536, [("websockets", 1), ("aiohttp", 1), ("picows", 0.5)])

    def large(self):
        count = 100 if self.options.quick else 400
        self.bursts("receive 1 MiB", count, 1 << 20, [("websockets", 1), ("aiohttp", 1), ("picows", 0.5)])

    def echo(self):
        count = 2000 if self.options.quick else 8000
        names = ("websockets", "outrider")

        def once(name):
            return self.client("echo", name, f"{self.web}/echo", count)["p50"] * 1e6

        samples = self.interleave({name: (lambda name=name: once(name)) for name in names})
        medians = {name: statistics.median(some) for name, some in samples.items()}
        self.row("echo 125 bytes, p50", "µs", medians, [("websockets", 1 / 1.5)], smaller=True)

    def flight(self):
        count = 20_000 if self.options.quick else 100_000
        names = ("websockets_async", "aiohttp", "outrider_async")

        def once(name):
            found = self.client("flight", name, f"{self.web}/echo", count)
            return found["n"] / found["seconds"]

        samples = self.interleave({name: (lambda name=name: once(name)) for name in names})
        self.row("echo 125 bytes, 64 in flight", "messages/s",
                 {name: statistics.median(some) for name, some in samples.items()}, [("aiohttp", 1)])

    def busy(self):
        """Seconds of CPU of the daemon."""
        with open(f"/proc/{self.daemon.pid}/stat") as stat:
            words = stat.read().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / TICK

    def events(self):
        count = ((1 << 18) // 125) * (100 if self.options.quick else 400)
        rates, costs = [], []
        for _ in range(self.options.rounds):
            rate, cost = self.pushed(count)
            rates.append(rate)
            costs.append(cost)
        rate, cost = statistics.median(rates), statistics.median(costs)
        self.row("push events, batched, 125 bytes", "messages/s", {"outrider": rate}, [(None, 800_000)])
        self.row("push events, CPU of the service", "µs", {"outrider": cost}, [(None, 1.2)], smaller=True)

    def pushed(self, count):
        with frames.Client(self.socket) as client:
            stream = client.open(f"{self.web}/burst/{count}/125", mode="push", batch=True, compact=True, states=False,
                                 credit=1 << 30, compression=False)
            before, found, began = self.busy(), 0, None
            # a notification: nothing but events comes
            go = {"jsonrpc": "2.0", "method": "websocket.send", "params": {"stream": stream, "text": "go"}}
            client.socket.sendall(json.dumps(go).encode() + b"\n")
            while True:
                event = json.loads(client.file.readline())
                began = began or time.perf_counter()
                if event["method"] == "event.end":
                    break
                found += len(event["params"]["values"])
            seconds = time.perf_counter() - began
        assert found == count, f"{found} of {count}"
        return found / seconds, (self.busy() - before) / found * 1e6

    def idle(self):
        for title, path, many, most in (("idle", "idle", 4000, 20), ("compressed both ways", "deflate", 500, 100)):
            many //= 4 if self.options.quick else 1
            # a service that has freed memory would not grow
            self.stop_daemon()
            self.start_daemon()
            size, spared = self.opened(path, many)
            self.row(f"memory of a WebSocket, {title}", "KiB", {"outrider": size}, [(None, most)], smaller=True)
            if path == "idle":
                title = f"echo with {many} others open"
                self.row(title, "x the time without", {"outrider": spared}, [(None, 1.3)], smaller=True)

    def opened(self, path, many):
        """KiB of each, and how much longer an echo takes while all of them are open."""
        clients, streams = [], []
        try:
            with frames.Client(self.socket) as other:
                stream = other.open(f"{self.web}/echo", compression=False)
                self.echoes(other, stream)
                before, alone = self.resident(self.daemon.pid), self.echoes(other, stream)
                for number in range(many):
                    if number % 200 == 0:
                        clients.append(frames.Client(self.socket))
                    streams.append((clients[-1], clients[-1].open(f"{self.web}/{path}", ping=False)))
                if path == "deflate":
                    for one, stream_of in streams:
                        text = json.dumps({"price": 17.25, "name": "wolf", "sizes": list(range(200))})
                        one.call("websocket.send", stream=stream_of, text=text)
                        assert one.call("stream.read", stream=stream_of)["values"] == [{"text": text}]
                grown = (self.resident(self.daemon.pid) - before) * 1024 / many
                return grown, self.echoes(other, stream) / alone
        finally:
            for one in clients:
                one.socket.close()

    @staticmethod
    def echoes(client, stream):
        times = []
        for _ in range(1000):
            began = time.perf_counter()
            client.call("websocket.send", stream=stream, text="echo")
            client.call("stream.read", stream=stream)
            times.append(time.perf_counter() - began)
        return statistics.median(times)

    def tcp(self):
        size = 256 if self.options.quick else 1024
        ways = {"socat": self.through_socat, "outrider": self.captured}
        samples = self.interleave({name: (lambda way=way: self.copied(way, size)) for name, way in ways.items()})
        medians = {name: statistics.median(some) for name, some in samples.items()}
        self.row("TCP stream to a Unix socket", "MB/s", medians, [("socat", 0.66)])

    def copied(self, through, size):
        buffer, count = bytearray(1 << 18), 0
        with through() as stream:
            stream.sendall(b"%d" % size)
            began = time.perf_counter()
            while some := stream.recv_into(buffer):
                count += some
            assert count == size << 20, count
            return count / (time.perf_counter() - began) / 1e6

    def captured(self):
        # its streams end with the connection of a client
        self.owner = frames.Client(self.socket)
        return self.owner.attach(self.owner.call("tcp.open", host="127.0.0.1", port=self.source)["stream"])

    def through_socat(self):
        path = os.path.join(self.folder, f"socat-{time.monotonic_ns()}")
        subprocess.Popen(("socat", "-b262144", f"UNIX-LISTEN:{path}", f"TCP:127.0.0.1:{self.source}"))
        made = socket.socket(socket.AF_UNIX)
        while True:
            try:
                made.connect(path)
                return made
            except OSError:
                time.sleep(0.005)


ROWS = ("small", "middle", "large", "echo", "flight", "events", "idle", "tcp")


def main():
    parser = arguments(__doc__, "a quarter of the messages", ROWS)
    parser.add_argument("--client", nargs="+", help="for the benchmark itself")
    options = parser.parse_args()
    if options.client:
        return client(*options.client)
    with tempfile.TemporaryDirectory(prefix="outrider-bench-") as folder:
        command = (sys.executable, os.path.join(HERE, "conversation_server.py"))
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        bench = Conversations(options, folder, *map(int, server.stdout.readline().split()))
        bench.start_daemon()
        try:
            for name in options.only or ROWS:
                getattr(bench, name)()
        finally:
            bench.stop_daemon()
            server.stdin.close()
            server.wait()
    return told(bench.rows, options)


if __name__ == "__main__":
    sys.exit(main())
