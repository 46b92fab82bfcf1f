# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""TLS as a caller sees it: whom the service believes, where it is told so, and what it says when it does not."""

import http.server
import ssl
import subprocess
import threading
import urllib.parse

import contract
import pytest
from capture import Capture

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """A folder with an authority `ca.pem`, and what it signed: `good`, for another name, and out of date."""
    folder = tmp_path_factory.mktemp("tls")

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    openssl("req", "-x509", *CURVE, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test authority")
    for name, host, days in (("good", "DNS:localhost,IP:127.0.0.1", 2), ("other", "DNS:elsewhere.test", 2)):
        (folder / f"{name}.ext").write_text(f"subjectAltName={host}\nbasicConstraints=CA:false\n")
        openssl("req", *CURVE, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        openssl(
            *("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"),
            *("-days", str(days), "-extfile", f"{name}.ext", "-out", f"{name}.pem"),
        )
    return folder


class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path, _, location = self.path.partition("?")
        self.send_response(302 if path == "/to" else 200)
        if path == "/to":
            self.send_header("Location", urllib.parse.unquote(location))
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"secure")

    def log_message(self, *_):
        pass


class Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


@pytest.fixture
def listen(certificates):
    """Starts a server with a certificate, and gives its port."""
    started = []

    def start(name, version=ssl.TLSVersion.TLSv1_3):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.maximum_version = version
        context.load_cert_chain(certificates / f"{name}.pem", certificates / f"{name}.key")
        server = Quiet(("127.0.0.1", 0), Page)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        started.append(server)
        return server.server_port

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


def send(wire, url, **more):
    return wire.call("data.send", {"url": url, **more})["result"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_roots_named_by_the_flag_are_believed(certificates, listen, host):
    with contract.Wire(arguments=["--ca-file", str(certificates / "ca.pem")]) as wire:
        url = f"https://{host}:{listen('good')}/"
        first, second = (send(wire, url, metrics=True) for _ in range(2))
    assert first["ok"] and first["body"]["text"] == "secure" and first["tls"] == {"version": "TLSv1.3"}
    timed = first["metrics"]["attempts"][0]
    assert timed["tls"] > 0 and timed["connect"] >= 0 and not timed["reused"]
    again = second["metrics"]["attempts"][0]
    assert again["reused"] and not {"dns", "connect", "tls"} & set(again)
    assert second["tls"] == {"version": "TLSv1.3"}


def test_roots_named_by_the_environment_are_believed(certificates, listen, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "ca.pem"))
    with contract.Wire() as wire:
        assert send(wire, f"https://localhost:{listen('good', ssl.TLSVersion.TLSv1_2)}/")["tls"] == {
            "version": "TLSv1.2"
        }


def test_an_unknown_authority_is_not_believed(listen):
    port = listen("good")
    with contract.Wire() as wire:
        result = send(wire, f"https://localhost:{port}/")
    assert not result["ok"] and result["body"] == {"kind": "none", "size": 0} and "status" not in result
    assert result["error"]["code"] == 1506 and not result["error"]["retryable"]
    assert "localhost" in result["error"]["message"]


def test_a_certificate_for_another_host_is_refused(certificates, listen):
    with contract.Wire(arguments=["--ca-file", str(certificates / "ca.pem")]) as wire:
        result = send(wire, f"https://localhost:{listen('other')}/")
    assert result["error"]["code"] == 1508 and "localhost" in result["error"]["message"]


def test_roots_that_cannot_be_read_are_named(tmp_path, listen):
    with contract.Wire(arguments=["--ca-file", str(tmp_path / "none.pem")]) as wire:
        result = send(wire, f"https://localhost:{listen('good')}/")
    assert result["error"]["code"] == 1504 and "none.pem" in result["error"]["message"]


def test_a_server_that_speaks_no_tls_is_told_apart(origin):
    with contract.Wire() as wire:
        result = send(wire, origin.replace("http:", "https:") + "/")
    assert result["error"]["code"] == 1406 and not result["error"]["retryable"]


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_tls_is_not_left_by_a_redirect(certificates, listen):
    """requests CVE-2018-18074, curl CVE-2022-27774: not even on the same host, and with nothing to hide. [T5]"""
    with contract.Wire(arguments=["--ca-file", str(certificates / "ca.pem")]) as wire, Capture() as plain:
        url = f"https://127.0.0.1:{listen('good')}"
        for more in ({}, {"headers": {"Authorization": "Bearer s"}, "redirect": {"keepHeaders": ["Authorization"]}}):
            failed = send(wire, f"{url}/to?{urllib.parse.quote(plain.url(), safe='')}", **more)
            assert failed["error"]["code"] == 1414 and failed["status"] == 302 and plain.requests.empty()
        assert send(wire, f"{url}/to?%2F")["body"]["text"] == "secure"


def test_tls_that_is_too_old_is_refused(certificates, listen):
    port = listen("good", ssl.TLSVersion.TLSv1_1)
    with contract.Wire(arguments=["--ca-file", str(certificates / "ca.pem")]) as wire:
        result = send(wire, f"https://localhost:{port}/")
    assert result["error"]["code"] == 1406
