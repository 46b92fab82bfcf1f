# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Policies tried without a request: `trust.evaluate`, `trust.pins`, and `outrider trust`."""

import json

import certificate_authority
import contract
import pytest
from shell import outrider

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    return certificate_authority.usual(tmp_path_factory.mktemp("evaluate"))


@pytest.fixture(scope="module")
def start(pki):
    with certificate_authority.serving(pki) as start:
        yield start


@pytest.fixture(scope="module")
def good(start):
    return f"https://localhost:{start('good')}/"


@pytest.fixture(scope="module")
def client():
    with contract.Wire() as wire:
        yield wire


def evaluated(wire, **params):
    return wire.call("trust.evaluate", params, 30)["result"]


def test_a_server_is_judged_without_a_request(client, pki, good):
    roots = {"roots": {"file": pki.path("root.crt")}}
    found = evaluated(client, url=good, tls=roots)
    assert found["trusted"] and found["verified"] == "roots" and "error" not in found
    assert [c["subject"] for c in found["path"]] == ["CN=good", "CN=Test Intermediate", "CN=Test Root"]
    assert [c["subject"] for c in found["chain"]] == ["CN=good", "CN=Test Intermediate"]
    assert found["pins"] == [pki.pin(name) for name in ("good", "inter", "root")]
    assert found["tls"]["version"] == "TLSv1.3"
    refused = evaluated(client, url=good)
    assert not refused["trusted"] and refused["error"]["code"] == 1506 and refused["path"] == []
    assert refused["pins"] == [pki.pin(name) for name in ("good", "inter")]
    pinned = {"publicKeys": {"pins": [pki.pin("untrusted")]}}
    assert evaluated(client, url=good, tls=roots, trust=pinned)["error"]["code"] == 1511
    assert evaluated(client, url=good, trust="none")["verified"] == "none"
    elsewhere = good.replace("localhost", "elsewhere.test")
    assert evaluated(client, url=elsewhere, tls=roots, connectTo="127.0.0.1")["error"]["code"] == 1508


def test_certificates_are_judged_without_a_server(client, pki):
    roots = {"roots": {"file": pki.path("root.crt")}}
    found = evaluated(client, chain=pki.text("good.pem"), host="localhost", tls=roots)
    assert found["trusted"] and "tls" not in found
    assert evaluated(client, chain=pki.text("good.pem"), host="127.0.0.1", tls=roots)["trusted"]
    assert evaluated(client, chain=pki.text("good.pem"), host="other.test", tls=roots)["error"]["code"] == 1508
    assert evaluated(client, chain=pki.text("good.crt"), host="localhost", tls=roots)["error"]["code"] == 1506


def test_the_settings_of_a_session_count(client, pki, good):
    host = f"localhost:{good.split(':')[2].strip('/')}"
    trust = {"hosts": {host: {"pinnedCertificates": {"pem": [pki.text("root.crt")], "acceptSelfSigned": True}}}}
    session = client.call("session.create", {"trust": trust})["result"]["session"]
    assert evaluated(client, url=good, session=session)["verified"] == "pins"
    assert evaluated(client, url="https://127.0.0.1:1/", session=session)["error"]["code"] == 1500


def test_what_makes_no_handshake_is_told(client, origin):
    assert evaluated(client, url="https://127.0.0.1:1/")["error"]["code"] == 1402
    assert evaluated(client, url=origin.replace("http:", "https:"))["error"]["code"] == 1406
    assert evaluated(client, url="https://127.0.0.1/", addresses="public")["error"]["code"] == 1420


@pytest.mark.parametrize("params, words", [
    ({}, "one of url and chain"),
    ({"url": "https://a/", "chain": "x"}, "one of url and chain"),
    ({"url": "https://a/", "host": "a"}, "goes with chain"),
    ({"url": "http://a/"}, "https"),
    ({"chain": "x", "host": "a"}, "BEGIN CERTIFICATE"),
    ({"url": "https://a/", "trust": "nobody"}, "trust"),
])
def test_bad_parameters(client, params, words):
    error = client.call("trust.evaluate", params)["error"]
    assert error["code"] == -32602 and words in json.dumps(error), error


def test_pins_are_ready_to_be_used(client, pki, good):
    roots = {"roots": {"file": pki.path("root.crt")}}
    found = client.call("trust.pins", {"url": good, "tls": roots}, 30)["result"]
    assert found["trusted"] and found["subjects"][0] == "CN=good"
    assert found["publicKeys"]["pins"] == [pki.pin(name) for name in ("good", "inter", "root")]
    sent = {"url": good, "tls": roots, "trust": {"publicKeys": found["publicKeys"]}, "timeout": 10}
    assert client.call("data.send", sent, 30)["result"]["tls"]["verified"] == "pins"


def test_the_command_shows_certificates_verdict_and_pins(pki, good):
    place = good.removeprefix("https://").strip("/")
    done = outrider("trust", "--stdio", "--cacert", pki.path("root.crt"), place)
    text = done.stdout.decode()
    assert done.returncode == 0 and text.splitlines()[-1] == "trusted", done
    for words in ("CN=good", "localhost, 127.0.0.1", pki.pin("good"), "TLSv1.3", "CN=Test Intermediate"):
        assert words in text, text
    done = outrider("trust", "--stdio", place)
    assert done.returncode == 13 and done.stdout.decode().splitlines()[-1] == "not trusted", done
    assert b"is not known" in done.stderr
    done = outrider("trust", "--stdio", "--json", "-k", place)
    assert json.loads(done.stdout)["verified"] == "none"
    assert outrider("trust", "--stdio", "127.0.0.1:1").returncode not in (0, 13)
