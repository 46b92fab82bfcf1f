# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Credentials and the connections that made them: handles, ends of connections, clients that stand in for others."""

import time

import contract
import pytest
from request_client import result
from token_server import Refusing, Talk

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

STALE = {"accessToken": "a0", "expiresIn": -1}


@pytest.fixture
def server():
    with Refusing() as server:
        yield server


def fields(server, path="/x"):
    return server.authorizations.get(path, [])


def test_a_credential_without_a_name_is_of_its_connection_alone(listening, server):
    """Other connections can neither list, use nor delete the credential, even with its handle."""
    with contract.Wire(listening) as one, contract.Wire(listening) as two:
        mine = Talk(one).make(server)
        assert mine not in [each["credential"] for each in result(two.call("oauth.list"))["credentials"]]
        for method in ("oauth.get", "oauth.token", "oauth.set", "oauth.refresh", "oauth.delete"):
            error = two.call(method, {"credential": mine})["error"]
            assert error["code"] == -32012 and error["data"]["pointer"] == "/credential", error
        for params, pointer in [
            ({"auth": {"oauth": mine}}, "/auth/oauth"),
            ({"interceptors": [{"headers": {"X": "1"}}, {"oauth": mine}]}, "/interceptors/1/oauth"),
        ]:
            error = two.call("data.send", {"url": server.url("/x"), **params})["error"]
            assert error["code"] == -32012 and error["data"]["pointer"] == pointer, error
        assert mine in [each["credential"] for each in result(one.call("oauth.list"))["credentials"]]
        assert result(one.call("data.send", {"url": server.url("/x"), "auth": {"oauth": mine}}))["ok"]
        assert fields(server) == ["Bearer a0"]


def test_a_client_that_leaves_at_once_leaves_no_credential_behind(listening, server):
    """Although its credentials without a name are made after the end of the connection. A service has 1024 at most."""
    params = {"grant": "clientCredentials", "clientId": "x", "clientSecret": "s", "tokenUrl": server.url("/token")}
    with contract.Wire(listening) as stays:
        named = {"grant": "callback", "callback": "mine"}
        for number in range(1000):
            result(stays.call("oauth.create", {**named, "name": f"work-{number}"}))
        with contract.Wire(listening) as leaves:
            for _ in range(60):
                leaves.start("oauth.create", params)
        end = time.monotonic() + 20
        for number in range(1000, 1024):
            while "error" in stays.call("oauth.create", {**named, "name": f"work-{number}"}):
                assert time.monotonic() < end, f"{1024 - number} credentials were left behind"
                time.sleep(0.05)


@pytest.mark.parametrize("is_asked", [False, True])
def test_another_client_that_made_the_credential_refreshes(listening, server, is_asked):
    """Once the latest client is gone, before the callback or without a reply to it."""
    with contract.Wire(listening) as asks, contract.Wire(listening) as one:
        first = Talk(one)
        first.make(server, name="work", token=STALE)
        params = {"url": server.url("/x"), "auth": {"oauth": "work"}}
        with contract.Wire(listening) as two:
            second = Talk(two)
            second.make(server, name="work", token=STALE)
            if is_asked:
                number = asks.start("data.send", params)
                second.until_called()
        if not is_asked:
            number = asks.start("data.send", params)
        first.until_called()
        first.serve_callbacks()
        assert result(asks.reply(number))["ok"] and fields(server) == ["Bearer a1"]


def test_the_result_with_a_handle_comes_before_its_events(wire):
    number = wire.start("oauth.create", {"grant": "callback", "callback": "mine", "events": True})
    reply, event = wire.receive(), wire.receive()
    assert reply.get("id") == number and event["method"] == "event.oauth"
    assert event["params"]["event"] == "created"
    assert event["params"]["credential"] == result(reply)["credential"]
