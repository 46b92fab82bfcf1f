# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Mistakes that other HTTP clients made with redirects, each with the place where it became known."""

import base64
import pathlib
import urllib.parse

import contract
import pytest
from callback_client import converse, exchange
from capture_server import Capture
from http_server import Listening
from request_client import get, read_all, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def to(server, location, status=302):
    return server.url(f"/to/{status}?{urllib.parse.quote(location, safe='')}")


# Every way to say who asks, as members of a request; a session's stands for its settings
SECRETS = {
    "Authorization": {"headers": {"Authorization": "Bearer s3cret"}},
    "its other case": {"headers": [{"name": "aUTHORIZATION", "value": "Bearer s3cret"}]},
    "Cookie": {"headers": {"Cookie": "session=s3cret"}},
    "a key of one's own": {"headers": {"X-Api-Key": "s3cret"}},
    "auth": {"auth": {"basic": {"username": "u", "password": "s3cret"}}},
    "a bearer interceptor": {"interceptors": [{"bearer": "s3cret"}]},
    "a basic interceptor": {"interceptors": [{"basic": {"user": "u", "password": "s3cret"}}]},
    "a headers interceptor": {"interceptors": [{"headers": {"Authorization": "Bearer s3cret"}}]},
    "a session's headers": {"session": {"headers": {"Authorization": "Bearer s3cret"}}},
    "a session's interceptor": {"session": {"interceptors": [{"bearer": "s3cret"}]}},
}
HARMLESS = {"accept", "accept-encoding", "accept-language", "user-agent", "host"}

SHAPES = {
    # curl CVE-2022-27776, follow-redirects CVE-2022-0155
    "another port": lambda home, away: to(home, away.url()),
    # requests CVE-2018-18074, curl CVE-2018-1000007
    "another host": lambda home, away: to(home, home.url(host="localhost")),
    # a later hop, curl CVE-2022-27774
    "the second hop": lambda home, away: to(home, to(home, away.url())),
    # Go CVE-2024-45336: dropped at B, and back for the second request to B
    "twice to the same": lambda home, away: to(home, to(away, away.url())),
    # Go CVE-2024-45336, too: dropped at B, and back at home
    "and home again": lambda home, away: to(home, to(away, home.url())),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("secret", SECRETS)
def test_no_secret_goes_to_another_origin_or_comes_back(wire, home, away, secret, shape):
    """undici #4917, follow-redirects GHSA-r4q5-vmmm-2653: custom fields and other spellings. [T5]"""
    params = dict(SECRETS[secret])
    if "session" in params:
        params["session"] = result(wire.call("session.create", params["session"]))["session"]
    response = get(wire, SHAPES[shape](home, away), **params)
    assert response["ok"] and response["status"] == 200
    first, *others = home.seen
    assert set(first["headers"]) - HARMLESS, "the first request has it"
    if shape == "the second hop":
        assert set(others.pop(0)["headers"]) - HARMLESS, "it is still at home"
    for seen in [*others, *away.seen]:
        assert set(seen["headers"]) <= HARMLESS, seen
    assert "s3cret" not in str(response["redirects"])


def test_the_clients_code_leads_elsewhere_and_leaves_secrets_behind(wire, home, away):
    """What it says itself goes along; what was carried does not, nor does the body."""
    lead = {"redirect": {"callback": "lead"}, "headers": {"Authorization": "Bearer s3cret"}}

    def follow(**request):
        return {"redirect": lambda callback: {"follow": True, "request": {"url": away.url(), **request}}}

    response, _ = exchange(wire, "request", {"url": to(home, "/echo"), **lead}, follow())
    assert response["redirects"][0]["dropped"] == ["Authorization"] and set(away.seen[0]["headers"]) <= HARMLESS
    mine = follow(headers={"Authorization": "mine"})
    response, _ = exchange(wire, "request", {"url": to(home, "/echo"), **lead}, mine)
    assert "authorization" in away.seen[1]["headers"]
    body = {"url": to(home, "/echo", 307), "method": "PUT", "body": {"text": "secret"}, **lead}
    response, _ = exchange(wire, "request", body, follow())
    assert response["error"]["code"] == 1414 and len(away.seen) == 2
    response, _ = exchange(wire, "request", body, follow(body={"text": "public"}))
    assert response["ok"] and away.seen[2]["body"] == "public"


@pytest.mark.parametrize("secret", ["u:s3cret@", "s3cret@", ":@", "@"])
def test_a_location_brings_no_credentials(wire, home, away, secret):
    """curl CVE-2026-94265: user and password of a Location. [T5]"""
    response = get(wire, to(home, away.url().replace("//", f"//{secret}")))
    assert response["error"]["code"] == 1414 and not away.seen
    assert "s3cret" not in str(response["error"])


@pytest.mark.parametrize("port", ["0", "-1", "65536", "99999", "9" * 400, "8o", "+80", " 80"])
def test_no_port_makes_it_crash(wire, home, port):
    """Numbers that trapped: async-http-client #922."""
    assert get(wire, to(home, f"http://127.0.0.1:{port}/"))["error"]["code"] == 1414


def test_a_location_injects_nothing(wire, home):
    """async-http-client CVE-2023-0040, Foundation CVE-2022-3918."""
    with Capture() as capture:
        response = get(wire, to(home, capture.url("/a%0d%0aX-Injected:%201%00")))
        assert response["ok"]
        request = capture.take()
    assert request.line == b"GET /a%0d%0aX-Injected:%201%00 HTTP/1.1\r\n" and request.first("X-Injected") is None


def test_a_redirect_to_nowhere_is_a_response(wire, home):
    """A 300, a 304, and a Location that is empty are what came."""
    for status, location in ((300, "/echo"), (304, "/echo"), (302, "")):
        response = get(wire, to(home, location, status))
        assert response["ok"] and response["status"] == status and not response["redirects"]


def test_a_location_without_end_is_refused(wire):
    head = b"HTTP/1.1 302 Found\r\nLocation: /" + b"a" * (1 << 20)
    with Capture(response=head + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n") as capture:
        assert get(wire, capture.url())["error"]["code"] in (1411, 1414)


def test_a_thousand_hops_are_twenty(wire, home):
    response = get(wire, home.url("/around"), redirect={"max": 100})
    assert response["error"]["code"] == 1407 and len(response["redirects"]) == 100
    assert wire.call("data.send", {"url": home.url(), "redirect": {"max": 101}})["error"]["code"] == -32602


def test_a_post_is_not_posted_elsewhere(wire, home, away):
    """A 307 or 308 to another origin wants a body that is not its. [T5]"""
    for status in (307, 308):
        response = get(wire, to(home, away.url(), status), method="POST", body={"text": "order"})
        assert response["error"]["code"] == 1414 and not away.seen
    for status in (301, 302, 303):
        assert get(wire, to(home, away.url(), status), method="POST", body={"text": "order"})["ok"]
    assert [(one["method"], one["body"]) for one in away.seen] == [("GET", "")] * 3


# A redirect that fails, by its code, and what leads to it
FAULTS = {
    1407: {"redirect": {"max": 1}},
    1413: {"location": "ftp://example.test/"},
    1414: {"location": "http://[::"},
    "1413 by code": {"redirect": {"callback": "lead"}},
}


def shown(wire, body):
    """The bytes of a body, whatever its kind."""
    if "response" in body:
        return read_all(wire, body["response"])
    return base64.b64decode(body["base64"]) if "base64" in body else body.get("text", "").encode()


@pytest.mark.parametrize("method", ["data.send", "download.send", "stream.open"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_redirect_that_fails_shows_its_page(wire, home, fault, method):
    """A failure never takes away what the server sent. [AB7] [G1]"""
    params = dict(FAULTS[fault])
    params["url"] = to(home, params.pop("location", to(home, "/echo")))
    if method == "stream.open":
        params["wait"] = "response"
    lead = {"redirect": lambda _: {"follow": True, "request": {"url": "ftp://example.test/"}}}
    reply = result(converse(wire, method, params, lead)[0])
    response = reply.get("response", reply)
    assert (response["ok"], response["status"], response["error"]["code"]) == (False, 302, int(str(fault)[:4]))
    body = response["body"]
    assert (shown(wire, body), body["size"], "complete" in body) == (b"elsewhere", 9, False), response
    assert "pointer" not in response["error"], "the fault is not in the params"


def test_a_failed_redirect_keeps_to_what_was_asked_of_bodies(wire, home):
    refused = {"url": to(home, "ftp://example.test/")}
    assert get(wire, **refused, bodyTo="discard")["body"]["kind"] == "none"
    assert pathlib.Path(get(wire, **refused, bodyTo="file")["body"]["path"]).read_bytes() == b"elsewhere"
    body = get(wire, **refused, maxBody=4)["body"]
    assert body["complete"] is False and len(shown(wire, body)) <= 4


def test_of_a_long_page_of_a_failed_redirect_the_beginning_is_shown(wire, home):
    body = get(wire, home.url("/big/302?ftp://example.test/"))["body"]
    assert body["complete"] is False and 0 < body["size"] <= 64 << 10
    assert shown(wire, body) == bytes(body["size"])
    body = get(wire, home.url("/silent/302?ftp://example.test/"))["body"]
    assert (body["kind"], body["complete"]) == ("none", False)


class Slow(Listening):
    """Leads on and on, each time after a while."""

    def serve(self, connection, number):
        connection.recv(4096)
        self.ended.wait(0.25)
        head = b"HTTP/1.1 302 Found\r\nLocation: /%d\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        connection.sendall(head % number)


def test_redirects_without_time_left_name_the_time_of_the_whole_attempt(wire):
    with Slow() as server:
        error = get(wire, server.url("/"), timeout=0.7)["error"]
    assert (error["code"], error["phase"]) == (1405, "total") and "more than 0.7 s in all" in error["message"], error
