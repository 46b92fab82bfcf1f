# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Around a login and a refresh: browsers that are opened, both loopback addresses, proxies, events, and stopping."""

import os
import pathlib
import shutil
import socket
import subprocess
import time
from urllib.parse import urlsplit

import contract
import pytest
import tls_server
from authorization_server import Authorizing, served
from browser_login import approved, begin, create, fetched, is_closed, token, wait
from credential_process import LONG, Service, Store
from digest_server import PASSWORD, USER
from listeners import free_port
from proxy_server import Proxy, microsocks, tinyproxy
from request_client import result, until

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def needs(program):
    found = shutil.which(program) or shutil.which(program, path="/usr/sbin")
    return pytest.mark.skipif(found is None, reason=f"{program} is not here; scripts/setup --test installs it")


def has_v6():
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            return False
    return True


needs_v6 = pytest.mark.skipif(not has_v6(), reason="this machine has no ::1")


server = served()


@pytest.fixture(autouse=True)
def own_store(monkeypatch, tmp_path):
    """No credential of this user is read or written."""
    monkeypatch.setenv("OUTRIDER_CREDENTIALS", str(tmp_path / "credentials"))


# Events


def failures(events):
    told = [one["params"] for one in events if one["method"] == "event.oauth"]
    return [one for one in told if one["event"] == "loginFailed"]


def test_a_login_that_fails_is_told_to_those_who_listen(wire, server):
    server.denies = "access_denied"
    create(wire, server, events=True)
    back = approved(server, begin(wire)["url"])
    number = wire.start("oauth.wait", {"credential": "work"})
    fetched(back)
    events, reply = until(wire, number)
    (told,) = failures(events)
    assert told["credential"] == "work" and told["generation"] == 0
    assert told["error"] == result(reply)["error"]
    assert (told["error"]["kind"], told["error"]["reason"]) == ("needsLogin", "access_denied")
    # one that succeeds is told as a change
    server.denies = None
    fetched(approved(server, begin(wire)["url"]))
    events, reply = until(wire, wire.start("oauth.wait", {"credential": "work"}))
    assert result(reply)["ok"] and failures(events) == []
    assert [one["params"]["event"] for one in events if one["method"] == "event.oauth"] == ["changed"]


def test_devices_that_are_refused_are_told_before_waiting_calls_get_results(wire, server):
    """Many at once, since which of the two is first could be chance."""
    names = [f"device {number}" for number in range(20)]
    server.interval, server.polls = 1, ["access_denied"] * len(names)
    for name in names:
        create(wire, server, name=name, grant="device", events=True)
    beginning = {wire.start("oauth.device", {"credential": name}): name for name in names}
    waiting, told = {}, {}
    while beginning or waiting:
        message = wire.receive(LONG)
        for one in failures([message] if "method" in message else []):
            assert one["credential"] not in told
            told[one["credential"]] = one["error"]
        if name := beginning.pop(message.get("id"), None):
            assert "userCode" in result(message)
            waiting[wire.start("oauth.wait", {"credential": name})] = name
        elif name := waiting.pop(message.get("id"), None):
            assert result(message)["error"] == told[name] and told[name]["reason"] == "access_denied"


def test_what_came_of_a_refresh_is_told_before_its_result(wire, server):
    """Half of them are refused."""
    names = [f"refresh {number}" for number in range(20)]
    for number, name in enumerate(names):
        given = server.issue()
        token = {"accessToken": "old", "refreshToken": given["refresh_token"] if number % 2 else "nobody's"}
        create(wire, server, name=name, grant="refresh", token=token, events=True)
    waiting, told = {wire.start("oauth.refresh", {"credential": name}): name for name in names}, {}
    while waiting:
        message = wire.receive(LONG)
        if message.get("method") == "event.oauth":
            told[message["params"]["credential"]] = message["params"]["event"]
        elif name := waiting.pop(message.get("id"), None):
            assert told[name] == ("failed" if "error" in message else "refreshed"), (name, message)
    assert sorted(told.values()) == ["failed"] * 10 + ["refreshed"] * 10


# Browsers


@pytest.fixture
def browser(tmp_path, monkeypatch):
    """A program that notes what it was started with."""
    seen = tmp_path / "opened"
    program = tmp_path / "browser"
    program.write_text(f'#!/bin/sh\nreadlink /proc/$$/fd/* > "{seen}.files"\nprintf "%s\\n" "$@" > "{seen}.new"\n'
                       f'mv "{seen}.new" "{seen}"\n')
    program.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(program))
    return seen


def test_a_browser_is_opened_only_if_that_is_asked_for(browser, request, server):
    wire = request.getfixturevalue("wire")
    create(wire, server)
    begun = begin(wire)
    assert "opened" not in begun and "openError" not in begun
    begun = begin(wire, open=True)
    assert begun["opened"] is True and "openError" not in begun
    deadline = time.monotonic() + LONG
    while not browser.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert browser.read_text() == begun["url"] + "\n"
    files = set(pathlib.Path(f"{browser}.files").read_text().splitlines())
    # the shell's own are its script and what it writes to
    assert {one for one in files if not one.startswith(str(browser.parent))} == {"/dev/null"}
    fetched(approved(server, begun["url"]))
    assert wait(wire)["ok"]


def test_without_a_program_that_opens_browsers_it_is_said_what_helps(monkeypatch, tmp_path, request, server):
    monkeypatch.delenv("BROWSER", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    wire = request.getfixturevalue("wire")
    create(wire, server)
    begun = begin(wire, open=True)
    assert begun["opened"] is False and begun["openError"]["reason"] == "no_browser"
    for word in ("xdg-open", "xdg-utils", "BROWSER", "yourself"):
        assert word in begun["openError"]["message"]
    # the login waits all the same
    fetched(approved(server, begun["url"]))
    assert wait(wire)["ok"]


# Loopback


@needs_v6
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_localhost_is_listened_on_at_both_addresses(wire, server, host):
    create(wire, server)
    begun = begin(wire, listen={"host": "localhost", "path": "/back"})
    place = urlsplit(begun["redirect"])
    assert (place.hostname, place.path) == ("localhost", "/back")
    back = urlsplit(approved(server, begun["url"]))
    with socket.create_connection((host, place.port), 10) as visitor:
        visitor.sendall(f"GET {back.path}?{back.query} HTTP/1.1\r\nHost: {back.netloc}\r\n\r\n".encode())
        assert visitor.recv(100).startswith(b"HTTP/1.1 200 ")
    assert wait(wire)["ok"] and server.is_good(token(wire))
    assert is_closed(begun["redirect"])
    with socket.socket(socket.AF_INET6) as probe:
        assert probe.connect_ex(("::1", place.port)) != 0


@needs_v6
def test_the_address_of_ipv6_is_a_redirect_uri_of_its_own(wire, server):
    create(wire, server)
    begun = begin(wire, listen={"host": "::1"})
    place = urlsplit(begun["redirect"])
    assert begun["redirect"].startswith(f"http://[::1]:{place.port}/")
    assert is_closed(f"http://127.0.0.1:{place.port}")
    back = approved(server, begun["url"])
    for name in (f"127.0.0.1:{place.port}", f"localhost:{place.port}", f"::1:{place.port}"):
        assert fetched(back, Host=name)[0].status == 404
    assert fetched(back)[0].status == 200
    assert wait(wire)["ok"]


@needs_v6
def test_a_port_that_somebody_else_has_on_one_address_is_not_taken(wire, server):
    """He would get what the browser brings."""
    create(wire, server)
    with socket.socket(socket.AF_INET6) as other:
        other.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        other.bind(("::1", 0))
        other.listen()
        port = other.getsockname()[1]
        error = wire.call("oauth.login", {"credential": "work", "listen": {"host": "localhost", "port": port}})["error"]
        assert error["data"]["failure"]["data"]["oauth"]["reason"] == "port_unavailable"
        assert is_closed(f"http://127.0.0.1:{port}")
        # the other one is not shared
        assert begin(wire, listen={"port": port})["redirect"].startswith(f"http://127.0.0.1:{port}/")


def test_other_hosts_are_not_listened_on(wire, server):
    create(wire, server)
    for host in ("0.0.0.0", "::", "example.com", "127.0.0.2"):
        error = wire.call("oauth.login", {"credential": "work", "listen": {"host": host}})["error"]
        assert error["data"]["pointer"] == "/listen/host"


# Proxies


class Secure(Authorizing):
    """The same under TLS."""

    def __init__(self, context):
        self.context = context
        super().__init__()

    def serve(self, connection, number):
        super().serve(self.context.wrap_socket(connection, server_side=True), number)

    def url(self, path, scheme="https"):
        return super().url(path, scheme)


@pytest.fixture
def secure(certificates):
    with Secure(tls_server.context(certificates, "good")) as server:
        server.roots = str(certificates / "ca.pem")
        yield server


def logged(proxy, server):
    """A service of its own behind that proxy, which gets a token of client credentials."""
    roots = ["--ca-file", server.roots] if hasattr(server, "roots") else []
    with contract.Wire(arguments=["--proxy", proxy, *roots]) as wire:
        made = {"name": "work", "grant": "clientCredentials", "clientId": server.client}
        result(wire.call("oauth.create", {**made, "tokenUrl": server.url("/token")}))
        return wire.call("oauth.token", {"credential": "work"}, 40)


def carried(place, method):
    """How many requests with that method a tinyproxy was sent."""
    return (place / "tiny.log").read_text().count(f"): {method} ")


@needs("tinyproxy")
def test_tokens_are_asked_for_through_an_http_proxy(secure, tmp_path):
    with tinyproxy(tmp_path) as proxy:
        assert secure.is_good(result(logged(proxy, secure))["accessToken"])
    assert carried(tmp_path, "CONNECT") == 1 and carried(tmp_path, "POST") == 0


@needs("tinyproxy")
def test_an_endpoint_of_this_machine_without_tls_is_asked_directly(server, tmp_path):
    """A proxy would read the client's secret."""
    with tinyproxy(tmp_path) as proxy:
        assert server.is_good(result(logged(proxy, server))["accessToken"])
    assert carried(tmp_path, "CONNECT") == carried(tmp_path, "POST") == 0


@needs("tinyproxy")
def test_an_http_proxy_is_told_who_asks(secure, tmp_path):
    with tinyproxy(tmp_path, PASSWORD) as proxy:
        named = proxy.replace("//", f"//{USER}:{PASSWORD}@")
        assert secure.is_good(result(logged(named, secure))["accessToken"])
        refusal = logged(proxy, secure)["error"]["data"]["failure"]["data"]["oauth"]
        assert (refusal["kind"], refusal["reason"]) == ("config", "proxy_refused") and len(secure.audit) == 1


@needs("microsocks")
@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
def test_tokens_are_asked_for_through_socks(secure, tmp_path, scheme):
    with microsocks(tmp_path, PASSWORD) as port:
        named = f"{scheme}://{USER}:{PASSWORD}@127.0.0.1:{port}"
        assert secure.is_good(result(logged(named, secure))["accessToken"])
        assert "error" in logged(named.replace(PASSWORD, "wrong"), secure)


@needs("tinyproxy")
def test_the_environment_says_which_proxy_and_what_goes_without(secure, tmp_path, monkeypatch):
    with tinyproxy(tmp_path) as proxy:
        monkeypatch.setenv("https_proxy", proxy)
        assert "result" in logged("environment", secure)
        assert carried(tmp_path, "CONNECT") == 1
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert "result" in logged("environment", secure)
        assert carried(tmp_path, "CONNECT") == 1


def test_tls_goes_through_a_tunnel_and_is_the_servers_own(certificates, server):
    """The proxy sees where to, and not what."""
    with tls_server.serving(certificates) as listen, Proxy() as proxy:
        port = listen("good")
        arguments = ["--proxy", proxy.address, "--ca-file", str(certificates / "ca.pem")]
        with contract.Wire(arguments=arguments) as wire:
            made = {"name": "work", "grant": "clientCredentials", "clientId": "cli",
                    "tokenUrl": f"https://localhost:{port}/token"}
            result(wire.call("oauth.create", made))
            # what listens there is no authorization server; it got the request
            assert "error" in wire.call("oauth.token", {"credential": "work"}, 40)
        assert [one.path for one in proxy.connects] == [f"localhost:{port}"]
        assert {one.method for one in proxy.requests} == {"CONNECT"}


def test_a_proxy_that_is_not_there_sends_nothing(secure):
    reply = logged(f"http://127.0.0.1:{free_port()}", secure)
    refusal = reply["error"]["data"]["failure"]["data"]["oauth"]
    assert (refusal["kind"], refusal["reason"]) == ("temporary", "unreachable") and secure.audit == []


# Stopping


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts file systems")
def test_a_service_with_tokens_that_are_not_on_disk_does_not_stop_unless_it_is_forced(server, tmp_path):
    store = Store(tmp_path)
    given = server.issue()
    with Service(store, tmp_path / "log", tmp_path) as service:
        made = service.call(
            "oauth.create", name="work", grant="refresh", clientId=server.client, tokenUrl=server.url("/token"),
            persist="disk", token={"accessToken": given["access_token"], "refreshToken": given["refresh_token"]})
        assert "result" in made, made
        record = str(next(pathlib.Path(store.directory).glob("*/record")))
        server.stall = "head"
        service.start("oauth.refresh", credential="work")
        server.received("/token", seconds=LONG)
        # nothing can take its place
        subprocess.run(["mount", "--bind", record, record], check=True)
        try:
            server.stall = None
            server.go.set()
            assert "result" in service.reply(service.number)
            assert service.call("oauth.get", credential="work")["result"]["state"] == "unsaved"
            refusal = service.call("server.stop")["error"]
            assert refusal["code"] == -32013 and refusal["data"]["credentials"] == ["work"], refusal
            assert "force" in refusal["message"]
            assert "result" in service.call("diagnostics.echo")
        finally:
            subprocess.run(["umount", record], check=True)
        # as soon as it can be written it is, and the service stops
        assert service.call("server.stop")["result"] == {}
        service.process.wait(LONG)
    assert store.read().state == "ready" and store.read().generation == 2
    assert server.outcomes() == ["ok"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts file systems")
def test_a_service_that_is_forced_to_stop_says_what_is_not_on_disk(server, tmp_path):
    store = Store(tmp_path)
    given = server.issue()
    with Service(store, tmp_path / "log", tmp_path) as service:
        service.call(
            "oauth.create", name="work", grant="refresh", clientId=server.client, tokenUrl=server.url("/token"),
            persist="disk", token={"accessToken": given["access_token"], "refreshToken": given["refresh_token"]})
        record = str(next(pathlib.Path(store.directory).glob("*/record")))
        server.stall = "head"
        service.start("oauth.refresh", credential="work")
        server.received("/token", seconds=LONG)
        subprocess.run(["mount", "--bind", record, record], check=True)
        try:
            server.stall = None
            server.go.set()
            assert "result" in service.reply(service.number)
            assert service.call("server.stop", force=True)["result"] == {}
            _, said = service.process.communicate(timeout=LONG)
        finally:
            subprocess.run(["umount", record], check=True)
        assert b"work" in said and b"not on disk" in said
    # nothing is lost: the next one puts them where they belong
    assert store.obtain(1).generation == 2 and store.read().state == "ready"
