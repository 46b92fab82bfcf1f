# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Revalidations in the background keep the limits of their session."""

import threading
import time

import contract
import pytest
from cache_server import Reply
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

FIELDS = (("Cache-Control", "max-age=0, stale-while-revalidate=600"), ("ETag", '"1"'))


def session(wire, cache=True, **limits):
    return result(wire.call("session.create", {"cache": cache, "limits": limits}))["session"]


def counts(wire, name):
    return result(wire.call("session.get", {"session": name}))["requests"]


def reached(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def fetch(wire, url, name, **more):
    return result(wire.call("data.send", {"url": url, "session": name, **more}))["cache"]["status"]


def test_a_revalidation_in_the_background_waits_for_the_rate(wire, server):
    url, seen = server.script(lambda _, sent: Reply(status=304 if "If-None-Match" in sent else 200, fields=FIELDS))
    name = session(wire, rate={"requests": 2, "seconds": 86_400})
    assert [fetch(wire, url, name) for _ in range(2)] == ["miss", "updating"]
    assert len(seen) == 1
    result(wire.call("session.update", {"session": name, "limits": {}}))
    reached(lambda: len(seen) == 2)
    assert "If-None-Match" in seen[1][2]


def test_the_wait_of_a_session_holds_up_no_other(wire, server):
    url, seen = server.script(lambda _, sent: Reply(status=304 if "If-None-Match" in sent else 200, fields=FIELDS))
    slow = session(wire, "docs", rate={"requests": 2, "seconds": 86_400})
    assert [fetch(wire, url, slow) for _ in range(2)] == ["miss", "updating"]
    assert fetch(wire, url, session(wire, "docs")) == "updating"
    reached(lambda: len(seen) == 2)


def test_a_revalidation_in_the_background_takes_a_turn(wire, server):
    begun, over = threading.Event(), threading.Event()

    def reply(number, _):
        if number == 2:
            begun.set()
            over.wait(30)
        return Reply(fields=FIELDS)

    url, seen = server.script(reply)
    other, others = server.script(Reply())
    name = session(wire, concurrent=1)
    try:
        # the request itself has the only turn while the revalidation asks for one
        assert [fetch(wire, url, name) for _ in range(2)] == ["miss", "updating"]
        assert begun.wait(20)
        assert counts(wire, name)["running"] == 1
        call = wire.start("data.send", {"url": other, "session": name})
        reached(lambda: others or counts(wire, name)["waiting"] == 1)
        assert not others
    finally:
        over.set()
    assert result(wire.replies([call])[call])["ok"] and len(seen) == 2
    reached(lambda: counts(wire, name)["running"] == 0)


def test_a_revalidation_that_waited_is_not_sent_for_what_is_gone(wire, server):
    """Its entry was removed while it waited for a turn, which the next request gets."""
    url, seen = server.script(Reply(fields=FIELDS))
    other, others = server.script(Reply())
    name = session(wire, rate={"requests": 2, "seconds": 86_400})
    assert [fetch(wire, url, name) for _ in range(2)] == ["miss", "updating"]
    result(wire.call("cache.delete", {"session": name, "url": url}))
    result(wire.call("session.update", {"session": name, "limits": {"concurrent": 1}}))
    assert fetch(wire, other, name) == "miss"
    reached(lambda: counts(wire, name)["running"] == 0)
    assert len(seen) == 1 and len(others) == 1


def test_the_end_of_a_session_ends_the_wait(wire, server):
    url, seen = server.script(Reply(fields=FIELDS))
    name = session(wire, rate={"requests": 2, "seconds": 86_400})
    assert [fetch(wire, url, name) for _ in range(2)] == ["miss", "updating"]
    result(wire.call("session.close", {"session": name}))
    assert wire.call("diagnostics.echo", {"a": 1})["result"] == {"a": 1} and len(seen) == 1
