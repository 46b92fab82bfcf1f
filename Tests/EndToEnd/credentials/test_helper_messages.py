# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Secrets in messages are read into locked memory and zeroed where they came in; other memory is not touched."""

import base64
import http.server
import json
import os
import secrets
import socket
import subprocess
import threading
import time

import contract
import pytest
import socket_service
from credential_process import Service, Store

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root reads the memory of such a process")


class Origin(http.server.ThreadingHTTPServer):
    """Echoes bodies and the fields of requests; reads a body sent to /later only when `goes_on` is set."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.goes_on, self.began = threading.Event(), threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):  # noqa: N802
        if self.path == "/later":
            self.server.began.set()
            self.server.goes_on.wait(60)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/later":
            body = json.dumps({"size": len(body), "same": body == body[:32] * (len(body) // 32)}).encode()
        self.reply(200, body)

    def do_GET(self):  # noqa: N802
        if self.path == "/private" and "Authorization" not in self.headers:
            return self.reply(401, b"", [("WWW-Authenticate", 'Basic realm="r"')])
        self.reply(200, json.dumps(dict(self.headers)).encode())

    def reply(self, status, body, fields=()):
        self.send_response(status)
        for name, value in [("Content-Length", str(len(body))), *fields]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def origin():
    with Origin() as server:
        yield server
        server.goes_on.set()
        server.shutdown()


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


@pytest.fixture
def running(store, tmp_path):
    """A service on a socket, as a Service whose memory can be searched, and the path of the socket."""
    path, service = str(tmp_path / "s"), Service.__new__(Service)
    environment = {**store.service_environment, "TMPDIR": str(tmp_path)}
    with socket_service.running(path, end=30, env=environment, stderr=subprocess.DEVNULL) as service.process:
        yield service, path


def creation(name, secret, **more):
    return {
        "name": name, "grant": "clientCredentials", "clientId": "app", "clientSecret": secret, "clientAuth": "body",
        "tokenUrl": "http://127.0.0.1:1/token", **more,
    }


def message(number, method, params, **more):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params, **more}


def test_a_secret_of_one_client_changes_nothing_of_another_one(running, origin):
    """The same text as body, upload, password, name and header of the second client stays what it is."""
    _, path = running
    text = secrets.token_hex(16)
    with contract.Wire(path) as other, contract.Wire(path) as client:
        assert "result" in other.call("session.create", {
            "name": text, "headers": {"X-Own": text},
            "credentials": [{"url": origin.url, "username": "user", "password": text, "schemes": ["basic"]}],
        })
        router = {"name": text, "baseUrl": origin.url, "endpoints": {"echo": {"path": f"/{text}"}}}
        assert "result" in other.call("router.define", router)
        assert "result" in other.call("oauth.create", creation(text, "another secret"))
        stored = other.call("data.send", {
            "url": f"{origin.url}/echo", "method": "POST", "body": {"text": text * 100}, "bodyTo": "stored"})["result"]
        upload = other.start("data.send", {
            "url": f"{origin.url}/later", "method": "POST", "body": {"text": text * (1 << 18)}, "timeout": 60})
        assert origin.began.wait(30)

        assert "result" in client.call("oauth.create", creation("mine", text), 60)
        assert "result" in client.call("oauth.set", {
            "credential": "mine", "token": {"accessToken": text, "refreshToken": text}}, 60)

        origin.goes_on.set()
        assert json.loads(other.reply(upload, 60)["result"]["body"]["text"]) == {"size": 32 << 18, "same": True}
        read = other.call("response.read", {"response": stored["body"]["response"]})["result"]
        assert base64.b64decode(read["base64"]).decode() == text * 100
        sent = other.call("data.send", {"url": f"{origin.url}/private", "session": text, "serialize": {"as": "json"}})
        fields = sent["result"]["body"]["json"]
        assert fields["X-Own"] == text
        assert fields["Authorization"] == "Basic " + base64.b64encode(f"user:{text}".encode()).decode()
        assert text in json.dumps(other.call("session.list", {})["result"])
        assert text in json.dumps(other.call("router.list", {})["result"])
        assert text in json.dumps(other.call("oauth.list", {})["result"])


def escaped(text):
    """With every character as an escape of JSON."""
    return "".join(f"\\u{ord(letter):04x}" for letter in text)


# how a message with a secret may be written: each gives bytes for a line
WRITINGS = {
    "as usual": lambda text: json.dumps(message(1, "oauth.create", creation("one", text))),
    "params before the method": lambda text: json.dumps(
        {"params": creation("one", text), "method": "oauth.create", "id": 1, "jsonrpc": "2.0"}),
    "in an array": lambda text: json.dumps(message(1, "oauth.create", [creation("one", text)])),
    "a notification": lambda text: "\n".join(map(json.dumps, [
        {"jsonrpc": "2.0", "method": "oauth.create", "params": creation("one", text)},
        message(1, "oauth.get", {"credential": "one"})])),
    "in a batch": lambda text: json.dumps([
        message(1, "server.info", {}), message(2, "oauth.create", creation("one", text))]),
    "with escapes": lambda text: json.dumps(message(1, "oauth.create", creation("one", "SECRET"))).replace(
        "SECRET", escaped(text)),
    "under escaped names": lambda text: json.dumps(message(1, "oauth.create", creation("one", text))).replace(
        "clientSecret", "client\\u0053ecret").replace("oauth.create", "oauth\\u002ecreate"),
    "as an assertion": lambda text: json.dumps(message(1, "oauth.create", {
        "name": "one", "grant": "jwtBearer", "clientId": "app", "assertion": text,
        "tokenUrl": "http://127.0.0.1:1/token"})),
    "as a refresh token": lambda text: json.dumps(message(1, "oauth.create", {
        "name": "one", "grant": "refresh", "clientId": "app", "tokenUrl": "http://127.0.0.1:1/token",
        "token": {"accessToken": "public", "refreshToken": text}})),
    "in a large message": lambda text: json.dumps(
        message(1, "oauth.create", creation("one", text, scope=["x" * 200] * 256, origins=["https://a.example/"] * 8),
                padding="y" * 100_000)),
    "with a wrong parameter": lambda text: json.dumps(message(1, "oauth.create", creation("one", text, clientAuth=1))),
    "with an unknown parameter": lambda text: json.dumps(message(1, "oauth.create", creation("one", text, other=1))),
    "twice": lambda text: json.dumps(message(1, "oauth.create", creation("one", text))).replace(
        '"clientId"', f'"clientSecret": "{text}", "clientId"'),
    "with two methods": lambda text: json.dumps(message(1, "oauth.create", creation("one", text))).replace(
        '"method"', '"method": "oauth.create", "method"'),
    "without the last brace": lambda text: json.dumps(message(1, "oauth.create", creation("one", text)))[:-1],
    "with a comma too much": lambda text: json.dumps(
        message(1, "oauth.create", creation("one", text))).replace("}}", ",}}"),
}


@only_root
@pytest.mark.parametrize("pieces", ["whole", "in pieces"])
@pytest.mark.parametrize("framing", ["line", "header"])
@pytest.mark.parametrize("writing", WRITINGS)
def test_a_secret_is_nowhere_in_memory_after_its_call(running, writing, framing, pieces):
    service, path = running
    text = "canary-" + secrets.token_hex(16)
    known = "public-" + secrets.token_hex(16)
    lines = WRITINGS[writing](text).split("\n")
    data = b""
    for line in [*lines, json.dumps(message(99, "session.create", {"name": known}))]:
        data += line.encode() + b"\n" if framing == "line" else f"Content-Length: {len(line)}\r\n\r\n{line}".encode()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        client.settimeout(60)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        size = len(data) if pieces == "whole" else 997 if len(data) > 10_000 else 61
        for start in range(0, len(data), size):
            client.sendall(data[start : start + size])
        said = b""
        while b'"id":99' not in said:
            more = client.recv(1 << 16)
            assert more, said
            said += more
        # creating a credential takes longer than the call behind it
        while b'"id":1' not in said and b'"id":null' not in said:
            said += client.recv(1 << 16)
        if writing == "a notification":
            await_credential(path, "one")
        assert service.remembers([known]) == {known}
        assert service.remembers([text, escaped(text)]) == set()


def await_credential(path, name):
    """A notification has no reply that tells its end, and other calls may overtake it."""
    end = time.monotonic() + 30
    with contract.Wire(path) as wire:
        while "error" in wire.call("oauth.get", {"credential": name}):
            assert time.monotonic() < end, "the credential was not created"
            time.sleep(0.02)


@only_root
@pytest.mark.parametrize("end", ["the client leaves", "the client ends its input", "the message is too long"])
def test_a_message_that_never_ends_leaves_no_secret(running, end):
    service, path = running
    text = "canary-" + secrets.token_hex(16)
    begun = json.dumps(message(1, "oauth.create", creation("one", text)))[:-2].encode()
    with socket.socket(socket.AF_UNIX) as client, contract.Wire(path) as other:
        client.connect(path)
        client.settimeout(60)
        client.sendall(begun[:50])
        client.sendall(begun[50:])
        if end == "the message is too long":
            filling = b" " * (1 << 20)
            for _ in range(17):
                client.sendall(filling)
            client.sendall(b"}}\n")
            assert client.recv(1 << 16)
        elif end == "the client ends its input":
            client.shutdown(socket.SHUT_WR)
            while client.recv(1 << 16):
                pass
        else:
            client.close()
        for _ in range(3):
            assert "result" in other.call("server.info", {})
        assert service.remembers([text]) == set()


@only_root
def test_the_reply_of_a_callback_leaves_no_secret(running):
    """A token of the client's own code comes as the reply to a callback, or in `answer` of a decision."""
    service, path = running
    tokens = [f"canary-{name}-" + secrets.token_hex(16) for name in ("late", "refresh")]
    with contract.Wire(path) as client:
        client.send({"jsonrpc": "2.0", "id": 17, "result": {"token": {"accessToken": tokens[0]}}})
        client.send({"jsonrpc": "2.0", "id": 18, "result": {"passphrase": tokens[1]}})
        assert "result" in client.call("server.info", {})
        error = client.call(
            "request.decide", {"decision": "dec_0000000000000000", "answer": {"passphrase": tokens[0]}})["error"]
        assert error["code"] == -32012
        assert service.remembers(tokens) == set()
