# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Named caches on a disk that the service may only read, such as a volume of a container."""

import contract
import pytest
from cache_server import Reply
from request_client import result
from small_disk import make_writable, on_read_only_disk

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
FRESH = (("Cache-Control", "max-age=600"),)


def status(wire, url, method="GET"):
    return result(wire.call("data.send", {"url": url, "method": method, "cache": "docs"}))["cache"]["status"]


def stats(wire):
    return result(wire.call("cache.stats", {"cache": "docs"}))


@pytest.fixture
def stored(server, folder):
    """URLs of stored responses: a short one, and one with a file of its own."""
    urls = [server.script(Reply(fields=FRESH, body=b"x" * size))[0] for size in (5, 200_000)]
    with contract.Wire() as wire:
        for url in urls:
            assert status(wire, url) == "miss"
        assert "problem" not in stats(wire)
    return urls


def test_stored_responses_are_used_and_nothing_is_stored(server, folder, stored):
    fresh, seen = server.script(Reply(fields=FRESH))
    with contract.Wire(under=on_read_only_disk(folder)) as wire:
        for url in stored * 2:
            assert status(wire, url) == "hit"
        found = stats(wire)
        assert "cannot be written" in found["problem"] and found["entries"] == 2
        assert result(wire.call("cache.verify", {"cache": "docs"}))["ok"]
        # in memory
        assert [status(wire, fresh) for _ in range(2)] == ["miss", "hit"] and len(seen) == 1
        # removed for this service
        for url in stored:
            assert [status(wire, url, method) for method in ("POST", "GET")] == ["miss", "miss"]
        assert "cannot be written" in stats(wire)["problem"]
    with contract.Wire() as wire:
        assert status(wire, fresh) == "miss" and status(wire, stored[0]) == "hit"


def test_a_disk_that_allows_changes_is_no_problem(server, folder, stored):
    with contract.Wire(under=on_read_only_disk(folder)) as wire:
        assert status(wire, stored[0]) == "hit" and status(wire, stored[0], "POST") == "miss"
        assert "cannot be written" in stats(wire)["problem"]
        make_writable(wire.process, folder)
        assert "problem" not in stats(wire)


def test_responses_are_stored_as_soon_as_the_disk_allows_it(server, folder, stored):
    fresh, _ = server.script(Reply(fields=FRESH))
    with contract.Wire(under=on_read_only_disk(folder)) as wire:
        assert status(wire, stored[0]) == "hit" and "problem" in stats(wire)
        make_writable(wire.process, folder)
        assert status(wire, fresh) == "miss" and "problem" not in stats(wire)
        with contract.Wire() as other:
            assert status(other, fresh) == "hit"


def test_many_removals_that_cannot_be_written_hold_up_no_call(folder, stored):
    """More than a transaction has."""
    with contract.Wire(under=on_read_only_disk(folder)) as wire:
        for round in range(2):
            numbers = [
                wire.start("cache.delete", {"cache": "docs", "url": f"http://a.example/{round}/{number}"})
                for number in range(200)
            ]
            assert all("result" in reply for reply in wire.replies(numbers).values())
        assert len(result(wire.call("cache.list", {"cache": "docs"}))["entries"]) == len(stored)
