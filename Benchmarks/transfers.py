#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Long bodies beside curl in one run: a gigabyte down and up, over HTTP and HTTPS, and what the daemon holds.

transfers.py [--quick] [--only ROW] [--rounds N] [--json FILE] [--strict]

Down comes from nginx. Up goes to a sink that reads as fast as it can and responds with the length (SINK in origin.py);
over HTTPS nginx undoes the encryption before it and hands every piece on at once. Each round runs every cell once, in
turn; a ratio is the median of the ratios within a round. A row whose method the service does not have says `absent`.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import origin  # noqa: E402
from run import Bench, arguments, told  # noqa: E402

MOST = 40
"""Megabytes that the daemon may hold."""

ABSENT = -32601

SINK = """
    location = /sink {
      client_max_body_size 0; client_body_buffer_size 256k; proxy_request_buffering off;
      proxy_pass {url};
    }
"""


class Transfers(Bench):
    """The daemon of the other benchmarks, with long bodies."""

    def __init__(self, options, folder, http, https, ca, sink):
        super().__init__(options, folder, http, https, ca)
        self.size = 1 << (28 if options.quick else 30)
        self.path = os.path.join(folder, "www", "gigabyte")
        block = os.urandom(1 << 20)
        with open(self.path, "wb") as file:
            for _ in range(self.size >> 20):
                file.write(block)
        self.down = {"HTTP": f"http://localhost:{http}/gigabyte", "HTTPS": f"https://localhost:{https}/gigabyte"}
        self.up = {"HTTP": sink.url, "HTTPS": f"https://localhost:{https}/sink"}
        self.out = os.path.join(folder, "out")

    # ---- one transfer

    def ask(self, method, params):
        """The response, or None where the service has no such method."""
        reply = self.reply(method, {"timeout": 600, **params})
        if reply.get("error", {}).get("code") == ABSENT:
            return None
        response = reply["result"]
        assert response["ok"] and response["status"] == 200, response
        return response

    def reply(self, method, params):
        import socket

        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.socket)
            client.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
            return json.loads(client.makefile().readline())

    def rate(self, work):
        """Megabytes a second; None where the work says that it cannot be done."""
        start = time.perf_counter()
        return None if work() is None else self.size / (time.perf_counter() - start) / 1e6

    def curl(self, *words):
        return self.rate(lambda: subprocess.run(("curl", "-sS", "--cacert", self.ca, *words), env=self.env, check=True))

    def peak(self):
        """Megabytes that the daemon held at most since the last time this was asked."""
        pid = self.daemon.pid
        with open(f"/proc/{pid}/status") as status:
            most = int(re.search(r"VmHWM:\s+(\d+)", status.read()).group(1)) / 1024
        with open(f"/proc/{pid}/clear_refs", "w") as clear:
            clear.write("5")
        return most

    def compare(self, title, curl, outrider, others=None):
        """Each in turn, and a row for each measure: how fast, how much memory."""
        if outrider() is None:
            print(f"\n{title}: absent")
            self.rows.append({"row": title, "absent": True, "missed": []})
            return
        self.peak()
        samples = self.interleave({"curl": curl, **(others or {}), "outrider": outrider})
        ratios = [ours / theirs for ours, theirs in zip(samples["outrider"], samples["curl"])]
        values = {name: statistics.median(some) for name, some in samples.items()}
        self.row(title, "MB/s", values)
        print(f"  ratio {statistics.median(ratios):.2f} of curl, round by round "
              + " ".join(f"{ratio:.2f}" for ratio in ratios))
        self.rows[-1].update(ratio=statistics.median(ratios), ratios=ratios)
        held = self.peak()
        good = statistics.median(ratios) >= 1
        print(f"  reach 1 x curl {'yes' if good else 'NO'}; memory {held:.1f} MB, at most {MOST}: "
              f"{'yes' if held <= MOST else 'NO'}")
        self.rows[-1]["memory"] = held
        self.rows[-1]["missed"] = ([] if good else ["1 x curl"]) + ([] if held <= MOST else [f"{MOST} MB"])
        sys.stdout.flush()

    # ---- the rows of the table

    def discarded(self):
        """Down to nowhere."""
        for name, url in self.down.items():
            self.compare(
                f"{self.size >> 20} MiB down and thrown away, {name}",
                lambda url=url: self.curl("-o", "/dev/null", url),
                lambda url=url: self.rate(lambda: self.ask("data.send", {"url": url, "bodyTo": "discard"})))

    def downloaded(self):
        """Down to a file: beside the benchmark's own, and in memory, where no disk is waited for."""
        self.down_to("downloaded to a path", self.out)
        if os.access("/dev/shm", os.W_OK):
            with tempfile.TemporaryDirectory(prefix="outrider-bench-", dir="/dev/shm") as memory:
                self.down_to("downloaded to memory", os.path.join(memory, "out"))

    def down_to(self, title, path):
        """Outrider's file is on the medium when it replies; curl's is when sync has run, too."""

        def removed(work):
            if os.path.exists(path):
                os.unlink(path)
            return work()

        for name, url in self.down.items():
            wish = {"url": url, "destination": {"path": path, "replace": True}}
            curl = ("curl", "-sS", "--cacert", self.ca, "-o", path, url)

            def synced(curl=curl):
                subprocess.run(curl, env=self.env, check=True)
                subprocess.run(("sync", path), check=True)
                return path

            self.compare(
                f"{self.size >> 20} MiB {title}, {name}",
                lambda url=url: removed(lambda: self.curl("-o", path, url)),
                lambda wish=wish: removed(lambda: self.rate(lambda: self.ask("download.send", wish))),
                {"curl and sync": lambda synced=synced: removed(lambda: self.rate(synced))})
            removed(lambda: None)

    def uploaded(self):
        """Up from a file, as it is and in a form."""
        form = {"multipart": [{"name": "file", "file": self.path}]}
        for name, url in self.up.items():
            post = ("-o", "/dev/null", "-H", "Expect:")
            self.compare(
                f"{self.size >> 20} MiB up from a file, {name}",
                lambda url=url, post=post: self.curl(*post, "-X", "POST", "-T", self.path, url),
                lambda url=url: self.rate(lambda: self.sent(url, {"file": self.path})))
            self.compare(
                f"{self.size >> 20} MiB up in a form, {name}",
                lambda url=url, post=post: self.curl(*post, "-F", "file=@" + self.path, url),
                lambda url=url: self.rate(lambda: self.sent(url, form)))

    def sent(self, url, body):
        response = self.ask("upload.send", {"url": url, "body": body})
        assert int(response["body"]["text"]) >= self.size, response
        return response

    def attached(self):
        """A body as raw bytes on a connection of its own, beside socat copying the file through a socket."""
        methods = {entry["name"] for entry in self.reply("rpc.discover", {})["result"]["methods"]}
        title = f"{self.size >> 20} MiB through the raw side channel"
        if "stream.attach" not in methods:
            print(f"\n{title}: absent")
            self.rows.append({"row": title, "absent": True, "missed": []})
            return
        through = os.path.join(self.folder, "copy.sock")
        samples = self.interleave({"socat": lambda: self.copied(through), "outrider": self.channel})
        ratios = [ours / theirs for ours, theirs in zip(samples["outrider"], samples["socat"])]
        self.row(title, "MB/s", {name: statistics.median(some) for name, some in samples.items()})
        good = statistics.median(ratios) >= 1 / 1.5
        print(f"  ratio {statistics.median(ratios):.2f} of socat; reach 1 / 1.5 {'yes' if good else 'NO'}")
        self.rows[-1].update(ratio=statistics.median(ratios), missed=[] if good else ["1 / 1.5 x socat"])

    def copied(self, through):
        listen = subprocess.Popen(("socat", "-u", "-b", "131072", f"OPEN:{self.path}", f"UNIX-LISTEN:{through}"))
        while not os.path.exists(through):
            time.sleep(0.001)
        rate = self.rate(lambda: subprocess.run(
            ("socat", "-u", "-b", "131072", f"UNIX-CONNECT:{through}", "OPEN:/dev/null,wronly"), check=True))
        listen.wait()
        return rate

    def channel(self):
        def work():
            import socket

            with socket.socket(socket.AF_UNIX) as owner, socket.socket(socket.AF_UNIX) as raw:
                owner.connect(self.socket)
                params = {"url": self.down["HTTP"], "mode": "pull", "timeout": 600}
                frame = {"jsonrpc": "2.0", "id": 1, "method": "stream.open", "params": params}
                owner.sendall(json.dumps(frame).encode() + b"\n")
                stream = json.loads(owner.makefile().readline())["result"]["stream"]
                raw.connect(self.socket)
                params = {"stream": stream, "direction": "read"}
                frame = {"jsonrpc": "2.0", "id": 1, "method": "stream.attach", "params": params}
                raw.sendall(json.dumps(frame).encode() + b"\n")
                got, head, block = 0, b"", memoryview(bytearray(1 << 18))
                while b"\n" not in head:
                    head += raw.recv(1 << 16)
                line, _, rest = head.partition(b"\n")
                assert json.loads(line)["result"]["raw"] is True, line
                got = len(rest)
                while count := raw.recv_into(block):
                    got += count
                assert got == self.size, got
                return got

        return self.rate(work)


ROWS = ("discarded", "downloaded", "uploaded", "attached")


def main():
    options = arguments(__doc__, "a quarter of the bytes", ROWS).parse_args()
    sink = origin.Sink()
    place = SINK.replace("{url}", sink.url)
    made = tempfile.TemporaryDirectory(prefix="outrider-bench-")
    with made as folder, origin.nginx(folder, place) as (http, https, ca):
        bench = Transfers(options, folder, http, https, ca, sink)
        bench.start_daemon()
        try:
            for name in options.only or ROWS:
                getattr(bench, name)()
        finally:
            bench.stop_daemon()
            sink.stop()
    for row in bench.rows:
        if row.get("absent"):
            print(f"\n{row['row']}: the service has no such method")
    return told(bench.rows, options)


if __name__ == "__main__":
    sys.exit(main())
