# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""`outrider login`: from nothing to the first call with a token, in one command."""

import os
import re
import subprocess
import threading

import contract
import pytest
from authorization_server import served
from shell import LONG, outrider, refused
from shell_login import browse, making, token

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


server = served()


def words(server, *more):
    return ["login", "work", "--client-id", server.client, "--scope", "read", *more]


def watched(env, command, terminal=None):
    """Starts a command, on a terminal or with its standard error in a pipe."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OUTRIDER", "XDG_", "DBUS"))}
    child = subprocess.Popen(
        [contract.binary(), *command], env={**clean, **env}, stdin=terminal or subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=terminal or subprocess.PIPE)  # fmt: skip
    return child


def followed(child):
    """Opens the address on standard error. Status, output, and what was said."""
    said = []
    for line in child.stderr:
        said.append(line.decode())
        if line.startswith(b"http"):
            threading.Thread(target=browse, args=(line.decode().strip(),), daemon=True).start()
    return child.wait(LONG), child.stdout.read(), "".join(said)


def test_one_command_logs_in_and_makes_the_first_call(env, server):
    url = server.url("/api")
    status, body, said = followed(watched(env, words(server, "--issuer", server.issuer, "--call", url)))
    assert status == 0 and "logged in as work" in said, said
    assert body == outrider("get", "--oauth", "work", url, env=env).stdout
    refused(outrider("get", "--oauth", "work", "http://localhost:1/", env=env), 11, "localhost:1")


def test_a_login_that_no_request_could_use_is_refused_before_anything_is_sent(env, server):
    command = words(server, "--issuer", server.issuer)
    refused(outrider(*command, env=env), 2, "--origin", "--call", "--no-origin")
    assert server.audit == []
    refused(outrider(*command, "--no-origin", "--call", server.url("/api"), env=env), 2, "--no-origin")
    refused(outrider(*words(server), env=env), 2, "--issuer")
    secret = ["--client-secret-file", "/dev/null", "--call", server.url("/api")]
    refused(outrider(*words(server), *secret, env=env), 2, "--client-secret-file needs --issuer")
    assert server.audit == []
    refused(outrider(*words(server), "--call", server.url("/api"), env=env), 11, "--issuer")


def test_the_call_may_have_the_token_beside_other_origins_and_resources(env, server):
    """A resource may be any absolute URI (RFC 8707 section 2)."""
    url = server.url("/api")
    more = ["--issuer", server.issuer, "--call", url, "--origin", "https://other.example", "--resource", "urn:x:y"]
    status, body, said = followed(watched(env, words(server, *more)))
    assert status == 0 and body, said


def test_without_a_key_the_login_lives_as_long_as_the_service(env, server):
    bare = {key: value for key, value in env.items() if key != "OUTRIDER_CREDENTIAL_KEY"}
    status, _, said = followed(
        watched(bare, words(server, "--issuer", server.issuer, "--call", server.url("/api"))))
    try:
        assert status == 0 and "ends with the service" in said and "credentials key" in said, said
        assert server.is_good(token(bare))
    finally:
        outrider("stop", env=bare)


def test_on_a_terminal_the_first_login_asks_for_origin_and_key(env, server, tmp_path):
    bare = {key: value for key, value in env.items() if key != "OUTRIDER_CREDENTIAL_KEY"}
    bare |= {"HOME": str(tmp_path), "OUTRIDER_CREDENTIALS": str(tmp_path / "store")}
    ours, theirs = os.openpty()
    command = making(server)
    command.remove("--no-origin")
    child = watched(bare, command, theirs)
    os.close(theirs)
    said = b""

    def until(text):
        nonlocal said
        while not re.search(text, said):
            said += os.read(ours, 1000)

    try:
        until(rb"Where may the token be sent.*\? $")
        os.write(ours, server.url("/api").encode() + b"\n")
        until(rb"Choice \[2\]: $")
        os.write(ours, b"\n")
        browse(child.stdout.readline().decode().strip())
        until(rb"logged in as work")
        assert child.wait(LONG) == 0
    finally:
        child.kill()
        child.wait()
        os.close(ours)
    key = tmp_path / ".config/outrider/key"
    assert key.stat().st_mode & 0o777 == 0o600 and str(key).encode() in said
    assert outrider("get", "-f", "--oauth", "work", server.url("/api"), env=bare).returncode == 0
