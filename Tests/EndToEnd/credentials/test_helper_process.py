# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The process that keeps credentials: one refresh for all, whatever servers, disks and other processes do."""

import pathlib

import contract
import pytest
from authorization_server import Authorizing, Refused, served
from credential_process import Snapshot

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


server = served()


def test_one_request_for_two_hundred_processes(server, store):
    """All of them saw the same token expire, and all get the same new one."""
    assert store.put(server, server.issue()).generation == 1
    processes = [store.start(store.obtaining(1)) for _ in range(200)]
    responses = [store.one(store.heard(process, 240)) for process in processes]
    assert {response.generation for response in responses} == {2}
    assert len({response.access for response in responses}) == 1
    assert server.outcomes() == ["ok"]
    assert server.is_good(responses[0].access)


def test_tokens_are_used_up_one_after_the_other(server, store):
    store.put(server, server.issue())
    for generation in range(1, 6):
        assert store.obtain(generation).generation == generation + 1
    # a late process gets what there is
    assert store.obtain(2).generation == 6
    assert server.outcomes() == ["ok"] * 5


def test_the_helper_tells_nobody_a_refresh_token_or_a_client_secret(store):
    with Authorizing(secret="a-secret-that-nobody-may-see") as server:
        secrets = [server.secret, server.issue()["refresh_token"]]
        store.put(server, {"refresh_token": secrets[1]})
        said = []
        for _ in range(2):
            process = store.start(store.obtaining())
            said += process.communicate()
        for work in ("read", "list", "introspect"):
            said += store.start(store.order((4, work), (5, store.name))).communicate()
        secrets += [token for family in server.families for token in family.refresh]
        assert len(secrets) == 5
        files = [path.read_bytes() for path in pathlib.Path(store.directory).rglob("*") if path.is_file()]
        assert len(files) >= 4
        for secret in secrets:
            assert not any(secret.encode() in data for data in said + files), secret


@pytest.mark.parametrize("place", ["commit", "head", "body"])
def test_a_lost_response_is_requested_once_more(server, store, place):
    """The server had given other tokens already, or had not: within its grace both end well."""
    server.grace = 10
    server.cuts = [place]
    store.put(server, server.issue())
    found = store.obtain(1)
    assert found.generation == 2 and server.is_good(found.access)
    assert server.outcomes() == {"commit": ["cut", "ok"]}.get(place, ["ok", "replayed"])


@pytest.mark.parametrize("place", ["head", "body"])
def test_a_server_that_forgives_nothing_is_asked_twice_and_never_again(server, store, place):
    """The login is lost; why is said, and nothing is deleted."""
    server.cuts = [place]
    store.put(server, server.issue())
    lost = store.obtain(1)
    assert (lost.kind, lost.reason) == ("needsLogin", "refresh_outcome_unknown")
    assert server.outcomes() == ["ok", "reuse"]
    assert store.obtain(1) == lost
    assert store.read() == Snapshot("work", "needsLogin", 1, None, True, "refresh_outcome_unknown")
    assert server.outcomes() == ["ok", "reuse"]


def test_a_body_that_ends_after_the_tokens_is_enough(server, store):
    server.odd = lambda tokens: {**tokens, "more": "x" * 2000}
    server.cuts = ["body"]
    store.put(server, server.issue())
    found = store.obtain(1)
    assert found.generation == 2 and server.is_good(found.access)
    assert server.outcomes() == ["ok"]


def test_refused_tokens_need_a_login_and_are_not_sent_again(server, store):
    store.put(server, server.issue())
    server.revoke_all()
    refused = store.obtain(1)
    assert (refused.kind, refused.reason) == ("needsLogin", "invalid_grant")
    assert [store.obtain(1) for _ in range(3)] == [refused] * 3
    assert server.outcomes() == ["invalid_grant"]
    # a new login
    store.put(server, server.issue())
    assert store.obtain(2).generation == 3


def test_an_outage_is_not_made_worse_by_those_who_wait(server, store):
    store.put(server, server.issue())
    server.script = [(503, {}, b"")] * 100
    processes = [store.start(store.obtaining(1)) for _ in range(60)]
    responses = [store.heard(process) for process in processes]
    assert {response.kind for response in responses} == {"temporary"}
    assert {response.reason for response in responses} <= {"server_unavailable", "paused"}
    assert 1 <= len(server.audit) <= 12
    server.script.clear()
    # an explicit oauth.refresh does not wait
    assert store.obtain().generation == 2
    assert store.obtain(2).generation == 3


def test_a_server_that_nobody_reaches_leaves_all_as_it_was(server, store):
    store.put(server, server.issue())
    server.__exit__()
    failed = store.obtain(1)
    assert (failed.kind, failed.reason) == ("temporary", "unreachable")
    assert store.read() == Snapshot("work", "ready", 1, None, True)
    assert not (store.folder / "intent").exists()


@pytest.mark.parametrize(
    ("odd", "kind", "reason"),
    [
        (lambda tokens: b"<html>Sign in to the hotel's network</html>", "temporary", "malformed_answer"),
        (lambda tokens: {}, "temporary", "malformed_answer"),
        # here the server may have meant to give some
        (lambda tokens: b'{"access_token":"a","access_token":"b"}', "unknownOutcome", "outcome_unknown"),
        (lambda tokens: {**tokens, "access_token": 7}, "unknownOutcome", "outcome_unknown"),
    ],
)
def test_a_response_without_a_token_changes_nothing(server, store, odd, kind, reason):
    server.rotates, server.odd = False, odd
    store.put(server, server.issue())
    failed = store.obtain(1)
    assert (failed.kind, failed.reason) == (kind, reason)
    server.odd = None
    assert store.obtain(1).generation == 2


@pytest.mark.parametrize("expires", ["3600", -1, 1e18, None, 2**64, [], pytest.param(10**400, id="digits")])
def test_odd_lifetimes_are_taken_for_what_they_can_mean(server, store, expires):
    server.odd = lambda tokens: {**tokens, "expires_in": expires}
    store.put(server, server.issue())
    found = store.obtain(1)
    assert found.generation == 2 and server.is_good(found.access)


def test_a_server_that_does_not_rotate_keeps_its_token(server, store):
    server.rotates = False
    store.put(server, server.issue())
    assert [store.obtain(generation).generation for generation in (1, 2, 3)] == [2, 3, 4]
    assert len({one.form["refresh_token"] for one in server.audit}) == 1


def test_logging_out_revokes_both_tokens_and_leaves_the_lock(server, store):
    store.put(server, server.issue())
    found = store.obtain(1)
    assert store.erase() == []
    assert [one.form["token_type_hint"] for one in server.audit[1:]] == ["refresh_token", "access_token"]
    assert not server.is_good(found.access)
    assert store.read() == Snapshot("work", "empty", 3, None, False)
    assert store.obtain(3).reason == "no_refresh_token"
    assert store.erase(spec=True) == []
    assert store.read() is None and store.list() == []
    assert [path.name for path in store.folder.iterdir()] == ["lock"]


def test_logging_out_forgets_even_if_the_server_does_not_respond(server, store):
    store.put(server, server.issue())
    server.__exit__()
    assert store.erase().kind == "temporary"
    assert store.read().state == "empty"


def test_a_name_belongs_to_one_identity(server, store):
    store.put(server, server.issue())
    refused = store.put(server, issuer="https://elsewhere.example")
    assert (refused.kind, refused.reason) == ("config", "identity_mismatch")
    # the same one may be told again, and keeps its tokens
    assert store.put(server) == Snapshot("work", "ready", 1, None, True)


def test_grants_without_a_refresh_token(server, store):
    with Authorizing(secret="hush") as server:
        store.put(server, grant="clientCredentials")
        order = store.order((4, "obtain"), (5, "work"), (9, b"\1\0\0\0\x11clientCredentials"), (10, 0))
        found = store.one(store.heard(store.start(order)))
        assert found.generation == 1 and server.is_good(found.access) and not found.has_refresh_token
        assert [one.form["scope"] for one in server.audit] == ["read"]


def test_a_credential_that_nobody_has(server, store):
    assert store.read() is None
    assert store.obtain(0).reason == "unknown_credential"


@pytest.mark.parametrize("refresh", [True, False])
def test_a_server_that_revokes_no_access_tokens_has_revoked_the_login_by_the_other(server, store, refresh):
    original = server.at_revoke

    def revoke(request):
        if request.form["token_type_hint"] == "access_token" or not refresh:
            raise Refused("unsupported_token_type")
        return original(request)

    server.at_revoke = revoke
    store.put(server, server.issue())
    store.obtain(1)
    erased = store.erase(spec=True)
    assert erased == [] if refresh else erased.reason == "unsupported_token_type"
    assert server.families[0].is_dead is refresh
    assert [one.form["token_type_hint"] for one in server.audit[1:]] == ["refresh_token", "access_token"]
