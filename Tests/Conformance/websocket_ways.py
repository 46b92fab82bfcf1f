# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The three ways in which messages of a WebSocket reach a client: events, stream.read, and the side channel."""

import atexit
import base64
import itertools
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time

from adapter import Closed, Refused

BINARY = os.environ.get("OUTRIDER", "outrider")
MOST = 64 << 20
CREDIT = 1 << 20
_services, _lock = {}, threading.Lock()
_folder = tempfile.mkdtemp(prefix="outrider-")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)


def service(ca):
    """The process and the socket of a service that trusts one root."""
    with _lock:
        if ca not in _services:
            path = os.path.join(_folder, str(len(_services)))
            more = ["--ca-file", ca] if ca else []
            # the suite may end without running exit functions: the service holds none of its pipes, and ends alone
            command = [BINARY, "serve", "--socket", path, "--idle-exit", "30", *more]
            quiet = subprocess.DEVNULL
            process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
            atexit.register(process.kill)
            while not os.path.exists(path):
                time.sleep(0.01)
            _services[ca] = process, path
        return _services[ca]


class Wire:
    """One connection: calls one after the other, events beside them."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        for _ in range(100):
            try:
                self.socket.connect(path)
                break
            except ConnectionRefusedError:
                time.sleep(0.02)
        self.file = self.socket.makefile("rb")
        self.ids = itertools.count(1)
        self.events = []

    def next(self, timeout):
        """The next message from the service."""
        self.socket.settimeout(timeout)
        try:
            line = self.file.readline()
        except TimeoutError:
            # a reader that timed out can be used again only if it is made anew; lines are not cut here
            self.file = self.socket.makefile("rb")
            raise
        if not line:
            raise ConnectionError("the service ended the connection")
        return json.loads(line)

    def call(self, method, patience=40, **params):
        number = next(self.ids)
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.socket.settimeout(patience)
        self.socket.sendall(json.dumps(message).encode() + b"\n")
        while True:
            reply = self.next(patience)
            if reply.get("id") == number:
                if "error" in reply:
                    raise RuntimeError(f"{reply['error']['code']} {reply['error']['message']}")
                return reply["result"]
            self.events.append(reply)

    def tell(self, method, **params):
        """A notification."""
        self.socket.sendall(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n")

    def close(self):
        self.socket.close()


def message(value):
    """A message out of an item."""
    if "text" in value:
        return value["text"]
    payload = base64.b64decode(value["base64"])
    return payload.decode() if value.get("isText") else payload


class Socket:
    """What all ways share."""

    mode = {"mode": "pull"}

    def __init__(self, url, protocols=(), headers=(), compress=True, max_message=None, ca=None, proxy=None, timeout=10):
        self.process, self.path = service(ca)
        self.wire = Wire(self.path)
        self.end = None
        params = {
            "url": url,
            "protocols": list(protocols),
            "headers": [{"name": name, "value": value} for name, value in headers],
            "compression": compress,
            "maxMessage": max_message or MOST,
            "timeout": {"total": timeout, "firstByte": timeout},
            **self.mode,
        }
        if proxy:
            params["proxy"] = {"url": proxy, "bypass": []}
        opened = self.wire.call("websocket.open", **params)
        response = opened["response"]
        if "stream" not in opened:
            if "status" in response and response["status"] != 101:
                raise Refused(response["status"])
            raise ConnectionError(response["error"]["message"])
        self.stream = opened["stream"]
        self.protocol = opened.get("protocol")
        self.begin()

    def begin(self):
        pass

    def send(self, content):
        item = {"text": content} if isinstance(content, str) else {"base64": base64.b64encode(content).decode()}
        self.wire.call("websocket.send", stream=self.stream, **item)

    def ping(self, payload=None):
        more = {} if payload is None else {"base64": base64.b64encode(payload).decode()}
        self.wire.call("websocket.ping", stream=self.stream, timeout=3, **more)

    def close(self, code=1000, reason=""):
        try:
            self.wire.call("websocket.close", stream=self.stream, code=code, reason=reason)
        except RuntimeError as error:
            # the stream is released with its end
            if "-32012" not in str(error):
                raise

    def closed(self, close, error):
        """What the end says."""
        self.end = Closed((close or {}).get("code"), (close or {}).get("reason", ""))
        return self.end

    def pid(self):
        return self.process.pid

    def drop(self):
        self.wire.close()


class Events(Socket):
    """Each message is an event, within credit."""

    mode = {"mode": "push", "credit": CREDIT}

    def recv(self, timeout=5):
        if self.end:
            raise self.end
        until = time.monotonic() + timeout
        while True:
            if self.wire.events:
                event = self.wire.events.pop(0)
            else:
                event = self.wire.next(max(0.01, until - time.monotonic()))
            params = event.get("params", {})
            if event.get("method") == "event.end":
                raise self.closed(params.get("close"), params.get("error"))
            if event.get("method") == "event.message":
                if params["bytes"]:
                    self.wire.tell("stream.credit", stream=self.stream, bytes=params["bytes"])
                return message(params)


class Reads(Socket):
    """Messages are read."""

    def begin(self):
        self.found = []

    def recv(self, timeout=5):
        if self.end and not self.found:
            raise self.end
        if not self.found:
            read = self.wire.call("stream.read", stream=self.stream, wait=timeout, bytes=1 << 20)
            self.found = [message(value) for value in read["values"]]
            if read["end"]:
                self.closed(read.get("close"), read.get("error"))
            if not self.found:
                raise self.end or TimeoutError()
        return self.found.pop(0)


class Channel(Socket):
    """A second connection carries messages both ways."""

    def begin(self):
        self.pipe = socket.socket(socket.AF_UNIX)
        self.pipe.connect(self.path)
        call = {"jsonrpc": "2.0", "id": 1, "method": "stream.attach"}
        call["params"] = {"stream": self.stream, "direction": "both"}
        self.pipe.sendall(json.dumps(call).encode() + b"\n")
        self.pipe.settimeout(10)
        reply = b""
        while not reply.endswith(b"\n"):
            piece = self.pipe.recv(1)
            if not piece:
                raise ConnectionError("the side channel ended")
            reply += piece
        if "error" in json.loads(reply):
            raise RuntimeError(reply)
        self.held = b""

    def send(self, content):
        if self.end:
            raise self.end
        payload = content.encode() if isinstance(content, str) else content
        self.pipe.settimeout(30)
        self.pipe.sendall(struct.pack(">BI", 1 if isinstance(content, str) else 2, len(payload)) + payload)

    def recv(self, timeout=5):
        if self.end:
            raise self.end
        self.pipe.settimeout(timeout)
        while True:
            if len(self.held) >= 5:
                kind, size = struct.unpack(">BI", self.held[:5])
                if len(self.held) >= 5 + size:
                    payload, self.held = self.held[5:5 + size], self.held[5 + size:]
                    if kind == 1:
                        return payload.decode()
                    if kind == 2:
                        return payload
                    control = json.loads(payload)
                    if "close" in control or "error" in control:
                        raise self.closed(control.get("close"), control.get("error"))
                    continue
            piece = self.pipe.recv(1 << 20)
            if not piece:
                raise ConnectionError("the side channel ended without its last record")
            self.held += piece

    def drop(self):
        if hasattr(self, "pipe"):
            self.pipe.close()
        super().drop()
