# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""TLS as a caller sees it: whom the service believes, where it is told so, and what it says when it does not."""

import socket
import ssl
import urllib.parse

import contract
import pytest
from capture_server import Capture
from http_server import Listening

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def send(wire, url, **more):
    return wire.call("data.send", {"url": url, **more})["result"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_roots_named_by_the_flag_are_believed(certificates, listen, host):
    with contract.Wire(arguments=["--ca-file", str(certificates / "ca.pem")]) as wire:
        url = f"https://{host}:{listen('good')}/"
        first, second = (send(wire, url, metrics=True) for _ in range(2))
    assert first["ok"] and first["body"]["text"] == "secure" and first["tls"]["version"] == "TLSv1.3"
    timed = first["metrics"]["attempts"][0]
    assert timed["tls"] > 0 and timed["connect"] >= 0 and not timed["reused"]
    again = second["metrics"]["attempts"][0]
    assert again["reused"] and not {"dns", "connect", "tls"} & set(again)
    assert second["tls"] == first["tls"] and first["tls"]["verified"] == "roots"


def test_roots_named_by_the_environment_are_believed(certificates, listen, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "ca.pem"))
    with contract.Wire() as wire:
        assert send(wire, f"https://localhost:{listen('good', ssl.TLSVersion.TLSv1_2)}/")["tls"][
            "version"
        ] == "TLSv1.2"


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


class Plain(Listening):
    """Speaks no TLS, and ends its side at once, so that the end comes together with the words."""

    def __init__(self, words):
        self.words = words
        super().__init__()

    def serve(self, connection, number):
        connection.recv(1)
        connection.sendall(self.words)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass


@pytest.mark.parametrize(("words", "reason"), [
    (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "speaks plain HTTP on this port"),
    (b"220 mail.test ESMTP\r\n", "does not speak TLS on this port"),
], ids=["http", "smtp"])
def test_a_server_that_speaks_no_tls_is_described_whenever_it_closes(wire, words, reason):
    """The failure told of the closed connection, or of the words, depending on which the service read first."""
    with Plain(words) as server:
        error = send(wire, server.url("/", "https"))["error"]
    assert (error["code"], error["retryable"]) == (1406, False), error
    assert error["message"].startswith(f"the TLS handshake with 127.0.0.1 failed: the server {reason}"), error
