#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Measures how long an echo of one client waits beside a long call of another client: `Benchmarks/beside.py [ROUNDS]`.

Prints, for each call, its own time and the longest wait of the echoes meanwhile, as medians of the rounds (3 by
default). The aim: at most 20 ms beside any call. $OUTRIDER names the binary, else .build/release/outrider.
"""
import base64
import json
import mmap
import os
import pathlib
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROOT = pathlib.Path(__file__).resolve().parents[1]
MIB = 1 << 20
WORST = struct.Struct("d")
ECHO = b'{"jsonrpc":"2.0","id":1,"method":"diagnostics.echo","params":{"value":1}}\n'
LIST = [{"id": number, "name": "y" * 40} for number in range(40_000)]


def call(method, params, number=1):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


def batch(calls):
    return b"[" + b",".join(line.strip() for line in calls) + b"]\n"


class Origin(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = {"/long": b"x" * (8 * MIB), "/list": json.dumps(LIST).encode(), "/80k": b"y" * 80_000}[self.path]
        self.send_response(200)
        self.send_header("Content-Type", "application/json" if self.path == "/list" else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *_):
        """Nothing is logged."""


class Server(ThreadingHTTPServer):
    request_queue_size = 256


def serve(pipe):
    server = Server(("127.0.0.1", 0), Origin)
    os.write(pipe, b"%d\n" % server.server_port)
    server.serve_forever()


def connect(path):
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    return client


def replies(client, lines):
    """Sends the lines, and returns the replies; a batch counts as one."""
    writer = threading.Thread(target=lambda: [client.sendall(line) for line in lines])
    writer.start()
    parts, count = [], 0
    while count < len(lines):
        part = client.recv(MIB)
        if not part:
            raise SystemExit("the service closed the connection")
        parts.append(part)
        count += part.count(b"\n")
    writer.join()
    return b"".join(parts).splitlines()


class Echoes:
    """Echoes from a process of their own: in this one they would wait for the interpreter, too, while it copies."""

    def __init__(self, path):
        self.page = mmap.mmap(-1, 8)
        if os.fork() == 0:
            self.run(connect(path))
            os._exit(0)

    @property
    def worst(self):
        return WORST.unpack(self.page)[0]

    def reset(self):
        WORST.pack_into(self.page, 0, 0)

    def run(self, client):
        while True:
            began = time.perf_counter()
            try:
                client.sendall(ECHO)
                if not client.recv(4096):
                    return
            except OSError:
                # the service has ended
                return
            WORST.pack_into(self.page, 0, max(self.worst, time.perf_counter() - began))
            time.sleep(0.0005)


def cases(origin, client, number):
    """Pairs of a title and the lines to send."""
    stored = {}
    for path in ("/long", "/list"):
        reply = replies(client, [call("data.send", {"url": origin + path, "bodyTo": "stored"})])[0]
        stored[path] = json.loads(reply)["result"]["body"]["response"]
    text = "x" * (7 * MIB)
    many = {"a": ["x" * 20] * 100_000}
    read = {"response": stored["/long"], "bytes": 8 * MIB}
    endpoints = {"e%d" % n: {"path": "/p%d" % n, "method": "GET"} for n in range(9000)}
    defined = {"name": "s%d" % number, "baseUrl": origin, "endpoints": {"long": {"path": "/80k", "method": "POST"}}}
    router = json.loads(replies(client, [call("router.define", defined)])[0])["result"]["router"]
    return [
        ("diagnostics.echo of 7 MiB", [call("diagnostics.echo", {"value": text})]),
        ("diagnostics.echo of 40,000 objects", [call("diagnostics.echo", {"value": LIST})]),
        ("diagnostics.blob of 8 MiB", [call("diagnostics.blob", {"bytes": 8 * MIB})]),
        ("encode.escape of 5 MB", [call("encode.escape", {"text": "é " * (5 * MIB // 3)})]),
        ("encode.query of 100,000 values", [call("encode.query", {"parameters": many})]),
        ("encode.propertyList of 100,000 values", [call("encode.propertyList", {"parameters": many})]),
        ("multipart.encode of 7 MiB of text", [call("multipart.encode", {"parts": [{"name": "a", "text": text}]})]),
        ("multipart.encode of 5 MiB in base64", [call("multipart.encode", {"parts": [
            {"name": "a", "base64": base64.b64encode(bytes(5 * MIB)).decode()}]})]),
        ("multipart.encode of 40,000 parts", [call("multipart.encode", {"parts": [
            {"name": "a", "text": ""}] * 40_000})]),
        ("multipart.encode, boundary given", [call("multipart.encode", {
            "parts": [{"name": "a", "text": text}], "boundary": "b" * 20})]),
        ("upload.send, a form of 5 MiB in base64", [call("upload.send", {"url": origin + "/80k", "body": {
            "multipart": {"parts": [{"name": "a", "base64": base64.b64encode(bytes(5 * MIB)).decode()}]}}})]),
        ("router.define of 9,000 endpoints", [call("router.define", {
            "name": "r%d" % number, "baseUrl": origin, "endpoints": endpoints})]),
        ("router.send with 40,000 objects in overrides", [call("router.send", {
            "router": router, "endpoint": "long", "overrides": {"body": {"json": LIST}}})]),
        ("data.send with 7 MiB of text", [call("data.send", {
            "url": origin + "/80k", "method": "POST", "body": {"text": text}})]),
        ("data.send with 40,000 objects", [call("data.send", {
            "url": origin + "/80k", "method": "POST", "json": LIST})]),
        ("data.send, 40 in a batch", [batch(call("data.send", {"url": origin + "/80k"}, n) for n in range(40))]),
        ("data.send of 8 MiB, 60 at once", [call("data.send", {"url": origin + "/long"}, n) for n in range(60)]),
        ("response.read of 8 MiB, 10 at once", [call("response.read", read, n) for n in range(10)]),
        ("response.serialize as JSON", [call("response.serialize", {
            "response": stored["/list"], "serialize": {"as": "json"}})]),
        ("response.serialize as text", [call("response.serialize", {
            "response": stored["/long"], "serialize": {"as": "text"}})]),
        ("a batch of 100 unknown methods", [batch(call("data.sand", {}, n) for n in range(100))]),
    ]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    binary = os.environ.get("OUTRIDER") or str(ROOT / ".build/release/outrider")
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        serve(writable)
    origin = "http://127.0.0.1:%d" % int(os.read(readable, 16))
    waits, times = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s")
        process = subprocess.Popen([binary, "serve", "--socket", path], stdin=subprocess.DEVNULL)
        try:
            while not os.path.exists(path):
                time.sleep(0.01)
            echoes = Echoes(path)
            for number in range(rounds):
                client = connect(path)
                for title, lines in cases(origin, client, number):
                    time.sleep(0.2)
                    echoes.reset()
                    began = time.perf_counter()
                    replies(client, lines)
                    times.setdefault(title, []).append(time.perf_counter() - began)
                    time.sleep(0.02)
                    waits.setdefault(title, []).append(echoes.worst)
                client.close()
        finally:
            process.terminate()
            process.wait()
            os.kill(child, 15)
            os.waitpid(child, 0)
    print("%-40s %10s %22s" % ("beside", "own, ms", "longest echo, ms"))
    for title, values in waits.items():
        wait = 1000 * statistics.median(values)
        own = 1000 * statistics.median(times[title])
        print("%-40s %10.1f %12.1f  aim 20 %s" % (title, own, wait, "yes" if wait <= 20 else "NO"))


if __name__ == "__main__":
    main()
