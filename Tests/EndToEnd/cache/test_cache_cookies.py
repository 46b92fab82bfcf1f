# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Set-Cookie of stored responses: the cache of a session shows the field again, and no hit changes a jar."""

import contract
import pytest
from cache_server import Reply
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

LASTING = (("Cache-Control", "max-age=600"), ("Set-Cookie", "a=1; Path=/other"), ("Set-Cookie2", "b=2"))


def fetch(wire, url, session, **more):
    response = result(wire.call("data.send", {"url": url, "session": session, **more}))
    fields = [(field["name"], field["value"]) for field in response["headers"]]
    cookies = [value for name, value in fields if name.startswith("Set-Cookie")]
    return response["cache"]["status"], cookies


def session(wire, cache=True):
    return result(wire.call("session.create", {"cache": cache, "cookies": True}))["session"]


def kept(wire, name):
    return [(cookie["name"], cookie["value"])
            for cookie in result(wire.call("cookies.list", {"session": name}))["cookies"]]


@pytest.mark.parametrize("size", [4, 100_000])
def test_a_hit_shows_the_cookies_and_takes_none(wire, server, size):
    url, seen = server.script(Reply(b"x" * size, fields=LASTING))
    name = session(wire)
    assert fetch(wire, url, name) == ("miss", ["a=1; Path=/other", "b=2"])
    assert kept(wire, name) == [("a", "1")]
    result(wire.call("cookies.set", {"session": name, "url": url, "setCookie": ["a=2; Path=/other"]}))
    ways = [{}, {"events": True}, {"cookies": False}, {"cache": {"mode": "forceCache"}}]
    for more in ways:
        assert fetch(wire, url, name, **more) == ("hit", ["a=1; Path=/other", "b=2"]), more
    assert kept(wire, name) == [("a", "2")] and len(seen) == 1


def test_a_revalidation_has_the_cookies_of_its_304(wire, server):
    fields = (("Cache-Control", "no-cache"), ("ETag", '"1"'))

    def reply(number, sent):
        more = (("Set-Cookie", f"a={number}; Path=/other"),) if number != 2 else ()
        return Reply(status=304 if "If-None-Match" in sent else 200, fields=(*fields, *more))

    url, _ = server.script(reply)
    name = session(wire)
    assert fetch(wire, url, name) == ("miss", ["a=1; Path=/other"])
    result(wire.call("cookies.set", {"session": name, "url": url, "setCookie": ["a=9; Path=/other"]}))
    # the stored field is older than the cookie of the jar
    assert fetch(wire, url, name) == ("revalidated", []) and kept(wire, name) == [("a", "9")]
    assert fetch(wire, url, name) == ("revalidated", ["a=3; Path=/other"]) and kept(wire, name) == [("a", "3")]
    # a 304 with a cookie has replaced the stored one
    stored = {"cache": {"mode": "onlyIfCached"}}
    assert fetch(wire, url, name, **stored)[1] == ["a=3; Path=/other"]


def test_a_stored_response_in_place_of_a_failure_takes_the_cookies_of_the_failure(wire, server):
    fields = (("Cache-Control", "max-age=0, stale-if-error=600"), ("Set-Cookie", "a=1; Path=/other"))
    url, _ = server.script(lambda number, _: Reply(fields=fields) if number == 1 else Reply(
        status=503, fields=(("Set-Cookie", "a=2; Path=/other"),)))
    name = session(wire)
    assert fetch(wire, url, name) == ("miss", ["a=1; Path=/other"])
    assert fetch(wire, url, name) == ("stale", ["a=2; Path=/other"])
    assert kept(wire, name) == [("a", "2")]


def test_the_cache_of_a_shared_session_shows_no_cookies(wire, server):
    url, _ = server.script(Reply(fields=LASTING))
    result(wire.call("session.create", {"name": "all", "shared": True, "cache": True}))
    assert fetch(wire, url, "all")[0] == "miss"
    # another client may have sent the first request
    assert fetch(wire, url, "all") == ("hit", [])


def test_a_named_cache_shows_no_cookies(wire, server, folder):
    url, _ = server.script(Reply(fields=(("Cache-Control", "public, max-age=600"), ("Set-Cookie", "a=canary"))))
    first, second = session(wire, "docs"), session(wire, "docs")
    own = {"cookies": False}
    assert fetch(wire, url, first, **own) == ("miss", ["a=canary"])
    assert fetch(wire, url, first, **own) == fetch(wire, url, second, **own) == ("hit", [])
    result(wire.call("cache.stats", {"cache": "docs"}))
    for path in folder.rglob("*"):
        assert not path.is_file() or b"canary" not in path.read_bytes(), path
