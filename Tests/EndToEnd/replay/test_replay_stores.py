# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cassettes and stubs leave the named jars and caches of the user as they are."""

import contract
import pytest
from request_client import get, result
from tape_client import entries, stop
from tape_server import SECRET

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def run(tmp_path):
    """Sends requests in a session with a named jar and a named cache, in a service of its own."""

    def run(*urls, arguments=(), stubs=(), **params):
        stores = ("--jars", str(tmp_path / "jars"), "--caches", str(tmp_path / "caches"))
        with contract.Wire(arguments=(*stores, *arguments)) as wire:
            named = {"cookies": "work", "cache": "docs", **params}
            session = result(wire.call("session.create", named))["session"]
            for stub in stubs:
                result(wire.call("stub.add", {**stub, "session": session}))
            texts = [get(wire, url, session=session)["body"].get("text") for url in urls]
            seen = result(wire.call("cookies.list", {"session": session}))["cookies"]
            if "replay" in params:
                assert stop(wire, session=session)["missed"] == 0
            kept = result(wire.call("cookies.list", {"jar": "work"}))["cookies"]
            return texts, [[cookie["value"] for cookie in cookies] for cookies in (seen, kept)]

    return run


def test_a_replay_leaves_named_jars_and_caches_alone(run, server, tape):
    login, cookie, doc = server.url + "/login", server.url + "/cookie", server.url + "/doc"
    _, (seen, kept) = run(login, cookie, doc, replay={"path": tape, "mode": "all"})
    assert seen == kept == [SECRET]
    (first,), _ = run(doc)
    asked = server.count
    texts, (seen, kept) = run(login, cookie, doc, replay={"path": tape, "mode": "none"})
    assert server.count == asked and "***" in texts[1] and seen == ["***"], (texts, seen)
    assert kept == [SECRET]
    assert run(cookie, doc) == ([f"sid={SECRET}", first], [[SECRET], [SECRET]])


def test_a_stub_leaves_named_jars_and_caches_alone(run, server):
    login = {"url": "/login", "response": {"text": "in", "headers": {"Set-Cookie": "sid=staged; Path=/; Max-Age=999"}}}
    doc = {"url": "/doc", "response": {"text": "staged", "headers": {"Cache-Control": "max-age=9999"}}}
    texts, (seen, kept) = run(server.url + "/login", server.url + "/doc", server.url + "/doc", stubs=[login, doc])
    assert texts == ["in", "staged", "staged"] and seen == ["staged"] and kept == []
    texts, (seen, kept) = run(server.url + "/doc")
    assert texts[0].startswith("doc ") and seen == kept == []


def test_a_service_that_plays_has_stores_of_its_own(run, server, tape):
    run(server.url + "/login", server.url + "/doc", replay={"path": tape, "mode": "all"})
    texts, (seen, kept) = run(server.url + "/login", server.url + "/doc", arguments=("--replay", f"{tape}:none"))
    assert texts[1].startswith("doc ") and seen == kept == ["***"]
    _, (seen, kept) = run()
    assert seen == kept == [SECRET]


def test_a_recording_has_what_a_named_cache_has(run, server, tape):
    (kept,), _ = run(server.url + "/doc")
    (recorded,), _ = run(server.url + "/doc", replay={"path": tape, "mode": "all"})
    assert recorded != kept and len(entries(tape)) == 1
    assert run(server.url + "/doc")[0] == [kept]
    assert run(server.url + "/doc", replay={"path": tape, "mode": "none"})[0] == [recorded]
