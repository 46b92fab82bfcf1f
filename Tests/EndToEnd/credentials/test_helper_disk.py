# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What the process that keeps credentials finds on the disk, and where its key comes from."""

import os
import pathlib
import shutil
import signal
import subprocess
import time

import contract
import pytest
from authorization_server import served
from credential_process import LONG, Snapshot, Store

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


server = served()


def test_a_record_with_any_byte_changed_is_put_aside(server, store):
    """And no token of it is ever used; what the record before it said of the server is kept."""
    store.put(server, server.issue())
    store.obtain(1)
    path = store.folder / "record"
    whole, previous = path.read_bytes(), (store.folder / "record.prev").read_bytes()
    for index in [*range(0, 60, 6), *range(60, len(whole), 97), len(whole) - 1]:
        changed = bytearray(whole)
        changed[index] ^= 1 << (index % 8)
        path.write_bytes(changed)
        assert store.read().reason == "record_damaged", index
    path.write_bytes(whole[:-1])
    assert store.read().reason == "record_damaged"
    found = store.obtain(2)
    assert (found.kind, found.reason) == ("needsLogin", "record_damaged")
    assert server.outcomes() == ["ok"]
    (damaged,) = store.folder.glob("damaged-*")
    assert damaged.read_bytes() == whole[:-1] and previous


def test_whoever_only_reads_sees_what_a_damaged_record_leaves(server, store):
    """The one before it, which wants a login; and a login mends it."""
    store.put(server, server.issue(), grant="device")
    store.obtain(1)
    (store.folder / "record").write_bytes(b"junk")
    left = Snapshot("work", "needsLogin", 3, None, True, "record_damaged")
    assert store.read() == left and store.list() == [left]
    # no process has written anything yet
    assert (store.folder / "record").read_bytes() == b"junk"
    server.devices["code"] = "read"
    found = store.one(store.heard(store.start(store.obtaining(None, "deviceCode", "code"))))
    assert (found.state, found.generation) == ("ready", 4) and server.is_good(found.access)
    assert store.read() == found


def test_a_damaged_record_without_one_before_it_says_how_it_is_put_aside(server, store):
    store.put(server, server.issue())
    (store.folder / "record").write_bytes(b"junk")
    failed = store.read()
    assert (failed.kind, failed.reason) == ("store", "record_damaged")
    assert "outrider credentials forget work" in failed.message
    done = subprocess.run(
        [contract.binary(), "credentials", "forget", "work"], env=store.service_environment, capture_output=True,
        text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert store.read() is None
    (damaged,) = store.folder.glob("damaged-*")
    assert damaged.read_bytes() == b"junk"


def test_an_older_record_put_back_is_not_believed(server, store):
    store.put(server, server.issue())
    old = (store.folder / "record").read_bytes()
    store.obtain(1)
    store.obtain(2)
    (store.folder / "record").write_bytes(old)
    assert store.obtain(3).reason == "record_damaged"
    assert server.outcomes() == ["ok", "ok"]


def test_a_record_of_another_credential_does_not_open(server, store):
    store.put(server, server.issue())
    first = store.folder / "record"
    store.name = "other"
    store.put(server, server.issue())
    (other,) = [path for path in pathlib.Path(store.directory).glob("*/record") if path != first]
    shutil.copy(first, other)
    assert store.read().reason == "record_damaged"


def test_a_wrong_key_damages_nothing(server, store, tmp_path):
    store.put(server, server.issue())
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    other = Store(wrong)
    other.directory = store.directory
    assert other.read().reason == "wrong_key"
    assert other.obtain(1).reason == "wrong_key"
    assert store.obtain(1).generation == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts file systems")
@pytest.mark.parametrize("way", ["full", "read-only"])
def test_nothing_is_sent_if_the_response_could_not_be_kept(server, tmp_path, way):
    store = Store(tmp_path)
    pathlib.Path(store.directory).mkdir(mode=0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", store.directory], check=True)
    try:
        store.put(server, server.issue())
        if way == "full":
            (store.folder / "reserve").unlink()
            fill = os.open(f"{store.directory}/fill", os.O_WRONLY | os.O_CREAT)
            with pytest.raises(OSError, match="No space"):
                while True:
                    os.write(fill, b"x" * 4096)
            os.close(fill)
        else:
            subprocess.run(["mount", "-o", "remount,ro", store.directory], check=True)
        failed = store.obtain(1)
        assert (failed.kind, failed.reason) == ("store", "store_unwritable")
        assert server.audit == []
        assert store.read().state == "ready"
        subprocess.run(["mount", "-o", "remount,rw", store.directory], check=True)
        pathlib.Path(store.directory, "fill").unlink(missing_ok=True)
        assert store.obtain(1).generation == 2
    finally:
        subprocess.run(["umount", store.directory], check=True)


def test_a_store_that_others_may_enter_is_refused(server, store):
    pathlib.Path(store.directory).mkdir(mode=0o755)
    pathlib.Path(store.directory).chmod(0o755)
    refused = store.put(server, server.issue())
    assert refused.reason == "store_unsafe" and "0700" in refused.message


# Where the key comes from


def with_key(tmp_path, *key):
    return Store(tmp_path, key=list(key))


def test_a_key_from_a_command(server, tmp_path):
    store = with_key(tmp_path, "command", "echo", "ab" * 32)
    assert store.put(server, server.issue()).generation == 1
    assert store.obtain(1).generation == 2


@pytest.mark.parametrize(
    ("key", "reason", "words"),
    [
        (["none"], "no_key_provider", "outrider credentials key"),
        (["command", "false"], "store_locked", "status 1"),
        (["command", "echo", "short"], "store_locked", "64 digits"),
        (["command", "/no/such/program"], "store_locked", "cannot be run"),
        (["file", "/no/such/file"], "store_locked", "cannot be read"),
        (["passphrase"], "store_locked", "unlock"),
    ],
)
def test_without_its_key_a_store_keeps_nothing(server, tmp_path, key, reason, words):
    failed = with_key(tmp_path, *key).put(server, server.issue())
    assert (failed.kind, failed.reason) == ("store", reason)
    assert words in failed.message
    assert not list(pathlib.Path(tmp_path).rglob("record"))


def test_a_key_file_that_others_may_read_is_refused(server, store, tmp_path):
    (tmp_path / "key").chmod(0o644)
    failed = store.put(server, server.issue())
    assert failed.reason == "store_unsafe" and "chmod 600" in failed.message


def test_a_keyring_that_never_responds_is_waited_for_3_seconds(server, tmp_path):
    (tmp_path / "secret-tool").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "secret-tool").chmod(0o755)
    store = with_key(tmp_path, "secret-service")
    store.environment["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    began = time.monotonic()
    failed = store.put(server, server.issue())
    assert failed.reason == "store_locked" and "3 seconds" in failed.message
    assert 3 <= time.monotonic() - began < 8


def script(tmp_path, text):
    path = tmp_path / "command"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return with_key(tmp_path, "command", str(path))


def is_alive(process):
    state = pathlib.Path(f"/proc/{process}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_key_command_may_leave_something_behind(server, tmp_path):
    """As an agent that it has started, which has its standard output still."""
    store = script(tmp_path, f"sleep 600 &\necho $! >{tmp_path}/left\necho {'ab' * 32}\n")
    began = time.monotonic()
    assert store.put(server, server.issue()).generation == 1
    assert time.monotonic() - began < 4
    left = int((tmp_path / "left").read_text())
    assert is_alive(left)
    os.kill(left, signal.SIGKILL)


def test_a_key_command_that_hangs_ends_with_what_it_has_started(server, tmp_path):
    store = script(tmp_path, f"sleep 600 &\necho $! >{tmp_path}/left\nwait\n")
    failed = store.put(server, server.issue())
    assert failed.reason == "store_locked" and "5 seconds" in failed.message
    left, deadline = int((tmp_path / "left").read_text()), time.monotonic() + LONG
    while is_alive(left):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_key_command_that_prints_without_end_says_too_much(server, tmp_path):
    failed = script(tmp_path, "exec cat /dev/zero\n").put(server, server.issue())
    assert failed.reason == "store_locked" and "printed more" in failed.message
