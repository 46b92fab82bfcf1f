# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Keys that are locked, away, mistyped or lost: what is sealed with one is never given another one by mistake."""

import json
import os
import pathlib
import subprocess

import contract
import pytest
from credential_process import Store
from syscall_faults import injected, needs_strace

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

WORK = json.dumps({"name": "work", "client_id": "c", "token_endpoint": "http://127.0.0.1:9/token",
                   "refresh_token": "a-refresh-token"})


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path, key=["none"])


@pytest.fixture
def credentials(store):
    """Runs the command for that store: its status, and both of its outputs."""

    def run(*words, said="", before=()):
        return subprocess.run(
            [*before, contract.binary(), "credentials", *words], input=said, capture_output=True, text=True, timeout=60,
            check=False, env={**store.environment, "OUTRIDER_CREDENTIALS": store.directory})

    return run


@pytest.fixture
def keyring(store, tmp_path):
    """In place of the desktop's: `item` is what it keeps, and `mood` how it replies to a request for it."""
    place = tmp_path / "keyring"
    place.mkdir()
    tool = place / "secret-tool"
    tool.write_text(f"""#!/bin/sh
cd {place}
case $1 in
lookup) case $(cat mood) in
    closed) exit 1 ;;
    slow) exec sleep 60 ;;
    *) cat item ;;
    esac ;;
search) test -e item && echo '[/org/freedesktop/secrets/collection/login/1]' ;;
store) cat >item ;;
esac
""")
    tool.chmod(0o755)
    (place / "mood").write_text("open")
    store.environment["PATH"] = f"{place}:{os.environ['PATH']}"
    return place


@pytest.mark.parametrize("mood", ["closed", "slow"])
def test_a_closed_keyring_chosen_again_keeps_its_key(credentials, keyring, mood):
    """What it has is the only key of what is sealed."""
    assert credentials("key", "secret-service").returncode == 0
    assert credentials("import", said=WORK).returncode == 0
    before = (keyring / "item").read_text()
    (keyring / "mood").write_text(mood)
    again = credentials("key", "secret-service")
    assert again.returncode == 1 and "store_locked" in again.stderr
    assert (keyring / "item").read_text() == before
    (keyring / "mood").write_text("open")
    assert credentials("list").stdout.startswith("work\tready")


@pytest.mark.parametrize("mood", ["closed", "slow"])
def test_a_keyring_that_does_not_say_what_it_has_gets_nothing_new(credentials, keyring, mood):
    """Another store may have been here before, with what is there still."""
    (keyring / "item").write_text("ab" * 32)
    (keyring / "mood").write_text(mood)
    refused = credentials("key", "secret-service")
    assert refused.returncode == 1 and "store_locked" in refused.stderr
    assert (keyring / "item").read_text() == "ab" * 32
    assert "nothing is kept on disk" in credentials("key").stdout


def test_a_key_file_that_is_away_gets_no_other_in_its_place(credentials, tmp_path):
    """The disk with it may come back."""
    path, away = tmp_path / "made", tmp_path / "away"
    assert credentials("key", "file", str(path)).returncode == 0
    assert credentials("import", said=WORK).returncode == 0
    path.rename(away)
    again = credentials("key", "file", str(path))
    assert again.returncode == 1 and "store_locked" in again.stderr and not path.exists()
    away.rename(path)
    assert credentials("list").stdout.startswith("work\tready")


@needs_strace
def test_a_key_file_that_could_not_be_written_is_not_there(credentials, tmp_path):
    """So that the next try makes it."""
    path, trace = tmp_path / "made", tmp_path / "trace"
    failed = credentials("key", "file", str(path), before=injected("fsync", "error=EIO", 1, trace, [path]))
    assert failed.returncode == 1 and str(path) in failed.stderr
    assert not path.exists()
    assert credentials("key", "file", str(path)).returncode == 0
    assert credentials("import", said=WORK).returncode == 0


def test_a_mistyped_passphrase_locks_nothing(credentials):
    chosen = credentials("key", "passphrase", said="correct horse\n")
    if "keyring did not take" in chosen.stderr:
        pytest.skip("the kernel has no keyrings here")
    try:
        assert credentials("import", said=WORK).returncode == 0
        wrong = credentials("unlock", said="incorrect horse\n")
        assert wrong.returncode == 1 and "wrong_passphrase" in wrong.stderr
        assert credentials("list").stdout.startswith("work\tready")
    finally:
        credentials("lock")


def test_where_nothing_is_sealed_a_passphrase_is_chosen_anew(credentials):
    chosen = credentials("key", "passphrase", said="correct horse\n")
    if "keyring did not take" in chosen.stderr:
        pytest.skip("the kernel has no keyrings here")
    try:
        other = credentials("key", "passphrase", said="battery staple\n")
        assert other.returncode == 0, other.stderr
        credentials("lock")
        assert credentials("unlock", said="battery staple\n").returncode == 0
        assert credentials("import", said=WORK).returncode == 0
    finally:
        credentials("lock")


# Lost for good


def test_what_is_sealed_with_a_lost_key_is_removed_and_said_before(credentials, store, tmp_path):
    path = tmp_path / "made"
    assert credentials("key", "file", str(path)).returncode == 0
    assert credentials("import", said=WORK).returncode == 0
    at_hand = credentials("forget", "--lost-key")
    assert at_hand.returncode == 1 and "key_at_hand" in at_hand.stderr
    assert credentials("list").stdout.startswith("work\tready")
    for loss in (lambda: path.unlink(), lambda: (path.write_bytes(os.urandom(32)), path.chmod(0o600))):
        loss()
        for words in ([], ["forget", "work"], ["key", "file", str(tmp_path / "other")], ["key", "none"]):
            failed = credentials(*words)
            assert failed.returncode == 1 and "--lost-key" in failed.stderr, words
    done = credentials("forget", "--lost-key")
    assert done.returncode == 0 and "1 in " in done.stderr, done.stderr
    assert not list(pathlib.Path(store.directory).rglob("record*"))
    # it is as new
    assert "nothing is kept on disk" in credentials("key").stdout
    assert credentials("key", "file", str(tmp_path / "other")).returncode == 0
    assert credentials("import", said=WORK).returncode == 0


@pytest.mark.parametrize(("said", "status"), [("no\n", 2), ("\n", 2), ("yes\n", 0)])
def test_a_person_is_asked_whether_the_key_is_lost(credentials, store, tmp_path, said, status):
    """It may only be away."""
    path, away = tmp_path / "made", tmp_path / "away"
    assert credentials("key", "file", str(path)).returncode == 0
    assert credentials("import", said=WORK).returncode == 0
    path.rename(away)
    ours, theirs = os.openpty()
    with subprocess.Popen(
            [contract.binary(), "credentials", "forget", "--lost-key"], stdin=theirs, stderr=subprocess.PIPE,
            env={**store.environment, "OUTRIDER_CREDENTIALS": store.directory}) as process:
        os.write(ours, said.encode())
        _, asked = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert b"Type yes" in asked and process.returncode == status
    away.rename(path)
    assert credentials("list").stdout.startswith("work\tready") == (status != 0)


def test_what_is_not_there_is_not_forgotten(credentials, tmp_path):
    assert credentials("key", "file", str(tmp_path / "made")).returncode == 0
    assert credentials("import", said=WORK).returncode == 0
    failed = credentials("forget", "wrok")
    assert failed.returncode == 1 and "unknown_credential" in failed.stderr
    assert credentials("forget", "work", "--keep-tokens").returncode == 0
    assert credentials("forget", "work", "--keep-tokens").returncode == 1
    for words in ([], ["work", "--lost-key"]):
        assert credentials("forget", *words).returncode == 2
