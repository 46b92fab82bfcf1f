# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What is too long to be kept is refused before it is written; what is written is read again."""

import contract
import pytest
from authorization_server import Authorizing, served
from credential_process import Snapshot

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


server = served()


@pytest.mark.parametrize("size", [600_000, 1_048_000, 1_100_000])
def test_secrets_that_are_too_long_are_refused_at_the_door(server, store, size):
    """And spoil nothing of what is there."""
    store.put(server, server.issue())
    server.secret = "x" * size
    refused = store.put(server)
    server.secret = None
    assert (refused.kind, refused.reason) == ("config", "too_long"), refused
    assert store.read() == Snapshot("work", "ready", 1, None, True)
    assert server.is_good(store.obtain(1).access)


def test_the_longest_that_is_kept_is_read_again_with_the_longest_response_in_it(store):
    with Authorizing(secret="s" * 500_000) as server:
        store.put(server, server.issue())
        original = server.tokens

        def tokens(family, refreshes=True):
            response = original(family, refreshes)
            family.access[long := response["access_token"] + "a" * 100_000] = family.access[response["access_token"]]
            return {**response, "access_token": long}

        server.tokens = tokens
        found = store.obtain(1)
        assert isinstance(found, Snapshot), found
        assert server.is_good(found.access) and store.read() == found
        # the next one is not sent: its response could not be kept
        refused = store.obtain(2)
        assert (refused.kind, refused.reason) == ("config", "too_long")
        assert server.outcomes() == ["ok"]
        assert store.erase(spec=True) == []
