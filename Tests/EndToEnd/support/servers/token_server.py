# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What tests of tokens share: a server that refuses as it is told, and a client whose code refreshes."""

import threading

from http_server import Listening
from request_client import result
from upload_server import Reader, Taken

WORDS = {200: "OK", 202: "Accepted", 307: "Temporary Redirect", 401: "Unauthorized", 500: "Internal Server Error"}


class Refusing(Listening):
    """Responds at each path with the statuses of `script`, one after the other, the last again and again; writes down
    the Authorization fields."""

    def __init__(self):
        self.script, self.authorizations, self.challenge, self.location = {}, {}, None, None
        self.lock, self.gates = threading.Lock(), {}
        super().__init__()

    def gather(self, path, count):
        """Requests for the path get responses once so many have arrived."""
        self.gates[path] = threading.Barrier(count)

    def serve(self, connection, number):
        connection.settimeout(30)
        reader = Reader(connection)
        while head := reader.until(b"\r\n\r\n"):
            request = Taken(head, number)
            request.body = reader.exactly(int(request.field("content-length") or 0))
            with self.lock:
                seen = self.authorizations.setdefault(request.path, [])
                seen.append(request.field("authorization"))
                left = self.script.get(request.path, [200])
                status = left.pop(0) if len(left) > 1 else left[0]
                gate = self.gates.get(request.path)
            self.note(self.arrived, request.path)
            if gate is not None:
                gate.wait(20)
                self.gates.pop(request.path, None)
            fields = f"Content-Length: {len(str(status))}\r\n"
            if status == 401 and self.challenge:
                fields += f"WWW-Authenticate: {self.challenge}\r\n"
            if status == 307:
                fields += f"Location: {self.location}\r\n"
            connection.sendall(f"HTTP/1.1 {status} {WORDS.get(status, 'X')}\r\n{fields}\r\n{status}".encode())


class Refresher:
    """The client's code: gives a1, a2, …; or what it is told to."""

    def __init__(self, reply=None):
        self.calls, self.reply = [], reply

    def __call__(self, params):
        self.calls.append(params)
        if self.reply is not None:
            return self.reply(params) if callable(self.reply) else self.reply
        return {"token": {"accessToken": f"a{len(self.calls)}"}}


class Talk:
    """Calls under way on one connection, and code that refreshes meanwhile."""

    def __init__(self, wire, refresh=None):
        self.wire, self.refresh, self.replies, self.events, self.waiting = wire, refresh or Refresher(), {}, [], []

    def start(self, method, params):
        return self.wire.start(method, params)

    def send(self, url, **params):
        return self.start("data.send", {"url": url, **params})

    def step(self, serves=True, seconds=20.0):
        message = self.wire.receive(seconds)
        if "method" not in message:
            self.replies[message["id"]] = message
        elif "id" not in message:
            self.events.append(message)
        else:
            assert message["method"] == "callback.refresh", message
            self.waiting.append(message)
            if serves:
                self.serve_callbacks()

    def serve_callbacks(self):
        """Replies to all callbacks that wait."""
        while self.waiting:
            callback = self.waiting.pop(0)
            self.wire.send({"jsonrpc": "2.0", "id": callback["id"], "result": self.refresh(callback["params"])})

    def until_called(self):
        while not self.waiting:
            self.step(serves=False)

    def reply(self, number, serves=True):
        while number not in self.replies:
            self.step(serves)
        return self.replies.pop(number)

    def finish(self, *numbers):
        """Their results, in this order; callbacks meanwhile get replies."""
        found = [result(self.reply(number)) for number in numbers]
        return found[0] if len(found) == 1 else found

    def call(self, method, params):
        """A result, and no callback gets a reply meanwhile."""
        return result(self.reply(self.start(method, params), serves=False))

    def counts(self, credential):
        """Of apply, refresh, didRequestFail and isRequestAuthenticatedWith."""
        found = self.call("oauth.get", {"credential": credential})["counts"]
        return [found[name] for name in ("apply", "refresh", "didRequestFail", "isRequestAuthenticatedWith")]

    def make(self, server, name=None, **more):
        """A credential of the grant `callback`, with the token a0."""
        params = {"grant": "callback", "callback": "mine", "origins": [server.url("")], "token": {"accessToken": "a0"}}
        return self.call("oauth.create", {**({"name": name} if name else {}), **params, **more})["credential"]
