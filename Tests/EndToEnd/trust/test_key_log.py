# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The secrets of TLS connections in a file, for programs that decrypt recordings: only where a setting asks for it."""

import ssl
import time

import certificate_authority
import contract
import pytest
from shell import outrider, refused

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    return certificate_authority.usual(tmp_path_factory.mktemp("keylog"))


@pytest.fixture(scope="module")
def start(pki):
    with certificate_authority.serving(pki) as start:
        yield start


def fetch(wire, pki, port):
    roots = {"roots": {"file": pki.path("root.crt")}}
    params = {"url": f"https://localhost:{port}/", "tls": roots, "timeout": 10}
    assert wire.call("data.send", params, 20)["result"]["ok"]


def labelled(place, *labels):
    """Until the file has whole lines with these labels."""
    deadline = time.monotonic() + 10
    while True:
        text = place.read_text() if place.exists() else ""
        lines = text.splitlines()
        if text.endswith("\n") and set(labels) <= {line.split()[0] for line in lines}:
            break
        assert time.monotonic() < deadline, text
        time.sleep(0.02)
    assert all(len(line.split()) == 3 for line in lines), lines


def test_secrets_are_written_where_a_setting_asks(pki, start, tmp_path):
    place = tmp_path / "keys.log"
    with contract.Wire(arguments=["--tls-key-log", str(place)]) as wire:
        assert wire.call("server.info")["result"]["tlsKeyLog"] == str(place)
        fetch(wire, pki, start("good"))
        labelled(place, "CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0")
        fetch(wire, pki, start("good", high=ssl.TLSVersion.TLSv1_2))
        labelled(place, "CLIENT_RANDOM")
    assert place.stat().st_mode & 0o777 == 0o600


def test_the_variable_counts_only_with_the_setting(pki, start, tmp_path):
    place = tmp_path / "keys.log"
    under = ["env", f"SSLKEYLOGFILE={place}"]
    port = start("good")
    with contract.Wire(under=under) as wire:
        fetch(wire, pki, port)
        assert "tlsKeyLog" not in wire.call("server.info")["result"]
    assert not place.exists()
    with contract.Wire(arguments=["--tls-key-log", "environment"], under=under) as wire:
        fetch(wire, pki, port)
        labelled(place, "CLIENT_TRAFFIC_SECRET_0")


def test_a_setting_that_cannot_be_used_ends_the_start(tmp_path):
    env = {"SSLKEYLOGFILE": ""}
    refused(outrider("serve", "--stdio", "--tls-key-log", "environment", env=env), 2, "SSLKEYLOGFILE")
    refused(outrider("serve", "--stdio", "--tls-key-log", str(tmp_path)), 2, "--tls-key-log", str(tmp_path))
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    refused(outrider("serve", "--stdio", "--tls-key-log", str(link)), 2, "--tls-key-log")
