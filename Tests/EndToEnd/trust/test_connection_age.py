# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Connections belong to one policy, and take no new requests once it must be looked at again; clocks are set."""

import datetime
import ssl

import certificate_authority
import contract
import pytest
from listeners import free_port
from nginx_server import needs_nginx, nginx
from stream_client import data, read

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

MINUTES = 601
LONG = {"timeout": {"firstByte": 80000, "idle": 80000, "total": 80000}}


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    made = certificate_authority.usual(tmp_path_factory.mktemp("ages"))
    made.issue("client", "inter", certificate_authority.LEAF + "extendedKeyUsage=clientAuth\n", chain=["inter"])
    (made.folder / "client.key").chmod(0o600)
    return made


@pytest.fixture(scope="module")
def start(pki):
    with certificate_authority.serving(pki) as start:
        yield start


@pytest.fixture
def wire(pki, clocks, monkeypatch):
    for name, value in clocks.environment.items():
        monkeypatch.setenv(name, value)
    with contract.Wire(arguments=["--ca-file", pki.path("root.crt")]) as wire:
        monkeypatch.undo()
        yield wire


def send(wire, url, **more):
    return wire.call("data.send", {"url": url, "metrics": True, **more}, 30)["result"]


def outlast(wire, port, jump, **more):
    """A request during which the clocks jump, then whether the next one is on the same connection, or its failure."""
    server = certificate_authority.Server
    server.arrived.clear()
    server.gate.clear()
    number = wire.start("data.send", {"url": f"https://localhost:{port}/held", "metrics": True, **more, **LONG})
    assert server.arrived.wait(20)
    jump()
    server.gate.set()
    held = wire.reply(number, 20)["result"]
    assert held["ok"], held
    after = send(wire, f"https://localhost:{port}/", **more)
    return after["metrics"]["attempts"][-1]["reused"] if after["ok"] else after


def pins(pki, _):
    return {"trust": {"publicKeys": {"pins": [pki.pin("good"), pki.pin("inter")]}}}


def identity(pki, trust):
    return {"trust": trust, "tls": {"identity": {"certificate": pki.path("client.pem"), "key": pki.path("client.key")}}}


@pytest.mark.parametrize("make, trust, stays", [
    (lambda *_: {}, None, True), (lambda *_: {"trust": "none"}, None, True), (pins, None, False),
    (identity, "default", False), (identity, "none", False),
], ids=["default", "none", "pins", "client certificate", "client certificate, none"])
def test_ten_minutes_end_a_connection_whose_policy_says_more(wire, pki, start, clocks, make, trust, stays):
    port, more = start("good", client=ssl.CERT_OPTIONAL), make(pki, trust)
    assert outlast(wire, port, lambda: clocks.jump(awake=590, boot=590, wall=590), **more) is True
    assert outlast(wire, port, lambda: clocks.jump(awake=MINUTES, boot=MINUTES, wall=MINUTES), **more) is stays


def ending(pki, name, seconds, **more):
    """A certificate that ends in so many seconds."""
    end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    pki.issue(name, "inter", chain=["inter"], end=end.strftime("%Y%m%d%H%M%SZ"), **more)


def test_the_end_of_a_certificate_ends_its_connection(wire, pki, start, clocks):
    ending(pki, "hour", 3600)
    port = start("hour")
    assert outlast(wire, port, lambda: clocks.jump(awake=3000, boot=3000, wall=3000)) is True
    error = outlast(wire, port, lambda: clocks.jump(awake=700, boot=700, wall=700))["error"]
    assert error["code"] == 1506 and "expired" in error["message"], error


def test_the_end_of_a_client_certificate_ends_its_connection(wire, pki, start, clocks):
    ending(pki, "brief", 300, ext=certificate_authority.LEAF + "extendedKeyUsage=clientAuth\n")
    (pki.folder / "brief.key").chmod(0o600)
    own = {"certificate": pki.path("brief.pem"), "key": pki.path("brief.key")}
    port, more = start("good", client=ssl.CERT_OPTIONAL), {"tls": {"identity": own}}
    assert outlast(wire, port, lambda: clocks.jump(awake=200, boot=200, wall=200), **more) is True
    assert outlast(wire, port, lambda: clocks.jump(awake=150, boot=150, wall=150), **more) is False


def test_what_was_verified_before_counts_no_longer_than_the_certificate(wire, pki, start, clocks):
    ending(pki, "minute", 60)
    url = f"https://localhost:{start('minute')}/"
    assert send(wire, url)["ok"]
    wire.call("session.flush", {"session": "default"})
    clocks.jump(awake=100, boot=100, wall=100)
    error = send(wire, url)["error"]
    assert error["code"] == 1506 and "expired" in error["message"], error


@needs_nginx
def test_streams_that_run_finish_on_the_old_connection(wire, pki, clocks, tmp_path):
    (tmp_path / "text").write_text("hello")
    with open(tmp_path / "large", "wb") as file:
        file.truncate(8 << 20)
    port = free_port()
    with nginx(tmp_path, f"""listen 127.0.0.1:{port} ssl http2; send_timeout 3600s; keepalive_timeout 3600s;
            ssl_certificate {pki.path('good.pem')}; ssl_certificate_key {pki.path('good.key')};"""):
        url, more = f"https://localhost:{port}", {"httpVersion": "2", **pins(pki, None)}
        first = send(wire, f"{url}/text", **more)
        stream = wire.call("stream.open", {"url": f"{url}/large", "mode": "pull", **more, **LONG})["result"]["stream"]
        clocks.jump(awake=MINUTES, boot=MINUTES, wall=MINUTES)
        second = send(wire, f"{url}/text", **more)
        pool = wire.call("server.stats")["result"]["pool"]
        size, ended = 0, False
        while not ended:
            piece = read(wire, stream, bytes=1 << 20)
            size, ended = size + len(data(piece)), piece["end"]
    numbers = [one["metrics"]["attempts"][0]["connection"] for one in (first, second)]
    assert numbers[0] != numbers[1] and pool["draining"] == 1, (numbers, pool)
    assert size == 8 << 20


def test_no_connection_is_shared_between_policies(wire, pki, start):
    """In any order, each way of judging, and of being known, has a connection of its own, and keeps it."""
    good = f"https://localhost:{start('good')}/"
    own = {"certificate": pki.path("good.pem"), "key": pki.path("good.key")}
    plans = [
        {"trust": "none"}, {}, {"trust": {"publicKeys": {"pins": [pki.pin("good"), pki.pin("inter")]}}},
        {"trust": {"publicKeys": {"pins": [pki.pin("good"), pki.pin("root")]}}},
        {"trust": {"pinnedCertificates": {"files": [pki.path("good.crt"), pki.path("inter.crt")]}}},
        {"trust": {"all": ["default", {"publicKeys": {"pins": [pki.pin("good"), pki.pin("inter")]}}]}},
        {"tls": {"identity": own}}, {"tls": {"minVersion": "1.3"}}, {"tls": {"ciphers": "compatible"}},
        {"tls": {"roots": {"file": pki.path("root.crt"), "system": True}}}, {"tls": {"serverName": "localhost"}},
        {"connectTo": good.replace("https://localhost", "127.0.0.1").rstrip("/")},
    ]
    for is_known in (False, True):
        for plan in plans:
            result = send(wire, good, **plan)
            assert result["ok"] and result["metrics"]["attempts"][0]["reused"] is is_known, (plan, result)
        plans.reverse()
