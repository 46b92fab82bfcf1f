#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Outrider beside its peers against nginx on loopback, interleaved in one run: medians, ratios, CPU per request.

run.py [--quick] [--only ROW] [--rounds N] [--json FILE] [--strict]

`make bench` installs the peers and builds the release binary ($OUTRIDER, else .build/release/outrider). Absolute times
mean little on a shared machine; the ratios are what counts. With --strict the exit status is 1 if a reach is missed.
"""
import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import callbacks  # noqa: E402
import origin  # noqa: E402

PEERS = ("requests", "httpx", "aiohttp", "pycurl")


class Bench:
    def __init__(self, options, folder, http, https, ca):
        self.options, self.folder, self.ca = options, folder, ca
        self.url = "https://localhost:%d/1k.json" % https
        self.https = https
        self.binary = os.path.abspath(os.environ.get("OUTRIDER") or os.path.join(HERE, "../.build/release/outrider"))
        self.socket = os.path.join(folder, "bench.sock")
        self.env = dict(os.environ, OUTRIDER_SOCKET=self.socket, SSL_CERT_FILE=ca, REQUESTS_CA_BUNDLE=ca)
        client = os.path.join(HERE, "..", "clients", "python", "src")
        self.env["PYTHONPATH"] = os.pathsep.join((HERE, client))
        # as an installed package is, like those of the peers
        subprocess.run((sys.executable, "-m", "compileall", "-q", client), check=True)
        self.daemon = None
        self.rows = []

    # ---- the daemon

    def start_daemon(self):
        start = time.perf_counter()
        command = (self.binary, "serve", "--socket", self.socket)
        self.daemon = subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.env["BENCH_DAEMON"] = str(self.daemon.pid)
        while True:
            try:
                self.call("server.info")
                return time.perf_counter() - start
            except OSError:
                if self.daemon.poll() is not None or time.perf_counter() - start > 10:
                    raise SystemExit("the daemon did not start") from None
                time.sleep(0.0005)

    def stop_daemon(self):
        self.daemon.terminate()
        self.daemon.wait()

    def call(self, method, params=None):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.socket)
            frame = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
            client.sendall(json.dumps(frame).encode() + b"\n")
            return json.loads(client.makefile().readline())["result"]

    def resident(self, pid):
        with open("/proc/%d/status" % pid) as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) / 1024

    # ---- running

    def workload(self, work, peer, n, url=None):
        command = (sys.executable, os.path.join(HERE, "workloads.py"), work, peer, str(n), url or self.url, self.ca)
        out = subprocess.run(command, env=self.env, check=True, stdout=subprocess.PIPE).stdout
        return json.loads(out) if out else None

    def timed(self, *command, **kwargs):
        start = time.perf_counter()
        subprocess.run(command, env=self.env, check=True, stdout=subprocess.DEVNULL, **kwargs)
        return time.perf_counter() - start

    def interleave(self, cells, rounds=None):
        """cells: name -> callable giving a sample; every round runs each of them once, in turn."""
        samples = {name: [] for name in cells}
        for _ in range(rounds or self.options.rounds):
            for name, cell in cells.items():
                samples[name].append(cell())
        return samples

    def row(self, title, unit, values, reach=None, cpu=None, smaller=False):
        """values: name -> number; reach: list of (peer, factor) that outrider must reach, or an absolute number."""
        self.rows.append({"row": title, "unit": unit, "values": values, "cpu_us": cpu, "reach": reach})
        print("\n%s (%s)" % (title, unit))
        ours = {name: value for name, value in values.items() if name.startswith("outrider")}
        best = (min if smaller else max)(ours.values())
        for name, value in values.items():
            ratio = value / best if smaller else best / value
            form = "%.3f" if unit == "s" else "%.1f" if value < 1000 else "%.0f"
            line = "  %-18s %12s" % (name, form % value)
            if name not in ours:
                line += "   outrider is %.2f x" % ratio
            if cpu and name in cpu:
                line += "   %7.0f us CPU a request" % cpu[name]
            print(line)
        missed = []
        for peer, factor in reach or ():
            wanted = factor if peer is None else (values[peer] / factor if smaller else values[peer] * factor)
            good = best <= wanted if smaller else best >= wanted
            name = "%.4g %s" % (factor, unit) if peer is None else "%g x %s" % (factor, peer)
            print("  reach %-24s %s" % (name, "yes" if good else "NO"))
            if not good:
                missed.append(name)
        self.rows[-1]["missed"] = missed
        sys.stdout.flush()

    # ---- the rows of the table

    def rates(self, title, work, counts, reach, unit="requests/s"):
        samples = self.interleave({name: (lambda p=name, n=n: self.workload(work, p, n)) for name, n in counts.items()})
        rate = {p: statistics.median(s["n"] / s["seconds"] for s in runs) for p, runs in samples.items()}
        cpu = {p: statistics.median(1e6 * s["cpu"] / s["n"] for s in runs) for p, runs in samples.items()}
        self.row(title, unit, rate, reach, cpu)

    def sequential(self):
        k = 1 if self.options.quick else 4
        counts = {"curl": 25, "requests": 500 * k, "httpx": 500 * k, "aiohttp": 1000 * k, "pycurl": 1500 * k,
                  "outrider": 1500 * k}
        self.rates("one after the other, HTTPS, 1 KB", "sequential", counts, [("requests", 3), ("aiohttp", 1)])

    def parallel(self):
        k = 1 if self.options.quick else 4
        counts = {"curl": 100, "requests": 640 * k, "httpx": 320 * k, "aiohttp": 3200 * k, "pycurl": 6400 * k,
                  "outrider": 6400 * k, "outrider_async": 6400 * k}
        self.rates("64 at once, HTTPS, 1 KB", "parallel", counts, [("aiohttp", 2)])

    def form(self):
        k = 1 if self.options.quick else 4
        counts = {"urllib": 100 * k, "outrider": 100 * k}
        self.rates("encode.form of 1,000 fields, with the call", "form", counts, [("urllib", 1)], "forms/s")

    def script(self, peer, n, url=None):
        url = url or self.url
        if peer == "curl":
            return ("sh", "-c", "; ".join(["curl -sS -o /dev/null --cacert %s %s" % (self.ca, url)] * n))
        return (sys.executable, os.path.join(HERE, "scripts.py"), peer, str(n), url, self.ca)

    def cold(self):
        names = ("curl",) + PEERS + ("outrider",)
        cells = {p: (lambda p=p: 1000 * self.timed(*self.script(p, 1))) for p in names}
        cells["python -c pass"] = lambda: 1000 * self.timed(sys.executable, "-c", "pass")
        cells["import outrider"] = lambda: 1000 * self.timed(sys.executable, "-c", "import outrider")
        samples = self.interleave(cells, self.options.rounds * 3)
        medians = {name: statistics.median(s) for name, s in samples.items()}
        bare, imported = medians.pop("python -c pass"), medians.pop("import outrider")
        self.row("one cold script, one HTTPS call", "ms", medians, [(None, 25)], smaller=True)
        print("  python -c pass %.1f ms; import outrider costs %.1f ms (at most 12)" % (bare, imported - bare))

    def crowd(self, peer, url=None):
        start = time.perf_counter()
        script, quiet = self.script(peer, 5, url), subprocess.DEVNULL
        running = [subprocess.Popen(script, env=self.env, stdout=quiet) for _ in range(20)]
        if any([process.wait() for process in running]):
            raise SystemExit("a script with %s failed" % peer)
        return time.perf_counter() - start

    def scripts(self):
        names = ("curl", "requests", "requests_get", "httpx", "aiohttp", "pycurl", "outrider")
        samples = self.interleave({p: (lambda p=p: self.crowd(p)) for p in names})
        medians = {p: statistics.median(s) for p, s in samples.items()}
        self.row("20 scripts of 5 HTTPS calls", "s", medians, [(None, 0.55)], smaller=True)

    def far_scripts(self):
        proxy = origin.DelayProxy(self.https, 0.02)
        url = "https://localhost:%d/1k.json" % proxy.port
        names = ("curl", "requests", "requests_get", "pycurl", "outrider")
        four = {p: (lambda p=p: sum(self.timed(*self.script(p, 5, url)) for _ in range(4))) for p in names}
        samples = self.interleave(four)
        proxy.stop()
        medians = {p: 5 * statistics.median(s) for p, s in samples.items()}
        self.row("20 scripts of 5 HTTPS calls in a row, 20 ms away", "s", medians, [(None, 2.8)], smaller=True)
        print("  a round trip as measured %.1f ms" % (proxy.round_trip * 1000))

    def editor_calls(self, editor, kind, url):
        clients = os.path.join(HERE, "..", "clients")
        env = dict(self.env, BENCH_URL=url, BENCH_CA=self.ca, BENCH_KIND=kind, BENCH_N="100", OUTRIDER=self.binary,
                   BENCH_CLIENTS=clients)
        command = {
            "Neovim": ("nvim", "--headless", "-u", "NONE", "-c", "luafile %s/nvim_calls.lua" % HERE, "-c", "qa!"),
            "Emacs": ("emacs", "-Q", "--batch", "-l", os.path.join(HERE, "emacs_calls.el")),
        }[editor]
        done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        found = re.search(rb"\{.*\}", done.stdout + done.stderr)
        if not found:
            raise SystemExit("%s: %s" % (editor, (done.stderr or done.stdout).decode()))
        return json.loads(found.group())["seconds"]

    def editor(self):
        """The clients for editors, over the shared service, beside a curl for each request."""
        proxy = origin.DelayProxy(self.https, 0.02)
        far = "https://localhost:%d/1k.json" % proxy.port
        for editor in ("Neovim", "Emacs"):
            near = 0.10 if editor == "Neovim" else 0.50
            for where, url, reach in (("", self.url, near), (", 20 ms away", far, 2.3)):
                cells = {kind: (lambda kind=kind, url=url, editor=editor: self.editor_calls(editor, kind, url))
                         for kind in ("curl", "outrider")}
                medians = {kind: statistics.median(some) for kind, some in self.interleave(cells).items()}
                self.row("100 HTTPS calls from %s%s" % (editor, where), "s", medians, [(None, reach)], smaller=True)
        print("  a round trip as measured %.1f ms" % (proxy.round_trip * 1000))
        proxy.stop()

    def shell(self):
        frame = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "data.send", "params": {"url": self.url}})
        line = "printf '%%s\\n' '%s' | socat -t 10 - UNIX-CONNECT:%s" % (frame, self.socket)
        cells = {"curl": lambda: 1000 * self.timed(*self.script("curl", 1)),
                 "outrider": lambda: 1000 * self.timed("sh", "-c", line)}
        samples = self.interleave(cells, self.options.rounds * 4)
        self.row("printf … | socat, one HTTPS call", "ms", {p: statistics.median(s) for p, s in samples.items()},
                 [(None, 10)], smaller=True)

    def upload(self):
        """One gigabyte in a form, from a file, to a server that throws it away; what the daemon holds meanwhile."""
        size = 1 << (28 if self.options.quick else 30)
        path = os.path.join(self.folder, "gigabyte")
        with open(path, "wb") as file:
            block = os.urandom(1 << 20)
            for _ in range(size >> 20):
                file.write(block)
        sink, peak = origin.Sink(), [0.0]
        params = {"url": sink.url, "body": {"multipart": [{"name": "file", "file": path}]}, "timeout": 120}

        def outrider():
            ended = threading.Event()

            def watch():
                while not ended.wait(0.05):
                    peak[0] = max(peak[0], self.resident(self.daemon.pid))

            watcher = threading.Thread(target=watch)
            watcher.start()
            start = time.perf_counter()
            result = self.call("upload.send", params)
            seconds = time.perf_counter() - start
            ended.set()
            watcher.join()
            assert result["ok"] and int(result["body"]["text"]) > size, result
            return size / seconds / 1e6

        command = ("curl", "-sS", "-o", "/dev/null", "-H", "Expect:", "-F", "file=@" + path, sink.url)
        samples = self.interleave({"curl": lambda: size / self.timed(*command) / 1e6, "outrider": outrider})
        rates = {name: statistics.median(some) for name, some in samples.items()}
        self.row("%d MiB in a multipart form, HTTP" % (size >> 20), "MB/s", rates, [("curl", 0.9)])
        self.row("memory during such uploads", "MB", {"outrider": peak[0]}, [(None, 40)], smaller=True)
        sink.stop()
        os.unlink(path)

    def process(self):
        starts, idle = [], []
        for _ in range(self.options.rounds * 2):
            self.stop_daemon()
            starts.append(1000 * self.start_daemon())
            time.sleep(0.2)
            idle.append(self.resident(self.daemon.pid))
        start = {"outrider": statistics.median(starts)}
        self.row("process start to first reply", "ms", start, [(None, 15)], smaller=True)
        self.row("idle memory", "MB", {"outrider": statistics.median(idle)}, [(None, 25)], smaller=True)
        print("  binary %.1f MB" % (os.path.getsize(self.binary) / 1e6))


    def callback(self):
        """What a callback to the client's code costs, on stdio."""
        n = 1000 if self.options.quick else 5000
        echo, called = callbacks.round_trips(self.binary, n)
        self.row("one callback round trip, stdio", "us", {"outrider": called - echo}, [(None, 100)], smaller=True)

    def chain(self):
        """What ten declarative interceptors cost a request, in CPU time of the service."""
        cost = callbacks.chains(self.binary, 1000 if self.options.quick else 5000)
        for name, title in (("session", "of a session"), ("named", "named by the request"), ("inline", "inline")):
            reach = [(None, 5)] if name == "session" else None
            self.row("ten interceptors " + title, "us", {"outrider": cost[name]}, reach, smaller=True)


ROWS = ("sequential", "parallel", "cold", "scripts", "far_scripts", "editor", "shell", "form", "upload", "process",
        "callback", "chain")


def arguments(page, quick, rows=()):
    """A parser of what all benchmarks take."""
    parser = argparse.ArgumentParser(description=page.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help=quick)
    if rows:
        parser.add_argument("--only", choices=rows, action="append")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--strict", action="store_true")
    return parser


def told(rows, options):
    """Says what was missed; the exit status."""
    if options.json:
        with open(options.json, "w") as out:
            json.dump(rows, out, indent=1)
    missed = [(row["row"], name) for row in rows for name in row["missed"]]
    print("\n%d rows, %d missed%s" % (len(rows), len(missed), "".join("\n  %s: %s" % one for one in missed)))
    return 1 if missed and options.strict else 0


def main():
    options = arguments(__doc__, "a quarter of the requests", ROWS).parse_args()
    with tempfile.TemporaryDirectory(prefix="outrider-bench-") as folder, origin.nginx(folder) as (http, https, ca):
        bench = Bench(options, folder, http, https, ca)
        bench.start_daemon()
        try:
            for name in options.only or ROWS:
                getattr(bench, name)()
        finally:
            bench.stop_daemon()
    return told(bench.rows, options)


if __name__ == "__main__":
    sys.exit(main())
