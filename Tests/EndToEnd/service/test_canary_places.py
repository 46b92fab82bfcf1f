# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Secrets planted in conversations, jars, caches, TLS settings and the configuration file are not in the log, not in
what another connection of the user sees, and masked in what the service shows of a request."""

import base64
import contextlib
import json
import os
import secrets
import ssl
import subprocess
import threading

import certificate_authority
import contract
import pytest
import websockets.sync.server
from cache_server import CacheServer, Reply
from cookie_server import CookieServer
from request_client import result
from shell import outrider
from socket_service import TERMINATED, running
from tcp_server import Host, dial, echo, read, write

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def canary(kind):
    return f"{kind}-{secrets.token_hex(16)}"


class Place:
    """A service that logs everything, the connection whose secrets they are, and a second one that watches."""

    def __init__(self, folder, path, process):
        self.folder, self.log, self.process = folder, folder / "log", process
        self.own, self.other = contract.Wire(path), contract.Wire(path)
        assert result(self.other.call("events.subscribe", {"topics": ["*"]}))

    def shown(self, request):
        """What the service shows of a request to its own connection, as long as it does not ask for secrets."""
        own = self.own
        parts = [own.call("request.curl", {"request": request}), own.call("har.export", {"requests": [request]})]
        return json.dumps([result(part) for part in parts])

    def overheard(self):
        """All that the second connection can ask for, and all events that came to it."""
        texts = [json.dumps(self.other.call(method, {})) for method in
                 ("request.list", "session.list", "server.stats", "server.metrics", "server.info", "oauth.list")]
        numbers = [self.other.start("diagnostics.echo", {"end": True})]
        while (message := self.other.receive()).get("id") not in numbers:
            texts.append(json.dumps(message))
        return "".join(texts)

    def end(self):
        """The log, and what was written to standard error."""
        self.own.__exit__()
        self.other.__exit__()
        self.process.terminate()
        _, errors = self.process.communicate(timeout=20)
        assert self.process.returncode == TERMINATED
        return self.log.read_text() + errors.decode()


@contextlib.contextmanager
def serving(folder, *arguments):
    path = str(folder / "s")
    words = ["--log-file", str(folder / "log"), "--log-level", "trace", "--jars", str(folder / "jars"), *arguments]
    variables = {"TMPDIR": str(folder)}
    with running(path, *words, variables=variables, stderr=subprocess.PIPE) as process, process.stderr:
        yield Place(folder, path, process)


@pytest.fixture
def service(tmp_path):
    with serving(tmp_path) as place:
        yield place


def hidden(planted, text):
    assert [name for name in planted if name in text] == []


@contextlib.contextmanager
def chat():
    """The URL of a WebSocket server that sends back what comes."""
    def echo_messages(connection):
        for message in connection:
            connection.send(message)

    with websockets.sync.server.serve(echo_messages, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}/"
        server.shutdown()


def test_secrets_of_a_websocket(service):
    token, bearer, message = planted = canary("token"), canary("bearer"), canary("message")
    with chat() as url:
        params = {"url": f"{url}?access_token={token}", "headers": {"Authorization": "Bearer " + bearer}}
        made = result(service.own.call("websocket.open", params))
        service.own.call("websocket.send", {"stream": made["stream"], "messages": [{"text": message}]})
        assert result(service.own.call("stream.read", {"stream": made["stream"], "wait": 10}))["values"] == [
            {"text": message}]
        hidden(planted, service.shown(made["response"]["request"]) + service.overheard())
        service.own.call("websocket.close", {"stream": made["stream"]})
    hidden(planted, service.end())


def test_bytes_of_a_tcp_stream(service):
    secret = canary("password")
    with Host(echo) as host:
        made = dial(service.own, host.port)
        write(service.own, made["stream"], f"AUTH PLAIN {secret}\r\n".encode())
        assert secret.encode() in read(service.own, made["stream"], min=len(secret) + 13, bytes=65536)[0]
        hidden([secret], service.shown(made["request"]) + service.overheard())
        service.own.call("stream.close", {"stream": made["stream"]})
    encoded = base64.b64encode(secret.encode()).decode()
    hidden([secret, encoded], service.end())


def test_values_of_cookies(service):
    taken, given = planted = canary("sid"), canary("extra")
    with CookieServer() as server:
        own = service.own
        session = result(own.call("session.create", {"cookies": {"name": "work"}}))["session"]
        field = f"sid={taken}; Max-Age=1000; Path=/"
        first = result(own.call("data.send", {"session": session, "url": server.url(server.setting(field))}))
        assert first["status"] == 200, first
        params = {"session": session, "url": server.url("/"), "cookies": {"extra": [{"name": "e", "value": given}]}}
        second = result(own.call("data.send", params))
        assert taken in server.sent() and given in server.sent()
        overheard = service.overheard()
        hidden(planted, service.shown(second["request"]) + overheard)
    hidden(planted, service.end())


def test_what_a_cache_holds(service):
    bearer, body = planted = canary("bearer"), canary("body")
    with contextlib.closing(CacheServer()) as server:
        reply = Reply(body.encode(), fields=(("Cache-Control", "private, max-age=60"),))
        url, _ = server.script(lambda *_: reply)
        params = {"url": url, "cache": "docs", "headers": {"Authorization": "Bearer " + bearer}}
        for _ in range(2):
            sent = result(service.own.call("data.send", params))
            assert sent["body"]["text"] == body, sent
        hidden([bearer], service.shown(sent["request"]))
        hidden(planted, service.overheard())
    hidden(planted, service.end())
    for path in service.folder.rglob("*"):
        assert not path.is_file() or body.encode() not in path.read_bytes(), path


def test_the_passphrase_of_a_client_key(tmp_path, tmp_path_factory):
    right, wrong = planted = canary("passphrase"), canary("wrong")
    pki = certificate_authority.usual(tmp_path_factory.mktemp("pki"))
    pki.issue("client", "inter", certificate_authority.LEAF + "extendedKeyUsage=clientAuth\n", chain=["inter"])
    pki.openssl("pkey", "-in", "client.key", "-aes256", "-passout", "pass:" + right, "-out", "sealed.key")
    (pki.folder / "sealed.key").chmod(0o600)
    with certificate_authority.serving(pki) as start, serving(tmp_path, "--ca-file", pki.path("root.crt")) as service:
        url = f"https://localhost:{start('good', client=ssl.CERT_REQUIRED)}/"
        for passphrase in planted:
            identity = {"certificate": pki.path("client.pem"), "key": pki.path("sealed.key"), "passphrase": passphrase}
            params = {"url": url, "tls": {"identity": identity}, "timeout": 10}
            sent = result(service.own.call("data.send", params))
            assert sent["ok"] is (passphrase == right), sent
            hidden(planted, json.dumps(sent) + service.shown(sent["request"]) + service.overheard())
        hidden(planted, service.end())


def test_a_password_in_the_configuration_file(tmp_path):
    secret, config, log = canary("proxy"), tmp_path / "config.yaml", tmp_path / "log"
    config.write_text(f"proxy: http://user:{secret}@127.0.0.1:9\nlog-level: trace\nlog-file: {log}\n")
    config.chmod(0o600)
    with contract.Wire(arguments=("--config", str(config))) as wire:
        sent = wire.call("data.send", {"url": "http://example.test/"})
        assert not sent["result"]["ok"], sent
        texts = [sent, wire.call("server.info", {}), wire.call("server.stats", {}), wire.call("request.list", {})]
        hidden([secret], json.dumps(texts))
    for words in (("config",), ("doctor",)):
        done = outrider(*words, env={**os.environ, "OUTRIDER_CONFIG": str(config), "XDG_RUNTIME_DIR": str(tmp_path)})
        hidden([secret], (done.stdout + done.stderr).decode())
    assert log.exists()
    hidden([secret], log.read_text())
