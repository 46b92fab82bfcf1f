# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Hosts that ask to be reached over TLS only (RFC 6797), remembered by sessions that want it."""

import shutil
import subprocess
import time
import urllib.parse

import certificate_authority
import contract
import pytest

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

FIELD = "Strict-Transport-Security: "


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    made = certificate_authority.usual(tmp_path_factory.mktemp("strict"))
    names = "subjectAltName=DNS:secure.test,DNS:*.secure.test,DNS:localhost,IP:127.0.0.1\n"
    made.issue("strict", "inter", certificate_authority.SERVER + names, chain=["inter"])
    return made


@pytest.fixture(scope="module")
def port(pki):
    with certificate_authority.serving(pki) as start:
        yield start("strict")


@pytest.fixture(scope="module")
def client(pki):
    with contract.Wire(arguments=["--ca-file", pki.path("root.crt")]) as wire:
        yield wire


def session(wire, port, hsts=True, **more):
    """A session for which every host is on that port, but for http."""
    places = {f"{name}:{at}": f"127.0.0.1:{port}" for name in ("secure.test", "a.secure.test") for at in (443, 8080)}
    places["secure.test:80"] = "127.0.0.1:1"
    return wire.call("session.create", {"hsts": hsts, "connectTo": places, **more})["result"]["session"]


def send(wire, session, url, **more):
    return wire.call("data.send", {"url": url, "session": session, "timeout": 10, **more}, 20)["result"]


def says(value, host="secure.test"):
    return f"https://{host}/says?" + urllib.parse.quote(FIELD + value)


def test_a_host_that_asked_is_reached_over_tls(client, port):
    strict = session(client, port)
    assert client.call("session.get", {"session": strict})["result"]["hsts"] is True
    before = send(client, strict, "http://secure.test/x")
    assert before["error"]["code"] == 1402 and before["error"]["phase"] == "connect"
    assert send(client, strict, says("max-age=60"))["ok"]
    found = send(client, strict, "http://secure.test/x")
    assert found["ok"] and found["url"] == "https://secure.test/x" and found["tls"]["verified"] == "roots"
    assert found["redirects"] == [
        {"status": 307, "from": "http://secure.test/x", "url": "https://secure.test/x", "hsts": True}]
    # another port stays
    assert send(client, strict, "http://secure.test:8080/")["url"] == "https://secure.test:8080/"
    assert send(client, strict, "http://a.secure.test/", connectTo="127.0.0.1:1")["error"]["code"] == 1402
    # other sessions have heard nothing
    assert send(client, session(client, port), "http://secure.test/x")["error"]["code"] == 1402
    off = session(client, port, hsts=False)
    assert send(client, off, says("max-age=60"))["ok"]
    assert send(client, off, "http://secure.test/x")["error"]["code"] == 1402


def test_subdomains_and_the_end(client, port):
    strict = session(client, port)
    send(client, strict, says("max-age=60; includeSubDomains"))
    assert send(client, strict, "http://a.secure.test/")["url"] == "https://a.secure.test/"
    send(client, strict, says("max-age=0"))
    assert send(client, strict, "http://secure.test/x")["error"]["code"] == 1402


@pytest.mark.parametrize("value", ["includeSubDomains", "max-age=x", "max-age=60; max-age=60", "max-age"])
def test_a_field_that_is_wrong_is_ignored(client, port, value):
    strict = session(client, port)
    send(client, strict, says(value))
    assert send(client, strict, "http://secure.test/x")["error"]["code"] == 1402


def test_nothing_is_learned_from_servers_that_were_not_verified(client, port):
    strict = session(client, port, trust="none")
    assert send(client, strict, says("max-age=60"))["tls"]["verified"] == "none"
    assert send(client, strict, "http://secure.test/x")["error"]["code"] == 1402
    here = session(client, port)
    assert send(client, here, says("max-age=60", f"localhost:{port}"))["ok"]
    assert send(client, here, f"http://localhost:{port}/")["ok"] is False


def test_a_redirect_to_http_is_followed_over_tls(client, port):
    strict = session(client, port)
    assert send(client, strict, "https://secure.test/to?http://secure.test/x")["error"]["code"] == 1414
    send(client, strict, says("max-age=60"))
    found = send(client, strict, "https://secure.test/to?http://secure.test/x")
    assert found["ok"] and found["url"] == "https://secure.test/x"
    assert [(hop["status"], hop.get("hsts")) for hop in found["redirects"]] == [(302, True)]


def test_a_file_is_shared_and_curls(client, port, pki, tmp_path):
    place = tmp_path / "hsts.txt"
    first = session(client, port, hsts={"file": str(place)})
    assert client.call("session.get", {"session": first})["result"]["hsts"] == {"file": str(place)}
    send(client, first, says("max-age=86400; includeSubDomains"))
    deadline = time.monotonic() + 5
    while not place.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert '.secure.test "' in place.read_text() and place.stat().st_mode & 0o777 == 0o600
    assert send(client, session(client, port, hsts={"file": str(place)}), "http://a.secure.test/")["ok"]
    with contract.Wire(arguments=["--ca-file", pki.path("root.crt")]) as other:
        assert send(other, session(other, port, hsts={"file": str(place)}), "http://secure.test/x")["ok"]
    if shutil.which("curl") and b"HSTS" in subprocess.run(["curl", "-V"], capture_output=True).stdout:
        told = subprocess.run(
            ["curl", "-s", "--hsts", place, "--cacert", pki.path("root.crt"), "--connect-to",
             f"secure.test:443:127.0.0.1:{port}", "http://secure.test/x"], capture_output=True)
        assert told.stdout.startswith(b"host=secure.test"), told


def test_a_file_that_cannot_be_read(client, tmp_path):
    error = client.call("session.create", {"hsts": {"file": str(tmp_path)}})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == "/hsts/file", error
    assert client.call("session.create", {"hsts": {"file": "here"}})["error"]["data"]["pointer"] == "/hsts/file"


def test_alternative_services_are_reported(client, port):
    field = urllib.parse.quote('Alt-Svc: h3=":443"; ma=60')
    found = send(client, session(client, port), f"https://secure.test/says?{field}")
    assert {"name": "Alt-Svc", "value": 'h3=":443"; ma=60'} in found["headers"]
