# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What a token may do: what is asked for, what is granted (RFC 6749 section 3.3), and who is told that it is less."""

from urllib.parse import parse_qs, urlsplit

import contract
import pytest
from authorization_server import DEVICE, served
from browser_login import approved, begin, create, fetched, wait
from request_client import result, until
from shell import outrider
from shell_login import browse, login, making, token

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


server = served()


@pytest.fixture(autouse=True)
def own_store(monkeypatch, tmp_path):
    """No credential of this user is read or written."""
    monkeypatch.setenv("OUTRIDER_CREDENTIALS", str(tmp_path / "credentials"))


def granting(scope):
    """What the server says that it has granted; None if it says nothing."""
    def change(response):
        response = {name: value for name, value in response.items() if name != "scope"}
        return response if scope is None else {**response, "scope": scope}

    return change


def logged_in(wire, server, **more):
    fetched(approved(server, begin(wire, **more)["url"]))
    ended = wait(wire)
    assert ended["ok"], ended
    return ended["credential"]


def missing(wire):
    return result(wire.call("oauth.get", {"credential": "work"})).get("missingScope")


def refreshed(wire):
    """The event that tells of a refresh, and its result."""
    events, reply = until(wire, wire.start("oauth.refresh", {"credential": "work"}))
    (told,) = [one["params"] for one in events if one["params"].get("event") == "refreshed"]
    return told, result(reply)


def test_what_is_not_granted_is_told_to_all_who_look(wire, server):
    server.odd = granting("read")
    create(wire, server, scope="read write admin", events=True)
    fetched(approved(server, begin(wire)["url"]))
    events, reply = until(wire, wire.start("oauth.wait", {"credential": "work"}))
    info = result(reply)["credential"]
    assert result(reply)["ok"] and info["state"] == "ready"
    assert info["scope"] == ["read"] and info["missingScope"] == ["write", "admin"]
    (told,) = [one["params"] for one in events if one["params"].get("event") == "changed"]
    assert told["missingScope"] == ["write", "admin"]
    assert missing(wire) == ["write", "admin"]
    (listed,) = result(wire.call("oauth.list"))["credentials"]
    assert listed["missingScope"] == ["write", "admin"]
    given = result(wire.call("oauth.token", {"credential": "work"}))
    assert given["scope"] == ["read"] and given["missingScope"] == ["write", "admin"]


def test_a_pasted_address_tells_it_too(wire, server):
    server.odd = granting("read")
    create(wire, server, scope="read write")
    back = approved(server, begin(wire, redirect="https://app.example/callback")["url"])
    info = result(wire.call("oauth.callback", {"credential": "work", "url": back}))
    assert info["scope"] == ["read"] and info["missingScope"] == ["write"]


def test_whoever_gets_all_hears_of_nothing_missing(wire, server):
    for said in ("read write", "write read more", None):
        server.odd = granting(said)
        create(wire, server, scope="read write")
        info = logged_in(wire, server)
        assert "missingScope" not in info
        assert info["scope"] == (said or "read write").split()
        assert "missingScope" not in result(wire.call("oauth.token", {"credential": "work"}))


def test_a_refresh_changes_what_was_granted_only_if_the_server_says_so(wire, server):
    server.odd = granting("read")
    create(wire, server, scope="read write", events=True)
    logged_in(wire, server)
    # RFC 6749 section 6: without a word it is what it was
    server.odd = granting(None)
    for info in refreshed(wire):
        assert info["missingScope"] == ["write"]
    assert result(wire.call("oauth.get", {"credential": "work"}))["scope"] == ["read"]
    server.odd = granting("")
    for info in refreshed(wire):
        assert info["missingScope"] == ["read", "write"]
    server.odd = granting("write read")
    for info in refreshed(wire):
        assert "missingScope" not in info
    assert "scope" not in server.received("/token").form


def test_it_is_held_against_what_that_login_asked_for(wire, server):
    create(wire, server, scope="read")
    server.odd = granting("read")
    assert logged_in(wire, server, scope="read admin")["missingScope"] == ["admin"]
    # RFC 6749 section 5.1: without a word it is what was asked for
    server.odd = granting(None)
    info = logged_in(wire, server, scope="read admin")
    assert info["scope"] == ["read", "admin"] and "missingScope" not in info


@pytest.mark.parametrize("wanted", [None, ["read", "admin"]])
def test_a_device_is_told(wire, server, wanted):
    server.interval, server.odd = 1, granting("read")
    create(wire, server, grant="device", scope="read write")
    params = {"credential": "work", **({"scope": wanted} if wanted else {})}
    result(wire.call("oauth.device", params))
    assert wait(wire, 30)["credential"]["missingScope"] == ["admin" if wanted else "write"]
    assert server.received("/device").form["scope"] == " ".join(wanted or ["read", "write"])


def test_client_credentials_are_told(wire, server):
    server.odd = granting("read")
    create(wire, server, grant="clientCredentials", scope="read write")
    assert result(wire.call("oauth.token", {"credential": "work"}))["missingScope"] == ["write"]
    assert missing(wire) == ["write"]


# offline_access


def test_access_without_the_person_is_asked_for_only_if_somebody_asks(wire, server):
    for scope in (None, "read", "read offline_access"):
        asked = [] if scope is None else [scope]
        create(wire, server, scope=scope or [])
        logged_in(wire, server)
        assert parse_qs(urlsplit(begin(wire)["url"]).query).get("scope", []) == asked
        assert "scope" not in server.received("/token").form
        server.interval = 1
        device = {"name": "tv", "grant": "device", "issuer": server.issuer, "clientId": server.client}
        result(wire.call("oauth.create", {**device, "scope": scope or []}))
        result(wire.call("oauth.device", {"credential": "tv"}))
        assert result(wire.call("oauth.wait", {"credential": "tv", "timeout": 30}, 40))["ok"]
        assert [server.received("/device").form.get("scope")] == (asked or [None])
        polls = [one for one in server.audit if one.grant == DEVICE]
        assert polls and all("scope" not in one.form for one in polls)
        result(wire.call("oauth.delete", {"credential": "tv"}))


def test_a_refresh_token_says_that_such_access_was_granted(wire, server):
    create(wire, server, scope="read offline_access")
    server.odd = granting("read")
    assert "missingScope" not in logged_in(wire, server)
    server.odd = lambda response: {"access_token": response["access_token"], "token_type": "Bearer", "scope": "read"}
    assert logged_in(wire, server)["missingScope"] == ["offline_access"]


# A shell


def listed(env):
    done = outrider("credentials", env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().rstrip("\n").split("\t")


def test_a_shell_is_told_and_other_processes_know(env, server, monkeypatch):
    server.odd = granting("read")
    status, said = login(env, making(server, "--scope", "read write admin"), browse)
    assert status == 0 and "logged in as work\nthe server did not grant: write admin\n" in said, said
    assert server.is_good(token(env))
    assert listed(env)[4:] == ["not granted: write admin"]
    with monkeypatch.context() as same:
        for name, value in env.items():
            same.setenv(name, value)
        with contract.Wire() as wire:
            assert missing(wire) == ["write", "admin"]
    server.odd = None
    status, said = login(env, ["login", "work", "--scope", "read"], browse)
    assert status == 0 and "did not grant" not in said, said
    name, state, generation, seconds = listed(env)
    assert (name, state, generation) == ("work", "ready", "2") and 0 < int(seconds) <= 3600
