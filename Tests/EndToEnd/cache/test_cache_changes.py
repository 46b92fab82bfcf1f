# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Changes of a named cache while requests are under way, its limits, and requests that must not touch the network."""

import base64
import threading
import time

import contract
import pytest
from cache_server import Reply
from http_server import Listening
from request_client import result, until_shared

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def fetch(wire, url, cache="docs", **more):
    return result(wire.call("data.send", {"url": url, "cache": cache, "serialize": {"as": "text"}, **more}))


def stored(wire):
    """The URLs on the disk."""
    result(wire.call("cache.stats", {"cache": "docs"}))
    return [entry["url"] for entry in result(wire.call("cache.list", {"cache": "docs"}))["entries"]]


class Held:
    """A resource whose first response waits for `release`."""

    def __init__(self, server):
        self.arrived, self.release = threading.Event(), threading.Event()
        self.url, self.seen = server.script(self.reply)

    def reply(self, number, _):
        if number == 1:
            self.arrived.set()
            assert self.release.wait(10)
        return Reply(str(number).encode())

    def start(self, wire, cache="docs"):
        """The call whose response waits."""
        number = wire.start("data.send", {"url": self.url, "cache": cache})
        assert self.arrived.wait(10)
        return number

    def end(self, wire, number):
        self.release.set()
        return result(wire.reply(number))


@pytest.mark.parametrize("removal", [{"tag": "a"}, {"all": True}, {"prefix": "http://127"}])
def test_what_is_deleted_while_its_response_comes_is_not_stored(wire, server, removal):
    held = Held(server)
    number = held.start(wire, {"name": "docs", "tags": ["a"]})
    result(wire.call("cache.delete", {"cache": "docs", **removal}))
    held.end(wire, number)
    assert stored(wire) == []


def test_a_tag_of_others_does_not_keep_a_response_out(wire, server):
    held = Held(server)
    number = held.start(wire, {"name": "docs", "tags": ["a"]})
    result(wire.call("cache.delete", {"cache": "docs", "tag": "b"}))
    held.end(wire, number)
    assert stored(wire) == [held.url]


def test_another_service_makes_a_response_invalid_while_it_comes(server):
    held, other = Held(server), Held(server)
    with contract.Wire() as one, contract.Wire() as two:
        for wire in (one, two):
            fetch(wire, server.script(Reply())[0])
        numbers = [held.start(one), other.start(one)]
        fetch(two, held.url, method="POST", body={"text": "new"})
        result(two.call("cache.stats", {"cache": "docs"}))
        held.release.set()
        other.release.set()
        assert len(one.replies(numbers)) == 2
        urls = stored(one)
        assert held.url not in urls and other.url in urls
        assert fetch(one, held.url)["body"]["text"] == "3"
        # what one service stores, another sees once it is on the disk
        assert held.url in stored(one)
        assert fetch(two, held.url)["cache"]["status"] == "hit"
    assert len(held.seen) == 3


def test_two_services_remove_in_one_another(server):
    """Both have all entries in memory, and remove a half of them at the same time."""
    urls = [server.script(Reply())[0] for _ in range(24)]
    offline = {"name": "docs", "mode": "onlyIfCached"}
    with contract.Wire() as one, contract.Wire() as two:
        for url in urls:
            fetch(one, url)
        result(one.call("cache.stats", {"cache": "docs"}))
        assert all(fetch(two, url, offline)["ok"] for url in urls)
        calls = [(wire, wire.start("cache.delete", {"cache": "docs", "url": url}))
                 for wire, url in zip([one, two] * 10, urls[:20])]
        for wire in (one, two):
            assert len(wire.replies([number for by, number in calls if by is wire])) == 10
        for wire in (one, two):
            assert [url for url in urls if fetch(wire, url, offline)["ok"]] == urls[20:]
            assert result(wire.call("cache.verify", {"cache": "docs"}))["ok"]
        assert sorted(stored(one)) == sorted(urls[20:])


@pytest.mark.parametrize("status", [206, 304])
def test_parts_and_confirmations_cannot_be_put(wire, status):
    params = {"cache": "docs", "url": "http://a.test/", "status": status, "base64": "eA=="}
    error = wire.call("cache.put", params)["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == "/status" and "200" in error["message"], error


def test_more_caches_than_may_be_open(wire, server):
    url, _ = server.script(Reply())
    for number in range(70):
        assert fetch(wire, url, f"n{number}")["cache"]["status"] == "miss"
    # the first one was closed, and kept its entry
    assert fetch(wire, url, "n0")["cache"]["status"] == "hit"


def test_the_size_of_a_request_leaves_other_limits(wire, server):
    result(wire.call("cache.configure", {"cache": "docs", "maxEntries": 77, "maxEntryBytes": 5000}))
    fetch(wire, server.script(Reply())[0], {"name": "docs", "maxBytes": 1_000_000})
    stats = result(wire.call("cache.stats", {"cache": "docs"}))
    assert (stats["maxBytes"], stats["maxEntries"], stats["maxEntryBytes"]) == (1_000_000, 77, 5000)


class Chunked(Listening):
    """Responds in two chunks of 600 bytes, to the second request without the end."""

    def serve(self, connection, number):
        reader = connection.makefile("rb")
        while reader.readline():
            while reader.readline().strip():
                pass
            self.note(self.arrived, "/")
            chunk = b"258\r\n" + b"x" * 600 + b"\r\n"
            end = b"" if len(self.arrived) == 2 else b"0\r\n\r\n"
            head = b"HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nTransfer-Encoding: chunked\r\n\r\n"
            connection.sendall(head + 2 * chunk + end)
            if not end:
                return


def test_a_body_that_is_too_long_or_cut_short_is_not_told_as_stored(wire):
    result(wire.call("cache.configure", {"cache": "docs", "maxEntryBytes": 1000}))
    with Chunked() as server:
        for cache in ("docs", "other", "other"):
            response = result(wire.call("data.send", {"url": server.url("/"), "cache": cache}))
            assert response["cache"]["status"] == "miss", response
            is_whole = response["ok"]
            assert is_whole == (len(server.arrived) != 2)
            is_stored = is_whole and cache == "other"
            assert response["cache"].get("stored", False) == is_stored == ("storedAt" in response["cache"])
        assert fetch(wire, server.url("/"), "docs")["cache"]["status"] == "miss"
        assert fetch(wire, server.url("/"), "other")["cache"]["status"] == "hit"


def test_no_upgrade_event_stream_or_download_leaves_an_offline_session(wire, server, tmp_path):
    url, seen = server.script(Reply())
    session = result(wire.call("session.create", {"cache": {"name": "docs", "mode": "onlyIfCached"}}))["session"]
    calls = [("websocket.open", {"url": url.replace("http", "ws", 1)}), ("sse.open", {"url": url, "wait": "response"}),
             ("download.send", {"url": url, "destination": {"path": str(tmp_path / "file")}})]
    for method, params in calls:
        reply = wire.call(method, {**params, "session": session})
        assert "no stored response" in repr(reply) and "onlyIfCached" in repr(reply), (method, reply)
    assert seen == []


@pytest.mark.parametrize("params, pointer, told", [
    ({"headers": {"Vary": "*"}}, "/headers", "Vary"),
    ({"headers": {"A": "1", "B": "2\r\nC: 3"}}, "/headers/B", "line break"),
    ({"headers": [{"name": "A", "value": "1"}, {"name": "B c", "value": "2"}]}, "/headers/1", "may only hold"),
    ({"headers": {"Content-Length": "7"}}, "/headers", "Content-Length"),
    ({"headers": {"X-Long": "x" * 70_000}}, "/headers", "65536"),
    ({"url": "http://a.test/" + "x" * 9000}, "/url", "8192"),
    ({"status": 204}, "/base64", "no body"),
    ({"base64": "eHh4" * 1000}, "/base64", "1000"),
])
def test_what_is_put_has_to_fit(wire, params, pointer, told):
    result(wire.call("cache.configure", {"cache": "docs", "maxEntryBytes": 1000}))
    error = wire.call("cache.put", {"cache": "docs", "url": "http://a.test/", "base64": "eA==", **params})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == pointer and told in error["message"], error
    assert stored(wire) == []


def test_a_put_response_may_name_its_length(wire):
    params = {"cache": "docs", "url": "http://a.test/", "base64": "eA==", "headers": {"Content-Length": "1"}}
    assert result(wire.call("cache.put", params))["size"] == 1
    assert stored(wire) == ["http://a.test/"]


def test_methods_use_the_key_of_a_session(wire, server):
    url, seen = server.script(Reply(b"of the server"))
    made = {"name": "keyed", "cache": {"key": {"ignoreQuery": ["utm"]}}}
    session = result(wire.call("session.create", made))["session"]
    where = {"session": session, "url": url + "?a=1&utm=x"}
    body = base64.b64encode(b"put").decode()
    fields = {"Cache-Control": "max-age=60"}
    assert result(wire.call("cache.put", {**where, "base64": body, "headers": fields}))["url"] == url + "?a=1"
    other = {**where, "url": url + "?a=1&utm=y"}
    sent = {**other, "serialize": {"as": "text"}}
    assert result(wire.call("data.send", sent))["body"]["text"] == "put" and not seen
    assert result(wire.call("cache.read", other))["base64"] == body
    assert len(result(wire.call("cache.get", other))["entries"]) == 1
    assert result(wire.call("cache.delete", other)) == {"deleted": 1}
    assert result(wire.call("cache.get", where))["entries"] == []


@pytest.mark.parametrize("headers", [{}, {"X-Tenant": "a"}])
@pytest.mark.parametrize("more", [{}, {"principal": "shared"}])
def test_the_key_of_a_session_holds_for_calls_too(wire, server, headers, more):
    url, seen = server.script(Reply(b"of the server"))
    settings = {"cache": {"key": {"vary": ["X-Tenant"]}, **more}, "headers": headers}
    session = result(wire.call("session.create", settings))["session"]
    given = {"session": session, "url": url, "headers": {"Cache-Control": "max-age=600"}, "base64": "Z2l2ZW4="}
    assert result(wire.call("cache.put", given))["forAll"]
    send = {"url": url, "session": session, "serialize": {"as": "text"}}
    found = result(wire.call("data.send", send))
    assert found["body"]["text"] == "given" and found["cache"]["status"] == "hit" and not seen
    other = result(wire.call("data.send", {**send, "headers": {"X-Tenant": "b"}}))
    assert other["body"]["text"] == "of the server" and len(seen) == 1
    place = {"session": session, "url": url}
    assert result(wire.call("cache.read", place))["base64"] == "Z2l2ZW4="
    entries = result(wire.call("cache.get", place))["entries"]
    assert sorted(entry["forAll"] for entry in entries) == [False, True]


@pytest.mark.parametrize(
    ("status", "control"), [(408, "no-store"), (421, "no-store"), (425, "no-store"), (429, "no-store"),
                            (429, "max-age=600"), (503, "no-store")])
def test_a_refusal_of_the_moment_leaves_the_stored_response(wire, server, status, control):
    """[RFC 9111 section 4.3.3] A 429 is never stored [RFC 6585 section 4]."""
    replies = [Reply(b"old"), Reply(b"wait", status=status, fields=(("Cache-Control", control),))]
    url, seen = server.script(lambda number, _: replies[number - 1])
    fetch(wire, url)
    assert fetch(wire, url, {"name": "docs", "mode": "reload"})["status"] == status
    again = fetch(wire, url)
    assert again["body"]["text"] == "old" and again["cache"]["status"] == "hit" and len(seen) == 2


def test_the_time_of_a_suspended_request_stands_still_while_it_shares_an_exchange(wire, server):
    held = Held(server)
    first = held.start(wire)
    assert held.arrived.wait(10)
    spec = {"url": held.url, "cache": "docs", "timeout": {"total": 3}}
    request = result(wire.call("data.start", spec))["request"]
    until_shared(wire, "docs")
    assert result(wire.call("request.suspend", {"request": request}))["state"] == "suspended"
    result(wire.call("diagnostics.sleep", {"seconds": 3.3}))
    assert result(wire.call("request.resume", {"request": request}))["state"] != "finished"
    held.release.set()
    waits = wire.start("request.wait", {"request": request})
    replies = wire.replies([first, waits])
    shared = result(replies[waits])
    assert shared["ok"] and shared["cache"]["collapsed"], shared
    assert result(replies[first])["ok"] and len(held.seen) == 1


@pytest.mark.parametrize("method", ["POST", "PUT", "GET"])
def test_a_request_with_a_cache_gives_the_memory_of_its_body_back(wire, server, method):
    """The exchange and its attempt held each other, for ever."""
    url, seen = server.script(Reply(fields=(("Cache-Control", "no-store"),)))
    spec = {"url": url, "cache": "docs", "method": method, "body": {"text": "x" * 200_000}, "allowGetBody": True}
    assert result(wire.call("data.send", spec))["ok"] and len(seen) == 1
    end = time.monotonic() + 10
    while held := result(wire.call("server.stats"))["memory"]["held"]:
        assert time.monotonic() < end, held


def test_the_code_of_one_client_holds_up_no_other(listening, server):
    """Who shares the exchange waited for the reply of the client whose request was sent, up to ten minutes."""
    held = Held(server)
    with contract.Wire(listening) as one, contract.Wire(listening) as other:
        first = held.start(one, {"name": "docs", "cacher": {"modify": {"callback": "mine", "timeout": 600}}})
        second = other.start("data.send", {"url": held.url, "cache": "docs"})
        until_shared(other, "docs")
        held.release.set()
        shared = result(other.reply(second))
        assert shared["ok"] and shared["cache"]["collapsed"] and len(held.seen) == 1
        asked = one.receive()
        assert asked["method"] == "callback.cacheResponse"
        one.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"store": True}})
        assert result(one.reply(first))["ok"]
        assert fetch(other, held.url)["cache"]["status"] == "hit"


class Dripping(Listening):
    """Its body waits for `go` in the middle."""

    go = threading.Event()

    def serve(self, connection, number):
        read = connection.makefile("rb")
        while line := read.readline():
            if not line.strip():
                head = b"HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 4\r\n\r\n"
                connection.sendall(head + b"ab")
                self.note(self.arrived, "body")
                self.go.wait(60)
                connection.sendall(b"cd")


@pytest.mark.parametrize("limit", [{"total": 3}, {"idle": 3}])
def test_the_time_limit_of_one_request_ends_no_other(listening, limit):
    """The request that was sent has a limit, and fails alone."""
    with Dripping() as server, contract.Wire(listening) as one, contract.Wire(listening) as other:
        server.go.clear()
        spec = {"url": server.url("/"), "cache": "docs"}
        first = one.start("data.send", {**spec, "timeout": limit})
        server.wait_for("body")
        second = other.start("data.send", spec)
        until_shared(other, "docs")
        result(other.call("diagnostics.sleep", {"seconds": 3.3}))
        server.go.set()
        shared = result(other.reply(second))
        assert shared["ok"] and shared["body"]["size"] == 4 and shared["cache"]["collapsed"], shared
        assert result(one.reply(first))["error"]["code"] == 1405 and server.connections == 1
