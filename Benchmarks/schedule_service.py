# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A service on stdio, and what is promised of everything that it says: one reply, one ending, nothing after the end."""

import asyncio
import base64
import json
import os
import pathlib
import subprocess

from schedule_server import PASSWORD, USER

SECONDS = 60


class Ends:
    """What is told of one request or stream; made by the reply that names it or by an event, whichever comes first."""

    def __init__(self):
        self.over = asyncio.get_running_loop().create_future()
        self.closed = False
        self.seq, self.data, self.events = 0, [], []


class Service:
    def __init__(self, binary):
        self.process = subprocess.Popen([binary, "serve", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.waiting, self.ends, self.number, self.broken = {}, {}, 0, []
        # streams that are over once their call has its result
        self.closing = {}

    async def open(self):
        loop = asyncio.get_running_loop()
        self.reader = asyncio.StreamReader(limit=1 << 24)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(self.reader), self.process.stdout)
        self.listening = asyncio.create_task(self.listen())

    async def listen(self):
        while line := await self.reader.readline():
            message = json.loads(line)
            if "method" not in message:
                self.replied(message, line)
            elif "id" in message:
                self.call_back(message)
            else:
                self.heard(message["method"], message["params"])
        self.broken.append("the service has ended")
        for future in self.waiting.values():
            future.cancel()

    def replied(self, message, line):
        future = self.waiting.pop(message["id"], None)
        if message["id"] in self.closing:
            self.of(self.closing.pop(message["id"])).closed = True
        if future is None:
            self.broken.append(f"a second reply: {line[:200]!r}")
        elif not future.done():
            future.set_result(message)

    def call_back(self, message):
        """The password is wrong as often as the callback says that none was refused yet, half of the time."""
        wrong = message["params"]["failures"] == 0 and message["id"] % 2
        who = {"username": USER, "password": "wrong" if wrong else PASSWORD}
        self.send({"id": message["id"], "result": {"credential": who, "persistence": "none"}})

    def heard(self, method, params):
        handle = params.get("stream") or params.get("request")
        if handle is None:
            return
        ends = self.of(handle)
        if ends.over.done() or ends.closed:
            self.broken.append(f"{method} after the end of {str(params)[:200]}")
        elif method in ("event.finish", "event.end"):
            ends.over.set_result(params)
        elif "stream" in params:
            if params["seq"] != ends.seq:
                self.broken.append(f"{handle}: {method} {params['seq']} after {ends.seq - 1}")
            ends.seq += 1
            if "base64" in params:
                ends.data.append(base64.b64decode(params["base64"]))
            ends.events.append(params)

    def of(self, handle):
        if handle not in self.ends:
            self.ends[handle] = Ends()
        return self.ends[handle]

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def call(self, method, params):
        self.number += 1
        future = asyncio.get_running_loop().create_future()
        self.waiting[self.number] = future
        if method == "stream.close":
            self.closing[self.number] = params["stream"]
        self.send({"id": self.number, "method": method, "params": params})
        return future

    async def done(self, method, params):
        """The result of a call that must succeed."""
        reply = await asyncio.wait_for(self.call(method, params), SECONDS)
        if "result" not in reply:
            raise AssertionError(f"{method} {params}: {reply}")
        return reply["result"]

    async def over(self, handle):
        """How it ended."""
        try:
            return await asyncio.wait_for(asyncio.shield(self.of(handle).over), SECONDS)
        except asyncio.TimeoutError:
            about = {"request": handle} if handle.startswith("req") else {}
            stands = await self.call("request.get" if about else "server.stats", about)
            raise AssertionError(f"{handle} did not end: {stands}") from None

    def forget(self, *handles):
        for handle in handles:
            self.ends.pop(handle, None)

    def use(self):
        """Bytes resident, and descriptors."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        memory = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
        return memory * 1024, len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def close(self):
        self.listening.cancel()
        self.process.stdin.close()
        self.process.wait(30)
