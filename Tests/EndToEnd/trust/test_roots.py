# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Trusted roots that change while the service runs."""

import os
import subprocess
import time

import contract
import pytest

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def send(wire, url, **more):
    return wire.call("data.send", {"url": url, "metrics": True, **more}, 30)["result"]


def until(wire, url, code, seconds=20.0):
    """The response, once it is the one that is waited for: a change may stay unnoticed for a second."""
    end = time.monotonic() + seconds
    while True:
        response = send(wire, url)
        if response.get("error", {}).get("code") == code or time.monotonic() > end:
            return response
        time.sleep(0.1)


@pytest.fixture(params=["system", "file"])
def roots(request, certificates, tmp_path, monkeypatch):
    """A bundle of roots, the arguments of a service that believes it, and the text of a root."""
    path = tmp_path / "roots.pem"
    text = (certificates / "ca.pem").read_text()
    path.write_text(text)
    if request.param == "system":
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
        return path, (), text
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    return path, ("--ca-file", str(path)), text


def replace(path, text):
    """As programs that manage roots do it: a new file under the old name."""
    new = path.with_suffix(".new")
    new.write_text(text)
    os.replace(new, path)


def unrelated(tmp_path):
    """A root that signed nothing here."""
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=other"
    subprocess.run([*command.split(), "-keyout", tmp_path / "key", "-out", tmp_path / "crt"], check=True,
                   capture_output=True)
    return (tmp_path / "crt").read_text()


def test_a_root_that_is_removed_is_believed_no_more(roots, listen, tmp_path):
    """Neither for new connections nor for those that rest on it."""
    path, arguments, text = roots
    url = f"https://localhost:{listen('good')}/"
    with contract.Wire(arguments=arguments) as wire:
        assert send(wire, url)["ok"]
        assert send(wire, url)["metrics"]["attempts"][0]["reused"]
        replace(path, unrelated(tmp_path))
        response = until(wire, url, 1506)
        assert not response["ok"] and response["error"]["code"] == 1506
        # and it is believed again when it is back
        replace(path, text)
        end = time.monotonic() + 20
        while not (response := send(wire, url))["ok"]:
            assert time.monotonic() < end
            time.sleep(0.1)
        assert not response["metrics"]["attempts"][0]["reused"]


def test_roots_that_stay_keep_their_connections(roots, listen):
    path, arguments, _ = roots
    url = f"https://localhost:{listen('good')}/"
    with contract.Wire(arguments=arguments) as wire:
        assert send(wire, url)["ok"]
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            assert send(wire, url)["metrics"]["attempts"][0]["reused"]
            time.sleep(0.1)


@pytest.mark.parametrize("order", [("none", "here"), ("here", "none"), ("empty", "here"), ("here",), ("none", "empty")])
def test_the_directories_of_roots_are_a_list(certificates, listen, tmp_path, monkeypatch, order):
    """As for OpenSSL. Only if none of them has a root is that a failure."""
    for name in ("here", "empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "here" / "root.pem").write_text((certificates / "ca.pem").read_text())
    monkeypatch.setenv("SSL_CERT_FILE", "")
    monkeypatch.setenv("SSL_CERT_DIR", ":".join(str(tmp_path / name) for name in order))
    with contract.Wire() as wire:
        response = send(wire, f"https://localhost:{listen('good')}/")
    if "here" in order:
        assert response["ok"], response["error"]["message"]
    else:
        assert response["error"]["code"] == 1504 and "none" in response["error"]["message"], response


def test_a_certificate_that_cannot_be_used_leaves_the_other_roots_of_a_text(wire, certificates, listen, tmp_path):
    """As in a file. If none can be used, the message says why."""
    signing = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=pss -sigopt rsa_padding_mode:pss"
    subprocess.run([*signing.split(), "-keyout", tmp_path / "key", "-out", tmp_path / "crt"], check=True,
                   capture_output=True)
    unused = (tmp_path / "crt").read_text()
    broken = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"
    root = (certificates / "ca.pem").read_text()
    url = f"https://localhost:{listen('good')}/"

    for pem in (broken + unused + root, root + unused + broken):
        response = send(wire, url, tls={"roots": {"pem": pem}})
        assert response["ok"], response["error"]["message"]
    error = send(wire, url, tls={"roots": {"pem": broken + unused}})["error"]
    assert error["code"] == 1504 and "tls.roots.pem" in error["message"] and "RSASSA-PSS" in error["message"], error
    pins = wire.call("data.send", {"url": url, "trust": {"pinnedCertificates": {"pem": [root + broken]}}})["error"]
    assert pins["data"]["pointer"] == "/trust/pinnedCertificates/pem/0" and "pem[0] must hold" in pins["message"], pins
    assert "index 1 of 2" in pins["message"], pins
