# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A store that gets another key: all of it or nothing, whenever a process is killed, and whichever others use it."""

import os
import pathlib
import random
import signal
import subprocess
import threading

import contract
import pytest
from authorization_server import served
from credential_process import LONG, Failure, Snapshot, lasting, packed, rounds
from test_helper_crashes import TRIALS, injected, needs_strace

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

CHANGES = ["write", "fsync", "rename", "unlink", "rmdir", "mkdir", "flock"]


server = served(grace=10)


class Keys:
    """Two sources; the store has one of them."""

    def __init__(self, store, place):
        self.store, self.sources = store, [store.key, ["file", str(place / "other-key")]]
        other = place / "other-key"
        other.write_bytes(os.urandom(32))
        other.chmod(0o600)

    @property
    def next(self):
        return self.sources[1 - self.sources.index(self.store.key)]

    def rekeying(self):
        source = packed(*((2, line) for line in self.next))
        return self.store.order((4, "rekey"), (16, source))

    def rekey(self, before=()):
        """Whether it said that it is done."""
        return self.store.heard(self.store.start(self.rekeying(), before=before)) == []

    def change(self):
        """The store, and who uses it from now on."""
        assert self.rekey()
        self.store.key = self.next

    def settle(self):
        """Takes the key that the store has now: exactly one of the two opens it."""
        found = {}
        for source in self.sources:
            self.store.key = source
            found[source[1]] = self.store.list()
        opened = [path for path, response in found.items() if isinstance(response, list)]
        (refused,) = [response for response in found.values() if isinstance(response, Failure)]
        assert len(opened) == 1 and refused.reason == "wrong_key", found
        self.store.key = ["file", opened[0]]
        assert pathlib.Path(self.store.directory, "key").read_text().splitlines() in (self.store.key, ["none"])
        return found[opened[0]]


@pytest.fixture
def keys(store, tmp_path):
    return Keys(store, tmp_path)


def filled(store, server):
    """Three credentials, each at its own generation; a service has chosen the key."""
    for number, name in enumerate(("work", "play", "rest")):
        store.name = name
        store.put(server, server.issue())
        for generation in range(1, 1 + number):
            store.obtain(generation)
    store.name = "work"
    pathlib.Path(store.directory, "key").write_text("\n".join(store.key) + "\n")
    return {one.name: one for one in store.list()}


def names(directory):
    return {path.name for path in pathlib.Path(directory).iterdir() if len(path.name) != 64}


def test_another_key_opens_what_the_old_one_did_and_the_old_one_nothing(server, store, keys):
    before = filled(store, server)
    old = store.key
    assert keys.rekey()
    assert store.list().reason == "wrong_key"
    store.key = keys.next
    assert {one.name: one for one in store.list()} == before
    assert pathlib.Path(store.directory, "key").read_text().splitlines() == store.key
    assert names(store.directory) == {"key", "key-check", "lock"}
    assert server.is_good(store.obtain(1).access)
    # and back
    assert keys.rekey()
    store.key = old
    assert store.read().generation == 2
    assert set(server.outcomes()) == {"ok"}


@needs_strace
@pytest.mark.parametrize("call", CHANGES)
def test_a_kill_at_any_call_leaves_a_store_that_one_of_the_keys_opens(server, store, keys, tmp_path, call):
    before = filled(store, server)
    for number in range(1, 300):
        done = keys.rekey(injected(call, "signal=KILL", number, tmp_path / "t"))
        found = keys.settle()
        assert {one.name: one for one in found} == before, number
        if done:
            break
    else:
        pytest.fail(f"{call} is made without end")
    assert number > 1
    # what was left of the attempts disturbs no other
    assert keys.rekey()
    assert {one.name: one for one in keys.settle()} == before
    assert names(store.directory) == {"key", "key-check", "lock"}
    assert store.obtain(1).generation == 2 and set(server.outcomes()) == {"ok"}


@needs_strace
@pytest.mark.parametrize("call", ["write", "fsync", "rename", "rmdir", "openat"])
def test_a_disk_that_fails_leaves_a_store_that_one_of_the_keys_opens(server, store, keys, tmp_path, call):
    before = filled(store, server)
    failing = 0
    for number in range(1, 300):
        notes = tmp_path / "t"
        what = injected(call, "error=EIO", number, notes, [
            *(path for one in [store.directory, *sorted(pathlib.Path(store.directory).glob("*"))] for path in [one]
              if pathlib.Path(path).is_dir()),
            *(f"{store.directory}/{name}" for name in ("rekey", "rekey.tmp", "key", "key-check", "key.tmp")),
            *(f"{store.directory}/rekey.tmp/{name}" for name in ("key", "key-check"))])
        done = keys.rekey(what)
        if "INJECTED" not in notes.read_text():
            assert done
            break
        failing += not done
        assert {one.name: one for one in keys.settle()} == before, number
    else:
        pytest.fail(f"{call} is made without end")
    assert {one.name: one for one in keys.settle()} == before
    assert store.obtain(1).generation == 2


def test_kills_at_random_moments_lose_nothing_while_others_use_the_store(server, store, keys):
    """Each round a process gives it another key and is killed, and another process refreshes."""
    filled(store, server)
    dice, lasts, killed = random.Random(11), lasting(keys.change), []
    generation = 1
    for _ in rounds(TRIALS, killed, TRIALS // 4):
        rekeying = store.start(keys.rekeying())
        timer = threading.Timer(dice.uniform(0, 1.1) * lasts, rekeying.kill)
        refreshing = store.start(store.obtaining(generation))
        timer.start()
        response = store.one(store.heard(refreshing))
        store.heard(rekeying)
        timer.cancel()
        killed += [1] if rekeying.returncode == -signal.SIGKILL else []
        keys.settle()
        if isinstance(response, Failure):
            # the key changed before it could read
            assert response.reason == "wrong_key", response
        found = store.read()
        assert found.generation in (generation, generation + 1) and found.state == "ready"
        if isinstance(response, Snapshot):
            assert found == response
        generation = found.generation
    assert len(killed) > TRIALS // 4
    assert set(server.outcomes()) <= {"ok"}


def test_a_refresh_whose_outcome_is_unknown_is_cleared_up_with_the_new_key(server, store, keys):
    filled(store, server)
    server.stall = "head"
    process = store.start(store.obtaining(1))
    server.received("/token", seconds=LONG, count=len([one for one in server.audit if one.path == "/token"]) + 1)
    process.kill()
    process.wait(LONG)
    server.stall = None
    server.go.set()
    assert keys.rekey()
    store.key = keys.next
    found = store.obtain(1)
    assert found.generation == 2 and server.is_good(found.access)
    assert server.outcomes()[-2:] == ["ok", "replayed"]


def test_it_waits_for_a_refresh_that_is_under_way(server, store, keys):
    filled(store, server)
    server.stall = "commit"
    count = server.arrived.count("/token")
    refreshing = store.start(store.obtaining(1))
    server.wait_for("/token", count + 1, LONG)
    rekeying = store.start(keys.rekeying())
    with pytest.raises(subprocess.TimeoutExpired):
        rekeying.wait(0.5)
    server.stall = None
    server.go.set()
    assert store.one(store.heard(refreshing)).generation == 2
    assert store.heard(rekeying) == []
    store.key = keys.next
    assert store.read().generation == 2


def test_without_the_old_key_nothing_changes(server, store, keys):
    before = filled(store, server)
    right = store.key
    store.key = keys.next
    source = packed(*((2, line) for line in right))
    assert store.one(store.heard(store.start(store.order((4, "rekey"), (16, source))))).reason == "wrong_key"
    store.key = ["file", "/nowhere"]
    assert store.one(store.heard(store.start(store.order((4, "rekey"), (16, source))))).reason == "store_locked"
    store.key = right
    assert {one.name: one for one in store.list()} == before
