# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Another user of the same machine, or another program of the same user: what they can spoil, and what they can see."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import time

import contract
import pytest
from authorization_server import served
from credential_process import LONG, Service, Store

pytestmark = [
    pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user"),
]

# of a user for whom the system has made no directory
USER = 61_000 + os.getpid() % 4000
US = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]


server = served()


@pytest.fixture
def store(tmp_path):
    """Of a user without a runtime directory."""
    for folder in [tmp_path, *tmp_path.parents]:
        if folder.stat().st_uid == os.geteuid() and folder.stat().st_mode & 0o005 != 0o005:
            folder.chmod(folder.stat().st_mode | 0o055)
    place = tmp_path / "theirs"
    place.mkdir()
    store = Store(place)
    for path in (place, place / "key"):
        os.chown(path, USER, USER)
    del store.environment["XDG_RUNTIME_DIR"]
    start = store.start
    store.start = lambda order, **more: start(order, before=US, **more)
    return store


@contextlib.contextmanager
def taken(name, mode):
    """Another user has made the directory in /tmp that would be ours."""
    path = pathlib.Path(f"/tmp/{name}-{USER}")
    path.mkdir(mode=0o700)
    path.chmod(mode)
    try:
        yield path
    finally:
        shutil.rmtree(path)


@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_somebody_elses_directory_for_records_that_wait_is_none(server, store, mode):
    with taken("outrider-escrow", mode):
        assert store.put(server, server.issue()).generation == 1
        assert server.is_good(store.obtain(1).access)
        assert store.read().generation == 2 and len(store.list()) == 1
        assert store.erase(spec=True) == [] and store.list() == []


def test_somebody_elses_directory_for_memory_stops_nobody(server, store, tmp_path):
    place = tmp_path / "log"
    place.mkdir()
    os.chown(place, USER, USER)
    with taken("outrider-memory", 0o700) as path, Service(store, place / "log", place, before=US) as service:
        given = server.issue()
        response = service.call(
            "oauth.create", name="brief", grant="refresh", clientId=server.client, tokenUrl=server.url("/token"),
            token={"accessToken": given["access_token"], "refreshToken": given["refresh_token"]}, persist="memory")
        assert "result" in response, response
        assert service.call("oauth.refresh", credential="brief")["result"]["generation"] == 2
        (ours,) = path.parent.glob(f"{path.name}-*")
        assert ours.stat().st_uid == USER and ours.stat().st_mode & 0o077 == 0
        service.process.stdin.close()
        service.process.wait(LONG)
        service.process.stdin = None
        assert not ours.exists()


@pytest.mark.parametrize("words", [["unlock"], ["key", "passphrase"]])
def test_nobody_looks_into_a_command_that_asks_for_a_passphrase(store, words):
    command = [*US, contract.binary(), "credentials", *words]
    environment = {**store.environment, "OUTRIDER_CREDENTIALS": store.directory}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        status, deadline = pathlib.Path(f"/proc/{process.pid}"), time.monotonic() + LONG
        # it sleeps in a read of what is to be typed; what cannot be dumped belongs to root, whichever user runs it
        while "credentials" not in (status / "cmdline").read_text() or not reads(status):
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.01)
        assert (status / "mem").stat().st_uid == 0
        (core,) = [line for line in (status / "limits").read_text().splitlines() if "core file" in line]
        assert core.split()[4:6] == ["0", "0"]
        process.communicate(b"correct horse\n", timeout=LONG)


def reads(status):
    """Whether a thread of it waits for its standard input."""
    call = {"x86_64": "0 0x0 ", "aarch64": "63 0x0 "}.get(os.uname().machine)
    return any((task / "syscall").read_text().startswith(call) for task in (status / "task").iterdir())
