# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A connection that takes raw bodies: it reads what follows a reply, and checks the rest as any other."""

import base64
import json
import os
import select
import time

import contract


class RawWire(contract.Wire):
    """`bodies` has the raw bytes of each reply, by its id. With `header` messages have a Content-Length."""

    def __init__(self, path=None, arguments=(), header=False, greets=True, **greeting):
        super().__init__(path, arguments)
        self.header = header
        self.bodies = {}
        if greets:
            self.send({"jsonrpc": "2.0", "method": "server.hello", "params": {"rawBodies": True, **greeting}})

    def send_text(self, text):
        data = text.encode()
        head = b"Content-Length: %d\r\n\r\n" % len(data) if self.header else b""
        data = memoryview(head + data + (b"" if self.header else b"\n"))
        while data:
            data = data[os.write(self.writer, data[:65536]) :]

    def take(self, count, end):
        while len(self.buffer) < count:
            self.fill(end)
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def fill(self, end):
        if not select.select([self.reader], [], [], max(0, end - time.monotonic()))[0]:
            raise TimeoutError("nothing arrived in time")
        data = os.read(self.reader, 1 << 20)
        if not data:
            raise contract.Gone("the service ended the connection")
        self.buffer += data

    def receive(self, seconds=10.0):
        end = time.monotonic() + seconds
        mark = b"\r\n\r\n" if self.header else b"\n"
        while mark not in self.buffer:
            self.fill(end)
        text, self.buffer = self.buffer.split(mark, 1)
        if self.header:
            text = self.take(int(text.removeprefix(b"Content-Length: ")), end)
        message = json.loads(text)
        if "method" in message:
            return contract.check_event(message)
        if "raw" in message:
            assert text.startswith(b'{"raw":'), text[:100]
            self.bodies[message["id"]] = self.take(message.pop("raw"), end)
        return contract.check_message(self.methods.get(repr(message["id"])), message)

    def get(self, url, seconds=20.0, **params):
        """The body object of a request for bytes, and the bytes that came raw, or None."""
        number = self.request(url, **params)
        reply = self.reply(number, seconds)
        return reply["result"]["body"], self.bodies.pop(number, None)

    def read_all(self, handle, **params):
        """A stored body, piece by piece."""
        found = b""
        while True:
            number = self.start("response.read", {"response": handle, "offset": len(found), **params})
            piece = self.reply(number)["result"]
            found += self.bodies.pop(number, None) or base64.b64decode(piece["base64"])
            if piece["end"]:
                return found

    def request(self, url, **params):
        return self.start("data.send", {"url": url, "serialize": {"as": "base64"}, **params})
