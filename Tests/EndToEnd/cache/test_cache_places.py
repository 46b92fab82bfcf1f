# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The directories of named caches: obstructed ones, and those that are removed or replaced during their use."""

import shutil
import time

import contract
import pytest
from cache_server import Reply
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
LONG = 200_000


def fetch(wire, url):
    return result(wire.call("data.send", {"url": url, "cache": "docs"}))


def status(wire, url):
    return fetch(wire, url)["cache"]["status"]


def settle(wire):
    """Waits until all that was stored is on the disk."""
    return result(wire.call("cache.stats", {"cache": "docs"}))


@pytest.fixture
def obstructed(server, tmp_path, monkeypatch):
    """A file in the place of the directory of all caches, a service that goes on without it, and a URL."""
    place = tmp_path / "file"
    place.write_text("no directory")
    monkeypatch.setenv("OUTRIDER_CACHES", str(place))
    url, _ = server.script(Reply())
    with contract.Wire() as wire:
        assert fetch(wire, url)["ok"] and settle(wire)["problem"]
        yield place, wire, url


def test_without_rights_requests_go_on(obstructed):
    place, wire, url = obstructed
    assert fetch(wire, url)["ok"] and settle(wire)["problem"] and place.read_text() == "no directory"


def test_a_directory_that_can_be_made_later_is_used(obstructed):
    place, wire, url = obstructed
    place.unlink()
    end = time.monotonic() + 20
    while "problem" in settle(wire) and time.monotonic() < end:
        assert fetch(wire, url)["ok"]
        time.sleep(0.05)
    assert fetch(wire, url)["ok"] and "problem" not in settle(wire)
    assert (place / "docs/cache.db").exists()


@pytest.mark.parametrize("size", [5, LONG])
@pytest.mark.parametrize("first", ["look", "store", "use"])
def test_a_cache_whose_directory_is_removed_during_its_use_begins_anew(wire, server, folder, size, first):
    """As with `rm -rf`; the loss is told, and what is stored later is on the disk."""
    url, seen = server.script(Reply(b"x" * size))
    fetch(wire, url)
    settle(wire)
    shutil.rmtree(folder / "docs")
    if first == "store":
        fetch(wire, server.script(Reply(b"y" * size))[0])
    elif first == "use":
        assert status(wire, url) == "miss"
    for _ in range(2):
        stats = settle(wire)
        assert stats["entries"] == 0 and "was removed" in stats["problem"], stats
    # a look makes no directory
    assert not (folder / "docs").exists()
    assert status(wire, url) == "miss"
    stats = settle(wire)
    assert stats["entries"] == 1 and "problem" not in stats, stats
    with contract.Wire() as other:
        assert status(other, url) == "hit"
    assert len(seen) == (3 if first == "use" else 2)


def test_a_cache_whose_directory_is_replaced_during_its_use_is_that_of_the_new_directory(wire, server, folder):
    (one, _), (two, seen) = server.script(Reply(b"one")), server.script(Reply(b"two"))
    with contract.Wire() as other:
        fetch(other, two)
        settle(other)
    (folder / "docs").rename(folder / "kept")
    fetch(wire, one)
    settle(wire)
    shutil.rmtree(folder / "docs")
    (folder / "kept").rename(folder / "docs")
    # that the directory is another one shows with the next response that is stored
    fetch(wire, server.script(Reply())[0])
    settle(wire)
    assert status(wire, two) == "hit" and status(wire, one) == "miss" and len(seen) == 1
    assert settle(wire)["entries"] == 2


def test_the_caches_in_memory_are_smaller_beside_a_small_budget(server):
    """They took 256 MiB, however little memory the service was to have."""
    with contract.Wire(arguments=("--memory", str(18 << 20))) as wire:
        names = [f"s{number}" for number in range(3)]
        for name in names:
            result(wire.call("session.create", {"name": name, "cache": True}))
            for _ in range(12):
                url, _ = server.script(Reply(body=b"x" * 1_000_000))
                assert result(wire.call("data.send", {"url": url, "session": name, "maxInline": 0}))["ok"]
        held = [result(wire.call("cache.stats", {"session": name}))["bytes"] for name in names]
        assert 12 << 20 < sum(held) <= 24 << 20, held
