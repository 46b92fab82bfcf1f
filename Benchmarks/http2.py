#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""HTTP/2 beside httpx, curl and our own HTTP/1.1, and the codings beside their libraries, interleaved in one run.

http2.py [--quick] [--only ROW] [--rounds N] [--json FILE] [--strict]

The origin is nginx on loopback with TLS. Instructions a request are counted by instructions.py --kinds https,http2.
"""
import json
import os
import random
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import origin  # noqa: E402
from run import arguments, told  # noqa: E402
from transfers import MOST, Transfers  # noqa: E402

ROUND_TRIP = 0.02
CODED = """
    location /br/ {{ alias {folder}/www/; add_header Content-Encoding br; default_type text/plain; }}
    location /zstd/ {{ alias {folder}/www/; add_header Content-Encoding zstd; default_type text/plain; }}
"""


class HTTP2(Transfers):
    """The daemon of the other benchmarks, and nginx that agrees to HTTP/2."""

    # ---- many small requests

    def crowd(self):
        k = 1 if self.options.quick else 4
        counts = {"httpx_http2": 320 * k, "pycurl_http2": 3200 * k, "outrider_six": 3200 * k, "outrider": 3200 * k}
        samples = self.interleave({p: (lambda p=p, n=n: self.workload("parallel", p, n)) for p, n in counts.items()})
        self.rated("64 at once over one connection, 1 KB", samples,
                   [("httpx_http2", 8), ("pycurl_http2", 0.8), ("outrider_six", 1)])

    def far(self):
        proxy = origin.DelayProxy(self.https, ROUND_TRIP)
        url = f"https://localhost:{proxy.port}/1k.json"
        cells = {p: (lambda p=p: self.workload("parallel", p, 1024, url))
                 for p in ("httpx_http2", "pycurl_http2", "aiohttp", "outrider_six", "outrider")}
        samples = self.interleave(cells)
        proxy.stop()
        title = f"64 at once, {ROUND_TRIP * 1000:.0f} ms away"
        self.rated(title, samples, [("outrider_six", 5), ("aiohttp", 1)])

    def burst(self):
        """200 requests at once to a host far away."""
        proxy = origin.DelayProxy(self.https, ROUND_TRIP)
        url = f"https://localhost:{proxy.port}/1k.json"
        cells = {"outrider_six": lambda: self.sent_at_once(url, httpVersion="1.1", session=True),
                 "pycurl_http2": lambda: self.pycurl_at_once(url), "outrider": lambda: self.sent_at_once(url)}
        samples = self.interleave(cells)
        proxy.stop()
        values = {name: statistics.median(some) for name, some in samples.items()}
        self.row("200 requests at once, 20 ms away", "requests/s", values)
        self.judged(values["outrider"], 10 * values["outrider_six"], "10 x outrider_six")
        self.judged(values["outrider"], values["pycurl_http2"], "1 x pycurl_http2")

    def pycurl_at_once(self, url):
        """Requests a second of 200 handles of one multi, on a connection that is warm."""
        sample = self.workload("burst", "pycurl_http2", 200, url)
        return sample["n"] / sample["seconds"]

    def sent_at_once(self, url, session=False, **params):
        """Requests a second of 200, on a connection that is warm."""
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.socket)
            reader = client.makefile("rb")

            def call(count, method, params):
                calls = ({"jsonrpc": "2.0", "id": n, "method": method, "params": params} for n in range(count))
                client.sendall(b"".join(json.dumps(one).encode() + b"\n" for one in calls))
                return [json.loads(reader.readline())["result"] for _ in range(count)]

            if session:
                params["session"] = call(1, "session.create", {"connectionsPerHost": 6})[0]["session"]
            call(12, "data.send", {"url": url, **params})
            began = time.perf_counter()
            results = call(200, "data.send", {"url": url, **params})
            took = time.perf_counter() - began
            assert all(result["status"] == 200 for result in results), results[-1]
            return 200 / took

    def sequential(self):
        k = 1 if self.options.quick else 4
        counts = {"pycurl": 1000 * k, "outrider_http1": 1000 * k, "outrider": 1000 * k}
        samples = self.interleave({p: (lambda p=p, n=n: self.workload("sequential", p, n)) for p, n in counts.items()})
        self.rated("one after the other, HTTPS, 1 KB", samples, [("outrider_http1", 0.97)])

    def rated(self, title, samples, reach):
        rate = {p: statistics.median(s["n"] / s["seconds"] for s in runs) for p, runs in samples.items()}
        cpu = {p: statistics.median(1e6 * s["cpu"] / s["n"] for s in runs) for p, runs in samples.items()}
        self.row(title, "requests/s", rate, None, cpu)
        for peer, factor in reach:
            self.judged(rate["outrider"], factor * rate[peer], f"{factor:g} x {peer}")

    def judged(self, value, wanted, name):
        print(f"  reach {name:24} {'yes' if value >= wanted else 'NO'}", flush=True)
        if value < wanted:
            self.rows[-1]["missed"].append(name)

    # ---- long bodies

    def downward(self):
        url = f"https://localhost:{self.https}/gigabyte"
        self.transfer(
            f"{self.size >> 20} MiB down over HTTP/2", 0.8,
            {"curl": lambda: self.curl("--http2", "-o", "/dev/null", url),
             "outrider_http1": lambda: self.rate(lambda: self.ask(
                 "data.send", {"url": url, "bodyTo": "discard", "httpVersion": "1.1"})),
             "outrider": lambda: self.rate(lambda: self.ask(
                 "data.send", {"url": url, "bodyTo": "discard", "httpVersion": "2"}))})

    def upward(self):
        url = f"https://localhost:{self.https}/sink"
        self.transfer(
            f"{self.size >> 20} MiB up over HTTP/2", 0.8,
            {"curl": lambda: self.curl("--http2", "-o", "/dev/null", "-H", "Expect:", "-X", "POST", "-T", self.path,
                                       url),
             "outrider_http1": lambda: self.rate(lambda: self.taken(url, "1.1")),
             "outrider": lambda: self.rate(lambda: self.taken(url, "2"))})

    def taken(self, url, version):
        response = self.ask("upload.send", {"url": url, "body": {"file": self.path}, "httpVersion": version})
        assert int(response["body"]["text"]) >= self.size, response
        return response

    def far_down(self):
        """One stream, whose window has to grow."""
        proxy = origin.DelayProxy(self.https, ROUND_TRIP)
        path = os.path.join(self.folder, "www", "far")
        size, self.size = self.size, 1 << (25 if self.options.quick else 27)
        with open(path, "wb") as file:
            file.truncate(self.size)
        url = f"https://localhost:{proxy.port}/far"
        self.transfer(
            f"{self.size >> 20} MiB down over HTTP/2, 20 ms away", 0.6,
            {"curl": lambda: self.curl("--http2", "-o", "/dev/null", url),
             "outrider": lambda: self.rate(lambda: self.ask("data.send", {"url": url, "bodyTo": "discard"}))})
        self.size = size
        proxy.stop()

    def transfer(self, title, factor, cells):
        self.peak()
        samples = self.interleave(cells)
        ratios = [ours / theirs for ours, theirs in zip(samples["outrider"], samples["curl"])]
        self.row(title, "MB/s", {name: statistics.median(some) for name, some in samples.items()})
        self.judged(statistics.median(ratios), factor, f"{factor:g} x curl")
        held = self.peak()
        print(f"  memory {held:.1f} MB, at most {MOST}: {'yes' if held <= MOST else 'NO'}")
        if held > MOST:
            self.rows[-1]["missed"].append(f"{MOST} MB")

    # ---- codings

    def codings(self):
        """CPU of the service for a coded body, beside that of the program of the library."""
        plain = os.path.join(self.folder, "www", "plain")
        size = 1 << (26 if self.options.quick else 28)
        numbers = random.Random(1)
        with open(plain, "w") as file:
            while file.tell() < size:
                file.write("".join(f'{{"id": {numbers.getrandbits(40)}, "name": "item"}}\n' for _ in range(10000)))
        size = os.path.getsize(plain)
        for coding, pack, unpack in (("br", ("brotli", "-q", "5", "-w", "22"), ("brotli", "-dc")),
                                     ("zstd", ("zstd", "-q", "-3", "--no-check"), ("zstd", "-dcq"))):
            coded = os.path.join(self.folder, "www", "coded." + coding)
            subprocess.run((*pack, "-f", "-o", coded, plain), check=True)
            url = f"https://localhost:{self.https}/{coding}/coded.{coding}"

            def ours(url=url):
                before = self.cpu()
                response = self.ask("data.send", {"url": url, "bodyTo": "discard"})
                assert response["body"]["size"] == size, response
                return size / (self.cpu() - before) / 1e6

            def theirs(coded=coded, unpack=unpack):
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run((*unpack, coded), stdout=subprocess.DEVNULL, check=True)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                return size / (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 1e6

            samples = self.interleave({unpack[0]: theirs, "outrider": ours})
            values = {name: statistics.median(some) for name, some in samples.items()}
            self.row(f"decoding {coding}, {size >> 20} MiB, CPU", "MB/s", values)
            self.judged(values["outrider"], 0.8 * values[unpack[0]], f"0.8 x {unpack[0]}")

    # ---- what is held

    def paused(self):
        """A hundred long bodies that are suspended, and a small request on the same connection."""
        url = f"https://localhost:{self.https}/gigabyte"
        self.peak()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.socket)
            reader = client.makefile("rb")

            def call(number, method, params):
                line = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                client.sendall(json.dumps(line).encode() + b"\n")
                while (reply := json.loads(reader.readline())).get("id") != number:
                    pass
                return reply["result"]

            for number in range(100):
                params = {"url": url, "bodyTo": "discard", "httpVersion": "2", "timeout": 600}
                call(number, "request.suspend", {"request": call(number, "data.start", params)["request"]})
            time.sleep(1)
            times, connections = [], set()
            for number in range(100, 120):
                began = time.perf_counter()
                response = call(number, "data.send", {"url": self.url, "httpVersion": "2", "metrics": True})
                times.append(time.perf_counter() - began)
                assert response["status"] == 200, response
                connections.add(response["metrics"]["attempts"][0]["connection"])
            # as many as the server allows are on one connection
            assert len(connections) == 1 and call(200, "server.stats", {})["pool"]["streams"] == 100
        self.row("a request beside 100 paused streams", "ms", {"outrider": 1000 * statistics.median(times)},
                 [(None, 50)], smaller=True)
        self.row("memory with 100 paused streams", "MB", {"outrider": self.peak()}, [(None, 100)], smaller=True)

    def unread(self):
        """Memory with a hundred long bodies in unread streams, after a pause for the bytes that may arrive."""
        self.peak()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.socket)
            reader = client.makefile("rb")
            for number in range(100):
                params = {"url": f"https://localhost:{self.https}/gigabyte", "httpVersion": "2", "mode": "pull"}
                line = {"jsonrpc": "2.0", "id": number, "method": "stream.open", "params": params}
                client.sendall(json.dumps(line).encode() + b"\n")
                while (reply := json.loads(reader.readline())).get("id") != number:
                    pass
                assert "result" in reply, reply
            time.sleep(2)
        self.row("memory with 100 unread streams", "MB", {"outrider": self.peak()}, [(None, 100)], smaller=True)

    def processor(self):
        """CPU of the service for a long body, in seconds: over HTTP/1.1, HTTP/2, and of curl."""
        url = f"https://localhost:{self.https}/gigabyte"

        def ours(version):
            before = self.cpu()
            self.ask("data.send", {"url": url, "bodyTo": "discard", "httpVersion": version})
            return self.cpu() - before

        def theirs():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(("curl", "-sS", "--http2", "--cacert", self.ca, "-o", "/dev/null", url), check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

        samples = self.interleave(
            {"curl": theirs, "outrider_http1": lambda: ours("1.1"), "outrider": lambda: ours("2")})
        values = {name: statistics.median(some) for name, some in samples.items()}
        self.row(f"CPU for {self.size >> 20} MiB down", "s", values, smaller=True)
        for peer in ("outrider_http1", "curl"):
            self.judged(1.2 * values[peer], values["outrider"], f"1.2 x {peer}")

    def idle(self):
        """Connections without a request, each to a name of its own: so many that threads and tables hardly count."""
        many = 200 if self.options.quick else 1000

        def held(version):
            def open_many(numbers):
                for number in numbers:
                    params = {"url": f"https://h{number}.localhost:{self.https}/1k.json", "trust": "none",
                              "httpVersion": version, "connectTo": f"127.0.0.1:{self.https}"}
                    assert self.call("data.send", params)["status"] == 200

            open_many(range(20))
            before = self.resident(self.daemon.pid)
            open_many(range(20, 20 + many))
            return 1024 * (self.resident(self.daemon.pid) - before) / many

        values = {"outrider_http1": held("1.1"), "outrider": held("2")}
        self.row("an idle connection", "KiB", values, [(None, 25)], smaller=True)

    def cpu(self):
        with open(f"/proc/{self.daemon.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


ROWS = ("downward", "upward", "far_down", "processor", "idle", "paused", "unread", "crowd", "sequential", "burst",
        "far", "codings")


def main():
    options = arguments(__doc__, "a quarter of the work", ROWS).parse_args()
    sink = origin.Sink()
    with tempfile.TemporaryDirectory(prefix="outrider-bench-") as folder:
        secure = origin.free_port()
        place = f"""
    listen 127.0.0.1:{secure} ssl http2; http2_chunk_size 16k; http2_max_concurrent_streams 256;
    location = /sink {{ client_max_body_size 0; client_body_buffer_size 256k; proxy_request_buffering off;
      proxy_pass {sink.url}; }}
""" + CODED.format(folder=folder)
        with origin.nginx(folder, place) as (http, _, ca):
            bench = HTTP2(options, folder, http, secure, ca, sink)
            bench.start_daemon()
            try:
                for name in options.only or ROWS:
                    getattr(bench, name)()
            finally:
                bench.stop_daemon()
                sink.stop()
    return told(bench.rows, options)


if __name__ == "__main__":
    sys.exit(main())
