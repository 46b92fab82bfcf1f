# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What happens to one credential at once: refreshes, logins, logouts, and a process that does not give up the lock.

With OUTRIDER_TRIALS=1000 there are as many rounds of each.
"""

import concurrent.futures
import contextlib
import fcntl
import functools
import os
import pathlib
import random
import shutil
import time

import contract
import pytest
from authorization_server import is_alive, served
from credential_process import LONG, Failure, Service, Snapshot
from syscall_faults import needs_strace

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

TRIALS = int(os.environ.get("OUTRIDER_TRIALS", "15"))


server = served()


def test_without_the_lock_nobody_asks(server, store, clocks):
    """A process has it, and is asleep: after 45 seconds all others give up, and say so."""
    store.put(server, server.issue())
    with open(store.folder / "lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = [store.start(store.obtaining(1), **clocks.environment) for _ in range(10)]
        for process in waiting:
            until_it_waits(process, store)
        clocks.jump(awake=46)
        responses = [store.one(store.heard(process)) for process in waiting]
    assert {(response.kind, response.reason) for response in responses} == {("temporary", "refresh_busy")}
    assert server.audit == []
    assert store.obtain(1).generation == 2


def until_it_waits(process, store):
    """It has opened the lock of the credential."""
    place, deadline = pathlib.Path(f"/proc/{process.pid}/fd"), time.monotonic() + LONG
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if any(os.readlink(file) == str(store.folder / "lock") for file in place.iterdir()):
                return
        time.sleep(0.01)
    pytest.fail("it never came to the lock")


def test_fifty_that_wait_for_a_slow_server_get_what_it_says(server, store):
    store.put(server, server.issue())
    server.stall = "head"
    first = store.start(store.obtaining(1))
    server.received("/token", seconds=LONG)
    others = [store.start(store.obtaining(1)) for _ in range(50)]
    for process in others:
        until_it_waits(process, store)
    server.stall = None
    server.go.set()
    responses = [store.one(store.heard(process)) for process in [first, *others]]
    assert {(response.generation, response.access) for response in responses} == {(2, responses[0].access)}
    assert server.outcomes() == ["ok"]


def test_a_lock_that_is_put_back_from_a_backup_is_the_one_that_counts(server, store, tmp_path):
    """A process that waits for the earlier file then waits for the other one, as all later processes do."""
    store.put(server, server.issue())
    folder, away = store.folder, tmp_path / "away"
    with open(folder / "lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        early = store.start(store.obtaining(1))
        until_it_waits(early, store)
        folder.rename(away)
        shutil.copytree(away, folder)
        server.stall = "head"
        late = store.start(store.obtaining(1))
        server.received("/token", seconds=LONG)
    until_it_waits(early, store)
    server.stall = None
    server.go.set()
    responses = [store.one(store.heard(process)) for process in (early, late)]
    assert responses[0] == responses[1] and server.is_good(responses[0].access)
    assert server.outcomes() == ["ok"]


def alive(server):
    return [family for family in server.families if is_alive(family)]


@pytest.mark.parametrize("place", ["commit", "head", "body"])
def test_a_logout_while_the_server_thinks_leaves_no_token_alive(server, store, place):
    """What the server gives meanwhile is revoked, not what there was before."""
    store.put(server, server.issue())
    server.stall = place
    process = store.start(store.obtaining(1))
    server.wait_for("/token", seconds=LONG)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        erased = pool.submit(store.erase)
        server.stall = None
        server.go.set()
        assert erased.result(LONG) == []
    found = store.one(store.heard(process))
    assert isinstance(found, Snapshot) or found.reason == "no_refresh_token"
    assert alive(server) == []
    assert store.read().state == "empty"
    assert store.obtain(0).reason == "no_refresh_token"


def test_in_whatever_order_they_come_a_logout_leaves_no_token_alive(server, store):
    dice = random.Random(3)
    for _ in range(TRIALS):
        generation = store.put(server, server.issue()).generation
        works = [functools.partial(store.obtain, generation)] * 3 + [store.erase]
        dice.shuffle(works)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            responses = list(pool.map(lambda work: work(), works))
        assert alive(server) == [], server.outcomes()
        assert store.read().state == "empty"
        assert all(
            response == [] or isinstance(response, Snapshot) or response.reason == "no_refresh_token"
            for response in responses)
    assert "reuse" not in server.outcomes()


def test_in_whatever_order_they_come_the_last_of_login_and_logout_wins(server, store):
    """Each a process of its own, with two that refresh."""
    dice, ends = random.Random(4), {"ready": 0, "empty": 0}
    for _ in range(TRIALS):
        generation = store.put(server, server.issue()).generation
        old, given = server.families[-1], server.issue()
        new = server.families[-1]
        login = functools.partial(store.put, server, given)
        works = [functools.partial(store.obtain, generation)] * 2 + [store.erase, login]
        dice.shuffle(works)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(lambda work: work(), works))
        state = store.read().state
        ends[state] += 1
        if state == "ready":
            assert not is_alive(old) and is_alive(new)
            assert store.obtain().access in new.access
            store.erase()
        assert not is_alive(new) and store.read().state == "empty"
        old.is_dead = True
    assert "reuse" not in server.outcomes()
    # which of the two is last, the machine decides
    assert TRIALS < 1000 or min(ends.values()) > TRIALS // 20, ends


@pytest.mark.parametrize("place", ["commit", "head", "body"])
def test_a_login_while_the_server_thinks_wins(server, store, place):
    """A login has its own tokens, whatever a refresh of the login before brings."""
    store.put(server, server.issue())
    server.stall = place
    process = store.start(store.obtaining(1))
    server.wait_for("/token", seconds=LONG)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        made = pool.submit(store.put, server, server.issue("other"))
        server.stall = None
        server.go.set()
        assert made.result(LONG).generation > 1
    assert isinstance(store.one(store.heard(process)), Snapshot)
    found = store.obtain()
    old, new = server.families
    assert found.access in new.access and found.access not in old.access
    assert set(server.outcomes()) == {"ok"}


def test_a_refusal_that_comes_with_newer_tokens_deletes_nothing(server, store):
    """A restored backup redeems what is used up; the login of the others goes on."""
    store.put(server, server.issue())
    first = store.obtain(1)
    old = store.obtain(1)
    assert old == first
    process = [store.start(store.obtaining(2)) for _ in range(5)]
    responses = [store.one(store.heard(one)) for one in process]
    assert {response.generation for response in responses} == {3}
    assert store.read().has_refresh_token and server.outcomes() == ["ok", "ok"]


@needs_strace
def test_a_store_on_another_machines_disk_is_refused(server, store, tmp_path):
    """Where locks promise nothing; the kernel's result is changed to NFS."""
    store.put(server, server.issue())
    nfs = ["strace", "-f", "-qq", "-o", str(tmp_path / "t"), "-e", "trace=statfs", "-e",
           "inject=statfs:poke_exit=@arg2=6969000000000000"]
    for order in (store.obtaining(1), store.order((4, "read"), (5, "work"))):
        failed = store.one(store.heard(store.start(order, before=nfs)))
        assert isinstance(failed, Failure), failed
        assert failed.reason == "store_unsafe" and "network file system" in failed.message
    assert server.audit == []
    assert store.obtain(1).generation == 2


def test_a_helper_has_nothing_of_the_service_but_its_pipes(store, server, tmp_path):
    """No descriptor, no terminal, no directory, no secret in its arguments and its environment."""
    with Service(store, tmp_path / "log", tmp_path) as service:
        given = server.issue()
        service.call(
            "oauth.create", name="work", grant="refresh", clientId=server.client, tokenUrl=server.url("/token"),
            persist="disk", token={"accessToken": given["access_token"], "refreshToken": given["refresh_token"]})
        server.stall = "head"
        number = service.start("oauth.refresh", credential="work")
        server.received("/token", seconds=LONG)
        (helper,) = service.helpers()
        place, own = pathlib.Path(f"/proc/{helper}"), pathlib.Path(f"/proc/{service.process.pid}")
        assert os.getsid(helper) == helper and os.getpgid(helper) == helper
        assert (place / "cmdline").read_bytes().split(b"\0")[:2] == [b"outrider", b"credential-helper"]
        for said in (place / "cmdline", place / "environ", own / "cmdline", own / "environ"):
            assert given["refresh_token"].encode() not in said.read_bytes()
        files = {int(file.name): os.readlink(file) for file in (place / "fd").iterdir()}
        theirs = {os.readlink(file) for file in (own / "fd").iterdir()}
        # its two pipes, its anchor for what it says, its engine, the lock, and one connection
        assert files[0].startswith("pipe:") and files[1].startswith("pipe:") and files[2] == "/dev/null"
        shared = {link for number, link in files.items() if number > 2} & theirs
        assert {link for link in shared if not link.startswith("anon_inode:")} == set()
        assert os.readlink(place / "cwd") == "/"
        server.stall = None
        server.go.set()
        assert "result" in service.reply(number)
