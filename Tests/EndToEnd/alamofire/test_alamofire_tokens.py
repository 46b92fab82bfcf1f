# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cases of Alamofire's AuthenticationInterceptor, through JSON-RPC, with exact counts of what was asked."""

import contract
import pytest
from request_client import result
from token_server import Refresher, Refusing, Talk

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

STALE = {"accessToken": "a0", "expiresIn": -1}
FAILS = Refresher({"error": "no network"})


@pytest.fixture
def server():
    with Refusing() as server:
        yield server


@pytest.fixture
def talk(wire):
    return Talk(wire)


def with_token(credential, **more):
    return {"auth": {"oauth": credential}, "validate": True, **more}


def in_header(server, path):
    return [value and value.removeprefix("Bearer ") for value in server.authorizations.get(path, [])]


def failed_to_adapt(response, code):
    """Nothing was sent."""
    error = response["error"]
    return error["code"] == 1300 and error["data"]["cause"]["code"] == code and response["attempts"] == 0


def failed_to_retry(response, code):
    """The refusal is told, too, and what came with it."""
    error = response["error"]
    assert error["data"]["originalError"]["code"] == 1600 and error["data"]["originalError"]["data"] == {"status": 401}
    return error["code"] == 1310 and error["data"]["cause"]["code"] == code and response["status"] == 401


def test_a_good_token(server, talk):
    """[3.J.1]"""
    mine = talk.make(server)
    response = talk.finish(talk.send(server.url("/x"), **with_token(mine)))
    assert response["ok"] and response["attempts"] == 1 and in_header(server, "/x") == ["a0"]
    assert talk.counts(mine) == [1, 0, 0, 0]


def test_three_that_wait_for_a_refresh_in_vain(server, talk):
    """[3.J.2] [L7]"""
    talk.refresh = FAILS
    mine = talk.make(server, token=STALE)
    calls = [talk.send(server.url("/x"), **with_token(mine)) for _ in range(3)]
    talk.until_called()
    assert talk.call("oauth.get", {"credential": mine})["state"] == "refreshing"
    talk.serve_callbacks()
    assert all(failed_to_adapt(response, 1322) for response in talk.finish(*calls))
    assert talk.counts(mine) == [0, 1, 0, 0] and not server.authorizations
    assert talk.call("oauth.get", {"credential": mine})["state"] == "ready"


def test_two_that_wait_for_a_refresh(server, talk):
    """[3.J.3] [L4] [L6]"""
    mine = talk.make(server, token=STALE)
    calls = [talk.send(server.url("/x"), **with_token(mine)) for _ in range(2)]
    assert all(response["ok"] and response["attempts"] == 1 for response in talk.finish(*calls))
    assert in_header(server, "/x") == ["a1", "a1"] and talk.counts(mine) == [2, 1, 0, 0]


@pytest.mark.parametrize("when", ["[3.J.5]", "[3.J.28]"])
def test_no_credential(server, talk, when):
    """Never, or no longer. [L9] [L11]"""
    mine = talk.make(server)
    talk.call("oauth.set", {"credential": mine, "clear": True})
    assert failed_to_adapt(talk.finish(talk.send(server.url("/x"), **with_token(mine))), 1320)
    assert talk.counts(mine) == [0, 0, 0, 0] and not server.authorizations and not talk.refresh.calls


def test_one_whose_refresh_fails(server, talk):
    """[3.J.6]"""
    talk.refresh = FAILS
    mine = talk.make(server, token=STALE)
    response = talk.finish(talk.send(server.url("/x"), **with_token(mine)))
    assert failed_to_adapt(response, 1322) and "no network" in response["error"]["message"]
    assert talk.counts(mine) == [0, 1, 0, 0]


def test_no_response_from_the_server(server, talk):
    """[3.J.7]"""
    mine = talk.make(server, origins=["http://127.0.0.1:1"])
    response = talk.finish(talk.send("http://127.0.0.1:1/", **with_token(mine)))
    assert response["error"]["code"] == 1402 and response["attempts"] == 1
    assert talk.counts(mine)[:2] == [1, 0] and talk.counts(mine)[3] == 0


def test_a_failure_of_another_kind(server, talk):
    """[3.J.8]"""
    server.script["/x"] = [500]
    mine = talk.make(server)
    response = talk.finish(talk.send(server.url("/x"), **with_token(mine)))
    assert response["error"]["code"] == 1600 and response["status"] == 500 and response["attempts"] == 1
    assert talk.counts(mine) == [1, 0, 1, 0]


def test_a_credential_that_is_taken_away_meanwhile(server, talk):
    """[3.J.9] [L9]"""
    server.script["/x"] = [401]
    server.gather("/x", 2)
    mine = talk.make(server)
    call = talk.send(server.url("/x"), **with_token(mine))
    server.wait_for("/x")
    talk.call("oauth.set", {"credential": mine, "clear": True})
    server.gates["/x"].wait(20)
    assert failed_to_retry(talk.finish(call), 1320)
    assert talk.counts(mine) == [1, 0, 1, 0] and in_header(server, "/x") == ["a0"]


def test_a_credential_that_comes_from_outside_meanwhile(server, talk):
    """[3.J.10] [L9]"""
    server.script["/x"] = [401, 200]
    server.gather("/x", 2)
    mine = talk.make(server)
    call = talk.send(server.url("/x"), **with_token(mine))
    server.wait_for("/x")
    talk.call("oauth.set", {"credential": mine, "token": {"accessToken": "a1"}})
    server.gates["/x"].wait(20)
    response = talk.finish(call)
    assert response["ok"] and response["attempts"] == 2
    assert talk.counts(mine) == [2, 0, 1, 1] and in_header(server, "/x") == ["a0", "a1"]


@pytest.mark.parametrize("validates", [True, False])
def test_a_refusal_and_then_success(server, talk, validates):
    """Whether or not the refusal is a failure for itself. [3.J.12] [3.J.26] [L1] [L5] [L10]"""
    server.script["/x"] = [401, 200]
    mine = talk.make(server)
    response = talk.finish(talk.send(server.url("/x"), **with_token(mine, validate=validates)))
    assert response["ok"] and response["status"] == 200 and response["attempts"] == 2
    assert talk.counts(mine) == [2, 1, 1, 1] and in_header(server, "/x") == ["a0", "a1"]
    assert [asked["reason"] for asked in talk.refresh.calls] == ["refused"]


def test_a_refusal_whose_refresh_fails(server, talk):
    """[3.J.14]"""
    talk.refresh, server.script["/x"] = FAILS, [401]
    mine = talk.make(server)
    response = talk.finish(talk.send(server.url("/x"), **with_token(mine)))
    assert failed_to_retry(response, 1322) and response["attempts"] == 1 and response["body"]["text"] == "401"
    assert talk.counts(mine) == [1, 1, 1, 1] and in_header(server, "/x") == ["a0"]


def test_three_refusals_whose_refresh_fails(server, talk):
    """[3.J.15]"""
    talk.refresh, server.script["/x"] = FAILS, [401]
    server.gather("/x", 3)
    mine = talk.make(server)
    calls = [talk.send(server.url("/x"), **with_token(mine)) for _ in range(3)]
    while len(server.arrived) < 3:
        server.wait_for("/x", len(server.arrived) + 1)
    talk.until_called()
    while talk.counts(mine)[3] < 3:
        pass
    talk.serve_callbacks()
    assert all(failed_to_retry(response, 1322) for response in talk.finish(*calls))
    assert talk.counts(mine) == [3, 1, 3, 3]


def test_another_request_after_a_refresh_that_failed(server, talk):
    """[3.J.16] [L8]"""
    talk.refresh, server.script["/x"] = FAILS, [401]
    mine = talk.make(server)
    for _ in range(2):
        assert failed_to_retry(talk.finish(talk.send(server.url("/x"), **with_token(mine))), 1322)
    assert talk.counts(mine) == [2, 2, 2, 2]


def test_six_refusals_at_once(server, talk):
    """[3.J.17] [L12]"""
    paths = [f"/{number}" for number in range(6)]
    mine = talk.make(server)
    for path in paths:
        server.script[path] = [401, 200]
    calls = [talk.send(server.url(path), **with_token(mine)) for path in paths]
    talk.until_called()
    while talk.counts(mine)[3] < 6:
        pass
    talk.serve_callbacks()
    assert all(response["ok"] and response["attempts"] == 2 for response in talk.finish(*calls))
    assert all(in_header(server, path) == ["a0", "a1"] for path in paths)
    assert talk.counts(mine) == [12, 1, 6, 6]


def test_without_a_window(server, talk):
    """[3.J.18] [L2]"""
    server.script["/x"] = [401] * 5 + [200]
    mine = talk.make(server, refreshWindow=False)
    response = talk.finish(talk.send(server.url("/x"), **with_token(mine)))
    assert response["ok"] and response["attempts"] == 6 and in_header(server, "/x")[-1] == "a5"
    assert talk.counts(mine) == [6, 5, 5, 5]


def test_too_many_refreshes_in_the_window(server, talk):
    """[3.J.19] [L2] [L11]"""
    server.script["/x"] = [401]
    mine = talk.make(server, refreshWindow={"interval": 30, "maximumAttempts": 2})
    response = talk.finish(talk.send(server.url("/x"), **with_token(mine)))
    assert failed_to_retry(response, 1321) and response["attempts"] == 3
    assert in_header(server, "/x") == ["a0", "a1", "a2"] and talk.counts(mine) == [3, 2, 3, 3]


def test_tokens_that_are_stale_when_they_come(server, talk):
    """[3.J.21]"""
    talk.refresh = Refresher({"token": {"accessToken": "stale", "expiresIn": -1}})
    mine = talk.make(server, token=STALE, refreshWindow={"maximumAttempts": 1})
    calls = [talk.send(server.url("/x"), **with_token(mine)) for _ in range(3)]
    assert all(failed_to_adapt(response, 1321) for response in talk.finish(*calls))
    assert talk.counts(mine) == [0, 1, 0, 0] and not server.authorizations


@pytest.mark.parametrize("hold", [False, True])
def test_a_request_during_the_refresh_of_a_refused_token(server, talk, hold):
    """It goes out with the old one, or waits where that is wanted. [3.J.23] [L4]"""
    server.script["/a"] = [401, 200]
    mine = talk.make(server, hold=hold)
    first = talk.send(server.url("/a"), **with_token(mine))
    talk.until_called()
    second = talk.send(server.url("/b"), **with_token(mine))
    if hold:
        assert talk.call("diagnostics.echo", {}) == {} and "/b" not in server.authorizations
    else:
        assert result(talk.reply(second, serves=False))["ok"]
    talk.serve_callbacks()
    assert talk.finish(first)["ok"] and (not hold or talk.finish(second)["ok"])
    assert in_header(server, "/b") == ["a1" if hold else "a0"] and talk.counts(mine) == [3, 1, 1, 1]


def test_no_refreshes_allowed(server, talk):
    """[3.J.29]"""
    server.script["/x"] = [401]
    mine = talk.make(server, refreshWindow={"maximumAttempts": 0})
    response = talk.finish(talk.send(server.url("/x"), **with_token(mine)))
    assert failed_to_retry(response, 1321) and talk.counts(mine) == [1, 0, 1, 1]


def test_two_requests_whose_refreshes_fail(server, talk):
    """[3.J.31] [L8]"""
    talk.refresh = FAILS
    mine = talk.make(server, token=STALE)
    for _ in range(2):
        assert failed_to_adapt(talk.finish(talk.send(server.url("/x"), **with_token(mine))), 1322)
    assert talk.counts(mine) == [0, 2, 0, 0]
