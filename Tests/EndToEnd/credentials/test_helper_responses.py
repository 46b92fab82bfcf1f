# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Responses with tokens that are odd, compressed, cannot be read, or cannot be used."""

import gzip
import json
import zlib

import contract
import pytest
from authorization_server import DEVICE, served
from credential_process import Failure, Snapshot

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

# it forgives nothing: a client that loses its response has lost the login
server = served()


def with_member(text):
    """The tokens, and one more member as it is written."""
    return lambda tokens: json.dumps(tokens)[:-1].encode() + b", " + text + b"}"


ODD = {
    "half of a character": with_member(rb'"name": "x\ud83d"'),
    "another charset": with_member(b'"name": "M\xfcller"'),
    "a tab": with_member(b'"name": "a\tb"'),
    "a member twice": with_member(b'"x": 1, "x": 2'),
    "a byte order mark": lambda tokens: b"\xef\xbb\xbf" + json.dumps(tokens).encode(),
    "no error": lambda tokens: {**tokens, "error": False},
    "an error without a name": lambda tokens: {**tokens, "error": ""},
    "something after it": lambda tokens: json.dumps(tokens).encode() + b"\0",
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_tokens_are_taken_from_an_odd_response(server, store, odd):
    store.put(server, server.issue())
    server.odd = odd
    assert server.is_good(store.obtain(1).access)
    server.odd = None
    assert server.is_good(store.obtain(2).access)
    assert server.outcomes() == ["ok", "ok"]


@pytest.mark.parametrize(("coding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_a_coding_that_nobody_asked_for_is_undone(server, store, coding, pack):
    store.put(server, server.issue())
    original, asked = server.decided, []

    def decided(path, request):
        asked.append(request.field("accept-encoding"))
        status, fields, body = original(path, request)
        body = pack(body)
        return status, {**fields, "Content-Encoding": coding, "Content-Length": str(len(body))}, body

    server.decided = decided
    assert server.is_good(store.obtain(1).access)
    assert asked == ["identity"]


UNREADABLE = {
    "two tokens": with_member(b'"refresh_token": "another"'),
    "no token": with_member(b'"access_token": 7'),
    "another format": lambda tokens: "\n".join(f"{name}: {value}" for name, value in tokens.items()).encode(),
    "a coding that is not named": lambda tokens: gzip.compress(json.dumps(tokens).encode()),
    "a half": lambda tokens: json.dumps(tokens)[:30].encode(),
}


@pytest.mark.parametrize("odd", UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_is_asked_for_once_more_and_never_again(server, store, odd):
    """The server may have taken back the token that it was asked with."""
    store.put(server, server.issue())
    server.odd = odd
    failed = store.obtain(1)
    assert (failed.kind, failed.reason) == ("unknownOutcome", "outcome_unknown")
    server.odd = None
    for _ in range(3):
        failed = store.obtain(1)
        assert (failed.kind, failed.reason) == ("needsLogin", "refresh_outcome_unknown")
    assert server.outcomes() == ["ok", "reuse"]


def test_what_cannot_be_read_is_cleared_up_by_a_server_that_repeats(server, store):
    server.grace = 10
    store.put(server, server.issue())
    server.odd = UNREADABLE["a half"]
    assert store.obtain(1).kind == "unknownOutcome"
    server.odd = None
    assert server.is_good(store.obtain(1).access)
    assert server.outcomes() == ["ok", "replayed"]


UNUSABLE = {
    "a line": {"access_token": "good\nquit=1"},
    "a field": {"access_token": "good\r\nX-Injected: 1"},
    "a zero": {"access_token": "a\0b"},
    "no ASCII": {"access_token": "tok\u00e9n"},
    "a line in the other": {"refresh_token": "good\nbad"},
    "a field in the scheme": {"token_type": "mac\r\nX-Injected: 1"},
}


@pytest.mark.parametrize("members", UNUSABLE.values(), ids=UNUSABLE)
def test_tokens_that_no_token_can_be_are_not_kept(server, store, members):
    """A refresh and a login say so; it leads to no other request than a lost response does."""
    store.put(server, server.issue(), grant="device")
    server.odd = lambda tokens: {**tokens, **members}
    failed = store.obtain(1)
    assert (failed.kind, failed.reason) == ("unknownOutcome", "unusable_token")
    assert next(iter(members)) in failed.message and "good" not in failed.message
    server.devices["code"] = "read"
    failed = store.one(store.heard(store.start(store.obtaining(None, "deviceCode", "code"))))
    assert isinstance(failed, Failure) and failed.reason == "unusable_token"
    assert store.read() == Snapshot("work", "ready", 1, None, True)
    assert [one.grant for one in server.audit] == ["refresh_token", DEVICE]


@pytest.mark.parametrize(("status", "error"), [
    (503, "invalid_grant"), (504, "expired_token"), (500, "login_required"), (429, "access_denied"),
    (407, "access_denied"), (302, "invalid_grant"), (403, "access_denied"),
])  # fmt: skip
def test_a_word_of_what_stands_in_between_ends_no_login(server, store, status, error):
    store.put(server, server.issue())
    server.script = [(status, {}, {"error": error})]
    assert store.obtain(1).kind == "temporary"
    assert server.is_good(store.obtain(1).access)


# A login where the outcome of a refresh is unknown


@pytest.fixture
def interrupted(server, store):
    """A user was logged in, and the helper was killed after its request."""
    store.put(server, server.issue(), grant="device")
    server.stall = "head"
    process = store.start(store.obtaining(1))
    server.received("/token")
    process.kill()
    process.communicate()
    server.stall = None
    server.go.set()
    server.devices["code"] = "read"
    return store.obtaining(None, "deviceCode", "code")


def test_a_login_without_a_refresh_token_leaves_none_of_whoever_was_there(server, store, interrupted):
    server.odd = lambda tokens: {name: value for name, value in tokens.items() if name != "refresh_token"}
    found = store.one(store.heard(store.start(interrupted)))
    assert server.is_good(found.access) and not found.has_refresh_token
    server.odd = None
    assert store.obtain(found.generation).reason == "no_refresh_token"
    assert server.outcomes() == ["ok"] and server.outcomes(DEVICE) == ["ok"]


def test_a_login_whose_response_is_lost_sends_nothing_else(server, store, interrupted):
    server.cuts = "head"
    failed = store.one(store.heard(store.start(interrupted)))
    assert (failed.kind, failed.reason) == ("unknownOutcome", "outcome_unknown")
    assert server.outcomes() == ["ok"] and server.outcomes(DEVICE) == ["ok"]
