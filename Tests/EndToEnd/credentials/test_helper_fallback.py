# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""New tokens for which there is no room in the store nor beside it: the kernel keeps them for the user."""

import contextlib
import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import sys

import contract
import pytest
from authorization_server import served
from credential_process import LONG

# add_key(2), keyctl(2)
CALLS = {"x86_64": (248, 250), "aarch64": (217, 219)}
JOIN_SESSION, UNLINK, SEARCH, USER_KEYRING = 1, 9, 10, -4


def key_call(which, *arguments):
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    words = [one if isinstance(one, bytes) else ctypes.c_long(one) for one in arguments]
    return call(ctypes.c_long(CALLS[platform.machine()][which]), *words)


def refusal():
    if contract.binary() is None:
        return "nothing is built; make build builds it"
    if os.geteuid() != 0:
        return "only root mounts file systems"
    if platform.machine() not in CALLS:
        return "the numbers of the calls are not known here"
    key = key_call(0, b"user", b"outrider-probe", b"x", 1, USER_KEYRING)
    if key < 0:
        return f"the kernel has no keyrings here: {os.strerror(ctypes.get_errno())}"
    key_call(1, UNLINK, key, USER_KEYRING)
    return ""


pytestmark = pytest.mark.skipif(bool(refusal()), reason=refusal() or "there are some")


server = served()


@pytest.fixture
def waits(server, store):
    """Whether the record waits in the keyring, under the name of its directory."""
    store.put(server, server.issue())
    name = "outrider-escrow:" + hashlib.sha256(str(store.folder).encode()).hexdigest()[:32]

    def waits():
        return key_call(1, SEARCH, USER_KEYRING, b"user", name.encode(), 0) >= 0

    yield waits
    assert not waits()


@contextlib.contextmanager
def nowhere(store):
    """Nothing can take the place of the record, and nothing can be written in the runtime directory."""
    record = str(store.folder / "record")
    subprocess.run(["mount", "--bind", record, record], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,mode=700", "tmpfs", str(store.runtime)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(store.runtime)], check=True)
        subprocess.run(["umount", record], check=True)


@contextlib.contextmanager
def responding(server, store):
    """A refresh whose response is on its way; what came of it."""
    server.stall = "head"
    process = store.start(store.obtaining(1))
    server.received("/token", seconds=LONG)
    yield lambda: store.one(store.heard(process))
    server.stall = None


def test_tokens_that_can_be_written_nowhere_wait_in_the_keyring(server, store, waits):
    with responding(server, store) as outcome, nowhere(store):
        server.go.set()
        found = outcome()
        assert (found.state, found.generation) == ("unsaved", 2) and server.is_good(found.access)
        assert waits()
        # all processes of the user see them, also those of another session
        assert store.read() == store.obtain(1) == found
        join = f"import ctypes, os; ctypes.CDLL(None).syscall({CALLS[platform.machine()][1]}, {JOIN_SESSION}, None);"
        alone = [sys.executable, "-c", join + "import sys; os.execv(sys.argv[1], sys.argv[1:])"]
        assert store.one(store.heard(store.start(store.order((4, "read"), (5, "work")), before=alone))) == found
    # and are put where they belong as soon as that can be done
    assert store.obtain(1) == store.read() == found._replace(state="ready")
    assert not waits() and server.outcomes() == ["ok"]
    assert not list(store.runtime.iterdir())


def test_tokens_outlive_their_store_in_the_keyring(server, store, waits):
    """The whole directory is gone, journal and all; there is nothing but the key."""
    with responding(server, store) as outcome:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,mode=700", "tmpfs", str(store.runtime)], check=True)
        try:
            shutil.rmtree(store.directory)
            server.go.set()
            found = outcome()
        finally:
            subprocess.run(["umount", str(store.runtime)], check=True)
    assert (found.state, found.generation) == ("unsaved", 2)
    assert waits()
    # the credential is made once more, and its tokens are there
    assert store.put(server)[:5] == (store.name, "ready", 2, found.access, True)
    assert not waits()
    assert store.obtain(2).generation == 3 and server.outcomes() == ["ok"] * 2


def test_what_is_too_long_for_the_keyring_waits_in_the_journal(server, store, waits):
    """A user has 20,000 bytes for keys; the response itself was written down before it was read."""
    server.odd = lambda tokens: {**tokens, "id_token": "x" * 20_000, "access_token": "a" * 20_000}
    with responding(server, store) as outcome, nowhere(store):
        server.go.set()
        found = outcome()
        assert (found.state, found.access) == ("unsaved", "a" * 20_000)
        assert not waits()
    assert store.obtain(1) == found._replace(state="ready")
    assert server.outcomes() == ["ok"]
