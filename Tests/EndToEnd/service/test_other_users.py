# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A program connects to a service of its own user only: before the first byte, it checks who could have put the socket
there and who listens on it."""

import contextlib
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import time

import contract
import pytest
from shell import LONG, outrider

pytestmark = [
    pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as other users"),
]

STRANGER = 61_000 + os.getpid() % 2000
USER = STRANGER + 2000

# replies to every message like a service, and writes down what came
LISTENER = """
import os, socket, sys
path, log, user = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.setgid(user)
os.setuid(user)
os.umask(0)
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen()
print("ready", flush=True)
while True:
    peer, _ = listener.accept()
    with peer, open(log, "ab") as file:
        while data := peer.recv(65536):
            file.write(data)
            file.flush()
            peer.sendall(b'{"jsonrpc":"2.0","id":1,"result":{"pid":1,"version":"0","protocol":1,"instanceId":"x"}}\\n')
"""


@contextlib.contextmanager
def listening(path, log, user=STRANGER):
    """A program of another user that listens on the socket."""
    log.touch()
    log.chmod(0o666)
    with subprocess.Popen(
        [sys.executable, "-c", LISTENER, str(path), str(log), str(user)], stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            yield
        finally:
            process.kill()


@pytest.fixture
def place():
    """A directory that every user may enter."""
    with tempfile.TemporaryDirectory(prefix="or-", dir="/tmp") as path:
        os.chmod(path, 0o755)
        yield pathlib.Path(path)


def owned(path, user, mode=0o755):
    path.mkdir()
    os.chown(path, user, user)
    path.chmod(mode)
    return path


COMMANDS = {
    "get": ["get", "-u", "user:password", "http://127.0.0.1:9/"],
    "call": ["call", "server.info"],
    "token": ["token", "work"],
    "login": ["login", "work"],
    "logout": ["logout", "work"],
    "download": ["download", "-o", "/tmp/none/none", "http://127.0.0.1:9/"],
    "sse": ["sse", "http://127.0.0.1:9/"],
    "stats": ["stats"],
    "route": ["route", "r", "x"],
    "git-credential": ["git-credential", "get", "--credential", "work"],
    "docker-credential": ["docker-credential", "get", "--credential", "work"],
    "get-socket": ["get-socket"],
    "get-socket --no-spawn": ["get-socket", "--no-spawn"],
    "call --spawn": ["call", "--spawn", "server.info"],
    "outrider-call": None,
    "python": None,
}


STANDARD_INPUT = {
    "git-credential": b"protocol=https\nhost=example.org\n\n",
    "docker-credential": b"https://example.org",
}


def connect(name, environment):
    if name == "outrider-call":
        command = [str(contract.ROOT / "clients/shell/outrider-call"), "server.info"]
    elif name == "python":
        command = [sys.executable, "-c", "import outrider; outrider.Client(spawn=False).info()"]
        environment = {**environment, "PYTHONPATH": str(contract.ROOT / "clients/python/src")}
    else:
        return outrider(*COMMANDS[name], env=environment, stdin=STANDARD_INPUT.get(name, b""))
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OUTRIDER", "XDG_"))}
    return subprocess.run(command, env={**clean, **environment}, capture_output=True, timeout=LONG)


def check_refusal(name, done, log, *words):
    said = done.stderr.decode()
    assert done.returncode == (1 if name == "python" else 3), said
    assert log.read_bytes() == b"" and done.stdout == b""
    assert name == "python" or said.count("\n") == 1
    for word in words:
        assert word in said


@pytest.mark.parametrize("name", COMMANDS)
def test_the_directory_of_another_user_is_refused(name, place):
    runtime = owned(place / "run", 0)
    owned(runtime / "outrider", STRANGER)
    with listening(runtime / "outrider/outrider.sock", place / "log"):
        done = connect(name, {"XDG_RUNTIME_DIR": str(runtime)})
    check_refusal(name, done, place / "log", str(STRANGER))
    assert sorted(path.name for path in (runtime / "outrider").iterdir()) == ["outrider.sock"]


@pytest.mark.parametrize("name", ["get", "call --spawn", "get-socket", "outrider-call", "python"])
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_directory_that_other_users_can_write_to_is_refused(name, mode, place):
    folder = place / "outrider"
    folder.mkdir()
    folder.chmod(0o777)
    with listening(folder / "outrider.sock", place / "log"):
        folder.chmod(mode)
        done = connect(name, {"XDG_RUNTIME_DIR": str(place)})
    check_refusal(name, done, place / "log", str(folder))


@pytest.mark.parametrize("name", ["get", "call --spawn", "get-socket", "outrider-call", "python"])
def test_a_link_in_place_of_the_directory_is_refused(name, place):
    folder = owned(place / "theirs", STRANGER)
    (place / "outrider").symlink_to(folder)
    with listening(folder / "outrider.sock", place / "log"):
        done = connect(name, {"XDG_RUNTIME_DIR": str(place)})
    check_refusal(name, done, place / "log")


@pytest.mark.parametrize("name", ["get", "call", "call --spawn", "token", "get-socket", "outrider-call", "python"])
def test_a_service_of_another_user_is_refused_where_the_socket_is_named(name, place):
    folder = owned(place / "shared", 0, 0o1777)
    with listening(folder / "o.sock", place / "log"):
        done = connect(name, {"OUTRIDER_SOCKET": str(folder / "o.sock")})
        check_refusal(name, done, place / "log", f"run by user {STRANGER}")


@pytest.mark.parametrize("name", ["call", "outrider-call", "python"])
def test_a_service_of_another_user_serves_where_that_user_is_named(name, place):
    folder = owned(place / "shared", 0, 0o1777)
    environment = {"OUTRIDER_SOCKET": str(folder / "o.sock"), "OUTRIDER_PEER_UID": str(STRANGER)}
    with listening(folder / "o.sock", place / "log"):
        done = connect(name, environment)
        assert done.returncode == 0, done.stderr
        assert b"server.info" in (place / "log").read_bytes()
        flagged = outrider(
            "call", "--socket", str(folder / "o.sock"), "--peer-uid", str(STRANGER), "server.info")
        assert flagged.returncode == 0, flagged.stderr
    assert connect(name, {**environment, "OUTRIDER_PEER_UID": "all"}).returncode != 0


@contextlib.contextmanager
def taken(user):
    """Another user has made the directory in /tmp that would be the user's."""
    path = owned(pathlib.Path(f"/tmp/outrider-{user}"), STRANGER)
    try:
        yield path
    finally:
        shutil.rmtree(path)


def as_user(command, environment):
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OUTRIDER", "XDG_"))}
    before = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    return subprocess.run(
        [*before, *command], env={**clean, **environment}, capture_output=True, timeout=LONG, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("whose, mode", [
    ("a stranger's", 0o755), ("a stranger's", 0o700), ("root's", 0o700), ("below root's", 0o700)])
def test_the_runtime_directory_of_another_user_is_passed_over(whose, mode, place):
    """As under su and sudo -E, which keep the variable: the user's own service is elsewhere."""
    owner = STRANGER if whose == "a stranger's" else 0
    closed = owned(place / "run", owner)
    runtime = owned(closed / "user", USER) if whose == "below root's" else closed
    owned(runtime / "outrider", owner)
    binary, environment = contract.binary(), {"XDG_RUNTIME_DIR": str(runtime)}
    with listening(runtime / "outrider/outrider.sock", place / "log", owner):
        closed.chmod(mode)
        # no service runs yet, so that the request gets one of its own
        done = as_user([binary, "get", "http://127.0.0.1:9/"], environment)
        assert (done.returncode, b"refused" in done.stderr) == (12, True), done.stderr
        try:
            done = as_user([binary, "get-socket"], environment)
            assert done.returncode == 0 and f"/outrider-{USER}/".encode() in done.stdout, done.stderr
            for command in ([binary, "call"], [str(contract.ROOT / "clients/shell/outrider-call")]):
                done = as_user([*command, "server.info"], environment)
                assert done.returncode == 0 and b"instanceId" in done.stdout, (command, done.stderr)
            path = "from outrider._connection import discovery; print(discovery.socket_path()[0])"
            packages = str(contract.ROOT / "clients/python/src")
            done = as_user([sys.executable, "-B", "-c", path], {**environment, "PYTHONPATH": packages})
            assert f"/outrider-{USER}/".encode() in done.stdout, done.stderr
        finally:
            as_user([binary, "stop"], environment)
            shutil.rmtree(f"/tmp/outrider-{USER}", ignore_errors=True)
        assert (place / "log").read_bytes() == b""
    assert [path.name for path in (runtime / "outrider").iterdir()] == ["outrider.sock"]


def test_a_directory_in_tmp_that_another_user_made_is_refused(place):
    binary = contract.binary()
    with taken(USER) as folder, listening(folder / "outrider.sock", place / "log"):
        for words in (["get", "http://127.0.0.1:9/"], ["token", "work"], ["get-socket"], ["call", "server.info"]):
            done = as_user([binary, *words], {})
            check_refusal(words[0], done, place / "log", f"user {STRANGER}")
        done = as_user([str(contract.ROOT / "clients/shell/outrider-call"), "server.info"], {})
        check_refusal("outrider-call", done, place / "log", f"user {STRANGER}")
        done = as_user([binary, "serve"], {})
        assert done.returncode != 0 and f"user {STRANGER}".encode() in done.stderr


@pytest.mark.parametrize("suffix", [".lock", ".start", ".log"])
@pytest.mark.parametrize("kind", ["pipe", "link", "file"])
def test_a_file_beside_the_socket_that_another_user_made_is_not_used(suffix, kind, place):
    folder = owned(place / "shared", 0, 0o1777)
    planted, target = folder / f"o.sock{suffix}", place / "target"
    target.write_bytes(b"kept")
    if kind == "pipe":
        os.mkfifo(planted, 0o666)
    elif kind == "link":
        planted.symlink_to(target)
    else:
        planted.write_bytes(b"kept")
        planted.chmod(0o666)
    os.chown(planted, STRANGER, STRANGER, follow_symlinks=False)
    began = time.monotonic()
    done = outrider("get-socket", "--socket", str(folder / "o.sock"))
    assert time.monotonic() - began < LONG / 2
    assert done.returncode == 3 and done.stdout == b""
    if suffix == ".lock":
        assert b"lock" in (folder / "o.sock.log").read_bytes()
    else:
        assert str(planted).encode() in done.stderr
    assert target.read_bytes() == b"kept"
    assert kind != "file" or planted.read_bytes() == b"kept"


def test_the_service_of_this_user_is_used_at_every_place(place):
    for environment in ({"XDG_RUNTIME_DIR": str(place)}, {"OUTRIDER_SOCKET": str(place / "o.sock")}):
        started = outrider("get-socket", env=environment)
        assert started.returncode == 0, started.stderr
        try:
            for name in ("call", "outrider-call", "python"):
                done = connect(name, environment)
                assert done.returncode == 0, done.stderr
        finally:
            outrider("call", "server.stop", env=environment)
    assert stat.S_IMODE((place / "outrider").stat().st_mode) == 0o700
