#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Counts the instructions that the service executes for one request, by kind of request and by target.

    Benchmarks/instructions.py [--kinds KIND,…] [--requests N] [--functions N]

Runs $OUTRIDER, or the release build, under `valgrind --tool=callgrind`, once with N requests and once with 3 N, over
one connection to a small origin. The difference, divided by 2 N, is one request: start and end cancel out. Times on a
shared machine vary; this number does not, within half a percent.

Kinds: `plain` is a tiny response over HTTP, and the kinds beside it add one option each. `http`, `https` and `https64`
read 1 KB of JSON: one after the other, the same over TLS, and 64 at once over TLS. `batch` is `https64` in arrays of
64 calls. `http1` and `http2` read 1 KB one after the other over TLS from nginx, where that is installed; `http1x64` and
`http2x64` the same 64 at once, over six connections and over one. `hit` reads 1 KB of JSON from a cache in memory,
`played` is `plain` from a cassette.
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

import origin

ROOT = pathlib.Path(__file__).resolve().parents[1]
CROWD = 64

KINDS = {
    "plain": {},
    "adapter": {"interceptors": [{"headers": {"X-Api": "1"}}]},
    "events": {"events": True},
    "validator": {"validate": True},
    "retry": {"retry": True},
    "played": {"session": {"replay": {"mode": "none", "repeat": "last"}}},
    "http": {},
    "https": {},
    "https64": {},
    "batch": {},
    "http1": {"httpVersion": "1.1"},
    "http2": {"httpVersion": "2"},
    "http1x64": {"httpVersion": "1.1", "session": {"connectionsPerHost": 6}},
    "http2x64": {"httpVersion": "2"},
    "hit": {"cache": True},
}
NGINX = ("http1", "http2", "http1x64", "http2x64")
SMALL = b'{"ok": true, "items": [1, 2, 3]}'
ITEMS = [{"id": n, "name": f"item {n}", "price": n * 1.5, "ok": True} for n in range(18)]
LARGE = json.dumps({"items": ITEMS}).encode()

TARGETS = (
    ("OutriderJSON", r"^\$s12OutriderJSON|OutriderJSON"), ("OutriderHTTP", r"^\$s12OutriderHTTP|OutriderHTTP"),
    ("OutriderTransport", r"OutriderTransport"), ("OutriderEngine", r"OutriderEngine"),
    ("OutriderMethods", r"OutriderMethods"), ("OutriderRPC", r"OutriderRPC"), ("OutriderServer", r"OutriderServer"),
    ("BoringSSL", r"BoringSSL|^(_ZN4bssl|_?aes|gcm|_?sha\d|SSL_|EVP_)"), ("NIO", r"NIO"),
    ("jansson", r"^(json|lex|parse_|hashtable|utf8|stream_|strbuffer|hashlittle|string_create)"),
    ("Swift library", r"^\$s[Ss0-9a-zA-Z_]"),
    ("Swift runtime", r"^_?swift|^_ZN5swift|^_ZNK5swift"),
    ("malloc", r"^(malloc|free|calloc|realloc|_int_|tcache|unlink_chunk|posix_memalign|aligned_alloc)"),
)


def serve(listener, context):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=respond, args=(connection, context), daemon=True).start()


def respond(connection, context):
    waiting = b""
    with connection if context is None else context.wrap_socket(connection, server_side=True) as stream:
        while chunk := stream.recv(65536):
            waiting += chunk
            while b"\r\n\r\n" in waiting:
                head, waiting = waiting.split(b"\r\n\r\n", 1)
                body = LARGE if head.startswith((b"GET /1k ", b"GET /kept ")) else SMALL
                kept = b"Cache-Control: max-age=36000\r\n" if head.startswith(b"GET /kept ") else b""
                fields = b"Content-Type: application/json\r\n%sContent-Length: %d\r\n" % (kept, len(body))
                stream.sendall(b"HTTP/1.1 200 OK\r\n" + fields + b"\r\n" + body)


def run(binary, folder, url, params, requests, way, read):
    """What callgrind counts of the service for so many requests, its start and its end, as `read` takes it."""
    path, out = os.path.join(folder, "o.sock"), os.path.join(folder, "callgrind.out")
    command = ("valgrind", "--tool=callgrind", "--compress-strings=yes", "--demangle=no", "--callgrind-out-file=" + out,
               binary, "serve", "--socket", path)
    env = dict(os.environ, SSL_CERT_FILE=os.path.join(folder, "ca.pem"))
    service = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    try:
        client = connect(path, service)
        if "replay" in params.get("session", {}):
            replay = dict(params["session"]["replay"], path=record(folder, url))
            params = dict(params, session=dict(params["session"], replay=replay))
        if "session" in params:
            params = dict(params, session=create(client, params["session"]))
        way(client, dict(params, url=url), requests)
        client[0].close()
    finally:
        service.terminate()
        service.wait(60)
    counts = read(out)
    os.unlink(out)
    return counts


def record(folder, url):
    """The path of a cassette with one response, in the form of other programs."""
    sent = {"method": "GET", "url": url, "headers": []}
    came = {"status": 200, "headers": [{"name": "Content-Type", "value": "application/json"}],
            "content": {"size": len(SMALL), "mimeType": "application/json", "text": SMALL.decode()}}  # fmt: skip
    path = os.path.join(folder, "played.har")
    with open(path, "w") as file:
        json.dump({"log": {"version": "1.2", "entries": [{"request": sent, "response": came}]}}, file)
    return path


def lines_of(path):
    """The function and its callee, or None, with the number of calls and the instructions of a line of costs."""
    names, function, callee, calls = {}, None, None, 0
    with open(path) as lines:
        for line in lines:
            if line.startswith(("fn=", "cfn=")):
                number, _, name = line.partition("=")[2].strip().partition(" ")
                if name:
                    names[number] = re.sub(r"'\d+$", "", name)
                if line[0] == "f":
                    function = number
                else:
                    callee = number
            elif line.startswith("calls="):
                calls = int(line[6:].split()[0])
            elif line[0] in "0123456789+-*":
                yield names.get(function), names.get(callee) if calls else None, calls, int(line.split()[1])
                calls = 0


def self_costs(path):
    """Self cost by function."""
    costs = collections.Counter()
    for function, callee, _, cost in lines_of(path):
        if callee is None:
            costs[function] += cost
    return costs


def connect(path, service):
    for _ in range(600):
        if service.poll() is not None:
            raise SystemExit("the service did not start")
        try:
            client = socket.socket(socket.AF_UNIX)
            client.connect(path)
            return client, client.makefile("rb")
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the service does not listen")


def create(client, settings):
    """The handle of a session."""
    message = {"jsonrpc": "2.0", "id": "s", "method": "session.create", "params": settings}
    client[0].sendall(json.dumps(message).encode() + b"\n")
    return json.loads(client[1].readline())["result"]["session"]


def one_by_one(client, params, requests):
    for number in range(requests):
        client[0].sendall(line(number, params) + b"\n")
        while not check(json.loads(client[1].readline())):
            pass


def at_once(client, params, requests):
    """Keeps 64 calls under way; a response of one brings the next."""
    client[0].sendall(b"".join(line(number, params) + b"\n" for number in range(CROWD)))
    done, sent = 0, CROWD
    while done < requests:
        done += check(json.loads(client[1].readline()))
        if sent < requests:
            client[0].sendall(line(sent, params) + b"\n")
            sent += 1


def in_arrays(client, params, requests):
    for _ in range(requests // CROWD):
        client[0].sendall(b"[" + b",".join(line(number, params) for number in range(CROWD)) + b"]\n")
        for reply in json.loads(client[1].readline()):
            check(reply)


def line(number, params):
    message = {"jsonrpc": "2.0", "id": number, "method": "data.send", "params": params}
    return json.dumps(message, separators=(",", ":")).encode()


def check(reply):
    """Whether it is the reply to a call, and not an event."""
    if "id" not in reply:
        return False
    if "error" in reply or reply["result"].get("failure"):
        raise SystemExit(f"data.send failed: {reply}")
    return True


WAYS = {"https64": at_once, "batch": in_arrays, "http1x64": at_once, "http2x64": at_once}


def target(name):
    return next((title for title, pattern in TARGETS if re.search(pattern, name)), "other")


def measure(binary, folder, kind, ports, requests, read=self_costs):
    """Instructions of one request, by function; or what `read` takes from the counts."""
    secure, path = kind in ("https", "https64", "batch"), "1k" if kind in ("http", "https", "https64", "batch") else "a"
    if kind == "hit":
        path = "kept"
    url = "%s://localhost:%d/%s" % (("https", ports[1], path) if secure else ("http", ports[0], path))
    if kind in NGINX:
        url = "https://localhost:%d/1k.json" % ports[2]
    way = WAYS.get(kind, one_by_one)
    few, many = (run(binary, folder, url, KINDS[kind], requests * n, way, read) for n in (1, 3))
    many.subtract(few)
    return {name: cost / (2 * requests) for name, cost in many.items()}


def listen(context=None):
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=(listener, context), daemon=True).start()
    return listener.getsockname()[1]


@contextlib.contextmanager
def nginx(folder):
    """The port of one that agrees to HTTP/2; the certificates of the folder are its own."""
    port = origin.free_port()
    with origin.nginx(folder, "listen 127.0.0.1:%d ssl http2;" % port):
        yield port


def report(kind, costs, functions):
    groups = collections.Counter()
    for name, cost in costs.items():
        groups[target(name)] += cost
    parts = "  ".join(f"{title} {cost:,.0f}" for title, cost in groups.most_common() if cost >= 100)
    print(f"{kind:10} {sum(costs.values()):9,.0f}   {parts}", flush=True)
    for name, cost in sorted(costs.items(), key=lambda item: -item[1])[:functions]:
        print(f"    {cost:9,.0f}  {name[:180]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", default=",".join(KINDS), help="which requests; all, if absent")
    parser.add_argument("--requests", type=int, default=512)
    parser.add_argument("--functions", type=int, default=0, help="how many of the dearest functions to list")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        print("instructions: valgrind is not installed, nothing is counted (apt-get install valgrind)")
        return
    with measuring(options.kinds.split(",")) as measured:
        for kind in options.kinds.split(","):
            report(kind, measured(kind, options.requests), options.functions)


@contextlib.contextmanager
def measuring(kinds):
    """A function that measures a kind, with the servers of these kinds."""
    binary = os.environ.get("OUTRIDER") or str(ROOT / ".build/release/outrider")
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        secure = stack.enter_context(nginx(folder)) if any(kind in NGINX for kind in kinds) else None
        if secure is None:
            origin.certificates(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(folder, "leaf.pem"), os.path.join(folder, "leaf.key"))
        ports = listen(), listen(context), secure
        # valgrind cannot read the debug information that Swift writes
        stripped = os.path.join(folder, "outrider")
        subprocess.run(("strip", "--strip-debug", "-o", stripped, binary), check=True)
        yield lambda kind, requests, read=self_costs: measure(stripped, folder, kind, ports, requests, read)


if __name__ == "__main__":
    sys.exit(main())
