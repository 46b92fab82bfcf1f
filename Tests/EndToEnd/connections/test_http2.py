# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""HTTP/2 with servers that others wrote: nginx and nghttpd."""

import contextlib
import shutil
import socket
import ssl
import subprocess
import threading
import time

import contract
import pytest
import shell
from listeners import free_port, shut
from nginx_server import needs_nginx, nginx
from tcp_server import Host

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
needs_nghttpd = pytest.mark.skipif(shutil.which("nghttpd") is None, reason="nghttpd is not here")

SECURE = """
listen 127.0.0.1:{tls} ssl http2; listen 127.0.0.1:{plain} http2;
ssl_certificate {certificates}/good.pem; ssl_certificate_key {certificates}/good.key;
access_log {folder}/log; client_max_body_size 0; {more}
location /take {{ return 200 "taken"; }}
"""


@contextlib.contextmanager
def secure_nginx(folder, certificates, more=""):
    """Yields the base URLs for TLS and for prior knowledge."""
    tls, plain = free_port(), free_port()
    names = {"tls": tls, "plain": plain, "certificates": certificates, "folder": folder, "more": more}
    with nginx(folder, SECURE.format(**names)):
        yield f"https://localhost:{tls}", f"http://127.0.0.1:{plain}"


@contextlib.contextmanager
def nghttpd(folder, *options):
    """Yields the port; without TLS."""
    port = free_port()
    command = ["nghttpd", "--no-tls", "-a", "127.0.0.1", "-d", str(folder), *options, str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                assert process.poll() is None, "nghttpd did not start"
            yield port
        finally:
            process.terminate()


class Relay:
    """Passes bytes on to a port of the loopback, until its connections are frozen: then they stay open and silent."""

    def __init__(self, port):
        self.port, self.frozen, self.open = port, set(), []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.own = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                near = self.listener.accept()[0]
                far = socket.create_connection(("127.0.0.1", self.port))
                self.open.append(near)
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self.copy, args=(near, one, other), daemon=True).start()

    def copy(self, near, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if near not in self.frozen:
                    target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def freeze(self):
        self.frozen |= set(self.open)

    def close(self):
        shut(self.listener)


def send(wire, url, seconds=30, **more):
    return wire.call("data.send", {"url": url, **more}, seconds)["result"]


def crowd(wire, calls, at_once=64):
    """The results of `data.send` with each of the params, so many at once."""
    waiting, results = {}, []
    calls = iter(calls)

    def start():
        for params in calls:
            waiting[wire.start("data.send", params)] = params
            return

    for _ in range(at_once):
        start()
    while waiting:
        reply = wire.receive(60)
        del waiting[reply["id"]]
        results.append(reply["result"])
        start()
    return results


@needs_nginx
def test_https_speaks_http2_unless_told_otherwise(trusting, certificates, tmp_path):
    """[AD5]"""
    (tmp_path / "text").write_text("hello")
    with secure_nginx(tmp_path, certificates) as (url, _):
        first, second = (send(trusting, f"{url}/text", metrics=True) for _ in range(2))
        old = send(trusting, f"{url}/text", httpVersion="1.1")
        head = send(trusting, f"{url}/text", method="HEAD")
        pool = trusting.call("server.stats")["result"]["pool"]
    assert first["body"]["text"] == "hello" and first["httpVersion"] == "2" and first["tls"]["alpn"] == "h2"
    timed = [response["metrics"]["attempts"][0] for response in (first, second)]
    assert [entry["protocol"] for entry in timed] == ["h2", "h2"]
    assert [entry["reused"] for entry in timed] == [False, True]
    assert [entry["stream"] for entry in timed] == [1, 3] and timed[0]["connection"] == timed[1]["connection"]
    assert old["httpVersion"] == "1.1" and old["body"]["text"] == "hello"
    assert head["status"] == 200 and head["httpVersion"] == "2" and head["body"]["kind"] == "none"
    assert pool["http2"] == 1 and pool["streams"] == 0 and pool["idle"] == 2


@needs_nginx
def test_plain_http_speaks_http2_with_prior_knowledge(trusting, certificates, tmp_path):
    (tmp_path / "text").write_text("hello")
    with secure_nginx(tmp_path, certificates) as (_, url):
        response = send(trusting, f"{url}/text", httpVersion="2")
    assert response["httpVersion"] == "2" and response["body"]["text"] == "hello" and "tls" not in response


def test_a_server_without_http2_is_named(trusting, listen):
    url = f"https://localhost:{listen('good')}/"
    response = send(trusting, url, httpVersion="2")
    assert response["error"]["code"] == 1419 and "localhost" in response["error"]["message"]
    assert send(trusting, url)["httpVersion"] == "1.1"


@pytest.mark.parametrize(
    "reply", [b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", b"<!DOCTYPE HTML>\n<title>Error</title>\n"])
def test_a_plain_server_without_http2_is_named(trusting, reply):
    """The second reply is that of `python3 -m http.server`, as of HTTP/0.9."""

    def serve(connection):
        connection.recv(65536)
        connection.sendall(reply)
        # unread bytes at the end would reset the connection, and the reply would be lost
        while connection.recv(65536):
            pass

    with Host(serve) as host:
        error = send(trusting, f"http://127.0.0.1:{host.port}/", httpVersion="2")["error"]
    assert error["code"] == 1419 and "httpVersion" in error["message"], error


@pytest.mark.parametrize("version", ["auto", "2"])
def test_a_server_that_agrees_to_http2_and_does_not_speak_it_is_named(trusting, certificates, version):
    """As a proxy of TLS with h2 in its list does, in front of a server of HTTP/1."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "good.pem", certificates / "good.key")
    context.set_alpn_protocols(["h2"])

    def serve(connection):
        with context.wrap_socket(connection, server_side=True) as secured:
            secured.recv(65536)
            secured.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            while secured.recv(65536):
                pass

    with Host(serve) as host:
        error = send(trusting, f"https://localhost:{host.port}/", httpVersion=version)["error"]
    assert error["code"] == 1419 and "agreed in the TLS handshake" in error["message"], error
    assert 'use httpVersion "1.1"' in error["message"], error


def test_an_unknown_version_is_refused(trusting):
    error = trusting.call("data.send", {"url": "http://127.0.0.1/", "httpVersion": "3"})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == "/httpVersion"


@needs_nginx
def test_a_session_chooses_the_version(trusting, certificates, tmp_path):
    (tmp_path / "text").write_text("hello")
    with secure_nginx(tmp_path, certificates) as (url, _):
        session = trusting.call("session.create", {"httpVersion": "1.1"})["result"]["session"]
        responses = [send(trusting, f"{url}/text", session=session, **more) for more in ({}, {"httpVersion": "2"})]
    assert [response["httpVersion"] for response in responses] == ["1.1", "2"]


@needs_nginx
def test_a_crowd_shares_one_connection(trusting, certificates, tmp_path):
    (tmp_path / "text").write_text("hello")
    with secure_nginx(tmp_path, certificates) as (url, _):
        results = crowd(trusting, [{"url": f"{url}/text", "metrics": True}] * 1000)
    assert all(result["ok"] and result["body"]["text"] == "hello" for result in results)
    assert len({result["metrics"]["attempts"][0]["connection"] for result in results}) == 1


@needs_nginx
def test_goaway_after_a_hundred_requests_loses_none(trusting, certificates, tmp_path):
    (tmp_path / "text").write_text("hello")
    with secure_nginx(tmp_path, certificates, "keepalive_requests 100;") as (url, _):
        calls = [
            {"url": f"{url}/take?{number}", "method": "POST", "body": {"text": "x" * 100}}
            if number % 3 == 0 else {"url": f"{url}/text?{number}"}
            for number in range(3000)
        ]
        results = crowd(trusting, calls)
        failed = [result["error"] for result in results if not result["ok"]]
        assert not failed, failed[:3]
    lines = (tmp_path / "log").read_text().splitlines()
    taken = [line.split()[6] for line in lines if '"POST /take' in line and '" 200 ' in line]
    assert len(taken) == len(set(taken)) == 1000


@needs_nginx
def test_a_large_body_comes_and_a_paused_one_stops_no_other(trusting, certificates, tmp_path):
    with open(tmp_path / "large", "wb") as file:
        file.truncate(100 << 20)
    (tmp_path / "text").write_text("hello")
    target = tmp_path / "copy"
    with secure_nginx(tmp_path, certificates) as (url, _):
        params = {"url": f"{url}/large", "destination": {"path": str(target)}}
        held = trusting.call("download.start", params)["result"]["request"]
        trusting.call("request.suspend", {"request": held})
        began = time.monotonic()
        results = crowd(trusting, [{"url": f"{url}/text", "metrics": True}] * 100)
        assert all(result["ok"] for result in results) and time.monotonic() - began < 10
        trusting.call("request.resume", {"request": held})
        response = trusting.call("request.wait", {"request": held}, 60)["result"]
    assert response["ok"] and response["httpVersion"] == "2" and target.stat().st_size == 100 << 20


@needs_nginx
@pytest.mark.parametrize("size", [0, 1, 65536, 65537, 1 << 20, 20 << 20])
def test_bodies_arrive_whole(trusting, certificates, tmp_path, size):
    body = tmp_path / "body"
    body.write_bytes(b"u" * size)
    with secure_nginx(tmp_path, certificates) as (url, _):
        response = send(trusting, f"{url}/take", method="POST", body={"file": str(body)}, metrics=True)
    assert response["ok"] and response["body"]["text"] == "taken" and response["httpVersion"] == "2"


@needs_nghttpd
def test_nghttpd_echoes_what_is_uploaded(trusting, tmp_path):
    body = tmp_path / "body"
    body.write_bytes(bytes(range(256)) * 20000)
    with nghttpd(tmp_path, "--echo-upload") as port:
        response = send(
            trusting, f"http://127.0.0.1:{port}/x", httpVersion="2", method="POST", body={"file": str(body)},
            serialize={"as": "base64"}, maxInline=8 << 20)
        small = send(trusting, f"http://127.0.0.1:{port}/x", httpVersion="2", method="POST", body={"text": "small"})
    assert response["body"]["size"] == 256 * 20000 and small["body"]["size"] == 5


@needs_nghttpd
def test_trailers_and_cancelling_leave_the_connection(trusting, tmp_path):
    (tmp_path / "text").write_text("hello")
    with open(tmp_path / "large", "wb") as file:
        file.truncate(1 << 30)
    with nghttpd(tmp_path, "--trailer", "x-end: yes") as port:
        url = f"http://127.0.0.1:{port}"
        first = send(trusting, f"{url}/text", httpVersion="2", metrics=True)
        request = trusting.call("data.start", {"url": f"{url}/large", "httpVersion": "2", "bodyTo": "stored"})
        time.sleep(0.2)
        trusting.call("request.cancel", {"request": request["result"]["request"]})
        second = send(trusting, f"{url}/text", httpVersion="2", metrics=True)
    assert first["body"]["text"] == second["body"]["text"] == "hello"
    assert first["trailers"] == [{"name": "x-end", "value": "yes"}]
    connections = [response["metrics"]["attempts"][0]["connection"] for response in (first, second)]
    assert connections[0] == connections[1]


@needs_nghttpd
@pytest.mark.parametrize("option, line", [("--http2-prior-knowledge", "HTTP/2 200"), ("--http2", None)])
def test_the_options_of_curl_choose_the_version(certificates, tmp_path, option, line):
    (tmp_path / "text").write_text("hello")
    with nghttpd(tmp_path) as port:
        alone = {"XDG_RUNTIME_DIR": str(tmp_path)}
        said = shell.outrider("get", "-i", option, f"http://127.0.0.1:{port}/text", env=alone)
    # without prior knowledge a plain server is spoken to over HTTP/1.1, which this one does not understand
    assert said.stdout.decode().startswith(line) if line else said.returncode != 0


@needs_nginx
def test_an_update_of_a_session_drains_its_old_connections(trusting, certificates, tmp_path):
    (tmp_path / "text").write_text("hello")
    with open(tmp_path / "large", "wb") as file:
        file.truncate(64 << 20)
    with secure_nginx(tmp_path, certificates) as (url, _):
        tls = {"roots": {"file": str(certificates / "ca.pem")}, "maxVersion": "1.2"}
        session = trusting.call("session.create", {"tls": tls})["result"]["session"]
        common = {"session": session, "metrics": True}
        first = send(trusting, f"{url}/text", **common)
        running = trusting.start("data.send", {"url": f"{url}/large", "bodyTo": "discard", **common})
        trusting.call("session.update", {"session": session, "tls": {**tls, "ciphers": "compatible"}})
        second = send(trusting, f"{url}/text", **common)
        large = trusting.reply(running, 20)["result"]
        pool = trusting.call("server.stats")["result"]["pool"]
    numbers = [one["metrics"]["attempts"][0]["connection"] for one in (first, large, second)]
    assert large["ok"] and large["body"]["size"] == 64 << 20
    assert numbers[0] == numbers[1] != numbers[2] and pool["http2"] == 1, (numbers, pool)


@needs_nghttpd
def test_a_connection_that_went_silent_is_given_up(trusting, tmp_path):
    (tmp_path / "text").write_text("hello")
    with nghttpd(tmp_path) as port, contextlib.closing(Relay(port)) as relay:
        common = {"url": f"http://127.0.0.1:{relay.own}/text", "httpVersion": "2", "metrics": True}
        first = send(trusting, **common)
        relay.freeze()
        began = time.monotonic()
        calls = [trusting.start("data.send", {**common, "method": method}) for method in ("GET", "POST", "GET")]
        replies = trusting.replies(calls, 30)
        took = time.monotonic() - began
    got, posted, again = (replies[call]["result"] for call in calls)
    assert got["ok"] and again["ok"] and took < 12
    assert posted["error"]["code"] == 1404 and posted["attempts"] == 1
    numbers = [response["metrics"]["attempts"][-1]["connection"] for response in (first, got, again)]
    assert numbers[0] != numbers[1] == numbers[2]


@needs_nginx
def test_a_priority_is_told_to_the_server(trusting, certificates, tmp_path):
    more = 'location /priority { return 200 "$http_priority"; }'
    with secure_nginx(tmp_path, certificates, more) as (url, _):
        said = [send(trusting, f"{url}/priority", priority=word)["body"] for word in ("high", "normal", "low")]
    assert [body.get("text", "") for body in said] == ["u=1", "", "u=6"]


@needs_nginx
def test_a_compressed_body_that_begins_with_nothing_comes_to_its_end(trusting, certificates, tmp_path):
    # RFC 8878: skippable frames of 64 KiB, then one frame of a raw block
    skipped = bytes.fromhex("502a4d18") + (1 << 16).to_bytes(4, "little") + bytes(1 << 16)
    (tmp_path / "text").write_bytes(skipped * 32 + bytes.fromhex("28b52ffd2005290000") + b"hello")
    more = "location /text { add_header Content-Encoding zstd; }"
    with secure_nginx(tmp_path, certificates, more) as (url, _):
        response = send(trusting, f"{url}/text", seconds=20)
    assert response["httpVersion"] == "2" and response["body"]["text"] == "hello"
