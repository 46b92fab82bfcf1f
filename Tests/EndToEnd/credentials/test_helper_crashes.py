# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The process that keeps credentials, killed at any moment of a refresh, and failed by the disk at any call.

With OUTRIDER_TRIALS=1000 the random kills are as many, and those at calls are at the calls of starting a process, too.
"""

import itertools
import os
import pathlib
import random
import signal
import subprocess
import threading

import contract
import pytest
from authorization_server import Authorizing, served
from credential_process import LONG, Service, Snapshot, lasting, rounds
from syscall_faults import injected, needs_strace

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

TRIALS = int(os.environ.get("OUTRIDER_TRIALS", "40"))
# every call by which a refresh changes the disk or the connection; between two of them there is nothing to be lost
CHANGES = ["write", "writev", "sendto", "recvfrom", "fsync", "rename", "link", "unlink", "flock", "connect", "mkdir"]
if TRIALS >= 1000:
    CHANGES += ["openat", "read", "close", "mmap", "futex", "epoll_wait"]
NEEDED = {"write", "fsync", "rename", "link", "unlink", "flock", "connect", "openat", "read", "close"}
# those after whose failure a response is yet to be kept
FAILING = {"write": "ENOSPC", "fsync": "EIO", "rename": "EIO", "openat": "EIO"}


server = served(grace=10)


def logged_in(server, store):
    """What an undisturbed refresh takes, in seconds, and the generation that there is."""
    store.put(server, server.issue())
    generations = itertools.count(1)
    lasts = lasting(lambda: store.obtain(next(generations)))
    return lasts, store.read().generation


def goes_on(server, store, generation):
    """Whatever happened, the next one gets a token that is good, and nothing is left over."""
    found = store.obtain(generation)
    assert isinstance(found, Snapshot), (found, server.outcomes())
    assert found.generation > generation and server.is_good(found.access), (found, server.outcomes())
    assert "reuse" not in server.outcomes()
    again = store.obtain(found.generation)
    assert again.generation == found.generation + 1 and server.is_good(again.access)
    left = {path.name for path in store.folder.iterdir()}
    assert {"lock", "record", "record.prev"} <= left <= {"lock", "record", "record.prev", "reserve"}
    return again.generation


@needs_strace
@pytest.mark.parametrize("call", CHANGES)
def test_a_kill_at_any_call_loses_no_login(server, store, tmp_path, call):
    """And the refresh token is sent once, or once more within the server's grace."""
    generation = store.put(server, server.issue()).generation
    for number in range(1, 200):
        process = store.start(store.obtaining(generation), before=injected(call, "signal=KILL", number, tmp_path / "t"))
        response = store.one(store.heard(process))
        if response is not None:
            # it makes fewer such calls than that
            assert response.generation == generation + 1
            break
        generation = goes_on(server, store, generation)
    else:
        pytest.fail(f"{call} is made without end")
    assert number > 1 or call not in NEEDED
    assert "reuse" not in server.outcomes() and "invalid_grant" not in server.outcomes()


@needs_strace
@pytest.mark.parametrize("call", FAILING)
def test_a_disk_that_fails_at_any_call_loses_no_login(server, store, tmp_path, call):
    """What cannot be written where it belongs is kept elsewhere; what could not be kept is never asked for."""
    generation = store.put(server, server.issue()).generation
    files = ["record.tmp", "record.prev.tmp", "record", "intent.tmp", "intent", "response", "reserve", "."]
    paths = [(store.folder / name).resolve() for name in files]
    kinds = set()
    for number in range(1, 200):
        notes = tmp_path / "t"
        what = injected(call, f"error={FAILING[call]}", number, notes, paths)
        posts = len(server.audit)
        response = store.one(store.heard(store.start(store.obtaining(generation), before=what)))
        if "INJECTED" not in notes.read_text():
            break
        if isinstance(response, Snapshot):
            assert server.is_good(response.access)
            kinds.add(response.state)
        elif response is not None and response.kind == "store":
            assert len(server.audit) == posts, (number, response)
            kinds.add("store")
        generation = goes_on(server, store, generation)
    else:
        pytest.fail(f"{call} is made without end")
    assert number > 1 and "store" in kinds


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts file systems")
def test_tokens_that_can_be_written_nowhere_in_the_store_wait_beside_it(server, store):
    """Once the response is on its way, nothing can take the place of the record."""
    store.put(server, server.issue())
    record = str(next(pathlib.Path(store.directory).glob("*/record")))
    server.stall = "head"
    process = store.start(store.obtaining(1))
    server.received("/token", seconds=LONG)
    subprocess.run(["mount", "--bind", record, record], check=True)
    try:
        server.stall = None
        server.go.set()
        found = store.one(store.heard(process))
        assert (found.state, found.generation) == ("unsaved", 2)
        assert store.read() == found
        assert [path.name for path in store.runtime.iterdir()] == ["outrider-escrow"]
        # it is good for all, as long as the machine runs
        assert store.obtain(1) == found
    finally:
        subprocess.run(["umount", record], check=True)
    # and is put where it belongs as soon as that can be done
    assert store.obtain(1) == store.read() == found._replace(state="ready")
    assert server.outcomes() == ["ok"]


def test_kills_at_random_moments_lose_no_login(server, store):
    lasts, generation = logged_in(server, store)
    dice, killed = random.Random(7), []
    for _ in rounds(TRIALS, killed, TRIALS // 4):
        process = store.start(store.obtaining(generation))
        # not to wait for something, but to hit any moment
        timer = threading.Timer(dice.uniform(0, 1.1) * lasts, process.kill)
        timer.start()
        response = store.one(store.heard(process))
        timer.cancel()
        killed += [1] if process.returncode == -signal.SIGKILL else []
        if response is not None:
            assert isinstance(response, Snapshot), (response, server.outcomes())
        generation = goes_on(server, store, generation)
    assert len(killed) > TRIALS // 4
    assert set(server.outcomes()) <= {"ok", "replayed"}


def test_a_server_that_forgives_nothing_loses_only_what_falls_into_the_window(store, capsys):
    """Between its decision and our first write; that is said, and the server is asked once more and never again."""
    with Authorizing(grace=0) as server:
        lasts, generation = logged_in(server, store)
        dice, killed, lost = random.Random(11), [], 0
        for _ in rounds(TRIALS, killed, TRIALS // 4):
            process = store.start(store.obtaining(generation))
            timer = threading.Timer(dice.uniform(0, 1.1) * lasts, process.kill)
            timer.start()
            store.heard(process)
            timer.cancel()
            killed += [1] if process.returncode == -signal.SIGKILL else []
            found = store.obtain(generation)
            if isinstance(found, Snapshot):
                assert found.generation > generation and server.is_good(found.access)
                generation = found.generation
                continue
            lost += 1
            assert (found.kind, found.reason) == ("needsLogin", "refresh_outcome_unknown"), found
            assert server.outcomes()[-2:] == ["ok", "reuse"]
            asked = len(server.audit)
            assert store.obtain(generation) == found
            assert len(server.audit) == asked
            generation = store.put(server, server.issue()).generation
        assert server.outcomes().count("reuse") == lost
        assert len(killed) > TRIALS // 4
        if TRIALS >= 1000:
            with capsys.disabled():
                print(f"{len(killed)} of {TRIALS} killed, {lost} lost")


@pytest.mark.skipif(TRIALS < 1000, reason="a measurement; OUTRIDER_TRIALS=1000 makes it")
def test_how_wide_that_window_is(store, capsys):
    """How many of 100 logins are lost when the kill comes so many milliseconds after the server's decision."""
    with Authorizing(grace=0) as server:
        generation = store.put(server, server.issue()).generation
        decided = server.decided
        for milliseconds in (0, 0.25, 0.5, 1, 2, 3, 5, 10):
            lost = 0
            for _ in range(100):
                process = store.start(store.obtaining(generation))

                def strike(path, request, process=process, milliseconds=milliseconds):
                    response = decided(path, request)
                    server.decided = decided
                    threading.Timer(milliseconds / 1000, process.kill).start()
                    return response

                server.decided = strike
                store.heard(process)
                server.decided = decided
                found = store.obtain(generation)
                if not isinstance(found, Snapshot):
                    lost += 1
                    found = store.put(server, server.issue())
                generation = found.generation
            with capsys.disabled():
                print(f"killed {milliseconds} ms after the decision: {lost} of 100 lost")
            if milliseconds == 10:
                assert lost == 0


def test_a_kill_while_others_wait(server, store):
    """The one that asks is killed when the server has given new tokens; the others, who wait for its lock, go on."""
    store.put(server, server.issue())
    server.stall = "head"
    first = store.start(store.obtaining(1))
    server.received("/token", seconds=LONG)
    others = [store.start(store.obtaining(1)) for _ in range(8)]
    server.stall = None
    first.kill()
    assert store.heard(first) is None
    responses = [store.one(store.heard(process)) for process in others]
    assert {(response.generation, response.access) for response in responses} == {(2, responses[0].access)}
    assert server.is_good(responses[0].access)
    assert server.outcomes() == ["ok", "replayed"]


@pytest.mark.parametrize("ends", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("place", ["commit", "head"])
def test_a_service_that_ends_does_not_take_the_refresh_with_it(store, tmp_path, ends, place):
    """Its helper writes what the server gave; the next service goes on with that."""
    with Authorizing() as server:
        given = server.issue()
        with Service(store, tmp_path / "log", tmp_path) as service:
            service.call(
                "oauth.create", name="work", grant="refresh", clientId=server.client, tokenUrl=server.url("/token"),
                persist="disk", token={"accessToken": given["access_token"], "refreshToken": given["refresh_token"]})
            server.stall = place
            service.start("oauth.refresh", credential="work")
            server.wait_for("/token", seconds=LONG)
            service.process.send_signal(ends)
            service.process.wait(LONG)
        server.stall = None
        server.go.set()
        # waits for the lock, which the helper of the dead one has
        found = store.obtain(1)
        assert found.generation == 2 and server.is_good(found.access)
        with Service(store, tmp_path / "log", tmp_path) as service:
            assert service.call("oauth.token", credential="work")["result"]["accessToken"] == found.access
        assert server.outcomes() == ["ok"]
