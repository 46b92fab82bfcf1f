#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Suspends, resumes and cancels requests in random orders, very many, on a running service, and holds it to its word.

    Benchmarks/schedules.py [--schedules N] [--minutes N] [--seed N] [--together N]

A schedule is one request, to a server that answers, dies, redirects, or drips, and up to eight things that are done to
it: one that tells its events, one that tells nothing, or one whose call waits for it and may be cancelled. Each must
end exactly once, tell nothing after its end, and leave nothing behind: descriptors and memory of the service are
compared at the end with what they were after the first thousand. $OUTRIDER is the binary; without it the release
build, or the debug build. Prints one line, and fails with status 1 when a promise was broken.
"""

import argparse
import asyncio
import json
import os
import pathlib
import random
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PATHS = ["/fine", "/fine", "/to", "/dies", "/drip", "/late"]
DEEDS = ["request.suspend", "request.resume", "request.cancel"]


async def serve(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ", 2)[1]
            if path == b"/to":
                writer.write(b"HTTP/1.1 302 Found\r\nLocation: /fine\r\nContent-Length: 0\r\n\r\n")
            elif path == b"/dies":
                if random.random() < 0.5:
                    break
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
            elif path == b"/drip":
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n" + bytes(20000))
                await asyncio.sleep(0.001)
                writer.write(bytes(20000))
            else:
                if path == b"/late":
                    await asyncio.sleep(0.002)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
            await writer.drain()
    except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
        pass
    finally:
        writer.close()


class Service:
    """A service on stdio."""

    def __init__(self, binary):
        self.process = subprocess.Popen([binary, "serve", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.waiting, self.ends, self.number, self.broken = {}, {}, 0, []

    async def open(self):
        loop = asyncio.get_running_loop()
        self.reader = asyncio.StreamReader(limit=1 << 24)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(self.reader), self.process.stdout)
        self.listening = asyncio.create_task(self.listen())

    async def listen(self):
        while line := await self.reader.readline():
            message = json.loads(line)
            if "method" in message:
                self.heard(message["method"], message["params"])
            else:
                future = self.waiting.pop(message["id"], None)
                if future is None:
                    self.broken.append(f"a second reply: {line[:200]!r}")
                elif not future.done():
                    future.set_result(message)

    def heard(self, method, params):
        ends = self.end_of(params.get("request"))
        if ends["finished"].done():
            self.broken.append(f"{method} after the end of {params}")
        elif method == "event.finish":
            ends["finished"].set_result(params["response"])

    def end_of(self, request):
        """Made by whoever comes first: the event can stand in the same read as the reply that names the request."""
        if request not in self.ends:
            self.ends[request] = {"finished": asyncio.get_running_loop().create_future()}
        return self.ends[request]

    def call(self, method, params):
        self.number += 1
        future = asyncio.get_running_loop().create_future()
        self.waiting[self.number] = future
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return future

    def tell(self, method, params):
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def use(self):
        """Bytes resident, and descriptors."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        memory = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
        return memory * 1024, len(os.listdir(f"/proc/{self.process.pid}/fd"))


async def schedule(service, url, chance):
    params = {"url": url + chance.choice(PATHS), "events": ["state", "finish"], "timeout": 20,
              "retry": {"scale": 0.001, "limit": 3}, "startImmediately": chance.random() < 0.8}
    handle = (await service.call("data.start", params))["result"]["request"]
    ends = service.end_of(handle)
    deeds = [chance.choice(DEEDS if chance.random() < 0.3 else DEEDS[:2]) for _ in range(chance.randint(0, 8))]
    replies = []
    for deed in [*deeds, "request.resume"]:
        replies.append(service.call(deed, {"request": handle}))
        if chance.random() < 0.3:
            await asyncio.sleep(0)
    for reply in replies:
        if "error" in await asyncio.wait_for(reply, 30):
            service.broken.append(f"{handle}: {reply.result()}")
    try:
        response = await asyncio.wait_for(asyncio.shield(ends["finished"]), 30)
    except asyncio.TimeoutError:
        stands = await service.call("request.get", {"request": handle})
        service.broken.append(f"{params['url']} {deeds} did not end: {stands}")
        return
    error = response.get("error", {}).get("code")
    if error not in (None, 1900, 1404) or (error == 1900 and "request.cancel" not in deeds):
        service.broken.append(f"{deeds} ended with {response}")
    state = (await service.call("request.get", {"request": handle}))["result"]["state"]
    if state != ("cancelled" if error == 1900 else "finished"):
        service.broken.append(f"{handle} is {state} after {response}")
    await service.call("request.forget", {"request": handle})
    del service.ends[handle]


async def quiet(service, url, chance):
    """Nobody listens: such a request goes another way through the service."""
    params = {"url": url + chance.choice(PATHS), "timeout": 20, "startImmediately": chance.random() < 0.8}
    handle = (await service.call("data.start", params))["result"]["request"]
    deeds = [chance.choice(DEEDS if chance.random() < 0.3 else DEEDS[:2]) for _ in range(chance.randint(0, 8))]
    replies = []
    for deed in [*deeds, "request.resume"]:
        replies.append(service.call(deed, {"request": handle}))
        if chance.random() < 0.3:
            await asyncio.sleep(0)
    for reply in replies:
        if "error" in await asyncio.wait_for(reply, 30):
            service.broken.append(f"{handle}: {reply.result()}")
    reply = await service.call("request.wait", {"request": handle, "timeout": 30})
    response = reply.get("result", {})
    error = response.get("error", {}).get("code")
    expected = (None, 1404, 1900) if "request.cancel" in deeds else (None, 1404)
    if response.get("ok") is None or error not in expected:
        service.broken.append(f"{params['url']} {deeds} ended with {reply}")
    await service.call("request.forget", {"request": handle})


async def waited(service, url, chance):
    """A call that waits for its request, and may be cancelled, or its request may be."""
    params = {"url": url + chance.choice(PATHS), "timeout": 20}
    reply = service.call("data.send", params)
    number, cancels = service.number, chance.random() < 0.4
    if cancels:
        for _ in range(chance.randint(0, 6)):
            await asyncio.sleep(0)
        service.tell("$/cancelRequest", {"id": number})
    try:
        answer = await asyncio.wait_for(asyncio.shield(reply), 30)
    except asyncio.TimeoutError:
        service.broken.append(f"{params['url']} was not answered")
        return
    error = answer.get("result", {}).get("error", {}).get("code")
    if "error" in answer and not (cancels and answer["error"]["code"] == -32800):
        service.broken.append(f"{params['url']} was answered {answer}")
    elif error not in (None, 1404):
        service.broken.append(f"{params['url']} ended with {answer}")


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--together", type=int, default=32)
    options = parser.parse_args()
    builds = [ROOT / f".build/{kind}/outrider" for kind in ("release", "debug")]
    binary = os.environ.get("OUTRIDER") or next(str(one) for one in builds if one.exists())
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    service = Service(binary)
    await service.open()
    chance, left, early, began = random.Random(options.seed), options.schedules, None, time.monotonic()

    async def work():
        nonlocal left, early
        while left > 0 and not service.broken and time.monotonic() - began < options.minutes * 60:
            left -= 1
            await chance.choice((schedule, quiet, waited))(service, url, chance)
            if early is None and options.schedules - left >= min(1000, options.schedules // 10):
                early = service.use()

    await asyncio.gather(*(work() for _ in range(options.together)))
    await asyncio.sleep(0.1)
    running = (await service.call("server.stats", {}))["result"]["requests"]["running"]
    late = service.use()
    if running:
        service.broken.append(f"{running} requests are still running")
    if late[1] > early[1] + options.together or late[0] > early[0] + (16 << 20):
        service.broken.append(f"grew from {early} to {late}")
    service.process.stdin.close()
    seconds = time.monotonic() - began
    print(f"{options.schedules - left} schedules, {len(service.broken)} broken promises, {seconds:.0f} s; "
          f"memory {early[0] >> 10} to {late[0] >> 10} KiB, descriptors {early[1]} to {late[1]}")
    for one in service.broken[:10]:
        print("  ", one)
    service.listening.cancel()
    return 1 if service.broken else 0


sys.exit(asyncio.run(main()))
