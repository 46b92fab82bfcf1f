# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Entity tags with which stored responses are confirmed."""

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
