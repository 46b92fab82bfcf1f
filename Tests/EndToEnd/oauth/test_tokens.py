# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Where tokens go, who waits for them, and what becomes of those who wait; the client's own code refreshes."""

import contract
import pytest
from request_client import result
from token_server import Refresher, Refusing, Talk

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

STALE = {"accessToken": "a0", "expiresIn": -1}


@pytest.fixture
def server():
    with Refusing() as server:
        yield server


@pytest.fixture
def other():
    with Refusing() as server:
        yield server


@pytest.fixture
def talk(wire):
    return Talk(wire)


def fields(server, path="/x"):
    return server.authorizations.get(path, [])


# Where a token goes


def test_no_other_origin_gets_a_token(server, other, talk):
    mine = talk.make(server)
    response = talk.finish(talk.send(other.url("/x"), auth={"oauth": mine}))
    assert response["error"]["code"] == 1300 and response["error"]["pointer"] == "/auth/oauth"
    assert server.url("") in response["error"]["message"] and not other.arrived
    response = talk.finish(talk.send(other.url("/x"), interceptors=[{"oauth": mine}]))
    assert response["ok"] and fields(other) == [None]
    assert talk.counts(mine) == [0, 0, 0, 0]


def test_a_credential_without_origins_says_what_to_do(server, talk):
    mine = talk.make(server, origins=[])
    response = talk.finish(talk.send(server.url("/x"), auth={"oauth": mine}))
    assert "oauth.set" in response["error"]["message"] and not server.arrived
    talk.call("oauth.set", {"credential": mine, "origins": [server.url("")]})
    assert talk.finish(talk.send(server.url("/x"), auth={"oauth": mine}))["ok"] and fields(server) == ["Bearer a0"]


@pytest.mark.parametrize("keep", [[], ["Authorization"]])
def test_a_redirect_to_another_origin_goes_without_the_token(server, other, talk, keep):
    """Whatever the redirect policy keeps; and its refusal there says nothing about the token."""
    server.script["/x"], server.location = [307], other.url("/y")
    other.script["/y"] = [401]
    mine = talk.make(server)
    redirect = {"keepHeaders": keep}
    response = talk.finish(talk.send(server.url("/x"), auth={"oauth": mine}, redirect=redirect))
    assert response["status"] == 401 and fields(server) == ["Bearer a0"] and fields(other, "/y") == [None]
    assert not talk.refresh.calls and talk.counts(mine)[1] == 0


def test_a_redirect_within_the_origin_keeps_the_token(server, talk):
    server.script["/x"], server.location = [307], "/y"
    server.script["/y"] = [401, 200]
    mine = talk.make(server)
    response = talk.finish(talk.send(server.url("/x"), auth={"oauth": mine}))
    # the attempt begins again where the request was to go
    assert response["status"] == 200 and fields(server, "/y") == ["Bearer a0", "Bearer a1"], server.authorizations


def test_a_callback_cannot_lead_a_token_elsewhere(server, other, talk):
    mine = talk.make(server)
    interceptors = [{"oauth": mine}, {"callback": "away", "asks": ["adapt"]}]
    number = talk.send(server.url("/x"), interceptors=interceptors)
    callback = talk.wire.receive(20)
    assert callback["method"] == "callback.adapt"
    talk.wire.send({"jsonrpc": "2.0", "id": callback["id"], "result": {"url": other.url("/x")}})
    assert talk.finish(number)["ok"] and fields(other) == [None]


@pytest.mark.parametrize("origin", ["http://api.example.com", "https://api.example.com/path", "nothing"])
def test_origins_are_safe_ones(wire, origin):
    params = {"grant": "callback", "callback": "mine", "origins": [origin]}
    error = wire.call("oauth.create", params)["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == "/origins/0", error


@pytest.mark.parametrize(("params", "pointer"), [
    ({"grant": "password"}, "/grant"),
    ({"grant": "callback"}, "/callback"),
    ({"grant": "refresh", "clientId": "x"}, "/tokenUrl"),
    ({"grant": "refresh", "clientId": "x", "tokenUrl": "http://login.example.com/"}, "/tokenUrl"),
    ({"grant": "refresh", "tokenUrl": "https://login.example.com/"}, "/clientId"),
    ({"grant": "callback", "callback": "x", "persist": "disk"}, "/name"),
    ({"grant": "callback", "callback": "x", "name": "crd_x"}, "/name"),
    ({"grant": "callback", "callback": "x", "token": {"accessToken": "a", "refreshToken": "r"}}, "/token"),
    ({"grant": "callback", "callback": "x", "clientSecret": "s"}, "/clientSecret"),
    ({"grant": "callback", "callback": "x", "assertion": "s"}, "/assertion"),
    ({"grant": "callback", "callback": "x", "token": {"accessToken": "a\nb"}}, "/token/accessToken"),
    ({"grant": "callback", "callback": "x", "token": {"accessToken": "a", "expiresIn": 1,
      "expiresAt": "2030-01-01T00:00:00Z"}}, "/token/expiresIn"),
    ({"grant": "clientCredentials", "clientId": "x", "tokenUrl": "https://login.example.com/",
      "onRefreshFailure": "reauthorize"}, "/onRefreshFailure"),
    ({"grant": "clientCredentials", "clientId": "x", "tokenUrl": "https://login.example.com/", "clientAuth": "basic"},
     "/clientSecret"),
    ({"grant": "clientCredentials", "clientId": "x", "tokenUrl": "https://login.example.com/", "timeout": 1},
     "/timeout"),
    ({"grant": "callback", "callback": "x", "resources": ["urn:x", "api.example.com"]}, "/resources/1"),
    ({"grant": "callback", "callback": "x", "resources": ["https://api.example.com/#x"]}, "/resources/0"),
    ({"grant": "callback", "callback": "x", "resources": ["https:"]}, "/resources/0"),
    ({"grant": "authorizationCode", "clientId": "x", "tokenUrl": "https://login.example.com/",
      "authorizationUrl": "https://login.example.com/a?tenant=1&scope=all"}, "/authorizationUrl"),
])  # fmt: skip
def test_what_is_wrong_with_a_credential_is_said(wire, params, pointer):
    error = wire.call("oauth.create", params)["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == pointer, error


# What a refusal is


def test_only_invalid_token_leads_to_a_refresh(server, talk):
    """Of a Bearer challenge that says why (RFC 6750 section 3.1)."""
    server.script["/x"], server.challenge = [401], 'Bearer realm="api", error="insufficient_scope"'
    mine = talk.make(server)
    assert talk.finish(talk.send(server.url("/x"), auth={"oauth": mine}))["status"] == 401
    assert not talk.refresh.calls
    server.challenge = 'Bearer realm="api", error="invalid_token"'
    server.script["/x"] = [401, 200]
    assert talk.finish(talk.send(server.url("/x"), auth={"oauth": mine}))["status"] == 200
    assert len(talk.refresh.calls) == 1


def test_other_statuses_that_refuse(server, talk):
    server.script["/x"] = [403, 200]
    mine = talk.make(server, refreshWhen={"statuses": [403]})
    assert talk.finish(talk.send(server.url("/x"), auth={"oauth": mine}))["status"] == 200
    assert fields(server) == ["Bearer a0", "Bearer a1"]


def test_a_body_is_sent_again_with_the_new_token(server, talk):
    server.script["/x"] = [401, 200]
    mine = talk.make(server)
    response = talk.finish(talk.send(server.url("/x"), method="POST", body={"text": "hello"}, auth={"oauth": mine}))
    assert response["ok"] and response["attempts"] == 2


def test_a_stream_begins_with_the_response_to_the_new_token(server, talk):
    """What came with the refusal is not in it."""
    server.script["/x"] = [401, 200]
    mine = talk.make(server)
    number = talk.start("stream.open", {"url": server.url("/x"), "auth": {"oauth": mine}})
    stream = talk.finish(number)["stream"]
    piece = talk.finish(talk.start("stream.read", {"stream": stream, "wait": 10}))
    assert piece["base64"] == "MjAw" and fields(server) == ["Bearer a0", "Bearer a1"]


def test_a_session_gives_all_its_requests_tokens(server, talk):
    mine = talk.make(server)
    talk.call("session.create", {"name": "api", "interceptors": [{"oauth": mine}]})
    server.script["/x"] = [401, 200]
    assert talk.finish(talk.send(server.url("/x"), session="api"))["ok"]
    assert fields(server) == ["Bearer a0", "Bearer a1"]


# Those who wait


def test_who_stops_waiting_does_not_stop_the_refresh(server, talk):
    mine = talk.make(server, token=STALE)
    number = talk.send(server.url("/x"), auth={"oauth": mine})
    talk.until_called()
    talk.wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
    assert talk.reply(number, serves=False)["error"]["code"] == -32800
    talk.serve_callbacks()
    assert talk.finish(talk.start("oauth.token", {"credential": mine}))["accessToken"] == "a1"
    assert len(talk.refresh.calls) == 1 and not server.arrived


def test_each_waits_as_long_as_it_may(server, talk):
    mine = talk.make(server, token=STALE)
    patient = talk.send(server.url("/x"), auth={"oauth": mine})
    talk.until_called()
    response = result(talk.reply(talk.send(server.url("/x"), auth={"oauth": mine}, timeout=0.2), serves=False))
    assert response["error"]["code"] == 1300 and response["error"]["data"]["cause"]["code"] == 1405
    error = talk.reply(talk.start("oauth.token", {"credential": mine, "timeout": 0.1}), serves=False)["error"]
    assert error["code"] == -32018 and error["data"]["failure"]["code"] == 1405
    talk.serve_callbacks()
    assert talk.finish(patient)["ok"] and len(talk.refresh.calls) == 1


def test_one_refresh_for_requests_and_programs(server, talk):
    mine = talk.make(server, token=STALE)
    requests = [talk.send(server.url("/x"), auth={"oauth": mine}) for _ in range(4)]
    programs = [talk.start("oauth.token", {"credential": mine}) for _ in range(4)]
    forced = talk.start("oauth.refresh", {"credential": mine})
    talk.until_called()
    assert talk.call("diagnostics.echo", {}) == {}
    talk.serve_callbacks()
    assert all(response["ok"] for response in talk.finish(*requests))
    assert {token["accessToken"] for token in talk.finish(*programs)} == {"a1"}
    assert talk.finish(forced)["generation"] == 2 and len(talk.refresh.calls) == 1


def test_a_program_says_that_its_token_was_refused(talk, server):
    mine = talk.make(server)
    first = talk.finish(talk.start("oauth.token", {"credential": mine, "refused": "a0"}))
    assert first["accessToken"] == "a1"
    # it is an older one by now
    again = talk.finish(talk.start("oauth.token", {"credential": mine, "refused": "a0"}))
    assert again["accessToken"] == "a1" and len(talk.refresh.calls) == 1


def test_a_token_that_still_lasts_serves_when_it_cannot_be_refreshed(server, talk):
    talk.refresh = Refresher({"error": "no network"})
    mine = talk.make(server, token={"accessToken": "a0", "expiresIn": 50}, refreshWhen={"before": 86400})
    found = talk.finish(talk.start("oauth.token", {"credential": mine, "minValidity": 3600}))
    assert found["accessToken"] == "a0" and len(talk.refresh.calls) == 1


def test_waiters_get_a_token_from_outside(server, talk):
    """[L9]"""
    mine = talk.make(server, token=STALE)
    number = talk.send(server.url("/x"), auth={"oauth": mine})
    talk.until_called()
    talk.call("oauth.set", {"credential": mine, "token": {"accessToken": "outside"}})
    assert result(talk.reply(number, serves=False))["ok"] and fields(server) == ["Bearer outside"]
    talk.serve_callbacks()
    assert talk.finish(talk.start("oauth.token", {"credential": mine}))["accessToken"] == "outside"


# When it cannot be refreshed for good


def test_nobody_is_asked_again_before_there_are_other_tokens(server, talk):
    """Kept."""
    talk.refresh = Refresher({"error": "logged out", "final": True})
    mine = talk.make(server, token=STALE)
    for _ in range(3):
        response = talk.finish(talk.send(server.url("/x"), auth={"oauth": mine}))
        cause = response["error"]["data"]["cause"]
        assert cause["code"] == 1322 and cause["data"]["oauth"]["kind"] == "needsLogin"
    assert len(talk.refresh.calls) == 1
    info = talk.call("oauth.get", {"credential": mine})
    assert info["state"] == "needsLogin" and info["error"]["message"] == "logged out"
    talk.call("oauth.set", {"credential": mine, "token": {"accessToken": "new"}})
    assert talk.finish(talk.send(server.url("/x"), auth={"oauth": mine}))["ok"]
    assert talk.call("oauth.get", {"credential": mine})["state"] == "ready"


def test_tokens_are_cleared(server, talk):
    talk.refresh = Refresher({"error": "logged out", "final": True})
    mine = talk.make(server, token=STALE, onRefreshFailure="clear")
    failed = [talk.finish(talk.send(server.url("/x"), auth={"oauth": mine})) for _ in range(2)]
    assert [one["error"]["data"]["cause"]["code"] for one in failed] == [1322, 1320] and len(talk.refresh.calls) == 1


def test_requests_wait_until_somebody_has_logged_in(server, talk):
    talk.refresh = Refresher({"error": "logged out", "final": True})
    mine = talk.make(server, token=STALE, onRefreshFailure="reauthorize", events=True)
    waiting = talk.send(server.url("/x"), auth={"oauth": mine})
    while not talk.events or talk.events[-1]["params"]["event"] != "failed":
        talk.step()
    impatient = talk.send(server.url("/x"), auth={"oauth": mine}, timeout=0.2)
    response = talk.finish(impatient)
    assert response["error"]["data"]["cause"]["code"] == 1405
    assert [event["params"]["event"] for event in talk.events][-1] == "failed"
    talk.call("oauth.set", {"credential": mine, "token": {"accessToken": "new"}})
    assert talk.finish(waiting)["ok"] and fields(server) == ["Bearer new"] and len(talk.refresh.calls) == 1


# Names


def test_a_name_is_known_to_every_connection(listening, server):
    with contract.Wire(listening) as one, contract.Wire(listening) as two:
        first = Talk(one)
        mine = first.make(server, name="work")
        assert mine == "work"
        assert Talk(two).finish(Talk(two).send(server.url("/x"), auth={"oauth": "work"}))["ok"]
        nameless = first.make(server)
        assert nameless.startswith("crd_")
    with contract.Wire(listening) as three:
        left = [one["credential"] for one in result(three.call("oauth.list"))["credentials"]]
        assert "work" in left
        params = {"grant": "callback", "callback": "x", "name": "work", "clientId": "another"}
        reply = three.call("oauth.create", params)
        assert reply["error"]["code"] == -32018 and "work" in reply["error"]["message"]


def test_a_client_that_is_gone_refreshes_nothing(listening, server):
    """Another one that makes the same credential does."""
    with contract.Wire(listening) as one:
        Talk(one).make(server, name="work", token=STALE)
    with contract.Wire(listening) as two:
        talk = Talk(two)
        response = talk.finish(talk.send(server.url("/x"), auth={"oauth": "work"}))
        assert response["error"]["data"]["cause"]["code"] == 1322
        params = {"name": "work", "grant": "callback", "callback": "mine", "origins": [server.url("")]}
        talk.call("oauth.create", params)
        assert talk.finish(talk.send(server.url("/x"), auth={"oauth": "work"}))["ok"]
        assert fields(server) == ["Bearer a1"]


# What is told


def test_what_happens_to_a_credential_is_told(server, talk):
    mine = talk.make(server, token=STALE, events=True)
    talk.finish(talk.send(server.url("/x"), auth={"oauth": mine}))
    talk.finish(talk.start("oauth.delete", {"credential": mine}))
    told = [event["params"]["event"] for event in talk.events if event["method"] == "event.oauth"]
    assert told == ["created", "refreshing", "refreshed", "deleted"]
    assert all(event["params"]["credential"] == mine for event in talk.events)


@pytest.mark.parametrize("is_final", [False, True])
@pytest.mark.parametrize(("token", "code"), [(STALE, 1300), ({"accessToken": "a0"}, 1310)])
def test_a_request_without_a_token_is_worth_repeating_if_the_refresh_is(server, talk, token, code, is_final):
    server.script["/x"] = [401]
    talk.refresh = Refresher({"error": "busy", "final": is_final})
    mine = talk.make(server, token=token)
    error = talk.finish(talk.send(server.url("/x"), auth={"oauth": mine}))["error"]
    assert error["code"] == code and error["data"]["cause"]["code"] == 1322
    assert error["retryable"] == error["data"]["cause"]["retryable"] == (not is_final)


def test_a_client_pulls_its_callback(wire, server):
    """As an `event.decision` that waits for `events.next`."""
    talk = Talk(wire)
    mine = talk.make(server, token=STALE, decide="pull")
    number = talk.send(server.url("/x"), auth={"oauth": mine})
    events = talk.call("events.next", {"wait": 10})["events"]
    decision = next(event["params"] for event in events if event["method"] == "event.decision")
    assert decision["kind"] == "refresh" and decision["params"]["reason"] == "expired"
    talk.call("request.decide", {"decision": decision["decision"], "answer": {"token": {"accessToken": "pulled"}}})
    assert talk.finish(number)["ok"] and fields(server) == ["Bearer pulled"]


def test_no_token_is_shown_anywhere(server, talk):
    """In no event, description or log of requests; only `oauth.token` gives it."""
    mine = talk.make(server, token={"accessToken": "canary-0"}, events=True)
    talk.call("events.subscribe", {"topics": ["*"]})
    number = talk.start("data.start", {"url": server.url("/x"), "auth": {"oauth": mine}, "events": True})
    request = talk.finish(number)["request"]
    talk.finish(talk.start("request.wait", {"request": request}))
    shown = [talk.call("request.curl", {"request": request}), talk.call("request.describe", {"request": request}),
             talk.call("har.export", {}), talk.call("oauth.get", {"credential": mine}), talk.call("oauth.list", {})]
    assert "canary" not in str(shown) and "canary" not in str(talk.events) and len(talk.events) > 5
    assert fields(server) == ["Bearer canary-0"]
