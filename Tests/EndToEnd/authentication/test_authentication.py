# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Saying who asks: what is said to challenges, by a strict server and by real ones."""

import base64
import subprocess

import contract
import httpbin_server
import pytest
from callback_client import callback, exchange
from digest_server import ADA, BASIC, BODY, PASSWORD, USER, Guard, counts, session
from nginx_server import needs_nginx, nginx
from request_client import get, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

ALGORITHMS = ["MD5", "MD5-sess", "SHA-256", "SHA-256-sess", "SHA-512-256", "SHA-512-256-sess", "SHA-512"]


# The strict server itself: what others make of it


@pytest.mark.parametrize("algorithm", ["MD5", "SHA-256"])
def test_the_strict_server_lets_curl_in(algorithm):
    with Guard(algorithm, "auth,auth-int") as guard:
        command = ["curl", "-s", "--digest", "-u", f"{USER}:{PASSWORD}", guard.url("/vault")]
        assert subprocess.run(command, capture_output=True, timeout=30).stdout == BODY
    assert not guard.faults


# One request


@pytest.mark.parametrize("qop", ["auth", "auth-int", "auth, auth-int", None])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_digest_is_signed_in_all_its_kinds(wire, algorithm, qop):
    """The server is one of RFC 7616, or without qop one of RFC 2069. [M1] [M7]"""
    with Guard(algorithm, qop, proof="right" if qop else None) as guard:
        response = get(wire, guard.url("/vault?a=1,2"), method="POST", body={"text": "b\u00f6dy"}, auth={"digest": ADA})
    assert (response["status"], response["attempts"]) == (200, 1) and not guard.faults
    assert guard.statuses == [401, 200]


@pytest.mark.parametrize("more", ["userhash=true", "charset=UTF-8", "userhash=true, charset=UTF-8", ""])
def test_a_name_that_is_not_ascii_arrives(wire, more):
    with Guard("SHA-256", user="J\u00e4s\u00f8n Doe", password="S\u00e9cret, or not?", more=more) as guard:
        said = {"username": "J\u00e4s\u00f8n Doe", "password": "S\u00e9cret, or not?"}
        if "userhash" in more or "charset" in more:
            assert get(wire, guard.url("/doe.json"), auth={"digest": said})["status"] == 200
            assert ("username*" in guard.visits[1].said) == ("userhash" not in more)
        assert get(wire, guard.url("/doe.json"), auth={"digest": {**said, "username": "x"}})["status"] == 401


@pytest.mark.parametrize("reads, statuses", [(True, [401, 200, 200]), (False, [401] * 4)])
def test_names_and_passwords_come_in_nfc_where_the_server_reads_utf_8(wire, reads, statuses):
    """RFC 7617 section 2.1 and RFC 7616 section 4; for others they stay as they were typed. [M16]"""
    typed, known = {"username": "Ja\u0308son", "password": "Se\u0301cret"}, ("J\u00e4son", "S\u00e9cret")
    charset = 'charset="utf-8"' if reads else ""
    basic = ['Basic realm="x"' + (", " + charset if charset else "")]
    for guard in (Guard("SHA-256", user=known[0], password=known[1], more=charset),
                  Guard(user=known[0], password=known[1], challenges=basic)):
        with guard:
            places = [{"url": guard.url("/"), **typed}]
            place = result(wire.call("session.create", {"credentials": places}))["session"]
            for _ in range(2):
                get(wire, guard.url("/vault"), session=place)
        assert guard.statuses == statuses


@pytest.mark.parametrize("auth", [{"digest": {**ADA, "password": "wrong"}}, {**ADA, "password": "wrong"}])
def test_a_wrong_password_is_tried_once_and_the_refusal_is_the_response(wire, auth):
    """[M4] [3.K.1]"""
    with Guard() as guard:
        response = get(wire, guard.url("/vault"), auth=auth, retry={"statuses": [401], "limit": 2, "scale": 0.01})
        assert (response["ok"], response["status"], response["body"]["text"]) == (True, 401, "who asks?\n")
        assert guard.statuses == [401, 401, 401, 401] and response["attempts"] == 3
        assert sum(visit.said is not None for visit in guard.visits) == 1
        invalid = get(wire, guard.url("/vault"), auth=auth, validate=True)
    assert (invalid["ok"], invalid["status"], invalid["error"]["code"]) == (False, 401, 1600)


DIGESTS = ['Digest realm="the vault", nonce="x", qop="auth"{}'.format(more) for more in ("", ", algorithm=SHA-256")]


@pytest.mark.parametrize(
    "challenges, scheme",
    [
        ([BASIC, *DIGESTS], "SHA-256"),
        ([", ".join([BASIC, *DIGESTS])], "SHA-256"),
        (["Negotiate, NTLM TlRM==, " + DIGESTS[0], BASIC], "MD5"),
        (['Bearer scope="a, b"', BASIC], "Basic"),
        ([' , Basic realm = "a, Digest nonce=x" ,,'], "Basic"),
        (["Negotiate", "Bearer"], None),
        (["Digest realm=x, nonce=y, algorithm=SHA3"], None),
        (['"', "=,=", ""], None),
        (["Digest " + 'a=",' * 2000], None),
    ],
)
def test_the_strongest_scheme_is_used_however_challenges_are_written(wire, challenges, scheme):
    """[M8]"""
    with Guard(challenges=challenges) as guard:
        response = get(wire, guard.url("/vault"), auth=ADA)
    said = guard.visits[1].said if len(guard.visits) > 1 else None
    found = said and ("Basic" if said["scheme"] == "Basic" else said.get("algorithm", "MD5"))
    assert (found, response["status"]) == (scheme, 200 if scheme == "Basic" else 401)


@pytest.mark.parametrize("auth", [{"digest": ADA}, {**ADA, "schemes": ["digest"]}])
def test_who_said_digest_does_not_show_the_password_by_basic(wire, auth):
    with Guard(challenges=[BASIC]) as guard:
        assert get(wire, guard.url("/vault"), auth=auth)["status"] == 401
    assert guard.statuses == [401]


def test_nothing_is_said_before_the_server_asks_and_no_adapter_is_asked_again(wire):
    with Guard() as guard:
        assert get(wire, guard.url("/open"), auth=ADA)["status"] == 200
        adapted = []
        response, callbacks = exchange(
            wire,
            "request",
            {"url": guard.url("/vault"), "auth": ADA, "interceptors": [callback(asks=["adapt"])]},
            {"adapt": lambda params: adapted.append(params) or {"headers": {"X-A": "1"}}},
        )
    assert response["status"] == 200 and len(adapted) == 1
    assert [visit.said is None for visit in guard.visits] == [True, True, False]


def test_what_the_caller_wrote_himself_is_left_alone(wire):
    with Guard() as guard:
        place = session(wire, guard.url("/"))
        response = get(wire, guard.url("/vault"), session=place, headers={"Authorization": "Token x"})
        assert response["status"] == 401 and guard.statuses == [401]
        get(wire, guard.url("/vault"), session=place, auth={"basic": ADA})
    assert [visit.said["scheme"] for visit in guard.visits] == ["Token", "Basic"]


@pytest.mark.parametrize("qop", ["auth", "auth-int"])
def test_a_server_that_lies_about_knowing_the_password_is_a_failure(wire, qop):
    with Guard(qop=qop, proof="wrong") as guard:
        response = get(wire, guard.url("/vault"), auth={"digest": ADA})
    assert (response["ok"], response["status"]) == (False, 200)
    assert (response["error"]["code"], response["error"]["kind"]) == (1323, "authenticationFailed")


# Many requests


@pytest.mark.parametrize("algorithm", ["MD5", "SHA-256-sess"])
def test_a_session_asks_once_and_counts_from_then_on(wire, algorithm):
    """[M3, AD1] [M11] [3.K.3]"""
    with Guard(algorithm) as guard:
        place = session(wire, guard.url("/"))
        for number in range(10):
            assert get(wire, guard.url(f"/vault/{number}"), session=place)["status"] == 200
    assert guard.statuses == [401] + [200] * 10 and counts(guard) == [list(range(1, 11))] and not guard.faults


def test_fifty_requests_at_once_use_each_count_once(wire):
    """Though nonces run out in the middle. [M11]"""
    with Guard("SHA-256", lives=20) as guard:
        place = session(wire, guard.url("/"), connectionsPerHost=10)
        # until the password is proved, each request uses the nonce of its own challenge
        assert get(wire, guard.url("/vault"), session=place)["status"] == 200
        numbers = [
            wire.start("data.send", {"url": guard.url(f"/vault/{number}"), "session": place}) for number in range(50)
        ]
        replies = [result(reply) for reply in wire.replies(numbers, 60).values()]
    assert {reply["status"] for reply in replies} == {200} and {reply["attempts"] for reply in replies} == {1}
    assert not guard.faults
    for used in counts(guard):
        assert len(used) == len(set(used))
    # refused at once, they agree on a nonce: far fewer are used than there were refusals
    refusals = guard.statuses.count(401)
    assert 3 <= len(counts(guard)) <= max(4, refusals // 2), (refusals, len(counts(guard)))


@pytest.mark.parametrize("says_stale", [True, False])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_server_that_takes_each_nonce_once_lets_all_in(wire, says_stale, is_first):
    """Though those after the first ones begin with the same nonce, and may agree on the next."""
    with Guard("SHA-256", lives=1, says_stale=says_stale) as guard:
        place = session(wire, guard.url("/"))
        if not is_first:
            assert get(wire, guard.url("/vault"), session=place)["status"] == 200
        numbers = [wire.start("data.send", {"url": guard.url("/vault"), "session": place}) for _ in range(30)]
        replies = [result(reply) for reply in wire.replies(numbers, 60).values()]
    assert {reply["status"] for reply in replies} == {200} and not guard.faults
    # the challenge, and two nonces that other requests have used up
    assert guard.statuses.count(401) <= (30 if is_first else 1) + 2 * 30


@pytest.mark.parametrize("says_stale", [True, False])
def test_a_stale_nonce_is_replaced_whether_the_server_says_so_or_not(wire, says_stale):
    with Guard(lives=3, says_stale=says_stale) as guard:
        place = session(wire, guard.url("/"))
        for _ in range(9):
            assert get(wire, guard.url("/vault"), session=place)["status"] == 200
    assert guard.statuses.count(401) == 3 and not guard.faults


def test_many_at_once_try_a_wrong_password_once_each(wire):
    with Guard("SHA-256", password="other", says_stale=False) as guard:
        place = session(wire, guard.url("/"))
        paths = [f"/vault/{number}" for number in range(30)]
        numbers = [wire.start("data.send", {"url": guard.url(path), "session": place}) for path in paths]
        replies = [result(reply) for reply in wire.replies(numbers, 60).values()]
    assert {reply["status"] for reply in replies} == {401}
    assert sorted(visit.path for visit in guard.visits if visit.said is not None) == sorted(paths)


def test_a_nonce_that_is_always_stale_ends_as_a_refusal(wire):
    """[M4] [M11]"""
    with Guard(lives=0) as guard:
        response = get(wire, guard.url("/vault"), auth={"digest": ADA})
    assert response["status"] == 401 and 2 <= len(guard.visits) <= 10


def test_the_next_nonce_of_the_server_is_used_without_being_refused_first(wire):
    with Guard(renews=True, lives=1) as guard:
        place = session(wire, guard.url("/"))
        for _ in range(5):
            assert get(wire, guard.url("/vault"), session=place)["status"] == 200
    assert guard.statuses == [401] + [200] * 5 and counts(guard) == [[1]] * 5


def test_a_retry_of_the_same_request_need_not_be_refused_again(wire):
    with Guard() as guard:
        response = get(
            wire,
            guard.url("/vault"),
            auth={"digest": ADA},
            validate={"status": [201]},
            retry={"statuses": [200], "limit": 2, "scale": 0.01},
        )
    assert response["attempts"] == 3 and guard.statuses == [401, 200, 200, 200] and not guard.faults


# Streams


def test_a_stream_that_needs_credentials_brings_its_data(wire):
    """Nothing of the refusal is among it. [3.K.7]"""
    with Guard("SHA-256") as guard:
        opened = result(wire.call("stream.open", {"url": guard.url("/vault"), "auth": ADA, "mode": "pull"}))
        found = b""
        while True:
            read = result(wire.call("stream.read", {"stream": opened["stream"], "wait": 10}))
            found += base64.b64decode(read.get("base64", ""))
            if read["end"]:
                break
    assert found == BODY and guard.statuses == [401, 200]


# Servers of other authors


@pytest.fixture(scope="module")
def httpbin():
    with httpbin_server.serving() as url:
        yield url


@pytest.mark.parametrize("algorithm", ["MD5", "SHA-256", "SHA-512"])
@pytest.mark.parametrize("qop", ["auth", "auth-int", "undefined"])
def test_challenges_of_httpbin_are_met(wire, httpbin, qop, algorithm):
    """[M7]"""
    url = f"{httpbin}/digest-auth/{qop}/{USER}/{PASSWORD}/{algorithm}"
    right = get(wire, url, auth={"digest": ADA})
    assert right["status"] == 200 and right["body"]["json"] == {"authenticated": True, "user": USER}
    assert get(wire, url, auth={"digest": {**ADA, "password": "wrong"}})["status"] == 401


def test_httpbin_s_stale_nonces_end(wire, httpbin):
    url = f"{httpbin}/digest-auth/auth/{USER}/{PASSWORD}/MD5/0"
    response = get(wire, url, auth={"digest": ADA}, headers={"Cookie": "stale_after=0; fake=fake_value"})
    assert response["status"] == 401 and response["attempts"] == 1


def test_httpbin_s_basic(wire, httpbin):
    """[M2] [M6]"""
    assert get(wire, f"{httpbin}/basic-auth/{USER}/{PASSWORD}", auth=ADA)["status"] == 200
    hidden = f"{httpbin}/hidden-basic-auth/{USER}/{PASSWORD}"
    assert get(wire, hidden, auth=ADA)["status"] == 404
    place = result(wire.call("session.create", {"credentials": [{"url": httpbin, **ADA, "preemptive": True}]}))
    assert get(wire, hidden, session=place["session"])["status"] == 200


@needs_nginx
def test_nginx_s_basic(wire, tmp_path):
    (tmp_path / "passwords").write_text(f"{USER}:{{PLAIN}}{PASSWORD}\n")
    (tmp_path / "index.html").write_text("hello\n")
    basic = f'auth_basic "a, \\"quoted\\" realm"; auth_basic_user_file {tmp_path}/passwords;'
    with nginx(tmp_path, basic) as port:
        url = f"http://127.0.0.1:{port}/index.html"
        response = get(wire, url, auth=ADA)
        assert response["status"] == 200 and response["body"]["text"] == "hello\n"
        assert get(wire, url, auth={**ADA, "password": "wrong"})["status"] == 401
        assert get(wire, url, auth={"digest": ADA})["status"] == 401
