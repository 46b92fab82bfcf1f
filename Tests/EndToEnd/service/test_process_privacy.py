# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The process of a service: what comes from the caller who started it, and what other programs can read of it."""

import json
import os
import pathlib
import stat
import subprocess
import tempfile

import contract
import pytest
from shell import LONG, outrider

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

USER = 61_500 + os.getpid() % 400
US = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if os.geteuid() == 0 else []


@pytest.fixture
def place():
    with tempfile.TemporaryDirectory(prefix="or-", dir="/tmp") as path:
        os.chmod(path, 0o700)
        if US:
            os.chown(path, USER, USER)
        yield pathlib.Path(path)


def run(place, *words, mask=0o022, **more):
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OUTRIDER", "XDG_"))}
    environment = {**clean, "XDG_RUNTIME_DIR": str(place), "HOME": str(place), **more}
    return subprocess.run(
        [*US, contract.binary(), *words], env=environment, umask=mask, cwd=place, capture_output=True, timeout=LONG,
        stdin=subprocess.DEVNULL)


@pytest.fixture
def started(place):
    """The number of a service that a command started, with a secret in the environment and a umask of its own."""
    variables = {"AWS_SECRET_ACCESS_KEY": "canary-aws", "MY_TOKEN": "canary", "LC_TIME": "C", "TZ": "UTC"}
    done = run(place, "get-socket", mask=0, **variables)
    assert done.returncode == 0, done.stderr
    yield json.loads(done.stdout)["pid"]
    run(place, "call", "server.stop")


def test_a_service_that_was_started_takes_over_listed_variables_only(started):
    variables = pathlib.Path(f"/proc/{started}/environ").read_bytes()
    assert b"canary" not in variables
    names = {line.partition(b"=")[0] for line in variables.split(b"\0")}
    assert {b"HOME", b"PATH", b"XDG_RUNTIME_DIR", b"TZ", b"LC_TIME"} <= names


def status_of(pid, name):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return [line.split()[1] for line in lines if line.startswith(name + ":")][0]


def test_a_service_that_was_started_has_a_umask_of_its_own(started):
    assert status_of(started, "Umask") == "0077"


@pytest.mark.skipif(not US, reason="only root sees who owns the files of the process")
def test_no_program_of_the_user_reads_the_memory_of_the_service(started):
    # what cannot be dumped belongs to root, whichever user runs it
    assert os.stat(f"/proc/{started}/mem").st_uid == 0
    (core,) = [line for line in pathlib.Path(f"/proc/{started}/limits").read_text().splitlines() if "core file" in line]
    assert core.split()[4:6] == ["0", "0"]
    read = subprocess.run([*US, "cat", f"/proc/{started}/environ"], capture_output=True)
    assert read.returncode != 0 and read.stdout == b""


@pytest.mark.parametrize("arguments", [["serve", "--stdio"], ["serve", "--stdio", "--log-level", "warning"]])
def test_a_service_on_stdio_leaves_no_core_either(arguments):
    with subprocess.Popen([contract.binary(), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"server.info"}\n')
        process.stdin.flush()
        assert b"result" in process.stdout.readline()
        limits = pathlib.Path(f"/proc/{process.pid}/limits").read_text()
        (core,) = [line for line in limits.splitlines() if "core file" in line]
        assert core.split()[4:6] == ["0", "0"]


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600), (0o002, 0o664)])
@pytest.mark.parametrize("is_shared", [False, True])
def test_a_downloaded_file_has_the_permissions_of_the_users_umask(place, origin, mask, mode, is_shared):
    if is_shared:
        assert run(place, "get-socket").returncode == 0
    try:
        done = run(place, "download", "-o", "file", f"{origin}/bytes/1000", mask=mask)
        assert done.returncode == 0, done.stderr
        assert stat.S_IMODE((place / "file").stat().st_mode) == mode
    finally:
        if is_shared:
            run(place, "call", "server.stop")


def test_a_large_body_of_a_pipe_reaches_the_service(origin, tmp_path):
    """The service opens it in the process of the command, which therefore stays readable for the user."""
    body = b"x" * (5 << 20)
    done = outrider("get", "-X", "POST", "-d", "@-", f"{origin}/echo", stdin=body)
    assert done.returncode == 0, done.stderr
