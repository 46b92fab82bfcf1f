# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A service whose socket file was removed or replaced does not lock its user out."""

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import time

import contract
import pytest
from shell import outrider
from small_disk import on_small_disk, unmount
from socket_service import running

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def home(tmp_path):
    """The directory of the socket; what serves there ends with the test."""
    place = tmp_path / "run"
    place.mkdir(0o700)
    yield place
    place.mkdir(0o700, exist_ok=True)
    outrider("call", "--socket", str(place / "s"), "server.stop", "grace:=0")


@pytest.fixture
def served(home):
    process = subprocess.Popen([contract.binary(), "serve", "--socket", str(home / "s")], stdin=subprocess.DEVNULL)
    contract.await_socket(home / "s", process)
    yield process
    if process.poll() is None:
        process.terminate()
    process.wait(10)


def instance(path, *options):
    done = outrider("call", "--socket", str(path), *options, "server.info")
    assert done.returncode == 0, done.stderr
    return done.stdout.split(b'"instanceId":"')[1].split(b'"')[0]


def await_file(path):
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline, "the socket is not put back"
        time.sleep(0.01)


@pytest.mark.parametrize("remove", [os.unlink, lambda path: os.rename(path, str(path) + ".away")])
def test_a_removed_socket_is_put_back_by_the_same_service(home, served, remove):
    before = instance(home / "s")
    for _ in range(3):
        remove(home / "s")
        await_file(home / "s")
        assert instance(home / "s") == before


def test_a_client_that_is_connected_does_not_notice(home, served):
    with contract.Wire(str(home / "s")) as wire:
        os.unlink(home / "s")
        await_file(home / "s")
        assert wire.call("diagnostics.echo", {"value": 1})["result"]


def test_clients_that_are_not_accepted_yet_come_in_all_the_same(home, served):
    with contextlib.ExitStack() as stack:
        held = instance(home / "s")
        os.kill(served.pid, signal.SIGSTOP)
        wires = [stack.enter_context(contract.Wire(str(home / "s"))) for _ in range(20)]
        os.unlink(home / "s")
        os.kill(served.pid, signal.SIGCONT)
        for wire in wires:
            assert wire.call("server.info")["result"]["instanceId"].encode() == held
        await_file(home / "s")


def test_a_service_can_start_after_the_directory_was_removed(home, served):
    """The lock is gone with the directory: the first service to come makes both anew."""
    # at once, for the service that runs makes the directory again as soon as its socket is gone
    shutil.rmtree(home.rename(home.with_name("gone")))
    home.mkdir(0o700, exist_ok=True)
    assert instance(home / "s", "--spawn")


def test_an_unmounted_directory_is_noticed(home):
    """As the runtime directory of a user who logs out: the kernel sends no event of the file."""
    with running(home / "s", under=on_small_disk(home, 64)) as process:
        unmount(process, home)
        await_file(home / "s")
        contract.await_socket(home / "s", process)
        with contract.Wire(str(home / "s")) as wire:
            assert wire.call("server.info")["result"]["pid"] == process.pid


def test_a_command_waits_for_the_end_of_a_service_that_stops(home, served):
    """Until then the path is locked, and a second service would be refused."""
    before = instance(home / "s")
    with contract.Wire(str(home / "s")) as wire:
        wire.start("diagnostics.sleep", {"seconds": 1})
        wire.call("server.stop", {"grace": 5})
        assert instance(home / "s", "--spawn") != before
    assert served.wait(10) == 0


def test_a_command_that_waits_for_a_locked_path_logs_one_line(home):
    """A start for each look at the path would be refused in the log ten times a second."""
    log = home / "s.log"
    with open(home / "s.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        words = [contract.binary(), "call", "--socket", str(home / "s"), "--spawn", "server.info"]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as command:
            while not (log.exists() and log.read_bytes().endswith(b"\n")):
                assert command.poll() is None
                time.sleep(0.01)
            time.sleep(0.2)
            fcntl.flock(lock, fcntl.LOCK_UN)
            assert b"instanceId" in command.communicate(timeout=30)[0]
    assert log.read_bytes().count(b"already serves") == 1


def test_a_long_log_gives_way_to_a_new_one(home):
    """It grew for as long as services were started. One long log stays beside the present one."""
    log, old = home / "s.log", home / "s.log.old"
    # the old log of a service that writes much
    log.write_bytes(b"long\n" * (2 << 20))
    log.chmod(0o600)
    variables = {"OUTRIDER_LOG": "debug"}
    assert outrider("call", "--socket", str(home / "s"), "--spawn", "server.info", env=variables).returncode == 0
    deadline = time.monotonic() + 30
    while not (old.exists() and log.exists() and log.stat().st_size > 0):
        assert outrider("call", "--socket", str(home / "s"), "server.info").returncode == 0
        assert time.monotonic() < deadline, list(home.iterdir())
    assert old.stat().st_size > 10 << 20 and log.stat().st_size < 1 << 20
    assert log.stat().st_mode & 0o777 == 0o600
    assert b"long\n" not in log.read_bytes()


def test_a_service_whose_path_belongs_to_another_socket_ends_with_its_last_client(home, served):
    """As with socket activation over a service that a command has spawned."""
    with contract.Wire(str(home / "s")) as wire, socket.socket(socket.AF_UNIX) as other:
        other.bind(str(home / "t"))
        other.listen()
        os.rename(home / "t", home / "s")
        assert wire.call("diagnostics.sleep", {"seconds": 0.2})["result"] is not None
        assert served.poll() is None, "it serves the client that it has"
    assert served.wait(10) == 0
    assert (home / "s").exists(), "the other socket is left alone"


def test_removing_the_socket_at_the_end_is_no_loss(home, served):
    served.send_signal(signal.SIGTERM)
    assert served.wait(10) == 128 + signal.SIGTERM
    assert not (home / "s").exists()
