# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The cache: which responses come from it, for whom, and what is never stored."""

import json
import threading
import time

import contract
import pytest
from cache_server import Reply

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
ETAG = (("Cache-Control", "max-age=0"), ("ETag", '"v1"'))


def fetch(wire, url, cache=True, **more):
    return contract_result(wire.call("data.send", {"url": url, "cache": cache, "serialize": {"as": "text"}, **more}))


def contract_result(reply):
    assert "result" in reply, reply
    return reply["result"]


def text(response):
    return response["body"].get("text")


def test_a_fresh_response_is_not_asked_for_again(wire, server):
    url, seen = server.script(lambda number, _: Reply(f"body {number}".encode()))
    first, second = fetch(wire, url), fetch(wire, url)
    assert text(first) == text(second) == "body 1" and len(seen) == 1
    assert first["cache"]["status"] == "miss" and first["cache"]["forward"] == "uri-miss" and first["cache"]["stored"]
    assert second["cache"]["status"] == "hit" and 590 <= second["cache"]["ttl"] <= 600 and second["cache"]["age"] <= 5
    assert any(field["name"] == "Age" for field in second["headers"])


def test_requests_without_a_cache_have_none(wire, server):
    url, seen = server.script(Reply())
    for _ in range(2):
        assert contract_result(wire.call("data.send", {"url": url}))["cache"] == {"status": "bypass"}
    assert len(seen) == 2


def test_a_stale_response_is_confirmed_by_the_server(wire, server):
    """[U6]"""
    def reply(number, fields):
        return Reply(status=304, fields=ETAG) if fields.get("If-None-Match") == '"v1"' else Reply(b"first", fields=ETAG)

    url, seen = server.script(reply)
    assert text(fetch(wire, url)) == "first"
    again = fetch(wire, url)
    assert again["status"] == 200 and text(again) == "first" and again["cache"]["status"] == "revalidated"
    own = fetch(wire, url, headers={"If-None-Match": '"v1"'})
    assert own["status"] == 304 and own["cache"]["status"] == "bypass"
    assert len(seen) == 3


MODES = [
    ("default", "hit", 1), ("reload", "miss", 2), ("noCache", "miss", 2), ("forceCache", "hit", 1),
    ("onlyIfCached", "hit", 1), ("noStore", "bypass", 2),
]


@pytest.mark.parametrize(("mode", "status", "requests"), MODES)
def test_modes(wire, server, mode, status, requests):
    """[U2]"""
    url, seen = server.script(Reply())
    fetch(wire, url)
    assert fetch(wire, url, {"mode": mode})["cache"]["status"] == status and len(seen) == requests


SIX = ["public", "private", "max-age=3600", "max-age=0", "no-cache", "no-store"]


def six(wire, server, mode):
    """The lines of Cache-Control whose responses came from the cache, at the second request, in that mode."""
    found = set()
    for line in SIX:
        url, _ = server.script(Reply(fields=(("Cache-Control", line),)))
        fetch(wire, url)
        if fetch(wire, url, {"mode": mode})["cache"]["status"] in ("hit", "stale"):
            found.add(line)
    return found


def test_the_protocol_uses_what_is_fresh(wire, server):
    """[U3, 3.Q.9]"""
    assert six(wire, server, "default") == {"max-age=3600"}


def test_reload_uses_nothing(wire, server):
    """[U3, 3.Q.10]"""
    assert six(wire, server, "reload") == set()


def test_stored_responses_only(wire, server):
    """[U3, 3.Q.12, 3.Q.13]"""
    assert six(wire, server, "onlyIfCached") == set(SIX) - {"no-store"}
    assert six(wire, server, "forceCache") == set(SIX) - {"no-store"}


def test_a_request_may_keep_its_response_out(wire, server):
    """[3.Q.17]"""
    url, seen = server.script(Reply())
    session = contract_result(wire.call("session.create", {"cache": True}))["session"]
    for _ in range(2):
        fetch(wire, url, {"cacher": "doNotCache"}, session=session)
    assert len(seen) == 2


def test_only_if_cached_sends_nothing(wire, server):
    url, seen = server.script(Reply())
    failed = fetch(wire, url, {"mode": "onlyIfCached"})
    assert not failed["ok"] and failed["error"]["code"] == 1421 and failed["attempts"] == 1
    strict = fetch(wire, url, headers={"Cache-Control": "only-if-cached"})
    assert strict["error"]["code"] == 1421 and strict["error"]["data"]["status"] == 504
    assert seen == []


@pytest.mark.parametrize("name", ["Authorization", "Cookie", "X-Api-Key"])
def test_credentials_do_not_share_responses(wire, server, name):
    url, seen = server.script(lambda _, fields: Reply(fields.get(name, "none").encode()))
    for value in ("one", "two", None, "one"):
        assert text(fetch(wire, url, headers={name: value} if value else {})) == (value or "none")
    assert len(seen) == 3
    shared = {"principal": "shared"}
    assert text(fetch(wire, url, shared, headers={name: "three"})) == "three"
    assert text(fetch(wire, url, shared, headers={name: "four"})) == "three"


def test_vary_tells_requests_apart(wire, server):
    fields = (("Cache-Control", "max-age=600"), ("Vary", "X-Tenant"))
    url, seen = server.script(lambda _, sent: Reply(sent.get("X-Tenant", "-").encode(), fields=fields))
    for tenant in ("a", "b", "a", "b"):
        assert text(fetch(wire, url, headers={"X-Tenant": tenant})) == tenant
    assert len(seen) == 2


@pytest.mark.parametrize("size", [5, 100_000])
@pytest.mark.parametrize("cache", [True, "docs"])
@pytest.mark.parametrize("vary", ["X-Tenant", "*"])
def test_vary_of_a_confirmation_tells_requests_apart(wire, server, cache, vary, size):
    always = (("ETag", '"1"'), ("Cache-Control", "max-age=600"), ("Vary", vary))

    def reply(number, sent):
        if number == 2:
            return Reply(status=304, fields=always)
        fields = (("ETag", '"1"'), ("Cache-Control", "max-age=0")) if number == 1 else always
        return Reply(sent["X-Tenant"].encode() * size, fields=fields)

    url, seen = server.script(reply)

    def of(tenant):
        response = fetch(wire, url, cache, headers={"X-Tenant": tenant})
        if cache == "docs":
            # waits for the disk: a long body lies in a file from now on
            contract_result(wire.call("cache.stats", {"cache": cache}))
        return text(response), response["cache"]["status"]

    assert of("a") == ("a" * size, "miss") and of("a") == ("a" * size, "revalidated")
    assert of("b") == ("b" * size, "miss") and of("a") == ("a" * size, "miss" if vary == "*" else "hit")
    assert len(seen) == (4 if vary == "*" else 3)


@pytest.mark.parametrize("size", [100, 300_000])
def test_a_body_that_is_cut_is_not_stored(wire, server, size):
    body = b"x" * size
    url, seen = server.script(lambda number, _: Reply(body, cut=size // 2 if number == 1 else None))
    assert not fetch(wire, url)["ok"]
    whole = fetch(wire, url)
    assert whole["ok"] and whole["body"]["size"] == size and whole["cache"]["status"] == "miss"
    assert fetch(wire, url)["cache"]["status"] == "hit" and len(seen) == 2


def test_a_put_invalidates(wire, server):
    url, seen = server.script(lambda number, _: Reply(str(number).encode()))
    fetch(wire, url)
    fetch(wire, url, method="PUT", body={"text": "new"})
    assert text(fetch(wire, url)) == "3"


WITHOUT_CACHE = {
    "false": ("data.send", {"cache": False}),
    "download": ("download.send", {}),
    "download false": ("download.send", {"cache": False}),
    "event stream": ("sse.open", {"reconnect": False, "wait": "response"}),
}


@pytest.mark.parametrize("cache", ["docs", True])
@pytest.mark.parametrize("kind", WITHOUT_CACHE)
def test_an_unsafe_request_without_the_cache_invalidates(wire, server, kind, cache):
    """RFC 9111 section 4.4; a safe request leaves the stored response."""
    fields = (("Cache-Control", "max-age=600"), ("Content-Type", "text/event-stream"))
    url, seen = server.script(lambda number, _: Reply(str(number).encode(), fields=fields))
    session = contract_result(wire.call("session.create", {"cache": cache}))["session"]
    method, options = WITHOUT_CACHE[kind]

    def pass_by(verb):
        result = contract_result(wire.call(method, {"url": url, "session": session, "method": verb, **options}))
        response = result.get("response", result)
        assert response["ok"] and response["cache"] == {"status": "bypass"}, response

    def stored():
        response = contract_result(wire.call(
            "data.send", {"url": url, "session": session, "serialize": {"as": "text"}}))
        return text(response), response["cache"]["status"]

    assert stored() == ("1", "miss")
    pass_by("GET")
    assert stored() == ("1", "hit")
    pass_by("POST")
    assert stored() == ("4", "miss") and len(seen) == 4


def test_a_stale_response_stands_in_for_a_failure(wire, server):
    fields = (("Cache-Control", "max-age=0, stale-if-error=60"),)
    replies = [Reply(b"old", fields=fields), Reply(cut=0), Reply(status=503), Reply(status=404)]
    url, _ = server.script(lambda number, _: replies[number - 1])
    assert [fetch(wire, url)["cache"]["status"] for _ in range(3)] == ["miss", "stale", "stale"]
    assert fetch(wire, url)["status"] == 404


@pytest.mark.parametrize("mode", ["reload", "noCache"])
def test_a_request_that_wants_the_server_hears_of_its_failure(wire, server, mode):
    replies = [Reply(fields=(("Cache-Control", "max-age=0, stale-if-error=60"),)), Reply(status=503, fields=())]
    url, _ = server.script(lambda number, _: replies[min(number, 2) - 1])
    fetch(wire, url)
    assert fetch(wire, url, {"mode": mode})["status"] == 503
    assert fetch(wire, url)["cache"]["status"] == "stale"


def test_stale_while_revalidate_does_not_wait(wire, server):
    is_used = threading.Event()

    def answer(number, _):
        if number == 1:
            return Reply(b"1", fields=(("Cache-Control", "max-age=0, stale-while-revalidate=60"),))
        return Reply(b"2" if is_used.wait(10) else b"late", fields=(("Cache-Control", "max-age=60"),))

    url, seen = server.script(answer)
    fetch(wire, url)
    updating = fetch(wire, url)
    is_used.set()
    assert text(updating) == "1" and updating["cache"]["status"] == "updating"
    deadline = time.monotonic() + 10
    while (now := text(fetch(wire, url))) == "1":
        assert time.monotonic() < deadline, "the response was not revalidated"
    assert now == "2" and len(seen) == 2


@pytest.mark.parametrize("control", ["no-store", "max-age=600"])
def test_a_body_longer_than_asked_for_fails(wire, server, control):
    url, _ = server.script(Reply(b"x" * 100_000, fields=(("Cache-Control", control),)))
    failed = fetch(wire, url, maxBody=5)
    assert not failed["ok"] and failed["error"]["code"] == 1411, failed
    assert fetch(wire, url, maxBody=100_000)["ok"]


def test_a_peeked_body_longer_than_asked_for_fails(wire, server):
    """The first piece is waited for, since a stored response could stand in."""
    fields = [(("Cache-Control", f"{what}, stale-if-error=60"),) for what in ("max-age=0", "no-store")]
    url, _ = server.script(lambda number, _: Reply(b"x" * (3 if number == 1 else 100_000), fields=fields[number > 1]))
    assert fetch(wire, url, maxBody=5)["ok"]
    assert fetch(wire, url, maxBody=5)["error"]["code"] == 1411


def test_the_policy_for_addresses_holds_for_stored_responses(wire, server):
    url, seen = server.script(Reply())
    assert fetch(wire, url, "addresses")["ok"]
    assert fetch(wire, url, "addresses", addresses="public")["error"]["code"] == 1420
    assert fetch(wire, url, "addresses")["cache"]["status"] == "hit" and len(seen) == 1


def test_a_proxy_stores_nothing_for_other_ways(wire, server):
    """The server stands in for a hostile proxy."""
    proxy = server.script(Reply(b"false"))[0].rpartition("/")[0]
    # the path of a request to a proxy is a whole URL
    server.scripts["ttp:"] = lambda number, fields: Reply(b"false")
    through = fetch(wire, "http://a.test/", "proxied", proxy=proxy)
    assert through["ok"] and text(through) == "false", through
    stored = {"name": "proxied", "mode": "onlyIfCached"}
    assert fetch(wire, "http://a.test/", stored)["error"]["code"] == 1421
    assert fetch(wire, "http://a.test/", stored, proxy=proxy)["cache"]["status"] == "hit"


def test_redirects_are_cached_hop_by_hop(wire, server):
    target, seen = server.script(Reply(b"there"))
    url, hops = server.script(Reply(status=301, fields=(("Location", target), ("Cache-Control", "max-age=600"))))
    for _ in range(2):
        assert text(fetch(wire, url)) == "there"
    assert len(seen) == len(hops) == 1


def test_a_session_keeps_its_cache_to_itself(wire, server):
    url, seen = server.script(Reply())
    sessions = [contract_result(wire.call("session.create", {"cache": True}))["session"] for _ in range(2)]
    for session in sessions * 2:
        contract_result(wire.call("data.send", {"url": url, "session": session}))
    assert len(seen) == 2
    off = contract_result(wire.call("data.send", {"url": url, "session": sessions[0], "cache": False}))
    assert off["cache"]["status"] == "bypass" and len(seen) == 3


def test_a_range_is_taken_from_a_stored_body(wire, server):
    url, seen = server.script(Reply(b"0123456789"))
    fetch(wire, url)
    part = fetch(wire, url, headers={"Range": "bytes=2-4"})
    assert part["status"] == 206 and text(part) == "234" and part["cache"]["status"] == "hit"
    fields = {field["name"].lower(): field["value"] for field in part["headers"]}
    assert fields["content-range"] == "bytes 2-4/10" and fields["content-length"] == "3" and len(seen) == 1


def test_the_response_to_a_get_with_a_body_is_not_for_others(wire, server):
    fields = (("Cache-Control", "max-age=600"), ("ETag", '"v1"'))
    url, seen = server.script(lambda number, _: Reply(f"body {number}".encode(), fields=fields))
    asked = {"method": "GET", "body": {"text": "what is wanted"}, "allowGetBody": True}
    assert fetch(wire, url, **asked)["cache"]["status"] == "bypass"
    assert text(fetch(wire, url)) == "body 2" and text(fetch(wire, url, **asked)) == "body 3"
    assert text(fetch(wire, url)) == "body 2" and len(seen) == 3


@pytest.mark.parametrize("cache", [True, "docs"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_no_store_ends_a_stored_response(wire, server, method, cache):
    def reply(number, fields):
        if number == 1:
            return Reply(b"body", fields=ETAG)
        later = (("Cache-Control", "no-store, max-age=600"), ("ETag", '"v1"'))
        return Reply(b"body", status=304 if "If-None-Match" in fields else 200, fields=later)

    url, seen = server.script(reply)
    assert fetch(wire, url, cache)["cache"]["stored"]
    told = fetch(wire, url, cache, method=method)
    assert told["status"] == 200 and not told["cache"].get("stored")
    assert fetch(wire, url, cache)["cache"]["status"] == "miss" and len(seen) == 3
    # nothing was left to be confirmed
    assert "If-None-Match" not in seen[2][2]


@pytest.mark.parametrize("status", [200, 404])
def test_a_newer_response_that_is_not_stored_ends_the_use_of_the_older_one(wire, server, status):
    old = (("Cache-Control", "max-age=600, stale-if-error=600, stale-while-revalidate=600"),)
    new = (("Cache-Control", "no-store"),)
    replies = [Reply(b"old", fields=old), Reply(b"new", status=status, fields=new), Reply(b"down", status=503)]
    url, seen = server.script(lambda number, _: replies[number - 1])
    fetch(wire, url)
    assert text(fetch(wire, url, {"mode": "reload"})) == "new"
    assert fetch(wire, url)["status"] == 503 and len(seen) == 3


def test_a_newer_response_to_conditions_of_the_caller_ends_the_use_of_the_older_one(wire, server):
    def reply(number, _):
        return Reply(f"body {number}".encode(), fields=(("Cache-Control", "max-age=600"), ("ETag", f'"v{number}"')))

    url, seen = server.script(reply)
    fetch(wire, url)
    told = fetch(wire, url, headers={"If-None-Match": '"v1"'})
    assert text(told) == "body 2" and told["cache"]["status"] == "bypass"
    assert text(fetch(wire, url)) == "body 3" and len(seen) == 3


BAD = [
    (7, "/cache"), ("", "/cache"), (".hidden", "/cache"), ("a/b", "/cache"), ({"name": "../up"}, "/cache/name"),
    ({"mode": "sometimes"}, "/cache/mode"), ({"maxAge": -1}, "/cache/maxAge"), ({"tags": ["x"] * 17}, "/cache/tags"),
    ({"tags": ["x", ""]}, "/cache/tags/1"), ({"tags": ["é" * 65]}, "/cache/tags/0"),
    ({"collapse": 0}, "/cache/collapse"), ({"cacher": "perhaps"}, "/cache/cacher"), ({"size": 1}, "/cache/size"),
    ({"maxBytes": 1}, "/cache/maxBytes"), ({"principal": ""}, "/cache/principal"),
    ({"key": {"vary": "X"}}, "/cache/key/vary"),
]


@pytest.mark.parametrize(("cache", "pointer"), BAD)
def test_bad_input_is_refused_at_its_place(wire, cache, pointer):
    error = wire.call("data.send", {"url": "http://127.0.0.1:1/", "cache": cache})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == pointer, error


def test_secrets_are_not_told(wire, server):
    url, _ = server.script(Reply())
    for _ in range(2):
        response = fetch(wire, url, headers={"Authorization": "Bearer canary-4711"})
        assert "canary-4711" not in json.dumps(response["cache"])
