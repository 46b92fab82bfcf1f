# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""One credential in a service, and everything at once: refreshes, callers that go away, logins, and logouts.

The server forgives nothing: a refresh token that is used twice ends its login. With OUTRIDER_TRIALS=1000 there are as
many rounds of each.
"""

import os
import random
import time

import contract
import pytest
from authorization_server import is_alive, served
from credential_process import Service, lasting, serving

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

TRIALS = int(os.environ.get("OUTRIDER_TRIALS", "40"))


server = served()


@pytest.fixture
def service(server, store, tmp_path):
    store.put(server, server.issue())
    with Service(store, tmp_path / "log", tmp_path, level="error") as service:
        service.adopt(store, server, refreshWindow=False, revocationUrl=server.url("/revoke"))
        yield service


def start_request(service, server, store):
    return service.start("data.send", url=server.url("/api"), auth={"oauth": store.name})


def replies(service, numbers):
    """By number."""
    found = {}
    while set(numbers) - set(found):
        message = service.heard()
        assert message, "the service ended"
        if "id" in message:
            found[message["id"]] = message
    return found


def works(service, server, store):
    return service.reply(start_request(service, server, store))["result"].get("status") == 200


def refused_once(service, server, store):
    """A refused token, its refresh, and the second sending."""
    server.expire()
    assert works(service, server, store)


def test_whenever_callers_go_away_the_refresh_is_kept(service, server, store):
    """At any moment of it some or all of them do."""
    dice, lasts, cancelled = random.Random(14), lasting(lambda: refused_once(service, server, store)), 0
    for trial in range(TRIALS):
        server.expire()
        numbers = [start_request(service, server, store) for _ in range(1 + trial % 3)]
        # not to wait for something, but to hit any moment
        time.sleep(dice.uniform(0, 1.1) * lasts)
        for number in numbers[trial % 2:] or numbers:
            service.tell("$/cancelRequest", id=number)
        found = replies(service, numbers)
        gone = [one for one in found.values() if "error" in one]
        assert {one["error"]["code"] for one in gone} <= {-32800}
        assert {one["result"].get("status") for one in found.values() if "result" in one} <= {200}
        cancelled += len(gone)
        assert works(service, server, store)
    assert cancelled > TRIALS // 20, cancelled
    assert set(server.outcomes()) == {"ok"} and len(server.families) == 1
    # none was for nothing: each generation is one exchange
    assert store.read().generation == 1 + len(server.outcomes())


def test_whenever_clients_disconnect_the_refresh_is_kept(server, store, tmp_path):
    store.put(server, server.issue())
    environment = {**store.service_environment, "TMPDIR": str(tmp_path)}
    log = tmp_path / "log"
    with serving(environment, tmp_path / "s") as path, Service(store, log, tmp_path, level="error") as other:
        other.adopt(store, server, refreshWindow=False)
        dice, lasts = random.Random(15), lasting(lambda: refused_once(other, server, store))
        request = {"url": server.url("/api"), "auth": {"oauth": store.name}}
        for _ in range(TRIALS):
            server.expire()
            with contract.Wire(str(path)) as wire:
                wire.start("data.send", request)
                time.sleep(dice.uniform(0, 1.1) * lasts)
            # another program sees the same moment
            assert works(other, server, store)
    assert set(server.outcomes()) == {"ok"}
    assert store.read().generation == 1 + len(server.outcomes())


def token_of(given):
    return {"accessToken": given["access_token"], "refreshToken": given["refresh_token"]}


def test_logins_and_logouts_at_any_moment_of_a_refresh(service, server, store):
    """Who logs in last has what he logged in to, who logs out last leaves nothing alive; the service knows that."""
    dice, lasts = random.Random(22), lasting(lambda: refused_once(service, server, store))
    ends = {"in": 0, "out": 0}
    for trial in range(TRIALS):
        what = ["out", "in", "both"][trial % 3]
        old, new = server.families[-1], None
        server.expire()
        numbers = [start_request(service, server, store) for _ in range(3)]
        time.sleep(dice.uniform(0, 1.1) * lasts)
        changes = []
        if what != "out":
            given = server.issue()
            new = server.families[-1]
            changes.append(("oauth.set", {"credential": store.name, "token": token_of(given)}))
        if what != "in":
            changes.append(("oauth.revoke", {"credential": store.name}))
        dice.shuffle(changes)
        for method, params in changes:
            numbers.append(service.start(method, **params))
            time.sleep(dice.choice([0, dice.uniform(0, 0.5) * lasts]))
        found = replies(service, numbers)
        assert all("result" in one for one in found.values()), found
        kept = store.read()
        state = service.call("oauth.get", credential=store.name)["result"]["state"]
        if kept.state == "ready":
            # the login was the last
            assert new and is_alive(new), (trial, what)
            assert what == "in" or not is_alive(old), (trial, what)
            assert state == "ready" and works(service, server, store), (trial, what, state)
            newest = store.read()
            assert newest.access in new.access, (trial, what)
            ends["in"] += 1
        else:
            assert kept.state == "empty" and what != "in", (trial, what, kept)
            assert not is_alive(new or old), (trial, what)
            assert state in ("empty", "needsLogin") and not works(service, server, store), (trial, what, state)
            ends["out"] += 1
            service.call("oauth.set", credential=store.name, token=token_of(server.issue()))
            assert works(service, server, store), (trial, what)
    assert min(ends.values()) > TRIALS // 5, ends
    assert "reuse" not in server.outcomes() and "replayed" not in server.outcomes()


def test_a_service_without_tokens_sees_that_somebody_logged_in_elsewhere(server, store, clocks, tmp_path):
    """Before there were any, and after a logout; no call has to tell it."""
    store.environment.update(clocks.environment)
    with Service(store, tmp_path / "log", tmp_path) as service, Service(store, tmp_path / "log", tmp_path) as other:
        for one in (service, other):
            one.adopt(store, server, revocationUrl=server.url("/revoke"))
        for _ in range(2):
            assert not works(service, server, store)
            other.call("oauth.set", credential=store.name, token=token_of(server.issue()))
            clocks.jump(wall=3, boot=3)
            assert works(service, server, store)
            assert service.call("oauth.revoke", credential=store.name)["result"] == {"revoked": True}
    assert server.outcomes() == []
