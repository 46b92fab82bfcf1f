# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""outrider credentials: what is kept, what seals it, and how that is chosen. Needs no service."""

import os
import subprocess

import contract
import pytest
from authorizing import Authorizing
from keeping import Store

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path, key=["none"])


@pytest.fixture
def credentials(store):
    """Runs the command for that store: its status, and both of its outputs."""

    def run(*words, said=""):
        return subprocess.run(
            [contract.binary(), "credentials", *words], input=said, capture_output=True, text=True, timeout=60,
            check=False, env={**store.environment, "OUTRIDER_CREDENTIALS": store.directory},
        )

    return run


def test_without_a_key_it_says_plainly_that_nothing_is_kept(credentials):
    shown = credentials()
    assert shown.returncode == 0 and shown.stdout == ""
    assert "nothing is kept on disk" in shown.stderr and "outrider credentials key" in shown.stderr


def test_a_key_file_is_made_and_what_it_is_worth_is_said_before(credentials, store, tmp_path):
    path = tmp_path / "made"
    chosen = credentials("key", "file", str(path))
    assert chosen.returncode == 0, chosen.stderr
    assert "stolen disk" in chosen.stderr
    assert path.stat().st_mode & 0o777 == 0o600 and len(path.read_text().strip()) == 64
    # chosen for every process of the user
    store.key = ["file", str(path)]
    with Authorizing() as server:
        store.put(server, server.issue())
        shown = credentials()
        assert shown.stdout == "work\tready\t1\t-\n" and str(path) in shown.stderr
        assert "stolen disk" in shown.stderr
        store.obtain(1)
        name, state, generation, seconds = credentials("list").stdout.split("\t")
        assert (name, state, generation) == ("work", "ready", "2") and 3500 < int(seconds) <= 3600
        server.revoke_all()
        store.obtain(2)
        assert "needsLogin:invalid_grant" in credentials("list").stdout
    # another one would not open what is there
    refused = credentials("key", "command", "echo", "ab" * 32)
    assert refused.returncode == 1 and "key_in_use" in refused.stderr
    assert credentials("key").stdout.startswith("sealed with the key in")


def test_a_choice_that_gives_no_key_is_none(credentials):
    failed = credentials("key", "command", "false")
    assert failed.returncode == 1 and "status 1" in failed.stderr
    assert "nothing is kept on disk" in credentials("key").stdout
    assert credentials("key", "filing", "x").returncode == 2


def test_forgetting_revokes(credentials, store, tmp_path):
    assert credentials("key", "file", str(tmp_path / "made")).returncode == 0
    store.key = ["file", str(tmp_path / "made")]
    with Authorizing() as server:
        store.put(server, server.issue())
        access = store.obtain(1).access
        assert credentials("forget", "work").returncode == 0
        assert not server.is_good(access)
    assert credentials("list").stdout == ""


def test_a_passphrase_is_asked_once_until_the_machine_stops(credentials, store):
    chosen = credentials("key", "passphrase", said="correct horse\n")
    if "keyring did not take" in chosen.stderr:
        pytest.skip("the kernel has no keyrings here")
    assert chosen.returncode == 0, chosen.stderr
    try:
        store.key = ["passphrase"]
        with Authorizing() as server:
            store.put(server, server.issue())
            assert credentials("lock").returncode == 0
            assert store.obtain(1).reason == "store_locked"
            wrong = credentials("unlock", said="incorrect horse\n")
            assert wrong.returncode == 1 and "wrong_passphrase" in wrong.stderr
            assert store.obtain(1).reason == "store_locked"
            assert credentials("unlock", said="correct horse\n").returncode == 0
            assert store.obtain(1).generation == 2
    finally:
        credentials("lock")


def test_the_desktops_keyring_keeps_the_key(credentials, store, tmp_path):
    """By a program of its name that keeps it in a file."""
    tool, kept = tmp_path / "bin" / "secret-tool", tmp_path / "kept"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\ncase $1 in lookup) cat {kept} ;; store) cat >{kept} ;; esac\n')
    tool.chmod(0o755)
    store.environment["PATH"] = f"{tool.parent}:{os.environ['PATH']}"
    assert credentials("key", "secret-service").returncode == 0
    assert len(kept.read_text()) == 64
    store.key = ["secret-service"]
    with Authorizing() as server:
        store.put(server, server.issue())
        assert store.obtain(1).generation == 2
    # chosen again, it is the same
    before = kept.read_text()
    assert credentials("key", "secret-service").returncode == 0
    assert kept.read_text() == before
