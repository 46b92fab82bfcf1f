# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Hits in memory: they look like all other hits, and nothing that takes part is left out."""

import contract
import pytest
from cache_server import Reply
from digest_server import ADA, Guard
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
CHANGING = {"request", "metrics"}


def fetch(wire, url, cache=True, **more):
    return result(wire.call("data.send", {"url": url, "cache": cache, "serialize": {"as": "text"}, **more}))


def same(response):
    """A response without the members that differ from request to request."""
    kept = {name: value for name, value in response.items() if name not in CHANGING}
    kept["headers"] = [field for field in kept["headers"] if field["name"] != "Age"]
    kept["cache"] = {name: value for name, value in kept["cache"].items() if name not in ("age", "ttl")}
    return kept


@pytest.mark.parametrize("size", [0, 1024])
@pytest.mark.parametrize("name", [True, "docs"])
def test_a_ready_hit_and_any_other_give_the_same(wire, server, name, size):
    fields = [("Cache-Control", "max-age=600"), ("Cache-Status", "edge; hit; ttl=5")]
    url, seen = server.script(Reply(b"x" * size, fields=fields))
    fetch(wire, url, name)
    hits = [fetch(wire, url, name), fetch(wire, url, name, events=True)]
    # with cookies, the attempt of the cache looks into the store
    hits += [fetch(wire, url, name, cookies=True), fetch(wire, url, name, cookies=True, events=True)]
    shown = [same(hit) for hit in hits]
    assert shown == 4 * shown[:1] and len(seen) == 1
    assert hits[0]["cache"]["status"] == "hit" and hits[0]["cache"]["upstream"][0]["cache"] == "edge"
    told = [result(wire.call("request.get", {"request": one["request"]})) for one in hits]
    for info in told:
        for member in ("request", "createdAt", "created", "metrics"):
            info.pop(member, None)
        shown = info.get("response", {})
        shown["headers"] = [field for field in shown.get("headers", []) if field["name"] != "Age"]
    assert told == 4 * told[:1]


def test_hits_are_counted_as_requests(wire, server):
    url, _ = server.script(Reply(b"x"))
    fetch(wire, url)
    def succeeded():
        return result(wire.call("server.stats"))["requests"]["total"]

    before = succeeded()
    for _ in range(3):
        fetch(wire, url)
    assert succeeded() - before == 3
    assert result(wire.call("cache.stats"))["hits"] == 3


def test_what_takes_part_in_a_request_is_asked(wire, server):
    url, seen = server.script(Reply(b"0123456789"))
    fetch(wire, url)
    assert fetch(wire, url, headers={"Range": "bytes=2-3"})["body"]["text"] == "23"
    assert fetch(wire, url, method="HEAD")["body"]["size"] == 0
    assert fetch(wire, url, maxBody=5)["error"]["code"] == fetch(wire, url, maxBody=5, events=True)["error"]["code"]
    assert fetch(wire, url, maxInline=4)["body"]["kind"] == "stored"
    assert fetch(wire, url, validate={"status": [201]})["error"]
    assert fetch(wire, url, tls={"minVersion": "1.3"})["cache"]["status"] in ("hit", "miss")
    assert fetch(wire, url, cache={"mode": "noStore"})["cache"]["status"] == "bypass"
    assert fetch(wire, url, headers={"Cache-Control": "no-cache"})["cache"]["forward"] == "request"
    assert fetch(wire, url, headers={"Authorization": "Basic YTpi"})["cache"]["status"] == "miss"
    assert fetch(wire, url)["cache"]["status"] == "hit"


def test_a_stored_redirect_is_followed(wire, server):
    goal, _ = server.script(Reply(b"goal"))
    url, seen = server.script(
        Reply(b"", status=301, fields=[("Location", goal), ("Cache-Control", "max-age=600")]))
    for _ in range(2):
        response = fetch(wire, url)
        assert response["body"]["text"] == "goal" and len(response["redirects"]) == 1
    assert len(seen) == 1


def test_a_closed_session_has_no_hits(wire, server):
    url, _ = server.script(Reply(b"x"))
    session = result(wire.call("session.create", {"cache": "docs"}))["session"]
    for told in ("miss", "hit"):
        params = {"url": url, "session": session}
        assert result(wire.call("data.send", params))["cache"]["status"] == told
    result(wire.call("session.close", {"session": session}))
    assert "error" in wire.call("data.send", {"url": url, "session": session})


def test_limits_of_a_session_hold_for_hits(wire, server):
    url, _ = server.script(Reply(b"x"))
    limits = {"rate": {"requests": 1, "seconds": 60}}
    reply = wire.call("session.create", {"cache": "docs", "limits": limits})
    session = result(reply)["session"]
    assert result(wire.call("data.send", {"url": url, "session": session}))["cache"]["status"] == "miss"
    numbers = [wire.start("data.send", {"url": url, "session": session, "timeout": 20}) for _ in range(2)]
    waiting = result(wire.call("session.get", {"session": session}))
    assert waiting["requests"]["waiting"] == 2, waiting
    numbers.append(wire.start("session.close", {"session": session}))
    assert len(wire.replies(numbers)) == 3


def test_other_services_removals_reach_hits_in_memory(server):
    url, seen = server.script(lambda number, _: Reply(str(number).encode()))
    with contract.Wire() as one, contract.Wire() as other:
        for _ in range(2):
            assert fetch(one, url, "docs")["body"]["text"] == "1"
        result(one.call("cache.stats", {"cache": "docs"}))
        result(other.call("cache.delete", {"cache": "docs", "all": True}))
        assert fetch(one, url, "docs")["body"]["text"] == "2" and len(seen) == 2


class Lasting(Guard):
    """What it gives may be stored."""

    def verdict(self, said, request):
        status, fields = super().verdict(said, request)
        return status, [*fields, ("Cache-Control", "max-age=600")] if status == 200 else fields


@pytest.mark.parametrize("qop", ["auth", "auth-int"])
def test_the_proof_of_a_server_is_for_the_request_that_it_answered(wire, qop):
    """A stored Authentication-Info was held against the next request, which failed with 1323."""
    with Lasting("SHA-256", qop, proof="right") as guard:
        spec = {"url": guard.url("/vault"), "cache": True, "auth": {"digest": ADA}}
        told = [result(wire.call("data.send", spec)) for _ in range(3)]
        assert all(one["ok"] for one in told), told
        assert [one["cache"]["status"] for one in told] == ["miss", "hit", "hit"]
        assert guard.statuses.count(200) == 1


class Refusing(Guard):
    """Each nonce is for one request. Its refusals may be stored, as far as they say."""

    def refusal(self, stale=False):
        status, fields = super().refusal(stale)
        return status, [*fields, ("Cache-Control", "max-age=600")]


def test_a_refusal_of_credentials_is_not_stored(wire):
    """A stored 401 was the response to the request with the next proof as well, or with a renewed token."""
    with Refusing("SHA-256", lives=1) as guard:
        spec = {"url": guard.url("/vault"), "cache": True, "auth": {"digest": ADA}}
        for _ in range(3):
            told = result(wire.call("data.send", spec))
            assert told["status"] == 200 and told["cache"]["status"] == "miss", told
