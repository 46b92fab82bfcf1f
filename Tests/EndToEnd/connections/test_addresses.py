# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Which addresses are connected to: judged after the lookup, whatever a URL says; and what counts as this machine."""

import os
import shutil
import subprocess

import contract
import pytest
from digest_server import ADA, BASIC, Guard, finished, session, waiting
from proxy_server import Proxy
from request_client import get, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

BIND = 'mount --bind "$0" /etc/hosts && exec "$@"'


def may_bind():
    return os.getuid() == 0 and shutil.which("unshare") and not subprocess.run(["unshare", "-m", "true"]).returncode


@pytest.fixture
def named(tmp_path):
    """A service for which names lead where this says."""
    if not may_bind():
        pytest.skip("needs root and mount namespaces")
    hosts = tmp_path / "hosts"
    hosts.write_text(
        "127.0.0.1 localhost home.example\n169.254.169.254 cloud.example\nfd00:ec2::254 cloud6.example\n"
        "::ffff:169.254.169.254 mapped.example\n64:ff9b::a9fe:a9fe translated.example\n"
        "2002:a9fe:a9fe:: tunnelled.example\n127.0.0.1 inner.localhost\n10.0.0.1 private.example\n"
        "fd12::1 private6.example\n"
    )
    with contract.Wire(under=["unshare", "-m", "sh", "-c", BIND, str(hosts)]) as wire:
        yield wire


@pytest.mark.parametrize("name", ["cloud", "cloud6", "mapped", "translated", "tunnelled"])
def test_a_redirect_to_a_name_of_a_metadata_address_is_refused(named, home, name):
    response = get(named, home.url(f"/to/302?http://{name}.example/latest/"))
    assert response["error"]["code"] == 1414 and name in response["error"]["message"]


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254", "[fd00:ec2::254]", "[::ffff:a9fe:a9fe]", "[::169.254.169.254]", "[64:ff9b::169.254.169.254]",
        "[2002:a9fe:a9fe::]", "[fe80::1]", "0xa9fea9fe", "2852039166", "169.254.169.254.", "100.100.100.200",
    ],
)
def test_a_redirect_to_a_metadata_address_is_refused_in_every_form(wire, home, host):
    response = get(wire, home.url(f"/to/302?http://{host}/latest/"))
    assert response["error"]["code"] == 1414 and response["status"] == 302


@pytest.mark.parametrize("name", ["home.example", "private.example", "cloud.example", "localhost", "x.localhost."])
def test_a_request_that_says_public_connects_only_there(named, home, name):
    response = get(named, home.url(host=name), addresses="public")
    assert response["error"]["code"] == 1420 and name.split(".")[0] in response["error"]["message"] and not home.seen
    assert not response["error"]["retryable"]


@pytest.mark.parametrize("host", ["127.0.0.1", "10.1.2.3", "192.168.0.1", "[::1]", "[fd12::1]", "0.0.0.0", "[::]"])
def test_public_refuses_addresses_of_other_networks(wire, host):
    assert get(wire, f"http://{host}:9/", addresses="public")["error"]["code"] == 1420


def test_a_connection_of_one_policy_is_not_lent_under_another(wire, home):
    assert get(wire, home.url())["ok"]
    assert get(wire, home.url(), addresses="public")["error"]["code"] == 1420
    assert get(wire, home.url(), addresses="any")["ok"]


def test_a_session_says_public_for_its_requests(wire, home):
    session = result(wire.call("session.create", {"addresses": "public"}))["session"]
    assert get(wire, home.url(), session=session)["error"]["code"] == 1420
    assert get(wire, home.url(), session=session, addresses="any")["ok"]
    result(wire.call("session.update", {"session": session, "addresses": "any"}))
    assert get(wire, home.url(), session=session)["ok"]


def test_public_holds_for_literal_hosts_through_a_proxy(wire, home):
    with Proxy() as proxy:
        response = get(wire, home.url(), proxy=proxy.address, addresses="public")
        assert response["error"]["code"] == 1420 and not proxy.requests


def test_a_request_may_keep_to_one_version_of_ip(wire, home):
    assert get(wire, home.url(host="localhost"), addresses="ipv4")["ok"]
    assert len(home.seen) == 1
    # the connection that is open does not serve the other version
    assert not get(wire, home.url(host="localhost"), addresses="ipv6")["ok"] and len(home.seen) == 1
    mapped = home.url(host="[::ffff:127.0.0.1]")
    for url, version in [(home.url(), "ipv6"), ("http://[::1]:9/", "ipv4"), (mapped, "ipv6")]:
        error = get(wire, url, addresses=version)["error"]
        assert error["code"] == 1420 and f"(addresses: {version})" in error["message"] and not error["retryable"]
    session = result(wire.call("session.create", {"addresses": "ipv6"}))["session"]
    assert get(wire, home.url(), session=session)["error"]["code"] == 1420


def test_redirects_keep_to_the_version_of_ip_and_to_the_rules_of_redirects(wire, home):
    assert get(wire, home.url("/to/302?http://[::1]:9/"), addresses="ipv4")["error"]["code"] == 1420
    assert get(wire, home.url("/to/302?http://169.254.169.254/"), addresses="ipv4")["error"]["code"] == 1414


def test_redirects_to_names_are_judged_by_version_and_by_kind(named, home):
    for name, code in [("cloud", 1414), ("cloud6", 1420), ("private6", 1420)]:
        url = home.url(f"/to/302?http://{name}.example/latest/")
        response = get(named, url, addresses="ipv4", timeout={"connect": 10})
        assert response["error"]["code"] == code and name in response["error"]["message"], response


def test_the_version_of_ip_is_that_of_the_proxy(wire, home):
    with Proxy() as proxy:
        error = get(wire, home.url(host="localhost"), proxy=proxy.address, addresses="ipv6")["error"]
        assert error["code"] == 1420 and "127.0.0.1" in error["message"] and not proxy.requests
        assert get(wire, home.url(host="localhost"), proxy=proxy.address, addresses="ipv4")["ok"]
        assert len(proxy.requests) == 1


@pytest.mark.parametrize("host", ["localhost.", "x.localhost.", "127.0.0.1."])
def test_a_dot_at_the_end_leads_nowhere_else(wire, home, host):
    assert get(wire, home.url(host=host))["ok"]


def test_basic_does_not_go_through_a_proxy_in_the_open(wire):
    """By itself it goes to this machine only, and that is a direct connection."""
    with Guard(challenges=[BASIC]) as guard, Proxy() as proxy:
        response = get(wire, guard.url("/vault"), auth=ADA, proxy=proxy.address)
        assert response["status"] == 401 and all(one.field("authorization") is None for one in proxy.requests)
        # it goes there where the client lists it
        named = {**ADA, "schemes": ["basic"]}
        assert get(wire, guard.url("/vault"), auth=named, proxy=proxy.address)["status"] == 200
        assert get(wire, guard.url("/vault"), auth=ADA)["status"] == 200


def test_basic_that_a_session_has_learned_does_not_go_there_either(wire):
    with Guard(challenges=[BASIC]) as guard, Proxy() as proxy:
        learned = session(wire, guard.url("/"))
        elsewhere = {"connectTo": f"0.0.0.0:{guard.port}"}
        for more, status in [({}, 200), ({"proxy": proxy.address}, 401), (elsewhere, 401), ({}, 200)]:
            assert get(wire, guard.url("/vault"), session=learned, **more)["status"] == status
        assert proxy.requests and all(one.field("authorization") is None for one in proxy.requests)
        # and is still known where it may go
        assert guard.statuses == [401, 200, 401, 401, 200]


def test_basic_that_comes_later_does_not_go_through_a_proxy_in_the_open_either(wire):
    with Guard(challenges=[BASIC]) as guard, Proxy() as proxy:
        request = waiting(wire, guard.url("/vault"), proxy=proxy.address)
        assert result(wire.call("request.authenticate", {"request": request, **ADA}))
        assert finished(wire, request)["status"] == 401
        assert proxy.requests and all(one.field("authorization") is None for one in proxy.requests)


def test_basic_does_not_go_where_connect_to_leads_in_the_open(wire):
    """The name is this machine's. The address is not: the kernel alone takes it for the loopback."""
    with Guard(challenges=[BASIC]) as guard:
        url = f"http://localhost:{guard.port}/vault"
        elsewhere = f"0.0.0.0:{guard.port}"
        mapped = result(wire.call("session.create", {"connectTo": {"localhost": elsewhere}}))["session"]
        for more in ({"connectTo": elsewhere}, {"session": mapped}):
            assert get(wire, url, auth=ADA, **more)["status"] == 401
        request = waiting(wire, url, connectTo=elsewhere)
        assert result(wire.call("request.authenticate", {"request": request, **ADA}))
        assert finished(wire, request)["status"] == 401
        assert all(visit.said is None for visit in guard.visits)
        assert get(wire, "http://localhost/vault", auth=ADA, connectTo=f"127.0.0.1:{guard.port}")["status"] == 200


def test_a_url_of_a_socket_leads_to_that_socket(wire, home, tmp_path):
    """Whatever a session maps; a request itself must not name two places."""
    path = tmp_path / "socket"
    url = "http+unix://" + str(path).replace("/", "%2F") + "/"
    place = home.url("").removeprefix("http://").rstrip("/")
    for host in ("*", "localhost"):
        mapped = result(wire.call("session.create", {"connectTo": {host: place}}))["session"]
        error = get(wire, url, session=mapped)["error"]
        assert error["code"] == 1402 and f"there is no socket at {path}" in error["message"]
    error = get(wire, url, connectTo=place)["error"]
    assert (error["code"], error["pointer"]) == (1101, "/connectTo") and "leave out connectTo" in error["message"]
