#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Measures how far clients can make the service grow: `Benchmarks/memory.py [--short] [--rows NAME,…]`.

Each row starts a service, lets many clients leave large things in it, and prints the highest growth of resident memory,
the growth after all was left alone for a moment, and the growth 5 s after everything was read or given up, in MiB. The
aims: 244 (256 MB) and 16. `--short` does the same with a quarter of everything and `--memory 48 MiB`, in a minute.
Exits with 1 if an aim is missed.
"""
import argparse
import base64
import contextlib
import json
import os
import pathlib
import re
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
MIB = 1 << 20
GROWTH, REST = 256e6 / MIB, 16


class Origin:
    """`/hang` reads heads only, `/size/N` responds with N letters, `/part/N` with N of N + 1, others with two."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection = self.listener.accept()[0]
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    @staticmethod
    def serve(connection):
        with contextlib.suppress(OSError), connection:
            while True:
                head = b""
                while b"\r\n\r\n" not in head:
                    piece = connection.recv(4096)
                    if not piece:
                        return
                    head += piece
                path = head.split(b" ", 2)[1].decode()
                if path == "/hang":
                    time.sleep(600)
                head, _, rest = head.partition(b"\r\n\r\n")
                length = re.search(rb"(?i)content-length: (\d+)", head)
                missing = int(length.group(1)) - len(rest) if length else 0
                while missing > 0:
                    missing -= len(connection.recv(min(missing, MIB))) or missing
                size = int(path.rpartition("/")[2]) if path.count("/") > 1 else 2
                whole = size + path.startswith("/part/")
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % whole)
                for start in range(0, size, MIB):
                    connection.sendall(b"x" * min(MIB, size - start))


class Client:
    """A connection that sends on a thread of its own, so that a service that does not read holds no other client up."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.number = 0
        self.threads = []

    def start(self, name, /, **params):
        self.number += 1
        message = json.dumps({"jsonrpc": "2.0", "id": self.number, "method": name, "params": params}).encode() + b"\n"
        self.threads = [thread for thread in self.threads if thread.is_alive()]
        before = self.threads[-1] if self.threads else None
        thread = threading.Thread(target=self.send, args=(message, before), daemon=True)
        self.threads.append(thread)
        thread.start()

    def send(self, message, before):
        if before:
            before.join()
        with contextlib.suppress(OSError):
            self.socket.sendall(message)

    def reply(self, seconds=60):
        """The next reply; events are skipped."""
        self.socket.settimeout(seconds)
        while True:
            pieces = []
            while not pieces or not pieces[-1].endswith(b"\n"):
                piece = self.socket.recv(MIB)
                if not piece:
                    raise ConnectionError("the service has closed the connection")
                pieces.append(piece)
            for line in b"".join(pieces).splitlines():
                message = json.loads(line)
                if "id" in message:
                    return message

    def call(self, name, /, **params):
        self.start(name, **params)
        reply = self.reply()
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return reply["result"]

    def reply_to_callback(self, result):
        """Replies to the next callback."""
        with contextlib.suppress(OSError, ValueError):
            lines = self.socket.makefile("rb")
            while not (message := json.loads(lines.readline())).get("method", "").startswith("callback."):
                pass
            self.send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode() + b"\n", None)

    def close(self):
        self.socket.close()


class Service:
    def __init__(self, folder, binary, memory):
        self.path = os.path.join(folder, "s")
        command = [binary, "serve", "--no-config", "--socket", self.path]
        command += ["--memory", str(memory)] if memory else []
        environment = {**os.environ, "TMPDIR": folder}
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment)
        while not os.path.exists(self.path):
            time.sleep(0.02)
        time.sleep(0.3)
        self.clients, self.detached = [], []
        self.origin = Origin()

    def client(self):
        self.clients.append(Client(self.path))
        return self.clients[-1]

    def kilobytes(self, name):
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(name + r":\s+(\d+)", status.read()).group(1))

    def settled(self, seconds):
        """Waits until the memory has stayed alike for a second, or for so long."""
        end, last, since = time.monotonic() + seconds, 0, time.monotonic()
        while time.monotonic() < end:
            now = self.kilobytes("VmRSS")
            if abs(now - last) > 512:
                last, since = now, time.monotonic()
            if time.monotonic() - since > 1:
                return
            time.sleep(0.05)

    def close(self):
        for client in self.clients:
            client.close()
        self.clients = []


def warm(service):
    """What a service allocates once."""
    for _ in range(4):
        client = service.client()
        client.call("data.send", url=service.origin.url + "/size/300000")
        client.call("data.send", method="POST", url=service.origin.url + "/", body={"text": "x" * 300000})
    service.close()


def waiting_bodies(service, part):
    text = "x" * (8 * MIB)
    for _ in range(60 // part):
        service.client().start("data.send", method="POST", url=service.origin.url + "/hang", body={"text": text})


def waiting_heads(service, part):
    """Requests under handles whose servers do not respond, each with short fields of 60 KiB together."""
    headers = {f"X-{number:04}": "x" * 50 for number in range(940)}
    for _ in range(32 // part):
        client = service.client()
        for _ in range(200):
            client.start("data.start", url=service.origin.url + "/hang", headers=headers)


def unread_replies(service, part):
    for _ in range(60 // part):
        service.client().start("data.send", url=service.origin.url + "/size/8000000", maxInline=8 * MIB)


def unread_reads(service, part):
    """Each client reads its stored body in one call, and takes no byte of the reply."""
    for _ in range(60 // part):
        client = service.client()
        stored = client.call("data.send", url=service.origin.url + "/size/8000000", bodyTo="stored")["body"]["response"]
        client.start("response.read", response=stored, bytes=8000000)


def fed_streams(service, part):
    piece = base64.b64encode(bytes(5 * MIB)).decode()
    for _ in range(40 // part):
        client = service.client()
        stream = client.call("upload.open")["stream"]
        for _ in range(3):
            client.start("stream.write", stream=stream, base64=piece, wait=0)


def short_pieces(service, part):
    piece = base64.b64encode(bytes(60 << 10)).decode()
    for _ in range(30 // part):
        client = service.client()
        stream = client.call("upload.open")["stream"]
        for _ in range(270):
            client.call("stream.write", stream=stream, base64=piece, wait=0)


def routers(service, part):
    for number in range(24 // part):
        endpoints = {f"e{index}": {"path": f"/{index}/" + "x" * 1400} for index in range(5500)}
        service.client().start(
            "router.define", name=f"api{number}", baseUrl=service.origin.url, endpoints=endpoints)


def small_endpoints(service, part):
    for number in range(60 // part):
        endpoints = {f"e{index}": {"path": f"/{index}"} for index in range(8000)}
        service.client().start(
            "router.define", name=f"api{number}", baseUrl=service.origin.url, endpoints=endpoints)


def batch_replies(service, part):
    """Batches whose last call does not end."""
    for _ in range(16 // part):
        params = {"url": service.origin.url + "/size/8000000", "maxInline": 8 * MIB}
        calls = [{"jsonrpc": "2.0", "id": number, "method": "data.send", "params": params} for number in range(4)]
        hangs = {"url": service.origin.url + "/hang"}
        calls.append({"jsonrpc": "2.0", "id": 9, "method": "data.send", "params": hangs})
        service.client().send(json.dumps(calls).encode() + b"\n", None)


def adapted_bodies(service, part):
    """Clients whose adapters make the bodies."""
    reply = {"body": {"text": "x" * (8 * MIB)}}
    for _ in range(60 // part):
        client = service.client()
        client.start("data.send", method="POST", url=service.origin.url + "/hang",
                     interceptors=[{"callback": "mine", "asks": ["adapt"]}])
        threading.Thread(target=client.reply_to_callback, args=(reply,), daemon=True).start()


def stored_bodies(service, part):
    for _ in range(max(10 // part, 2)):
        client = service.client()
        for _ in range(max(8 // part, 4)):
            client.start("data.send", url=service.origin.url + "/size/8000000", bodyTo="stored")


def detached_bodies(service, part):
    for _ in range(max(8 // part, 2)):
        client = service.client()
        for _ in range(max(8 // part, 4)):
            reply = client.call("data.start", url=service.origin.url + "/size/8000000", bodyTo="stored", detach=True)
            client.call("request.wait", request=reply["request"])
            service.detached.append(reply["request"])
        client.close()


def pulled_streams(service, part):
    """100 streams of ten clients, of which none is read."""
    for _ in range(max(10 // part, 2)):
        client = service.client()
        for _ in range(10):
            client.start("stream.open", url=service.origin.url + "/size/8000000", mode="pull")


def partial_messages(service, part):
    """A message that ends nowhere, from each client."""
    start = b'{"jsonrpc":"2.0","id":1,"method":"data.send","params":{"body":{"text":"' + b"x" * (12 * MIB)
    for _ in range(60 // part):
        threading.Thread(target=service.client().send, args=(start, None), daemon=True).start()


def partial_responses(service, part):
    """Responses whose last byte never comes."""
    for _ in range(60 // part):
        service.client().start("data.send", url=service.origin.url + "/part/8000000", maxInline=8 * MIB)


ROWS = [waiting_bodies, waiting_heads, unread_replies, unread_reads, fed_streams, short_pieces, routers,
        small_endpoints, batch_replies, adapted_bodies, stored_bodies, detached_bodies, pulled_streams,
        partial_messages, partial_responses]


def measure(row, binary, memory, part):
    with tempfile.TemporaryDirectory() as folder:
        service = Service(folder, binary, memory)
        try:
            warm(service)
            service.settled(5)
            start = service.kilobytes("VmRSS")
            with open(f"/proc/{service.process.pid}/clear_refs", "w") as refs:
                refs.write("5")
            row(service, part)
            service.settled(40)
            peak, held = service.kilobytes("VmHWM"), service.kilobytes("VmRSS")
            stats = Client(service.path)
            budget = stats.call("server.stats")["memory"]
            stats.close()
            # half of the clients take what is theirs, the others leave
            for client in service.clients[::2]:
                with contextlib.suppress(OSError):
                    client.socket.settimeout(2)
                    while client.socket.recv(MIB):
                        pass
            service.close()
            forget(service)
            time.sleep(5)
            rest = service.kilobytes("VmRSS")
            stats = Client(service.path)
            left = stats.call("server.stats")["memory"].get("held", 0)
        finally:
            service.close()
            service.process.terminate()
            service.process.wait()
    return [(value - start) / 1024 for value in (peak, held, rest)], budget, left


def forget(service):
    client = service.client()
    for request in service.detached:
        client.call("request.forget", request=request)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--memory", type=int)
    parser.add_argument("--rows", type=lambda text: text.split(","))
    options = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    binary = os.environ.get("OUTRIDER") or str(ROOT / ".build/release/outrider")
    memory, part = (48 * MIB, 4) if options.short else (options.memory, 1)
    aim = GROWTH if not memory else memory / MIB + 52
    print("| row | highest | at rest | 5 s after the end | the budget then |\n|---|---|---|---|---|")
    missed = False
    for row in ROWS:
        if options.rows and row.__name__ not in options.rows:
            continue
        (peak, held, rest), budget, left = measure(row, binary, memory, part)
        missed |= peak > aim or rest > REST or left != 0
        shown = {key: value for key, value in budget.items() if key not in ("resident", "shares")}
        print(f"| {row.__name__} | {peak:.0f} | {held:.0f} | {rest:.0f} | {shown} |", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
