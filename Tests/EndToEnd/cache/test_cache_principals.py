# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Whose the entries of a cache are: of a login, not of its tokens; and when they leave."""

import sqlite3

import contract
import pytest
import tls_server
from authorization_server import Authorizing
from cache_server import CacheServer, Reply
from credential_process import Service
from request_client import result
from shared_credential import forget, make

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture(scope="module")
def server():
    server = CacheServer()
    yield server
    server.close()


def test_entries_outlive_tokens_and_end_with_the_credential(server, store, tmp_path):
    """[AD1]"""
    url, _ = server.script(lambda number, _: Reply(str(number).encode()))
    origin = url.rpartition("/")[0] + "/"
    places = {"OUTRIDER_CACHES": str(tmp_path / "caches")}

    def call(service, method, **params):
        reply = service.call(method, **params)
        assert "result" in reply, reply
        return reply["result"]

    def status(service):
        return call(service, "data.send", url=url, cache="docs", auth={"oauth": "work"})["cache"]["status"]

    def stored(service):
        call(service, "cache.stats", cache="docs")
        return call(service, "cache.list", cache="docs")["entries"]

    with Authorizing() as logins:
        with Service(store, tmp_path / "log", tmp_path, **places) as service:
            make(service, logins, tokens=logins.issue(), origins=[origin, logins.url("/")])
            assert [status(service), status(service)] == ["miss", "hit"]
            call(service, "oauth.refresh", credential="work")
            assert status(service) == "hit" and len(stored(service)) == 1
        with Service(store, tmp_path / "log", tmp_path, **places) as service:
            assert status(service) == "hit"
            make(service, logins, tokens=logins.issue(), origins=[origin, logins.url("/")])
            assert [status(service), status(service)] == ["miss", "hit"]
            entries = stored(service)
            assert len(entries) == 2 and all("tags" not in entry for entry in entries)
            forget(service)
            assert stored(service) == []


def test_entries_of_a_jar_leave_when_it_is_cleared(wire, server):
    """[AD2]"""
    url, seen = server.script(lambda *_: Reply(fields=(("Cache-Control", "max-age=600"), ("Vary", "Cookie"))))
    session = result(wire.call("session.create", {"cookies": True, "cache": True}))["session"]
    cookie = {"session": session, "url": url, "setCookie": ["user=ada; HttpOnly"]}
    result(wire.call("cookies.set", cookie))

    def status():
        return result(wire.call("data.send", {"url": url, "session": session}))["cache"]["status"]

    assert [status(), status()] == ["miss", "hit"]
    result(wire.call("cookies.clear", {"session": session}))
    assert result(wire.call("cache.list", {"session": session}))["entries"] == []
    result(wire.call("cookies.set", cookie))
    assert status() == "miss" and len(seen) == 2


def jar_service(caches, jars):
    return contract.Wire(arguments=("--caches", str(caches), "--jars", str(jars)))


def test_jars_of_one_name_in_two_directories_share_no_response(server, tmp_path):
    """The HttpOnly cookie is alike, the user is not: only the identity of the jar tells them apart."""
    url, _ = server.script(lambda number, _: Reply(str(number).encode(), fields=(("Cache-Control", "max-age=600"),)))

    def fetch(user):
        with jar_service(tmp_path / "caches", tmp_path / user) as wire:
            for text in ("sid=1; Max-Age=900; HttpOnly", f"user={user}; Max-Age=900"):
                result(wire.call("cookies.set", {"jar": "work", "url": url, "setCookie": [text]}))
            session = result(wire.call("session.create", {"cookies": "work", "cache": "docs"}))["session"]
            found = result(wire.call("data.send", {"url": url, "session": session, "serialize": {"as": "text"}}))
            result(wire.call("cache.stats", {"cache": "docs"}))
            return found["cache"]["status"], found["body"]["text"]

    assert [fetch("ann"), fetch("bob"), fetch("ann")] == [("miss", "1"), ("miss", "2"), ("hit", "1")]
    # a jar of an earlier version gets an identity at its first use, and keeps it
    with sqlite3.connect(tmp_path / "ann/work/jar.db") as database:
        database.execute("DROP TABLE identity")
    assert [fetch("ann"), fetch("ann")] == [("miss", "3"), ("hit", "3")]


class Lasting(tls_server.Page):
    def end_headers(self):
        self.send_header("Cache-Control", "max-age=600")
        super().end_headers()


def judged(wire, spec, trust):
    """A response, and whether the client was asked about the server; each time it says the same."""
    number, is_asked = wire.start("data.send", spec), False
    while "method" in (message := wire.receive()):
        is_asked = True
        wire.send({"jsonrpc": "2.0", "id": message["id"], "result": {"trust": trust}})
    assert message["id"] == number
    return result(message), is_asked


def test_a_server_that_one_client_trusts_gives_nothing_to_another_through_the_cache(listening, listen):
    """The answer of one client's code counted for all clients with a callback of that name."""
    url = f"https://localhost:{listen('other', page=Lasting)}/"
    spec = {"url": url, "cache": "docs", "trust": {"callback": "ask"}}
    with contract.Wire(listening) as one, contract.Wire(listening) as other:
        first, is_asked = judged(one, spec, True)
        assert first["ok"] and first["cache"]["status"] == "miss" and is_asked
        again, is_asked = judged(one, spec, True)
        assert again["cache"]["status"] == "hit" and not is_asked
        refused, is_asked = judged(other, spec, False)
        assert refused["error"]["code"] == 1512 and is_asked, refused
