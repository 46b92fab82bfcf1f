# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The clocks of the boot as the kernel itself gives them to processes in a time namespace (time_namespaces(7)): hours
ahead, as after a sleep that the calendar does not know of, and hours behind, as in a container that was moved here.

`clocks` sets the calendar beside that.
"""

import functools
import os
import subprocess
import time

import contract
import pytest
from authorization_server import served
from credential_process import LONG, Service, Snapshot

HOUR, DAY = 3600, 86400


def within(seconds):
    """What a command is to begin with, so that both clocks of its boot are so far ahead."""
    shifts = ["--boottime", str(seconds), "--monotonic", str(seconds)]
    return ["unshare", "--time", "--fork", "--kill-child", *shifts, "--"]


@functools.lru_cache(maxsize=None)
def refusal():
    """Why there are no such namespaces here; empty if there are."""
    if contract.binary() is None:
        return "nothing is built; make build builds it"
    if os.geteuid() != 0:
        return "only root makes time namespaces"
    try:
        found = subprocess.run([*within(DAY), "cat", "/proc/uptime"], capture_output=True, text=True, timeout=LONG)
    except OSError as error:
        return f"unshare cannot be run: {error}"
    if found.returncode or float(found.stdout.split()[0]) < DAY:
        return f"the kernel gives no time namespaces: {found.stderr.strip() or found.stdout}"
    return ""


pytestmark = pytest.mark.skipif(bool(refusal()), reason=refusal() or "there are some")

AHEAD = within(8 * HOUR)
# so far back that it is as if the machine had just started
BEHIND = within(-int(time.clock_gettime(time.CLOCK_BOOTTIME) * 0.9))


server = served(grace=10, lifetime=HOUR)


@pytest.fixture
def token(server, store, clocks):
    """What the credential has: it lasts an hour from now on."""
    store.environment.update(clocks.environment)
    store.put(server, server.issue())
    found = store.obtain(1)
    assert found.generation == 2 and store.obtain(1) == found and server.outcomes() == ["ok"]
    return found.access


def sent(server):
    """The tokens that requests came with; none had ended."""
    requests = [one for one in server.audit if one.path == "/api"]
    assert {one.outcome for one in requests} == {"ok"}
    return [one.authorization.split()[1] for one in requests]


def use(service, server, store):
    reply = service.call("data.send", url=server.url("/api"), auth={"oauth": store.name})
    assert reply["result"]["status"] == 200, reply


def test_eight_hours_ahead_a_keeper_refreshes_at_once(server, store, token):
    found = store.obtain(1, before=AHEAD)
    assert isinstance(found, Snapshot) and found.generation == 3 and found.access != token
    # each service finds it good
    assert store.obtain(2, before=AHEAD) == found
    assert server.outcomes() == ["ok"] * 2


def test_eight_hours_ahead_a_service_sends_no_token_of_before(server, store, token, tmp_path):
    with Service(store, tmp_path / "log", tmp_path, before=AHEAD) as service:
        service.adopt(store, server)
        for _ in range(3):
            use(service, server, store)
    assert token not in sent(server) and len(set(sent(server))) == 1
    assert server.outcomes() == ["ok"] * 2


def test_behind_a_token_is_used_until_the_calendar_says_that_it_has_ended(server, store, clocks, token, tmp_path):
    """The clock of the boot would have it last for hours more."""
    with Service(store, tmp_path / "log", tmp_path, before=BEHIND) as service:
        service.adopt(store, server)
        use(service, server, store)
        assert sent(server) == [token]
        clocks.jump(wall=HOUR)
        server.expire()
        use(service, server, store)
        assert sent(server)[1] != token
    assert server.outcomes() == ["ok"] * 2


def test_behind_an_hour_ends_a_token_though_the_calendar_is_set_back_meanwhile(server, store, clocks, token, tmp_path):
    """What was read of the other clock is carried over to this one, which then counts."""
    with Service(store, tmp_path / "log", tmp_path, before=BEHIND) as service:
        service.adopt(store, server)
        use(service, server, store)
        clocks.jump(wall=-DAY, boot=HOUR)
        server.expire()
        use(service, server, store)
        assert sent(server)[0] == token and sent(server)[1] != token
    assert server.outcomes() == ["ok"] * 2


def test_where_both_clocks_are_behind_nobody_knows_and_the_token_has_ended(server, store, clocks, token):
    clocks.jump(wall=-DAY)
    found = store.obtain(1, before=BEHIND)
    assert found.generation == 3 and found.access != token
    assert server.outcomes() == ["ok"] * 2


def test_what_was_written_hours_ahead_is_good_here(server, store, clocks):
    """And for as long as it is: the other way round it is the same."""
    store.environment.update(clocks.environment)
    store.put(server, server.issue())
    found = store.obtain(1, before=AHEAD)
    assert store.obtain(1) == found and server.outcomes() == ["ok"]
    clocks.jump(wall=HOUR)
    assert store.obtain(1).generation == 3 and server.outcomes() == ["ok"] * 2


@pytest.mark.parametrize(("first", "second"), [(AHEAD, []), ([], BEHIND)], ids=["was ahead", "is behind"])
def test_a_response_that_was_lost_under_another_clock_is_requested_once_more(server, store, first, second):
    """How old it is, the calendar says; within the grace that is soon enough."""
    store.put(server, server.issue())
    server.stall = "head"
    process = store.start(store.obtaining(1), before=first)
    server.received("/token", seconds=LONG)
    process.kill()
    store.heard(process)
    server.stall = None
    server.go.set()
    found = store.obtain(1, before=second)
    assert isinstance(found, Snapshot), found
    assert found.generation == 2 and server.is_good(found.access)
    assert server.outcomes() == ["ok", "replayed"]


def test_a_server_in_trouble_is_not_left_alone_for_hours(server, store, token):
    """What was written of a pause by another clock is no pause here that is longer than any."""
    server.script = [(503, {"Retry-After": "120"}, b"")]
    assert store.obtain(2, before=AHEAD).reason == "server_unavailable"
    assert store.obtain(2, before=AHEAD).reason == "paused"
    assert store.obtain(2).generation == 3
