# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Logging in on another device, what authorization servers publish, and logging out."""

import json

import contract
import pytest
from authorization_server import served
from browser_login import approved, begin, create, fetched, token, wait
from request_client import result
from shell import outrider, refused
from shell_login import making

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


server = served()


@pytest.fixture(autouse=True)
def own_store(monkeypatch, tmp_path):
    """No credential of this user is read or written."""
    monkeypatch.setenv("OUTRIDER_CREDENTIALS", str(tmp_path / "credentials"))


# On another device


def device(wire, server, **more):
    server.interval = 1
    create(wire, server, grant="device", **more)
    return result(wire.call("oauth.device", {"credential": "work"}))


def polls(server):
    return [one for one in server.audit if one.path == "/token"]


def test_a_device_waits_until_somebody_says_yes(wire, server):
    server.polls = ["authorization_pending", None]
    shown = device(wire, server)
    assert shown["userCode"] == "WDJB-MJHT" and shown["verificationUri"] == server.url("/activate")
    assert shown["interval"] == 1 and shown["expiresIn"] == 600
    ended = wait(wire, 20)
    assert ended["ok"] and server.is_good(token(wire))
    times = [one.time for one in polls(server)]
    assert len(times) == 2 and times[1] - times[0] >= 0.95
    assert "device-" not in json.dumps([shown, ended])


def test_slow_down_adds_five_seconds(wire, server):
    server.polls = ["slow_down", None]
    device(wire, server)
    assert wait(wire, 30)["ok"]
    times = [one.time for one in polls(server)]
    assert len(times) == 2 and times[1] - times[0] >= 5.9


@pytest.mark.parametrize("error", ["access_denied", "expired_token"])
def test_a_device_that_is_refused_is_told_so_once(wire, server, error):
    server.polls = ["authorization_pending", error]
    device(wire, server)
    ended = wait(wire, 20)
    assert not ended["ok"] and ended["error"]["reason"] == error
    assert len(polls(server)) == 2


def test_a_newer_device_ends_the_older_one(wire, server):
    server.interval = 60
    create(wire, server, grant="device")
    result(wire.call("oauth.device", {"credential": "work"}))
    number = wire.start("oauth.wait", {"credential": "work"})
    result(wire.call("oauth.device", {"credential": "work"}))
    ended = result(wire.reply(number))
    assert ended["error"]["reason"] == "login_superseded" or ended["pending"]


def test_a_login_by_the_wrong_grant_says_which_one_it_has(wire, server):
    create(wire, server, grant="device")
    error = wire.call("oauth.login", {"credential": "work"})["error"]
    assert error["data"]["failure"]["data"]["oauth"]["reason"] == "wrong_grant"
    assert "device" in error["message"]


# Where no client may


def off(reply):
    error = reply["error"]
    assert error["code"] == -32018, reply
    oauth = error["data"]["failure"]["data"]["oauth"]
    assert (oauth["kind"], oauth["reason"]) == ("config", "device_login_off")
    for word in ("--no-device-login", "authorizationCode"):
        assert word in error["message"]


@pytest.mark.parametrize("way", ["flag", "environment"])
def test_a_service_may_let_nobody_log_in_on_another_device(server, monkeypatch, way):
    if way == "environment":
        monkeypatch.setenv("OUTRIDER_NO_DEVICE_LOGIN", "1")
    with contract.Wire(arguments=["--no-device-login"] if way == "flag" else []) as wire:
        create(wire, server, grant="device")
        asked = len(server.audit)
        off(wire.call("oauth.device", {"credential": "work"}))
        off(wire.call("oauth.login", {"credential": "work"}))
        assert wait(wire, 0)["credential"]["state"] == "empty"
        # no server got a request
        assert len(server.audit) == asked
        # a browser is something else
        result(wire.call("oauth.delete", {"credential": "work"}))
        create(wire, server)
        fetched(approved(server, begin(wire)["url"]))
        assert wait(wire)["ok"]


def test_tokens_of_a_device_are_refreshed_where_nobody_may_log_in_any_more(server, env, monkeypatch):
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    with contract.Wire() as wire:
        device(wire, server, persist="disk")
        assert wait(wire, 20)["ok"]
        first = token(wire)
    with contract.Wire(arguments=["--no-device-login"]) as wire:
        result(wire.call("oauth.refresh", {"credential": "work"}))
        assert token(wire) != first and server.is_good(token(wire))
        off(wire.call("oauth.device", {"credential": "work"}))


@pytest.mark.parametrize("word", ["0", "false", ""])
def test_the_environment_may_also_say_that_everybody_may(server, monkeypatch, word):
    monkeypatch.setenv("OUTRIDER_NO_DEVICE_LOGIN", word)
    with contract.Wire() as wire:
        assert device(wire, server)["userCode"] == "WDJB-MJHT"


def test_a_shell_is_told_what_helps(server, env):
    done = outrider("login", "--device", *making(server)[1:], env={**env, "OUTRIDER_NO_DEVICE_LOGIN": "true"})
    refused(done, 11, "--no-device-login", "authorizationCode")


# What servers publish


def test_discovery_tells_what_the_server_says(wire, server):
    found = result(wire.call("oauth.discover", {"issuer": server.issuer}))
    assert found["issuer"] == server.issuer
    assert found["metadata"]["token_endpoint"] == server.url("/token")
    assert found["url"].startswith(server.url("/.well-known/"))
    result(wire.call("oauth.discover", {"issuer": server.issuer}))
    before = len(server.arrived)
    result(wire.call("oauth.discover", {"issuer": server.issuer, "fresh": True}))
    assert len(server.arrived) == before + 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"issuer": "https://evil.example"}, "issuer_mismatch"),
        ({"token_endpoint": "http://evil.example/token"}, "invalid_metadata"),
        ({"token_endpoint": None}, "invalid_metadata"),
    ],
)
def test_metadata_that_lie_are_refused(wire, server, change, reason):
    server.metadata = lambda document: {**document, **change}
    error = wire.call("oauth.discover", {"issuer": server.issuer})["error"]
    assert error["data"]["failure"]["data"]["oauth"]["reason"] == reason


@pytest.mark.parametrize(
    ("status", "fields", "body"),
    [
        (302, {"Location": "http://127.0.0.1:1/.well-known/oauth-authorization-server"}, b""),
        (302, {"Location": "/.well-known/openid-configuration"}, b""),
        (200, {"Content-Type": "text/html"}, b"<html>"),
        (404, {}, b"{}"),
    ],
)
def test_what_is_no_metadata_is_not_taken_for_it(wire, server, status, fields, body):
    """A redirect to another origin, one that leads round, a page, an error."""
    server.at_well_known = lambda request: ("ok", status, fields, body)
    error = wire.call("oauth.discover", {"issuer": server.issuer})["error"]
    assert error["data"]["failure"]["data"]["oauth"]["reason"] == "no_metadata"
    assert "tokenUrl" in error["message"]


def test_metadata_that_do_not_end_or_do_not_come_are_given_up(wire, server):
    server.metadata = lambda document: {**document, "x": "y" * (256 << 10)}
    error = wire.call("oauth.discover", {"issuer": server.issuer})["error"]
    assert error["code"] < 0 and "oauth" in error["data"]["failure"]["data"]
    server.at_well_known = lambda request: (server.go.wait(20), ("ok", 200, {}, b"{}"))[1]
    error = wire.call("oauth.discover", {"issuer": server.issuer}, 15)["error"]
    assert error["data"]["failure"]["data"]["oauth"]["kind"] == "temporary"


# Logging out, and asking what a token is worth


def logged_in(wire, server):
    create(wire, server)
    fetched(approved(server, begin(wire)["url"]))
    assert wait(wire)["ok"]
    return token(wire)


def test_logging_out_revokes_the_refresh_token_first(wire, server):
    access = logged_in(wire, server)
    assert result(wire.call("oauth.revoke", {"credential": "work"})) == {"revoked": True}
    hints = [one.form["token_type_hint"] for one in server.audit if one.path == "/revoke"]
    assert hints == ["refresh_token", "access_token"] and not server.is_good(access)
    assert result(wire.call("oauth.get", {"credential": "work"}))["state"] == "empty"
    assert "error" in wire.call("oauth.token", {"credential": "work"})


def test_logging_out_forgets_the_tokens_even_if_the_server_does_not(wire, server):
    logged_in(wire, server)
    server.at_revoke = lambda request: ("ok", 503, {}, b"")
    told = result(wire.call("oauth.revoke", {"credential": "work"}))
    assert not told["revoked"] and told["error"]["kind"] == "temporary"
    assert result(wire.call("oauth.get", {"credential": "work"}))["state"] == "empty"


def test_a_server_that_revokes_nothing_is_named_as_the_reason(wire, server):
    server.metadata = lambda document: {k: v for k, v in document.items() if k != "revocation_endpoint"}
    logged_in(wire, server)
    told = result(wire.call("oauth.revoke", {"credential": "work"}))
    assert not told["revoked"] and told["error"]["reason"] == "no_revocation_endpoint"
    assert result(wire.call("oauth.get", {"credential": "work"}))["state"] == "empty"


def test_the_server_says_what_the_token_is_worth(wire, server):
    logged_in(wire, server)
    told = result(wire.call("oauth.introspect", {"credential": "work"}))
    assert told == {"active": True, "answer": {"active": True, "scope": "read"}}
    server.revoke_all()
    assert result(wire.call("oauth.introspect", {"credential": "work"}))["active"] is False
    server.at_introspect = lambda request: ("ok", 200, {}, b"<html>")
    error = wire.call("oauth.introspect", {"credential": "work"})["error"]
    assert error["data"]["failure"]["data"]["oauth"]["reason"] == "malformed_answer"
