# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Little memory, few files, short files, a disk that says no, a directory that goes away, strangers: what happens to
logins then."""

import os
import pathlib
import resource
import shutil
import subprocess

import contract
import pytest
from authorization_server import served
from credential_process import LONG, Failure, Service, Snapshot, Store
from syscall_faults import injected, needs_strace

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
NOBODY = 65534


server = served(grace=60)


def goes_on(server, store, generation):
    """Without the limit it is as if nothing had been; what is there then."""
    found = store.obtain(generation)
    assert isinstance(found, Snapshot), (found, server.outcomes())
    assert found.generation > generation and server.is_good(found.access)
    assert set(server.outcomes()) <= {"ok", "replayed"}
    return found.generation


@pytest.mark.parametrize(
    ("limit", "values"),
    [("nofile", range(3, 20)), ("as", range(48 << 20, 300 << 20, 32 << 20)), ("fsize", [0, 100, 1000, 4096, 100_000])],
)
def test_whatever_a_process_may_not_have_loses_no_login(server, store, clocks, limit, values):
    """It does its work, or says why not, or dies of it, at the latest of its alarm, which rings early here."""
    early = {**clocks.environment, "OUTRIDER_TEST_ALARMS": "1"}
    generation = store.put(server, server.issue()).generation
    kinds = set()
    for value in values:
        # fsize: the room that is kept back must be made anew
        (store.folder / "reserve").unlink(missing_ok=True)
        posts = len(server.audit)
        process = store.start(store.obtaining(generation), before=["prlimit", f"--{limit}={value}"], **early)
        response = store.one(store.heard(process))
        if isinstance(response, Snapshot):
            kinds.add("done")
            assert server.is_good(response.access) and response.state == "ready"
            generation = response.generation
        elif response is None:
            kinds.add("died")
        else:
            kinds.add(response.kind)
            assert response.kind == "store" or response.reason == "unreachable", (value, response)
            assert len(server.audit) == posts, (value, response)
        generation = goes_on(server, store, generation)
    assert kinds - {"done"} and (limit == "fsize" or "done" in kinds), kinds


@needs_strace
@pytest.mark.parametrize("error", ["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EIO", "EMFILE", "ENFILE"])
@pytest.mark.parametrize("call", ["openat", "write", "fsync", "rename"])
def test_a_disk_that_says_no_from_the_beginning_is_not_worth_a_request(server, store, tmp_path, call, error):
    """To all that would be written; it is said, and no request is sent."""
    store.put(server, server.issue())
    paths = [(store.folder / name).resolve() for name in ("record.tmp", "intent.tmp", "intent")]
    what = injected(call, f"error={error}", "1+", tmp_path / "t", paths)
    failed = store.one(store.heard(store.start(store.obtaining(1), before=what)))
    assert (failed.kind, failed.reason) == (
        "store", "store_unwritable" if error in ("ENOSPC", "EDQUOT", "EROFS", "EACCES") else "store_failed")
    assert server.audit == []
    assert store.read().state == "ready"
    assert goes_on(server, store, 1) == 2


def test_a_service_without_files_to_spare_says_so_and_goes_on_later(server, store, tmp_path):
    """It cannot start a helper; when it can again, it does."""
    store.put(server, server.issue())
    with Service(store, tmp_path / "log", tmp_path) as service:
        service.adopt(store, server)
        taken = len(os.listdir(f"/proc/{service.process.pid}/fd"))
        # pipes for its helper are four
        resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE, (taken + 1, 4096))
        failure = service.call("oauth.refresh", credential="work")["error"]["data"]["failure"]
        cause = failure["data"]["oauth"]
        assert (cause["kind"], cause["reason"]) == ("temporary", "keeper_failed"), cause
        assert "files" in cause["message"]
        assert len(os.listdir(f"/proc/{service.process.pid}/fd")) <= taken + 1
        resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE, (4096, 4096))
        assert "result" in service.call("oauth.refresh", credential="work")
    assert server.outcomes() == ["ok"]


def test_programs_that_the_service_starts_have_its_first_limit_of_files(server, store, tmp_path):
    """The service raises its own; programs that use `select` fail beyond 1024 files."""
    script, seen = tmp_path / "key.sh", tmp_path / "seen"
    script.write_text(f"#!/bin/sh\nulimit -S -n >> {seen}\necho {'ab' * 32}\n")
    script.chmod(0o700)
    store.key = ["command", str(script)]
    store.put(server, server.issue())
    seen.unlink()
    with Service(store, tmp_path / "log", tmp_path, before=["prlimit", "--nofile=300:4096"]) as service:
        service.adopt(store, server)
        assert "result" in service.call("oauth.refresh", credential="work")
        assert resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE) == (4096, 4096)
    assert set(seen.read_text().split()) == {"300"}


# The directory goes away


def test_a_store_that_is_moved_away_and_back_is_the_same_again(server, store, clocks, tmp_path):
    """What is in memory serves while it lasts; when the store is back, no login is needed."""
    store.put(server, server.issue())

    def send(service):
        return service.call("data.send", url=server.url("/api"), auth={"oauth": "work"})["result"]

    with Service(store, tmp_path / "log", tmp_path, **clocks.environment) as service:
        service.adopt(store, server)
        assert send(service)["status"] == 200
        shutil.move(store.directory, tmp_path / "elsewhere")
        assert send(service)["status"] == 200
        clocks.jump(wall=3600, boot=3600)
        for _ in range(2):
            assert send(service)["error"]["data"]["cause"]["data"]["oauth"]["reason"] == "unknown_credential"
        shutil.move(tmp_path / "elsewhere", store.directory)
        clocks.jump(boot=3)
        assert send(service)["status"] == 200
    assert server.outcomes() == ["ok", "ok"]


def test_a_store_that_is_removed_while_the_server_thinks_keeps_the_tokens_beside_it(server, store):
    """The response has nowhere to go: it is escrowed, used, and found there when the credential is made again."""
    store.put(server, server.issue())
    server.stall = "head"
    process = store.start(store.obtaining(1))
    server.received("/token", seconds=LONG)
    shutil.move(store.directory, store.directory + ".away")
    server.stall = None
    server.go.set()
    found = store.one(store.heard(process))
    assert (found.state, found.generation) == ("unsaved", 2) and server.is_good(found.access)
    shutil.move(store.directory + ".away", store.directory)
    assert store.obtain(1) == found._replace(state="ready")
    assert server.outcomes() == ["ok"]
    assert goes_on(server, store, 2) == 3


# Strangers


@pytest.mark.parametrize("mode", [0o777, 0o755, 0o710, 0o701])
def test_a_store_that_was_opened_to_others_since_is_refused(server, store, mode):
    store.put(server, server.issue())
    pathlib.Path(store.directory).chmod(mode)
    for failed in (store.obtain(1), store.read(), store.put(server, server.issue())):
        assert (failed.kind, failed.reason) == ("store", "store_unsafe") and "0700" in failed.message
    assert server.audit == []
    pathlib.Path(store.directory).chmod(0o700)
    assert goes_on(server, store, 1) == 2


@only_root
def test_a_store_of_somebody_else_is_refused(server, store):
    store.put(server, server.issue())
    os.chown(store.directory, NOBODY, NOBODY)
    for failed in (store.obtain(1), store.read(), store.put(server)):
        assert (failed.kind, failed.reason) == ("store", "store_unsafe")
    assert server.audit == []


@only_root
def test_another_user_gets_nothing_of_it_and_has_his_own(server, store, tmp_path):
    """Even one who knows the key."""
    store.put(server, server.issue())
    for folder in [tmp_path, *tmp_path.parents]:
        if folder.stat().st_uid == os.geteuid() and folder.stat().st_mode & 0o005 != 0o005:
            folder.chmod(folder.stat().st_mode | 0o055)
    other = tmp_path / "other"
    other.mkdir()
    theirs = Store(other)
    for path in (other, theirs.runtime, other / "key"):
        os.chown(path, NOBODY, NOBODY)

    def obtain(store, order):
        command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        return store.one(store.heard(store.start(order, before=command)))

    tried = Store(other)
    tried.directory = store.directory
    refused = obtain(tried, tried.obtaining(1))
    assert isinstance(refused, Failure) or refused is None
    made = obtain(theirs, theirs.order((4, "store"), (6, theirs.spec(server)), (7, theirs.secrets(server.issue()))))
    assert made.generation == 1
    assert obtain(theirs, theirs.obtaining(1)).generation == 2
    assert server.outcomes() == ["ok"]
    assert goes_on(server, store, 1) == 2


@pytest.mark.parametrize("name", ["record", "record.prev", "intent", "response", "pause", "lock"])
def test_a_link_in_place_of_a_file_is_not_followed(server, store, tmp_path, name):
    store.put(server, server.issue())
    path = store.folder / name
    target = tmp_path / "target"
    if path.exists():
        path.rename(target)
    else:
        target.write_bytes(b"precious")
    before = target.read_bytes()
    path.symlink_to(target)
    failed = store.obtain(1)
    assert failed.kind == "store", failed
    assert target.read_bytes() == before
    assert server.audit == []
    path.unlink()
    if before != b"precious":
        target.rename(path)
    assert goes_on(server, store, 1) == 2


def test_a_link_in_place_of_the_store_or_of_a_credential_is_not_followed(server, store, tmp_path):
    store.put(server, server.issue())
    folder = store.folder
    for path in (folder, pathlib.Path(store.directory)):
        path.rename(tmp_path / "target")
        path.symlink_to(tmp_path / "target")
        assert store.obtain(1).reason == "store_unsafe"
        path.unlink()
        (tmp_path / "target").rename(path)
    assert server.audit == []
    assert goes_on(server, store, 1) == 2


# Memory


@only_root
def test_the_memory_of_the_helper_is_locked_and_in_no_dump(server, store, tmp_path):
    """While it waits for the server, every copy of its secrets is in pages that are locked and not dumped."""
    with Service(store, tmp_path / "log", tmp_path) as service:
        given = server.issue()
        service.call(
            "oauth.create", name="work", grant="refresh", clientId=server.client, tokenUrl=server.url("/token"),
            persist="disk", token={"accessToken": given["access_token"], "refreshToken": given["refresh_token"]})
        server.stall = "head"
        number = service.start("oauth.refresh", credential="work")
        server.received("/token", seconds=LONG)
        (helper,) = service.helpers()
        limits = pathlib.Path(f"/proc/{helper}/limits").read_text()
        assert [line.split()[4:6] for line in limits.splitlines() if "core file" in line] == [["0", "0"]]
        found, bare = 0, []
        for region in regions(helper):
            count = region["bytes"].count(given["refresh_token"].encode())
            found += count
            if count and not {"lo", "dd"} <= region["flags"]:
                bare.append(region["line"])
        assert found > 0
        assert bare == []
        server.stall = None
        server.go.set()
        assert "result" in service.reply(number)


def regions(process):
    """What a process has mapped and may write."""
    found = []
    for line in pathlib.Path(f"/proc/{process}/smaps").read_text().splitlines():
        if "-" in line.split()[0] and len(line.split()) >= 5:
            found.append({"line": line, "flags": set(), "bytes": b""})
        elif line.startswith("VmFlags:"):
            found[-1]["flags"] = set(line.split()[1:])
    with open(f"/proc/{process}/mem", "rb", 0) as memory:
        for region in found:
            place, rights = region["line"].split()[:2]
            if rights.startswith("rw"):
                start, end = (int(number, 16) for number in place.split("-"))
                memory.seek(start)
                region["bytes"] = memory.read(end - start)
    return found


def test_programs_of_the_same_user_cannot_trace_a_helper(server, store):
    store.put(server, server.issue())
    server.stall = "head"
    process = store.start(store.obtaining(1))
    server.received("/token", seconds=LONG)
    status = pathlib.Path(f"/proc/{process.pid}/status").stat()
    # what cannot be dumped belongs to root, whichever user runs it
    assert status.st_uid == 0
    traced = subprocess.run(
        ["strace", "-p", str(process.pid), "-o", "/dev/null"], capture_output=True, timeout=LONG
    ) if os.geteuid() != 0 else None
    assert traced is None or b"not permitted" in traced.stderr
    server.stall = None
    server.go.set()
    assert store.one(store.heard(process)).generation == 2
