#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Long acceptance runs of WebSockets and TCP streams, against servers that die, flood and lie.

conversations.py [--quick] [NAME…]

    servers   1,000 servers are killed during traffic: gaps are announced, greetings come first, no message comes twice
    deaf      64 clients stop reading: bounded memory, pongs to pings, other clients served
    clients   a client is killed while it sends: its server hears of it within a second
    bombs     1 GiB of compressed zeros, endless fragments, a frame of 2^62 bytes: code 1009 or 1008, bounded memory
    attach    1 GiB both ways through a captured TCP stream: equal hashes, both halves closed by either side first

$OUTRIDER names the binary, else `outrider` on the path. Each run prints what it measured, and fails where a bound is
broken. `--quick` is the form that the tests run. Standard library only.
"""

import contextlib
import hashlib
import json
import os
import random
import select
import signal
import socket
import statistics
import sys
import threading
import time
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from frames import (  # noqa: E402, I001
    BINARY, CLOSE, PING, PONG, TEXT, Client, Server, Service, child, echo, frame, received, record, records, shake,
    until,
)  # fmt: skip

MIB = 1 << 20


# Servers that are killed


def dying(kills):
    """Each connection is served by a process of its own, which is killed after some milliseconds of traffic."""
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    for number in range(kills + 1):
        connection, _ = listener.accept()
        greeted, tell = os.pipe()
        served = os.fork()
        if served == 0:
            with contextlib.suppress(OSError):
                talk(connection, number, tell)
            os._exit(0)
        connection.close()
        os.close(tell)
        os.read(greeted, 1)
        os.close(greeted)
        if number < kills:
            time.sleep(random.uniform(0.001, 0.02))
            os.kill(served, signal.SIGKILL)
        os.waitpid(served, 0)


def talk(connection, number, tell):
    """The greeting must come first; then numbered messages without end."""
    shake(connection)
    opcode, greeting = received(connection)
    is_first = (opcode, greeting) == (TEXT, b"hello")
    os.write(tell, b"x")
    connection.sendall(frame(TEXT, b"greeted %d" % number if is_first else b"no greeting"))
    count = 0
    while True:
        connection.sendall(b"".join(frame(TEXT, b"%d %d" % (number, count + index)) for index in range(100)))
        count += 100
        if select.select([connection], [], [], 0.0005)[0] and received(connection)[0] == CLOSE:
            return connection.sendall(frame(CLOSE, b"\x03\xe8"))


def servers(quick):
    kills = 25 if quick else 1000
    with contextlib.ExitStack() as held:
        server, service = held.enter_context(child("serve-dying", kills)), held.enter_context(Service())
        client, other = held.enter_context(Client(service.path)), held.enter_context(Server(echo))
        url = f"ws://127.0.0.1:{int(server.stdout.readline())}/"
        # what the service keeps from its first request on
        client.call("websocket.close", stream=client.open(other.url))
        time.sleep(0.2)
        idle = service.sockets
        reconnect = {"delay": 0.005, "maxDelay": 0.005, "max": 100, "initial": True}
        stream = client.open(url, reconnect=reconnect, greeting=[{"text": "hello"}], ping=False, wait=True)
        found = Gaps()
        with client.attach(stream) as channel:
            for kind, payload in records(channel):
                found.take(kind, payload)
                if found.connection == kills:
                    channel.sendall(record(3, b'{"close":{"code":1000}}'))
                    break
            for _, payload in records(channel):
                last = payload
            assert b'"close"' in last and b'"clean":true' in last, last
        for _ in range(250):
            if service.sockets <= idle:
                break
            time.sleep(0.02)
        assert service.sockets <= idle, f"{service.sockets - idle} sockets are left"
        server.stdin.close()
        return f"{kills} servers killed, {found.gaps} gaps announced, {found.messages} messages, none twice"


class Gaps:
    """What may follow what: messages of one connection without a hole, a state between two connections."""

    def __init__(self):
        self.connection, self.next, self.messages, self.gaps, self.is_open = -1, 0, 0, 0, False

    def take(self, kind, payload):
        if kind == 3:
            told = json.loads(payload)["socket"]["kind"]
            self.is_open = told == "open"
            self.gaps += told == "reconnecting"
            return
        assert self.is_open, f"{payload} came while the connection was not open"
        if payload.startswith(b"greeted"):
            number = int(payload.split()[1])
            assert number > self.connection, f"connection {number} behind {self.connection}"
            assert self.gaps >= number, f"no gap was announced before connection {number}"
            self.connection, self.next = number, 0
            return
        number, count = map(int, payload.split())
        assert (number, count) == (self.connection, self.next), f"{payload} in place of {self.connection} {self.next}"
        self.next += 1
        self.messages += 1


# Clients that stop reading


def deaf(quick):
    many, credit, backlog = (8 if quick else 64), 65536, MIB
    pongs, block = [], frame(TEXT, b"x" * 4000)

    def flood(connection):
        shake(connection)
        for _ in range(backlog // 2 // len(block)):
            connection.sendall(block)
        connection.sendall(frame(PING, b"half"))
        pongs.append(until(connection, PONG))
        connection.settimeout(0.7)
        with contextlib.suppress(TimeoutError):
            while True:
                connection.sendall(block * 16)
        full.release()
        done.wait(60)

    full, done = threading.Semaphore(0), threading.Event()
    with Service() as service, Server(flood) as server, Server(echo) as other, contextlib.ExitStack() as held:
        client = held.enter_context(Client(service.path))
        stream = client.open(other.url)
        before = echoes(client, stream)
        # what the first of them costs besides is not its own
        held.enter_context(Client(service.path)).open(server.url, mode="push", credit=credit, backlog=backlog)
        assert full.acquire(timeout=60)
        begin = service.memory
        for _ in range(many):
            held.enter_context(Client(service.path)).open(server.url, mode="push", credit=credit, backlog=backlog)
        for _ in range(many):
            assert full.acquire(timeout=60), "a server can still write"
        grown, most = service.memory - begin, many * (backlog + credit + 65536)
        assert grown <= most, f"{grown / MIB:.0f} MiB for {many} clients, and {most / MIB:.0f} are allowed"
        assert pongs == [b"half"] * (many + 1), f"{len(pongs)} pongs"
        during = echoes(client, stream)
        assert during < 5 * before + 0.02, f"another client waits {during * 1000:.1f} ms"
        done.set()
        return (
            f"{many} deaf clients: {grown / MIB:.0f} of {most / MIB:.0f} MiB, {len(pongs)} pongs,"
            f" echo of another client {before * 1e6:.0f} before and {during * 1e6:.0f} µs then"
        )


def echoes(client, stream):
    """The median time of an echo."""
    times = []
    for _ in range(200):
        began = time.perf_counter()
        client.call("websocket.send", stream=stream, text="echo")
        assert client.call("stream.read", stream=stream)["values"] == [{"text": "echo"}]
        times.append(time.perf_counter() - began)
    return statistics.median(times)


# Clients that are killed


def sending(path, url, way):
    """Sends without end, by calls or by records."""
    client = Client(path)
    stream = client.open(url)
    if way == "records":
        channel = client.attach(stream)
        while True:
            channel.sendall(record(1, b"x" * 1000))
    while True:
        client.call("websocket.send", stream=stream, text="x" * 1000)


def clients(quick):
    rounds, slowest, ends = (2 if quick else 20), 0.0, {}
    heard, ended = threading.Semaphore(0), []

    def listen(connection):
        count, how = 0, "end of TCP"
        with contextlib.suppress(OSError):
            shake(connection)
            while True:
                opcode, payload = received(connection)
                if opcode == CLOSE:
                    how = f"Close {int.from_bytes(payload[:2], 'big')}"
                    break
                count += 1
                if count == 20:
                    heard.release()
        ended.append((time.monotonic(), how))
        heard.release()

    with Service() as service, Server(listen) as server:
        for way in ["calls", "records"] * rounds:
            with child("send", service.path, server.url, way) as process:
                assert heard.acquire(timeout=30), "nothing was sent"
                process.kill()
                began = time.monotonic()
            assert heard.acquire(timeout=30), "the server hears nothing of it"
            at, how = ended.pop()
            slowest, ends[how] = max(slowest, at - began), ends.get(how, 0) + 1
            assert at - began < 1, f"{at - began:.2f} s by {way}"
        assert set(ends) <= {"Close 1001", "end of TCP"}, ends
        return f"{2 * rounds} clients killed: {ends}, the slowest after {slowest * 1000:.0f} ms"


# Servers that send too much


def zeros(size):
    """So many zeros as one compressed message."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    block, pieces = bytes(MIB), []
    for _ in range(size // MIB):
        pieces.append(deflate.compress(block))
    pieces.append(deflate.flush(zlib.Z_SYNC_FLUSH))
    return b"".join(pieces)[:-4]


def bombs(quick):
    bomb = zeros((64 if quick else 1024) * MIB)
    endless = frame(0, b"x" * 65536, final=False)

    def fragments(connection):
        connection.sendall(frame(BINARY, b"", final=False))
        while True:
            connection.sendall(endless)

    def nothing(connection):
        connection.sendall(frame(BINARY, b"", final=False))
        while True:
            connection.sendall(frame(0, b"", final=False) * 1000)

    cases = {
        "zeros": (lambda one: one.sendall(frame(BINARY, bomb, compressed=True)), 1009),
        "fragments": (fragments, 1009),
        "empty fragments": (nothing, 1008),
        "2^62": (lambda one: one.sendall(b"\x82\x7f" + (1 << 62).to_bytes(8, "big")), 1009),
    }
    told = []
    for name, (act, code) in cases.items():
        grown, found = bombed(act)
        assert found == code, f"{name}: {found}"
        assert grown < 40 * MIB, f"{name}: {grown / MIB:.0f} MiB"
        told.append(f"{name} {found}, {grown / MIB:.1f} MiB")
    return "; ".join(told)


def bombed(act):
    """How much the service grew, and the code of its Close frame."""
    codes, ended = [], threading.Semaphore(0)

    def serve(connection):
        shake(connection, b"\r\nSec-WebSocket-Extensions: permessage-deflate")
        threading.Thread(target=quietly, args=(act, connection), daemon=True).start()
        with contextlib.suppress(OSError):
            codes.append(int.from_bytes(until(connection, CLOSE)[:2], "big"))
        ended.release()

    with Service() as service, Server(serve) as server, Client(service.path) as client:
        before = service.memory
        stream = client.open(server.url)
        while not (reply := client.call("stream.read", stream=stream, wait=20))["end"]:
            pass
        assert ended.acquire(timeout=20) and reply["error"]["code"] in (2002, 2003), reply
        return service.memory - before, (codes or [None])[0]


def quietly(act, connection):
    with contextlib.suppress(OSError):
        act(connection)


# Captured streams


def attach(quick):
    size, told = (8 * MIB if quick else 1024 * MIB), []
    for first in ("client", "server"):
        began = time.perf_counter()
        captured(size, first)
        rate = 2 * size / (time.perf_counter() - began) / 1e6
        told.append(f"{size // MIB} MiB both ways, the {first} closes first: equal, {rate:.0f} MB/s")
    return "; ".join(told)


BLOCK = random.Random(7).randbytes(MIB)


def pour(connection, size):
    """Sends so many bytes, and gives their hash."""
    seen = hashlib.sha256()
    for number in range(size // MIB):
        piece = number.to_bytes(8, "big") + BLOCK[8:]
        seen.update(piece)
        connection.sendall(piece)
    return seen


def drain(connection):
    """The hash of all that comes, to its end."""
    seen, buffer = hashlib.sha256(), bytearray(MIB)
    while count := connection.recv_into(buffer):
        seen.update(memoryview(buffer)[:count])
    return seen.digest()


def converse(connection, size, goes_first, hashes, name):
    """Sends and reads at once. The side that does not go first ends its half only after the end of the other half."""
    heard = {}
    reader = threading.Thread(target=lambda: heard.update(digest=drain(connection)))
    reader.start()
    sent = pour(connection, size - MIB)
    if not goes_first:
        reader.join()
    connection.sendall(BLOCK)
    sent.update(BLOCK)
    connection.shutdown(socket.SHUT_WR)
    reader.join()
    hashes[name] = sent.digest(), heard["digest"]


def captured(size, first):
    hashes, ended = {}, threading.Event()

    def serve(connection):
        converse(connection, size, first == "server", hashes, "server")
        ended.set()

    with Service() as service, Server(serve) as server, Client(service.path) as client:
        stream = client.call("tcp.open", host="127.0.0.1", port=server.port)["stream"]
        with client.attach(stream) as both:
            converse(both, size, first == "client", hashes, "client")
        assert ended.wait(60)
    assert hashes["client"] == hashes["server"][::-1], "the hashes differ"


RUNS = {"servers": servers, "deaf": deaf, "clients": clients, "bombs": bombs, "attach": attach}


def main(words):
    if words[:1] == ["serve-dying"]:
        return dying(int(words[1]))
    if words[:1] == ["send"]:
        return sending(*words[1:])
    quick = "--quick" in words
    names = [word for word in words if word != "--quick"] or list(RUNS)
    for name in names:
        began = time.perf_counter()
        told = RUNS[name](quick)
        print(f"{name}: {told} ({time.perf_counter() - began:.1f} s)", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
