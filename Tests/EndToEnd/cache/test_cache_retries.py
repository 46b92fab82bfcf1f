# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Retries of requests with a cache, and what the cache sends by itself."""

import time

import contract
import pytest
from cache_server import Reply
from digest_server import ADA, Guard
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
FRESH = (("Cache-Control", "max-age=600"),)
RETRY = {"limit": 2, "scale": 0.01}


def fetch(wire, url, cache=True, **more):
    return result(wire.call("data.send", {"url": url, "cache": cache, "serialize": {"as": "text"}, **more}))


@pytest.mark.parametrize("cache", [True, "docs", {"mode": "forceCache"}])
def test_a_retry_does_not_take_the_failure_from_the_cache(wire, server, cache):
    """The server says for how long its failure may be stored; a retry asks whether it is over."""
    url, seen = server.script(lambda number, _: Reply(b"%d" % number, status=503 if number < 3 else 200, fields=FRESH))
    told = fetch(wire, url, cache, validate=True, retry=RETRY)
    assert told["ok"] and told["body"]["text"] == "3" and told["attempts"] == 3 and len(seen) == 3
    assert told["cache"]["status"] == "miss" and told["cache"]["reason"] == "retry"
    # other requests take what is stored, as always
    assert fetch(wire, url, cache)["cache"]["status"] == "hit" and len(seen) == 3


def test_a_stored_failure_is_retried_at_the_server(wire, server):
    url, seen = server.script(lambda number, _: Reply(status=503 if number == 1 else 200, fields=FRESH))
    assert fetch(wire, url)["status"] == 503 and fetch(wire, url)["cache"]["status"] == "hit"
    told = fetch(wire, url, validate=True, retry=RETRY)
    assert told["ok"] and told["attempts"] == 2 and len(seen) == 2


def test_the_wish_of_a_stored_failure_counts_from_its_arrival(wire, server):
    """Retry-After says for how long the server is away, and some of that time is over (RFC 9110 section 10.2.3)."""
    away = (("Retry-After", "50"), ("Age", "50"), *FRESH)
    url, seen = server.script(lambda number, _: Reply(status=503 if number == 1 else 200, fields=away))
    assert fetch(wire, url)["status"] == 503
    told = fetch(wire, url, validate=True, retry=RETRY)
    assert told["ok"] and told["attempts"] == 2 and len(seen) == 2


def test_a_retry_without_the_network_takes_what_is_stored(wire, server):
    url, seen = server.script(Reply(status=503, fields=FRESH))
    fetch(wire, url)
    told = fetch(wire, url, {"mode": "onlyIfCached"}, validate=True, retry=RETRY)
    assert told["status"] == 503 and told["attempts"] == 3 and told["error"]["code"] == 1600 and len(seen) == 1


def test_a_retry_confirms_what_is_stored(wire, server):
    """Of a redirect on the way, the stored response stays in use."""
    fields = (*FRESH, ("ETag", '"1"'))

    def reply(number, sent):
        return Reply(status=304 if sent.get("If-None-Match") == '"1"' else 200, fields=fields)

    url, seen = server.script(reply)
    start, hops = server.script(Reply(status=301, fields=(("Location", url), *FRESH)))
    told = fetch(wire, start, validate={"status": [201]}, retry={**RETRY, "statuses": [200], "limit": 1})
    assert told["attempts"] == 2 and told["cache"]["status"] == "revalidated"
    assert len(seen) == 2 and len(hops) == 1


def test_a_request_for_the_whole_has_a_proof_of_its_own(wire):
    """A 304 about another response is followed by a second request: with Digest, a count is for one request alone."""

    class Other(Guard):
        def judge(self, request):
            status, fields = super().judge(request)
            if status == 200:
                tag = "other" if request.field("if-none-match") else "1"
                status = 304 if request.field("if-none-match") else 200
                fields = [*fields, ("Cache-Control", "max-age=0"), ("ETag", f'"{tag}"')]
            return status, fields

    with Other() as guard:
        place = {"url": guard.url("/"), **ADA}
        session = result(wire.call("session.create", {"credentials": [place], "cache": True}))["session"]
        for _ in range(2):
            told = fetch(wire, guard.url("/vault"), True, session=session)
            assert told["status"] == 200 and told["cache"]["status"] == "miss", told
        assert guard.faults == [] and guard.statuses == [401, 200, 200, 200]
        counts = [visit.said["nc"] for visit in guard.visits if visit.said]
        assert counts == ["00000001", "00000002", "00000003"]


def test_a_revalidation_in_the_background_counts(wire, server):
    fields = (("Cache-Control", "max-age=0, stale-while-revalidate=600"), ("ETag", '"1"'))
    url, seen = server.script(lambda _, sent: Reply(status=304 if "If-None-Match" in sent else 200, fields=fields))
    assert fetch(wire, url)["cache"]["status"] == "miss"
    before = result(wire.call("server.stats"))
    assert fetch(wire, url)["cache"]["status"] == "updating"
    deadline = time.monotonic() + 10
    # the hit itself is an attempt that sends nothing
    while (after := result(wire.call("server.stats")))["requests"]["attempts"] < before["requests"]["attempts"] + 2:
        assert time.monotonic() < deadline, after
    assert len(seen) == 2 and after["pool"]["reused"] == before["pool"]["reused"] + 1
    assert after["bytes"]["sent"] > before["bytes"]["sent"] and after["bytes"]["received"] > before["bytes"]["received"]
    assert after["requests"]["total"] == before["requests"]["total"] + 1


def test_a_revalidation_in_the_background_brings_its_cookies(wire, server):
    fields = (("Cache-Control", "max-age=0, stale-while-revalidate=600"), ("ETag", '"1"'))
    fresh = (*fields, ("Set-Cookie", "seen=2"))
    url, _ = server.script(
        lambda number, sent: Reply(status=304, fields=fresh) if "If-None-Match" in sent else Reply(fields=fields))
    session = result(wire.call("session.create", {"cache": True, "cookies": True}))["session"]
    assert [fetch(wire, url, True, session=session)["cache"]["status"] for _ in range(2)] == ["miss", "updating"]
    deadline = time.monotonic() + 10
    while not (kept := result(wire.call("cookies.list", {"session": session}))["cookies"]):
        assert time.monotonic() < deadline
    assert [(cookie["name"], cookie["value"]) for cookie in kept] == [("seen", "2")]
