# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""outrider credentials: what is kept, what seals it, and how that is chosen. Needs no service."""

import json
import os
import subprocess

import contract
import pytest
from authorization_server import Authorizing
from credential_process import Store

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


def test_a_key_file_is_made_and_what_it_is_worth_is_said(credentials, store, tmp_path):
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
    # what is there cannot be kept without one
    refused = credentials("key", "none")
    assert refused.returncode == 1 and "key_in_use" in refused.stderr
    assert credentials("key").stdout.startswith("sealed with the key in")


def test_what_is_sealed_is_sealed_anew_with_another_key(credentials, store, tmp_path):
    assert credentials("key", "file", str(tmp_path / "made")).returncode == 0
    store.key = ["file", str(tmp_path / "made")]
    with Authorizing() as server:
        store.put(server, server.issue())
        # one that gives no key changes nothing
        assert credentials("key", "command", "false").returncode == 1
        chosen = credentials("key", "command", "echo", "ab" * 32)
        assert chosen.returncode == 0, chosen.stderr
        (tmp_path / "made").unlink()
        assert credentials("list").stdout == "work\tready\t1\t-\n"
        store.key = ["command", "echo", "ab" * 32]
        assert store.obtain(1).generation == 2
        # without the old one there is no way to another
        store.environment["OUTRIDER_CREDENTIAL_KEY"] = "command:false"
        lost = credentials("key", "file", str(tmp_path / "third"))
        assert lost.returncode == 1 and "store_locked" in lost.stderr
        del store.environment["OUTRIDER_CREDENTIAL_KEY"]
        assert credentials("key").stdout.startswith("sealed with the key that echo")


def test_a_service_that_runs_goes_on_with_the_new_key(credentials, store, tmp_path):
    assert credentials("key", "file", str(tmp_path / "made")).returncode == 0
    store.key = ["file", str(tmp_path / "made")]
    with Authorizing() as server:
        store.put(server, server.issue())
        environment = {**store.environment, "OUTRIDER_CREDENTIALS": store.directory}
        command = [contract.binary(), "serve", "--stdio"]
        with subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as service:
            def refresh():
                print('{"jsonrpc":"2.0","id":1,"method":"oauth.refresh","params":{"credential":"work"}}',
                      file=service.stdin, flush=True)
                return json.loads(service.stdout.readline())["result"]["generation"]

            assert refresh() == 2
            assert credentials("key", "command", "echo", "ab" * 32).returncode == 0
            assert refresh() == 3
            service.stdin.close()


def test_a_passphrase_is_changed(credentials, store):
    chosen = credentials("key", "passphrase", said="correct horse\n")
    if "keyring did not take" in chosen.stderr:
        pytest.skip("the kernel has no keyrings here")
    try:
        store.key = ["passphrase"]
        with Authorizing() as server:
            store.put(server, server.issue())
            changed = credentials("key", "passphrase", said="battery staple\n")
            assert changed.returncode == 0, changed.stderr
            assert store.obtain(1).generation == 2
            credentials("lock")
            assert credentials("unlock", said="correct horse\n").returncode == 1
            # locked, and the old key is lost
            assert "store_locked" in credentials("key", "passphrase", said="another\n").stderr
            assert credentials("unlock", said="battery staple\n").returncode == 0
            assert store.obtain(2).generation == 3
    finally:
        credentials("lock")


def test_a_choice_that_gives_no_key_is_none(credentials):
    failed = credentials("key", "command", "false")
    assert failed.returncode == 1 and "status 1" in failed.stderr and "sealed with" not in failed.stderr
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


@pytest.fixture
def sealed(credentials, store, tmp_path):
    assert credentials("key", "file", str(tmp_path / "made")).returncode == 0
    store.key = ["file", str(tmp_path / "made")]
    return store


WAYS = {
    "as oauth.create takes it": lambda server, tokens: {
        "name": "work", "grant": "refresh", "issuer": server.issuer, "tokenUrl": server.url("/token"),
        "clientId": server.client, "clientSecret": server.secret, "clientAuth": "body",
        "token": {"accessToken": tokens["access_token"], "refreshToken": tokens["refresh_token"], "expiresIn": 60}},
    "as RFCs write it": lambda server, tokens: {
        "name": "work", "issuer": server.issuer, "token_endpoint": server.url("/token"), "client_id": server.client,
        "client_secret": server.secret, "token_endpoint_auth_method": "client_secret_post", **tokens,
        "id_token": "a.b.c", "scope": "read"},
    "with a number as text": lambda server, tokens: {
        "name": "work", "issuer": server.issuer, "token_endpoint": server.url("/token"), "client_id": server.client,
        "client_secret": server.secret, **tokens, "expires_in": "60"},
    "in camel case": lambda server, tokens: {
        "name": "work", "issuer": server.issuer, "tokenEndpoint": server.url("/token"), "clientId": server.client,
        "clientSecret": server.secret, "refreshToken": tokens["refresh_token"]},
    "with the rest from its issuer": lambda server, tokens: {
        "name": "work", "issuer": server.issuer, "client_id": server.client, "client_secret": server.secret,
        "refresh_token": tokens["refresh_token"]},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_credential_is_imported_without_the_service(credentials, sealed, way):
    with Authorizing(secret="client secret/+%") as server:
        tokens = server.issue()
        done = credentials("import", said=json.dumps(WAYS[way](server, tokens)))
        assert done.returncode == 0 and done.stdout.startswith("work\tready\t1\t"), done.stderr
        assert tokens["refresh_token"] not in done.stdout + done.stderr
        found = sealed.obtain(1)
        assert found.generation == 2 and server.is_good(found.access)
        assert server.outcomes() == ["ok"]


def test_no_service_sees_what_is_imported(credentials, sealed, tmp_path):
    """Not even the one that is asked what the issuer publishes."""
    path = tmp_path / "s"
    log = tmp_path / "log"
    command = [contract.binary(), "serve", "--socket", str(path), "--log-level", "trace", "--log-file", str(log)]
    with Authorizing(secret="client-secret-0123456789") as server, subprocess.Popen(
            command, stdin=subprocess.DEVNULL, env=sealed.environment) as service:
        try:
            contract.await_socket(path, service)
            tokens = server.issue()
            given = WAYS["with the rest from its issuer"](server, tokens)
            done = credentials("import", "--socket", str(path), said=json.dumps(given))
        finally:
            service.terminate()
        service.wait(20)
        assert done.returncode == 0, done.stderr
        assert any(one.startswith("/.well-known/") for one in server.arrived)
        for secret in (server.secret, tokens["refresh_token"]):
            assert secret not in log.read_text()


def test_an_import_keeps_what_it_does_not_say_and_no_other_client_takes_the_name(credentials, sealed):
    with Authorizing(secret="s") as server:
        given = WAYS["in camel case"](server, server.issue())
        assert credentials("import", said=json.dumps(given)).returncode == 0
        assert credentials("import", said=json.dumps({**given, "refreshToken": server.issue()["refresh_token"]}
                                                     )).stdout.startswith("work\tready\t2")
        other = credentials("import", said=json.dumps({**given, "clientId": "other"}))
        assert other.returncode == 1 and "identity_mismatch" in other.stderr and other.stdout == ""


@pytest.mark.parametrize(("said", "words"), [
    ("", ["no JSON"]), ("[]", ["object"]), ('{"name": "work"', ["no JSON"]),
    ('{"clientId": "a", "issuer": "https://a", "refresh_token": "r"}', ["name"]),
    ('{"name": "work", "clientId": "a", "refresh_token": "r"}', ["/tokenUrl"]),
    ('{"name": "work", "clientId": "a", "tokenUrl": "http://a.test/", "refresh_token": "r"}', ["/tokenUrl", "https"]),
    ('{"name": "work", "clientId": "a", "tokenUrl": "https://a", "password": "hunter2"}', ["/password"]),
    ('{"name": "work", "clientId": "a", "client_id": "b", "tokenUrl": "https://a"}',
     ["/client_id", "client_id says the same as another member"]),
    ('{"name": "work", "clientId": "a", "tokenUrl": "https://a", "token": {"accessToken": "b"}, "access_token": "c"}',
     ["/token", "token and tokens beside it exclude each other"]),
    ('{"name": "work", "clientId": "a", "tokenUrl": "https://a", "refresh_token": "\\u0001"}',
     ["/refreshToken", "refreshToken must be of printable"]),
    ('{"name": "work", "client_id": "a", "tokenUrl": "https://a", "access_token": "r", "persist": "memory"}',
     ["/persist", "persist must be disk"]),
    ('{"name": "work", "client_id": "a", "tokenUrl": "https://a", "token_endpoint_auth_method": "tls_client_auth"}',
     ["/token_endpoint_auth_method", "token_endpoint_auth_method must be"]),
    ('{"name": "work", "client_id": "a", "tokenUrl": "https://a"}', ["grant"]),
    ('{"name": "work", "grant": "callback", "callback": "x"}', ["/grant"]),
])  # fmt: skip
def test_what_cannot_be_imported_is_named_and_not_shown(credentials, sealed, said, words):
    done = credentials("import", said=said)
    assert done.returncode == 2 and done.stdout == "", done.stderr
    for word in words:
        assert word in done.stderr
    assert "hunter2" not in done.stderr
    assert sealed.list() == []


def test_without_a_key_nothing_is_imported(credentials):
    with Authorizing() as server:
        given = {**WAYS["in camel case"](server, server.issue()), "clientSecret": None}
        done = credentials("import", said=json.dumps(given))
    assert done.returncode == 1 and "outrider credentials key" in done.stderr
