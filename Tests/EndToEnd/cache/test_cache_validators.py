# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Entity tags with which stored responses are confirmed."""

import time

import contract
import pytest
from cache_server import Reply
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def status(wire, url, cache=True):
    return result(wire.call("data.send", {"url": url, "cache": cache}))["cache"]["status"]


def test_a_weak_tag_is_confirmed_by_its_strong_form(wire, server):
    """As by nginx, which makes the tag of a compressed response weak, and not that of the 304."""
    def reply(number, fields):
        always = [("Cache-Control", "max-age=0")]
        if fields.get("If-None-Match") == 'W/"v1"':
            return Reply(status=304, fields=[*always, ("ETag", '"v1"')])
        return Reply(fields=[*always, ("ETag", 'W/"v1"')])

    url, seen = server.script(reply)
    assert [status(wire, url) for _ in range(3)] == ["miss", "revalidated", "revalidated"]
    assert len(seen) == 3


def test_a_validator_goes_back_byte_for_byte(server, folder):
    """An entity tag may have bytes that are no UTF-8 (RFC 9110 section 8.8.3); also one that comes from the disk."""
    tag = '"caf\xe9"'
    given = (("Cache-Control", "max-age=0"), ("ETag", tag))
    url, _ = server.script(
        lambda _, fields: Reply(status=304 if fields.get("If-None-Match") == tag else 200, fields=given))
    for told in (("miss", "revalidated"), ("revalidated",)):
        with contract.Wire() as wire:
            for expected in told:
                assert status(wire, url, "docs") == expected
            result(wire.call("cache.stats", {"cache": "docs"}))


def test_a_confirmation_keeps_its_connection_and_counts_as_sent(wire, server):
    """Each 304 closed its connection, and its attempt had no times, no bytes and no address."""
    fields = (("Cache-Control", "max-age=0"), ("ETag", '"1"'))
    url, seen = server.script(lambda _, sent: Reply(status=304 if "If-None-Match" in sent else 200, fields=fields))
    told = [result(wire.call("data.send", {"url": url, "cache": True, "metrics": True})) for _ in range(3)]
    assert [one["cache"]["status"] for one in told] == ["miss", "revalidated", "revalidated"] and len(seen) == 3
    attempts = [one["metrics"]["attempts"][0] for one in told]
    assert [one["reused"] for one in attempts] == [False, True, True]
    assert all(one["bytesSent"] > 0 and one["bytesReceived"] > 0 for one in attempts)
    assert len({one["remote"] for one in told}) == 1
    stats = result(wire.call("server.stats"))
    assert stats["pool"]["opened"] == 1 and stats["pool"]["reused"] == 2
    assert stats["bytes"]["sent"] == sum(one["bytesSent"] for one in attempts)


def test_a_response_that_a_stored_one_replaces_leaves_its_connection(wire, server):
    fields = (("Cache-Control", "max-age=0, stale-if-error=600"), ("ETag", '"1"'))
    url, seen = server.script(lambda number, _: Reply(status=200 if number == 1 else 503, fields=fields))
    for number, status in enumerate(("miss", "stale", "stale")):
        told = result(wire.call("data.send", {"url": url, "cache": True, "metrics": True}))
        assert told["cache"]["status"] == status and len(seen) == number + 1
        assert told["metrics"]["attempts"][0]["reused"] == (number > 0)
        # the body of the 503 comes behind its head
        end = time.monotonic() + 10
        while not result(wire.call("server.stats"))["pool"]["idle"]:
            assert time.monotonic() < end


@pytest.mark.parametrize("fields", [{}, {"Cache-Control": "no-transform"}])
@pytest.mark.parametrize("validator", [(), (("ETag", '"1"'),)])
def test_caches_on_the_way_ask_the_origin_as_well(wire, server, fields, validator):
    """Mode noCache wants the word of the origin, and not that of a cache before it."""
    url, seen = server.script(Reply(fields=(("Cache-Control", "max-age=600"), *validator)))
    assert status(wire, url) == "miss" and "Cache-Control" not in seen[0][2]
    for method in ("GET", "HEAD"):
        params = {"url": url, "method": method, "cache": {"mode": "noCache"}, "headers": fields}
        assert result(wire.call("data.send", params))["cache"]["status"] == "miss"
        assert seen[-1][2]["Cache-Control"] == fields.get("Cache-Control", "max-age=0")
    assert len(seen) == 3
