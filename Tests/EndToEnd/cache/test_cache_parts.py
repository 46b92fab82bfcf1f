# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Stored parts of bodies, what the client's code stores, and what observers learn of a cache."""

import contract
import pytest
from cache_server import Reply
from callback_client import converse
from range_server import Ranging
from request_client import result
from subscription_client import subscribe, told, topics

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
BODY = b"0123456789"


def fetch(wire, url, wanted=None, cache=True, **more):
    if wanted:
        more["headers"] = {"Range": f"bytes={wanted}", **more.get("headers", {})}
    return result(wire.call("data.send", {"url": url, "cache": cache, "serialize": {"as": "text"}, **more}))


def parts(etag='"v1"', total="10", extra=()):
    """A resource that gives the range that is asked for."""
    def reply(_, fields):
        always = (("Cache-Control", "max-age=600"), ("ETag", etag), *extra)
        wanted = fields.get("Range", "").removeprefix("bytes=")
        if not wanted:
            return Reply(BODY, fields=always)
        first, _, last = wanted.partition("-")
        begin, end = (int(first), int(last or 9)) if first else (10 - int(last), 9)
        span = ("Content-Range", f"bytes {begin}-{end}/{total}")
        return Reply(BODY[begin : end + 1], status=206, fields=(*always, span))

    return reply


def shown(response):
    fields = {field["name"].lower(): field["value"] for field in response["headers"]}
    return response["status"], response["body"].get("text"), fields.get("content-range"), response["cache"]["status"]


@pytest.mark.parametrize("cache", [True, "docs"])
def test_a_stored_part_serves_ranges_inside_it(wire, server, cache):
    url, seen = server.script(parts())
    assert shown(fetch(wire, url, "2-7", cache)) == (206, "234567", "bytes 2-7/10", "miss")
    assert shown(fetch(wire, url, "3-4", cache)) == (206, "34", "bytes 3-4/10", "hit")
    assert shown(fetch(wire, url, "-2", cache)) == (206, "89", "bytes 8-9/10", "miss")
    assert len(seen) == 2
    whole = fetch(wire, url, None, cache)
    assert whole["status"] == 200 and whole["cache"]["forward"] == "partial" and len(seen) == 3
    assert shown(fetch(wire, url, "0-1", cache))[3] == "hit"


def test_parts_of_one_body_are_joined_to_the_whole(wire, server):
    url, seen = server.script(parts())
    for wanted in ("4-6", "0-4", "6-9"):
        assert fetch(wire, url, wanted)["cache"]["status"] == "miss"
    whole = fetch(wire, url)
    assert shown(whole) == (200, "0123456789", None, "hit") and len(seen) == 3
    assert fetch(wire, url, "3-8")["body"]["text"] == "345678"


def test_a_part_in_a_file_is_joined(wire, server):
    body = bytes(ord("0") + number % 10 for number in range(200_000))

    def reply(_, sent):
        first, _, last = sent.get("Range", "bytes=0-199999").removeprefix("bytes=").partition("-")
        span = ("Content-Range", f"bytes {first}-{last}/200000")
        fields = (("Cache-Control", "max-age=600"), ("ETag", '"v1"'), span)
        return Reply(body[int(first) : int(last) + 1], status=206, fields=fields)

    url, seen = server.script(reply)
    for wanted in ("0-99999", "100000-199999"):
        assert fetch(wire, url, wanted, "docs")["cache"]["status"] == "miss"
        # waits for the disk
        result(wire.call("cache.stats", {"cache": "docs"}))
    whole = fetch(wire, url, None, "docs")
    assert shown(whole) == (200, body.decode(), None, "hit") and len(seen) == 2


def test_parts_without_a_common_strong_validator_are_not_joined(wire, server):
    url, seen = server.script(parts(etag='W/"v1"'))
    for wanted in ("0-4", "5-9"):
        fetch(wire, url, wanted)
    assert fetch(wire, url)["cache"]["status"] == "miss" and len(seen) == 3


@pytest.mark.parametrize(
    ("total", "extra"), [("*", ()), ("10", (("Content-Encoding", "identity"),)), ("3", ()), ("12", ())])
def test_parts_of_doubtful_place_are_not_stored(wire, server, total, extra):
    url, seen = server.script(
        parts(total=total, extra=extra) if total != "12" else Reply(
            b"01", status=206, fields=(("Cache-Control", "max-age=600"), ("Content-Range", "bytes 4-9/10"))))
    for _ in range(2):
        assert fetch(wire, url, "4-9")["cache"]["status"] != "hit"
    assert len(seen) == 2


def test_a_whole_response_to_a_range_is_stored(wire, server):
    url, seen = server.script(Reply(BODY))
    assert fetch(wire, url, "0-1")["status"] == 200
    assert shown(fetch(wire, url, "0-1")) == (206, "01", "bytes 0-1/10", "hit") and len(seen) == 1


def test_a_refused_range_takes_the_place_of_nothing(wire, server):
    fields = (("Cache-Control", "max-age=600"),)
    url, seen = server.script(
        lambda _, sent: Reply(b"", 416, (*fields, ("Content-Range", "bytes */10"))) if "Range" in sent else Reply(BODY))
    assert fetch(wire, url, "50-60")["status"] == 416
    assert fetch(wire, url)["body"]["text"] == "0123456789"
    assert fetch(wire, url, "50-60")["status"] == 416
    assert shown(fetch(wire, url)) == (200, "0123456789", None, "hit") and len(seen) == 3


# the client's code


def modifying(wire, url, decide, cache=None, **more):
    """A request whose response the code changes before it is stored; and how often the code was asked."""
    cache = {"cacher": {"modify": {"callback": "mine"}}, **(cache or {})}
    params = {"url": url, "cache": cache, "serialize": {"as": "text"}, **more}
    reply, callbacks = converse(wire, "data.send", params, {"cacheResponse": decide})
    return result(reply), callbacks


def test_code_changes_what_is_stored(wire, server):
    """[U4, U5, 3.Q.16]"""
    url, seen = server.script(Reply(b"first"))
    decision = {
        "store": True, "headers": [{"name": "Cache-Control", "value": "max-age=60"}, {"name": "X-By", "value": "me"}],
        "text": "changed", "userInfo": {"by": "me"}, "storage": "memory",
    }
    response, callbacks = modifying(wire, url, lambda _: decision, {"name": "docs"})
    assert response["body"]["text"] == "first" and len(callbacks) == 1
    callback = callbacks[0][1]
    assert callback["response"]["status"] == 200 and callback["body"]["text"] == "first"
    again = fetch(wire, url, cache="docs")
    assert again["body"]["text"] == "changed" and len(seen) == 1
    assert "X-By" in {field["name"] for field in again["headers"]}
    [entry] = result(wire.call("cache.get", {"cache": "docs", "url": url}))["entries"]
    assert entry["userInfo"] == {"by": "me"}


def test_a_changed_body_is_described_as_such(wire, server):
    fields = (("Cache-Control", "max-age=600"), ("Content-MD5", "4sT7Vh9Hq0mZvT0y9O6Wkw=="), ("X-By", "origin"))
    url, seen = server.script(Reply(b"short", fields=fields))
    modifying(wire, url, lambda _: {"store": True, "text": "changed body"})
    stored = fetch(wire, url)
    found = {field["name"]: field["value"] for field in stored["headers"]}
    assert stored["body"]["text"] == "changed body" and len(seen) == 1
    assert found["Content-Length"] == "12" and found["X-By"] == "origin" and "Content-MD5" not in found


def refuse(_):
    return {"store": False}


@pytest.mark.parametrize("decide", [refuse, lambda _: {"store": "perhaps"}, lambda _: {"store": True, "base64": "§"}])
def test_code_that_refuses_keeps_a_response_out(wire, server, decide):
    """[U4]"""
    url, seen = server.script(Reply())
    for _ in range(2):
        modifying(wire, url, decide)
    assert len(seen) == 2


def test_a_session_has_code_and_a_request_its_own_word(wire, server):
    """[U4, 3.Q.16, 3.Q.17]"""
    cache = {"cacher": {"modify": {"callback": "mine"}}}
    session = result(wire.call("session.create", {"cache": cache}))["session"]
    url, seen = server.script(Reply())
    params = {"url": url, "session": session, "serialize": {"as": "text"}}
    handlers = {"cacheResponse": lambda _: {"store": True, "text": "changed"}}
    _, callbacks = converse(wire, "data.send", params, handlers)
    assert len(callbacks) == 1
    assert result(wire.call("data.send", params))["body"]["text"] == "changed" and len(seen) == 1
    url, seen = server.script(Reply())
    for _ in range(2):
        result(wire.call("data.send", {**params, "url": url, "cache": {"cacher": "doNotCache"}}))
    assert len(seen) == 2


def test_an_entry_may_stay_in_memory(server):
    """[U5]"""
    url, seen = server.script(Reply())
    with contract.Wire() as wire:
        fetch(wire, url, cache={"name": "docs", "storage": "memory"})
        assert fetch(wire, url, cache="docs")["cache"]["status"] == "hit"
        assert result(wire.call("cache.stats", {"cache": "docs"}))["entries"] == 0
    with contract.Wire() as wire:
        assert fetch(wire, url, cache="docs")["cache"]["status"] == "miss" and len(seen) == 2


# observers


def test_topics_tell_what_a_cache_does(wire, server):
    url, _ = server.script(Reply())
    etag = (("Cache-Control", "no-cache"), ("ETag", '"v1"'))
    other, _ = server.script(
        lambda _, fields: Reply(status=304, fields=etag) if "If-None-Match" in fields else Reply(fields=etag))
    subscribe(wire, "cache.*", "request.finished")
    params = {"url": url, "cache": "docs"}
    found = [told(wire, "data.send", params)[0] for _ in range(2)]
    assert [topics(events)[:-1] for events in found] == [["cache.miss", "cache.stored"], ["cache.hit"]]
    hit = found[1][0]["detail"]
    assert (hit["cache"], hit["url"], hit["use"], hit["reason"]) == ("docs", url, "hit", "fresh")
    assert found[0][1]["detail"]["size"] == 4
    params["url"] = other
    assert "cache.revalidated" in topics([told(wire, "data.send", params) for _ in range(2)][1][0])
    assert "cache.invalidated" in topics(told(wire, "data.send", {**params, "method": "DELETE"})[0])


def test_topics_tell_of_entries_that_give_way(wire, server):
    subscribe(wire, "cache.evicted", "request.finished")
    session = result(wire.call("session.create", {"cache": {"maxBytes": 100_000}}))["session"]
    told_of = []
    for _ in range(40):
        url, _ = server.script(Reply(b"x" * 4000))
        told_of += told(wire, "data.send", {"url": url, "session": session})[0]
    counts = [event["detail"]["count"] for event in told_of if event["topic"] == "cache.evicted"]
    assert sum(counts) >= 10


# jars


def test_cookies_of_a_jar_tell_users_apart_not_visits(wire, server):
    """A login as another user has other responses; a counter of visits has not."""
    url, seen = server.script(lambda _, fields: Reply(fields.get("Cookie", "none").encode()))
    session = result(wire.call("session.create", {"cookies": True, "cache": True}))["session"]

    def put(*lines):
        result(wire.call("cookies.set", {"session": session, "url": url, "setCookie": list(lines)}))

    def send():
        return result(wire.call("data.send", {"url": url, "session": session, "serialize": {"as": "text"}}))

    put("sid=wolf; HttpOnly; Path=/", "visits=1; Path=/")
    assert send()["cache"]["status"] == "miss"
    put("visits=2; Path=/")
    assert send()["cache"]["status"] == "hit"
    put("sid=fox; HttpOnly; Path=/")
    assert "sid=fox" in send()["body"]["text"] and len(seen) == 2
    result(wire.call("cookies.clear", {"session": session}))
    put("sid=wolf; HttpOnly; Path=/")
    assert send()["cache"]["status"] == "miss" and len(seen) == 3


def test_a_download_in_segments_gets_a_stored_file_from_the_cache_alone(wire, tmp_path):
    """The segments went to the server, even of a request that may use stored responses only."""
    with Ranging(5_000_000) as origin:
        origin.fields = ["Cache-Control: max-age=600"]
        path = tmp_path / "file"
        spec = {"url": origin.url("/fine"), "destination": {"path": str(path), "replace": True}, "segments": 4}
        stored = result(wire.call("download.send", {**spec, "cache": "docs"}, 20))
        assert stored["ok"] and stored["cache"]["stored"], stored
        result(wire.call("cache.stats", {"cache": "docs"}))
        only = {"name": "docs", "mode": "onlyIfCached"}
        again = result(wire.call("download.send", {**spec, "cache": only}, 20))
        assert again["cache"]["status"] == "hit" and path.read_bytes() == origin.data, again
        assert len(origin.requests) == 1
