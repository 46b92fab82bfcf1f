# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A newer response that is not kept where an older one is: the older one is not used as if nothing had come."""

import time

import contract
import pytest
from cache_server import Reply
from callback_client import converse
from http_server import Listening
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def fetch(wire, url, cache, **more):
    return result(wire.call("data.send", {"url": url, "cache": cache, "serialize": {"as": "text"}, **more}))


@pytest.mark.parametrize("name", [None, "docs"])
def test_a_response_that_code_refuses_ends_the_use_of_the_older_one(wire, server, name):
    url, seen = server.script(lambda number, _: Reply(b"%d" % number))
    cache = {"name": name} if name else {}
    assert fetch(wire, url, cache or True)["cache"]["stored"]
    reload = {**cache, "mode": "reload", "cacher": {"modify": {"callback": "mine"}}}
    params = {"url": url, "cache": reload, "serialize": {"as": "text"}}
    reply, callbacks = converse(wire, "data.send", params, {"cacheResponse": lambda _: {"store": False}})
    assert result(reply)["body"]["text"] == "2" and len(callbacks) == 1
    again = fetch(wire, url, cache or True)
    assert again["body"]["text"] == "3" and again["cache"]["status"] == "miss" and len(seen) == 3


class Growing(Listening):
    """Sends a longer body for each request, without its length."""

    sizes = (10, 200_000, 20)

    def serve(self, connection, number):
        reader = connection.makefile("rb")
        while reader.readline():
            while reader.readline().strip():
                pass
            self.note(self.arrived, "/")
            size = self.sizes[len(self.arrived) - 1]
            head = b"HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nTransfer-Encoding: chunked\r\n\r\n"
            connection.sendall(head + b"%x\r\n%b\r\n0\r\n\r\n" % (size, b"x" * size))


def test_a_body_that_turns_out_too_long_ends_the_use_of_the_older_one(wire):
    result(wire.call("cache.configure", {"cache": "small", "maxBytes": 1 << 20}))
    with Growing() as server:
        assert fetch(wire, server.url("/"), "small")["body"]["size"] == 10
        assert fetch(wire, server.url("/"), {"name": "small", "mode": "reload"})["body"]["size"] == 200_000
        last = fetch(wire, server.url("/"), "small")
        assert last["body"]["size"] == 20 and last["cache"]["status"] == "miss"


@pytest.mark.parametrize("size", [10, 100_000])
def test_a_response_in_memory_replaces_the_one_on_the_disk(wire, server, size):
    """For this service and for the next: a body of more than 64 KiB is not kept in memory."""
    url, seen = server.script(lambda number, _: Reply(b"%d" % number * size))
    fetch(wire, url, "docs")
    # waits for the disk
    result(wire.call("cache.stats", {"cache": "docs"}))
    newer = fetch(wire, url, {"name": "docs", "mode": "reload", "storage": "memory"})
    assert newer["body"]["text"][0] == "2"
    expected = "2" if size == 10 else "3"
    assert fetch(wire, url, "docs")["body"]["text"][0] == expected
    result(wire.call("cache.stats", {"cache": "docs"}))
    with contract.Wire() as other:
        assert fetch(other, url, "docs")["body"]["text"][0] == "3" and len(seen) == 3


def test_a_long_response_replaces_a_short_one(wire, server):
    """A body of more than 64 KiB is not kept in memory, where the older response is."""
    url, seen = server.script(lambda number, _: Reply(b"%d" % number * (10 if number == 1 else 100_000)))
    fetch(wire, url, "docs")
    assert fetch(wire, url, {"name": "docs", "mode": "reload"})["body"]["text"][0] == "2"
    for _ in range(2):
        again = fetch(wire, url, "docs")
        assert again["body"]["text"][0] == "2" and again["cache"]["status"] == "hit"
        # waits for the disk
        result(wire.call("cache.stats", {"cache": "docs"}))
    assert len(seen) == 2


def test_a_response_with_a_head_too_long_for_the_disk_replaces_the_one_there(wire, server):
    """The newer response is in the memory of this service, and the next service finds none."""
    many = tuple((f"X-{number:04}", "x" * 109) for number in range(520))
    fresh = (("Cache-Control", "max-age=600"),)
    url, seen = server.script(
        lambda number, _: Reply(b"%d" % number, fields=fresh + (many if number == 2 else ())))
    fetch(wire, url, "docs")
    result(wire.call("cache.stats", {"cache": "docs"}))
    assert fetch(wire, url, {"name": "docs", "mode": "reload"})["body"]["text"] == "2"
    assert fetch(wire, url, "docs")["body"]["text"] == "2"
    result(wire.call("cache.stats", {"cache": "docs"}))
    with contract.Wire() as other:
        assert fetch(other, url, "docs")["body"]["text"] == "3" and len(seen) == 3


def stored_as(wire, url, changed, **more):
    """The request, with code that gives the response other fields."""
    params = {"url": url, "cache": {"cacher": {"modify": {"callback": "mine"}}}, "serialize": {"as": "text"}, **more}
    fields = {"Cache-Control": "max-age=600", **changed}
    reply, _ = converse(wire, "data.send", params, {"cacheResponse": lambda _: {"store": True, "headers": fields}})
    return result(reply)


def test_the_vary_of_code_selects_requests(wire, server):
    url, seen = server.script(lambda number, _: Reply(b"%d" % number))
    assert stored_as(wire, url, {"Vary": "X-Tenant"}, headers={"X-Tenant": "a"})["body"]["text"] == "1"
    assert fetch(wire, url, True, headers={"X-Tenant": "a"})["cache"]["status"] == "hit"
    assert fetch(wire, url, True, headers={"X-Tenant": "b"})["body"]["text"] == "2" and len(seen) == 2


def test_a_vary_that_selects_no_request_stores_nothing(wire, server):
    url, seen = server.script(lambda number, _: Reply(b"%d" % number))
    stored_as(wire, url, {"Vary": "*"})
    assert fetch(wire, url, True)["body"]["text"] == "2" and len(seen) == 2


def test_a_stored_length_is_that_of_the_body(wire, server):
    url, _ = server.script(Reply(b"body"))
    stored_as(wire, url, {"Content-Length": "999"})
    hit = fetch(wire, url, True)
    lengths = [field["value"] for field in hit["headers"] if field["name"].lower() == "content-length"]
    assert hit["cache"]["status"] == "hit" and hit["body"]["size"] == 4 and lengths == ["4"]


def test_code_is_not_asked_any_more_for_a_request_that_is_cancelled(wire, server):
    url, _ = server.script(Reply())
    params = {"url": url, "cache": {"cacher": {"modify": {"callback": "mine"}}}}
    request = result(wire.call("data.start", params))["request"]
    callback = wire.receive()
    assert callback["method"] == "callback.cacheResponse"
    wire.send({"jsonrpc": "2.0", "id": 77, "method": "request.cancel", "params": {"request": request}})
    # in either order
    told = [wire.receive(), wire.receive()]
    (cancel,) = [message["params"] for message in told if message.get("method") == "$/cancelRequest"]
    assert cancel == {"id": callback["id"]}


def test_the_limits_of_the_request_stand_still_while_code_decides(wire, server):
    url, _ = server.script(Reply())

    def slow(_):
        began = time.monotonic()
        while time.monotonic() - began < 3.2:
            time.sleep(0.1)
        return {"store": True}

    cache = {"cacher": {"modify": {"callback": "mine"}}}
    params = {"url": url, "cache": cache, "timeout": {"resource": 3}}
    reply, _ = converse(wire, "data.send", params, {"cacheResponse": slow})
    assert result(reply)["ok"], reply


@pytest.mark.parametrize("size", [10, 200_000])
@pytest.mark.parametrize("is_known", [False, True])
def test_a_response_without_room_on_the_disk_ends_the_older_one(server, folder, size, is_known):
    """The older one was there again after a restart, and once the newer one had left the memory."""
    url, seen = server.script(lambda number, _: Reply(b"%d" % number + b"x" * size))
    with contract.Wire() as wire:
        fetch(wire, url, "docs")
        assert result(wire.call("cache.stats", {"cache": "docs"}))["entries"] == 1
    # no file may be longer: the disk is full
    with contract.Wire(under=("prlimit", "--fsize=65536")) as wire:
        if is_known:
            fetch(wire, server.script(Reply(b"x" * 200_000))[0], "docs")
            assert "no room" in result(wire.call("cache.stats", {"cache": "docs"}))["problem"]
        assert fetch(wire, url, {"name": "docs", "mode": "reload"})["body"]["text"][0] == "2"
        for _ in range(2):
            result(wire.call("cache.stats", {"cache": "docs"}))
    with contract.Wire() as wire:
        assert fetch(wire, url, {"name": "docs", "mode": "forceCache"})["body"]["text"][0] in "23"
    assert len(seen) in (2, 3)
