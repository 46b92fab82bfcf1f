# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What another program does to a credential that a service knows; and logouts, deletions and logins that do nothing."""

import subprocess
import threading

import contract
import pytest
from authorization_server import Authorizing, served
from credential_process import LONG, Service
from shared_credential import forget, make, sent, shown, start_request
from shell import outrider, refused
from shell_login import logged_in, making, token

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


server = served()


# What another program has taken away, or brought


def test_a_credential_that_was_forgotten_in_a_shell_is_handed_out_no_more(services, store, server):
    store.put(server, server.issue())
    service, _ = services
    make(service, server)
    assert "result" in service.call("oauth.token", credential="work")
    assert store.erase(spec=True, revoke=False) == []
    assert service.call("oauth.token", credential="work")["error"]["code"] == -32012


def test_a_request_does_not_use_what_was_forgotten_in_a_shell(services, store, server, clocks):
    store.put(server, server.issue())
    service, _ = services
    make(service, server)
    assert sent(service, server)["status"] == 200
    assert store.erase(spec=True, revoke=False) == []
    clocks.jump(boot=3)
    assert "no credential named work" in str(sent(service, server)["error"])
    assert len(shown(server)) == 1


def test_a_logout_in_another_program_is_seen(services, server):
    one, other = services
    make(one, server, tokens=server.issue(), revocationUrl=server.url("/revoke"))
    make(other, server, revocationUrl=server.url("/revoke"))
    assert "result" in one.call("oauth.token", credential="work")
    assert other.call("oauth.revoke", credential="work")["result"] == {"revoked": True}
    assert one.call("oauth.list")["result"]["credentials"][0]["state"] == "empty"
    assert one.call("oauth.token", credential="work")["error"]["code"] == -32018
    assert one.call("oauth.get", credential="work")["result"]["state"] == "empty"


def test_a_credential_that_was_made_anew_works_in_programs_that_knew_the_old_one(services, server, clocks):
    one, other = services
    make(one, server, tokens=server.issue())
    for _ in range(3):
        assert "result" in one.call("oauth.refresh", credential="work")
    server.revoke_all()
    assert sent(one, server)["error"]["code"] == 1310
    forget(other)
    make(other, server, tokens=server.issue())
    clocks.jump(boot=3)
    assert sent(one, server)["status"] == 200


def test_tokens_that_are_cleared_are_never_those_of_a_newer_login(store, server, tmp_path):
    store.put(server, server.issue())
    with Service(store, tmp_path / "log", tmp_path) as service:
        make(service, server, onRefreshFailure="clear")
        server.revoke_all()
        server.stall = "commit"
        number = service.start("oauth.refresh", credential="work")
        with server.changed:
            assert server.changed.wait_for(lambda: "/token" in server.arrived, LONG)
        # a login begins meanwhile, and waits for the lock
        order = store.order((4, "store"), (6, store.spec(server)), (7, store.secrets(server.issue())))
        login = store.start(order)
        server.stall = None
        server.go.set()
        newer = store.one(store.heard(login))
        assert "error" in service.reply(number)
        # everything was erased before this result
        assert "result" in service.call("oauth.set", credential="work", hold=True)
    kept = store.read()
    assert (kept.state, kept.has_refresh_token) == ("ready", True) and kept.generation == newer.generation


def test_a_request_that_waits_for_a_login_hears_of_one_in_another_program(services, server):
    one, other = services
    make(one, server, tokens=server.issue(), onRefreshFailure="reauthorize")
    server.revoke_all()
    number = start_request(one, server)
    server.received("/token")
    tokens = server.issue()
    given = {"accessToken": tokens["access_token"], "refreshToken": tokens["refresh_token"]}
    assert "result" in other.call("oauth.set", credential="work", token=given)
    assert one.reply(number)["result"]["status"] == 200


def test_secrets_of_a_credential_that_is_not_made_do_not_stay(store, server, tmp_path):
    planted = [f"planted-{what}-0123456789abcdef" for what in ("issuer", "taken")]
    with Service(store, tmp_path / "log", tmp_path) as service:
        make(service, server, tokens=server.issue())
        params = {"name": "work", "clientId": "cli", "grant": "clientCredentials", "persist": "disk"}
        for more in ({"issuer": server.url("/nobody"), "clientSecret": planted[0]},
                     {"tokenUrl": server.url("/token"), "clientSecret": planted[1]}):
            assert "error" in service.call("oauth.create", **params, **more)
        assert service.remembers(planted) == set()


# Logouts and deletions that do nothing


@pytest.fixture
def locked(tmp_path):
    """A key that is not to be had while there is a file of that name."""
    mark, command = tmp_path / "locked", tmp_path / "command"
    command.write_text(f"#!/bin/sh\n[ -e {mark} ] && exit 1\necho {'ab' * 32}\n")
    command.chmod(0o700)
    return mark, ["command", str(command)]


def test_a_logout_that_forgot_nothing_says_so(locked, store, server, tmp_path):
    mark, store.key = locked
    store.put(server, server.issue())
    with Service(store, tmp_path / "log", tmp_path) as service:
        make(service, server, revocationUrl=server.url("/revoke"), events=True)
        mark.touch()
        for method in ("oauth.revoke", "oauth.delete"):
            assert service.call(method, credential="work")["error"]["code"] == -32018
        mark.unlink()
        assert b'"event":"deleted"' not in service.said
        assert sent(service, server)["status"] == 200
        forget(service)
        assert b'"event":"deleted"' in service.said
    assert store.read() is None


def test_what_is_kept_in_memory_is_listed_while_the_store_is_locked(locked, store, server, tmp_path):
    mark, store.key = locked
    store.put(server, server.issue())
    with Service(store, tmp_path / "log", tmp_path) as service:
        make(service, server, name="mine", tokens=server.issue(), persist="memory")
        mark.touch()
        listed = service.call("oauth.list")["result"]
        assert [one["credential"] for one in listed["credentials"]] == ["mine"]
        assert listed["error"]["kind"] == "store"
        mark.unlink()
        listed = service.call("oauth.list")["result"]
        assert [one["credential"] for one in listed["credentials"]] == ["mine", "work"] and "error" not in listed


class Hesitant(Authorizing):
    """Thinks before it revokes."""

    def __init__(self):
        self.may_revoke = threading.Event()
        super().__init__()

    def respond(self, connection, path, request):
        if path == "/revoke":
            self.may_revoke.wait(LONG)
        return super().respond(connection, path, request)


@pytest.mark.parametrize("persist", ["disk", "memory"])
def test_a_credential_that_is_being_deleted_does_not_come_back(persist, store, tmp_path):
    with Hesitant() as server, Service(store, tmp_path / "log", tmp_path) as service:
        make(service, server, tokens=server.issue(), revocationUrl=server.url("/revoke"), persist=persist)
        deletion = service.start("oauth.delete", credential="work", revoke=True)
        with server.changed:
            assert server.changed.wait_for(lambda: "/revoke" in server.arrived, LONG)
        assert "error" in sent(service, server)
        server.may_revoke.set()
        assert "result" in service.reply(deletion)
        assert service.call("oauth.list")["result"]["credentials"] == []
        assert service.call("oauth.get", credential="work")["error"]["code"] == -32012
        assert shown(server) == []


# Tokens that do not last


@pytest.mark.parametrize("window", [None, False])
def test_a_token_that_never_lasts_as_long_as_is_wanted_is_refreshed_once(window, store, server, tmp_path):
    server.lifetime = 30
    store.put(server, server.issue())
    with Service(store, tmp_path / "log", tmp_path) as service:
        make(service, server, **({} if window is None else {"refreshWindow": window}))
        for _ in range(8):
            assert "result" in service.call("oauth.token", credential="work", minValidity=60)
    assert server.outcomes() == ["ok"]


def test_what_is_kept_in_memory_outlives_the_command_that_logs_in(env, server):
    assert outrider(*making(server, "--memory", "--stdio"), env=env).returncode == 2
    try:
        logged_in(env, server, "--memory")
        assert server.is_good(token(env))
        refused(outrider("token", "nope", env=env), 11, "nope", "outrider login")
    finally:
        outrider("call", "server.stop", "grace:=0", env=env)


def test_git_is_read_up_to_the_empty_line(store, server):
    store.put(server, server.issue())
    asked = b"protocol=https\nhost=evil.example\n\nhost=git.example\n\n"
    done = subprocess.run(
        [contract.binary(), "git-credential", "get", "--credential", "work", "--stdio"], input=asked,
        env=store.service_environment, capture_output=True, timeout=LONG)
    assert done.stdout == b"" and b"evil.example is no origin" in done.stderr
