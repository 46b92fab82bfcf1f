# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Where credentials may be used, how long they are kept, and who is asked for them."""

import json
from urllib.parse import quote

import contract
import pytest
from callback_client import Refuse, callback, exchange
from digest_server import ADA, BASIC, BODY, PASSWORD, USER, Guard, counts, finished, session, waiting
from request_client import get, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


# Where credentials go


def test_credentials_never_reach_another_origin(wire):
    """By redirects, from there back, and from one port to the next. [M10]"""
    with Guard() as guard, Guard(challenges=[BASIC]) as other:
        back = other.url("/to?" + quote(guard.url("/vault/2"), safe=""))
        for auth in (ADA, {"digest": ADA}):
            url = guard.url("/to?" + quote(other.url("/vault"), safe=""))
            assert get(wire, url, auth=auth)["status"] == 401
            home = get(wire, guard.url("/to?" + quote(back, safe="")), auth=auth)
            assert home["status"] == 200 and len(home["redirects"]) == 2
        place = session(wire, guard.url("/"))
        assert get(wire, guard.url("/vault"), session=place)["status"] == 200
        assert get(wire, other.url("/vault"), session=place)["status"] == 401
        assert get(wire, guard.url("/to?" + quote(other.url("/vault"), safe="")), session=place)["status"] == 401
    assert all(visit.said is None for visit in other.visits) and len(other.visits) == 6


def test_a_redirect_at_home_is_signed_for_where_it_leads(wire):
    with Guard("SHA-256") as guard:
        place = session(wire, guard.url("/"))
        assert get(wire, guard.url("/vault"), session=place)["status"] == 200
        moved = get(wire, guard.url("/to?/vault/2"), session=place)
    # the second count was for what led there
    assert moved["status"] == 200 and not guard.faults and counts(guard) == [[1, 3]]


def test_another_origin_may_have_a_credential_of_its_own(wire):
    with Guard() as guard, Guard("SHA-256") as other:
        place = session(wire, guard.url("/"), other.url("/"))
        url = guard.url("/to?" + quote(other.url("/vault"), safe=""))
        assert get(wire, url, session=place)["status"] == 200
    assert not guard.faults and not other.faults


def test_credentials_are_for_their_paths_and_their_realm(wire):
    with Guard(challenges=[BASIC]) as guard:
        places = [
            {"url": guard.url("/vault/deep"), **ADA},
            {"url": guard.url("/"), **ADA, "realm": "another", "username": "bob"},
        ]
        place = result(wire.call("session.create", {"credentials": places}))["session"]
        for path, status in [("/vault", 401), ("/vault/deeper", 401), ("/vault/deep", 200), ("/vault/deep/x", 200)]:
            assert get(wire, guard.url(path), session=place)["status"] == status, path
    assert all(visit.said is None or visit.path.startswith("/vault/deep") for visit in guard.visits)


def test_basic_is_said_unasked_only_where_it_proved_right(wire):
    """[M5]"""
    with Guard(challenges=[BASIC]) as guard:
        place = session(wire, guard.url("/"))
        for path in ("/vault/a", "/vault/b?c", "/other"):
            assert get(wire, guard.url(path), session=place)["status"] == 200
        assert guard.statuses == [401, 200, 200, 401, 200]
        early = result(
            wire.call("session.create", {"credentials": [{"url": guard.url("/"), **ADA, "preemptive": True}]})
        )
        assert get(wire, guard.url("/new"), session=early["session"])["status"] == 200
    assert guard.statuses[5:] == [200]


def test_who_offers_basic_early_proves_by_digest_where_that_is_wanted(wire):
    with Guard() as guard:
        entry = {"url": guard.url("/"), **ADA, "preemptive": True}
        place = result(wire.call("session.create", {"credentials": [entry]}))["session"]
        assert get(wire, guard.url("/vault"), session=place)["status"] == 200
        assert get(wire, guard.url("/vault"), session=place)["status"] == 200
    assert [visit.said["scheme"] for visit in guard.visits] == ["Basic", "Digest", "Digest"]


def test_credentials_are_private_to_their_session_and_can_be_replaced(wire):
    with Guard() as guard:
        place, other = session(wire, guard.url("/")), session(wire)
        assert get(wire, guard.url("/vault"), session=place)["status"] == 200
        for stranger in (other, "default"):
            assert get(wire, guard.url("/vault"), session=stranger)["status"] == 401
        changed = result(wire.call("session.update", {"session": place, "credentials": []}))
        assert changed["credentials"] == []
        assert get(wire, guard.url("/vault"), session=place)["status"] == 401
    assert guard.statuses[2:] == [401, 401, 401] and all(visit.said is None for visit in guard.visits[2:])


# request.authenticate


@pytest.mark.parametrize("persistence", ["none", "forSession", None])
def test_a_request_is_authenticated_before_it_is_sent(wire, persistence):
    """[M1] [M2] [3.K.2]"""
    with Guard("SHA-256") as guard:
        place = session(wire)
        request = waiting(wire, guard.url("/vault"), session=place)
        said = {"request": request, **ADA, **({"persistence": persistence} if persistence else {})}
        assert result(wire.call("request.authenticate", said)) == {"persistence": persistence or "forSession"}
        response = finished(wire, request)
        assert response["status"] == 200 and response["body"]["text"] == BODY.decode()
        next_one = get(wire, guard.url("/vault"), session=place)["status"]
        assert next_one == (401 if persistence == "none" else 200)
        kept = result(wire.call("session.get", {"session": place}))["credentials"]
        assert [(one["username"], one["realm"], one["password"]) for one in kept] == (
            [] if persistence == "none" else [(USER, "the vault", "***")]
        )
        late = wire.call("request.authenticate", {"request": request, **ADA})
    assert late["error"]["code"] == -32013 and late["error"]["data"]["pointer"] == "/request"


def test_a_wrong_password_is_not_kept_for_the_session(wire):
    with Guard() as guard:
        place = session(wire)
        request = waiting(wire, guard.url("/vault"), session=place)
        wire.call("request.authenticate", {"request": request, **ADA, "password": "wrong"})
        assert finished(wire, request)["status"] == 401
        assert result(wire.call("session.get", {"session": place}))["credentials"] == []


def test_of_the_default_session_nothing_is_kept(wire):
    with Guard() as guard:
        request = waiting(wire, guard.url("/vault"))
        assert result(wire.call("request.authenticate", {"request": request, **ADA})) == {"persistence": "none"}
        assert finished(wire, request)["status"] == 200
        assert get(wire, guard.url("/vault"))["status"] == 401


@pytest.mark.parametrize(
    "change, pointer, word",
    [
        ({"persistence": "permanent"}, "/persistence", "shared session"),
        ({"persistence": "ever"}, "/persistence", "forSession"),
        ({"username": "a:b"}, "/username", "colon"),
        ({"password": "a\nb"}, "/password", "control"),
        ({"schemes": []}, "/schemes", "basic"),
        ({"schemes": ["ntlm"]}, "/schemes/0", "digest"),
        ({"username": None}, "/username", "required"),
    ],
)
def test_what_cannot_be_a_credential_is_refused_by_name(wire, origin, change, pointer, word):
    request = waiting(wire, origin + "/json")
    error = wire.call("request.authenticate", {"request": request, **ADA, **change})["error"]
    assert (error["code"], error["data"]["pointer"]) == (-32602, pointer) and word in error["message"]
    assert PASSWORD not in json.dumps(error)


@pytest.mark.parametrize(
    "auth, pointer",
    [
        ({}, "/auth"),
        ({"password": "p"}, "/auth"),
        ({"bearer": "t", "password": "p"}, "/auth/password"),
        ({"username": "u", "digest": ADA}, "/auth"),
        ({"digest": {"username": "u"}}, "/auth/digest/password"),
        ({"digest": {**ADA, "schemes": ["basic"]}}, "/auth/digest/schemes"),
        ({"username": "u", "schemes": ["basic", 1]}, "/auth/schemes/1"),
    ],
)
def test_an_auth_that_says_too_much_or_too_little_is_refused(wire, origin, auth, pointer):
    error = wire.call("data.send", {"url": origin + "/json", "auth": auth})["error"]
    assert (error["code"], error["data"]["pointer"]) == (-32602, pointer), error


@pytest.mark.parametrize(
    "entry, pointer",
    [
        ({**ADA}, "/credentials/0/url"),
        ({"url": "ftp://h/", **ADA}, "/credentials/0/url"),
        ({"url": "http://u:p@h/", **ADA}, "/credentials/0/url"),
        ({"url": "http://h/"}, "/credentials/0/username"),
        ({"url": "http://h/", **ADA, "schemes": ["digest"], "preemptive": True}, "/credentials/0/preemptive"),
        ({"url": "http://h/", **ADA, "stranger": 1}, "/credentials/0/stranger"),
    ],
)
def test_a_credential_of_a_session_says_where_it_belongs(wire, entry, pointer):
    error = wire.call("session.create", {"credentials": [entry]})["error"]
    assert (error["code"], error["data"]["pointer"]) == (-32602, pointer), error


def test_credentials_in_a_url_are_refused_and_the_message_says_where_they_go(wire):
    response = wire.call("data.send", {"url": "http://ada:s3cret@127.0.0.1/"})["result"]
    assert response["error"]["code"] == 1100 and "auth" in response["error"]["message"]
    assert PASSWORD not in response["error"]["message"]


# The client's own code


@pytest.mark.parametrize("how", ["request", "pull"])
def test_the_client_is_asked_for_a_password_until_one_is_right(wire, how):
    """[M9]"""
    with Guard("SHA-256") as guard:
        place = session(wire)
        passwords = iter(["wrong", PASSWORD])

        def challenge(params):
            assert params["offers"] == [{"scheme": "digest", "realm": "the vault", "algorithm": "SHA-256"}]
            assert params["response"]["status"] == 401 and params["url"] == guard.url("/vault")
            return {"credential": {"username": USER, "password": next(passwords)}}

        spec = {"url": guard.url("/vault"), "session": place, "challenge": callback(how=how)}
        response, callbacks = exchange(wire, how, spec, {"challenge": challenge})
        assert response["status"] == 200 and response["attempts"] == 1
        assert [(one["failures"], one.get("username")) for _, one in callbacks] == [(0, None), (1, USER)]
        # it is kept for the session
        assert get(wire, guard.url("/vault"), session=place)["status"] == 200
    assert guard.statuses == [401, 401, 200, 200] and not guard.faults


@pytest.mark.parametrize("how", ["request", "pull"])
@pytest.mark.parametrize("given", [{}, {"credential": None}, {"credential": {}}, {"credential": 1}, {"x": 1}, "error"])
def test_without_a_credential_the_refusal_is_the_response(wire, how, given):
    """[M9]"""

    def challenge(_):
        if given == "error":
            raise Refuse("nobody is here")
        return given

    with Guard() as guard:
        spec = {"url": guard.url("/vault"), "challenge": callback(how=how)}
        response, callbacks = exchange(wire, how, spec, {"challenge": challenge})
    assert (response["ok"], response["status"], response["body"]["text"]) == (True, 401, "who asks?\n")
    assert len(callbacks) == 1 and guard.statuses == [401]


def test_a_client_that_does_not_reply_in_time_has_no_credential(wire):
    with Guard() as guard:
        spec = {"url": guard.url("/vault"), "challenge": callback(timeout=0.1)}
        number = wire.start("data.send", spec)
        assert wire.receive()["method"] == "callback.challenge"
        response = result(wire.reply(number))
    assert response["status"] == 401 and guard.statuses == [401]


def test_nobody_is_asked_for_what_no_password_helps_with(wire):
    with Guard(challenges=["Negotiate"]) as guard:
        assert get(wire, guard.url("/vault"), challenge=callback())["status"] == 401


def test_a_session_asks_for_its_requests_unless_they_say_otherwise(wire):
    with Guard() as guard:
        place = session(wire, challenge=callback("of the session"))
        spec = {"url": guard.url("/vault"), "session": place}
        nobody = {"challenge": lambda _: {}}
        _, callbacks = exchange(wire, "request", spec, nobody)
        _, other = exchange(wire, "request", {**spec, "challenge": callback("its own")}, nobody)
    assert [one["callback"] for _, one in callbacks + other] == ["of the session", "its own"]


def test_a_request_that_is_cancelled_while_its_client_is_asked_ends_once(wire):
    with Guard() as guard:
        number = wire.start("data.send", {"url": guard.url("/vault"), "challenge": callback()})
        params = wire.receive()
        result(wire.call("request.cancel", {"request": params["params"]["request"]}))
        reply = result(wire.reply(number))
    assert reply["error"]["code"] == 1900 and guard.statuses == [401]
