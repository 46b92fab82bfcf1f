# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Clients that ask for the same thing at the same time: one exchange serves those that may share it."""

import contextlib
import itertools
import threading
import time

import contract
import pytest
from cache_server import Reply
from request_client import result, until_shared

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def at_once(wires, params, meanwhile):
    """The responses to one request of each client, once something has happened meanwhile; several params take turns."""
    turns = itertools.cycle(params if isinstance(params, tuple) else (params,))
    numbers = [wire.start("data.send", next(turns)) for wire in wires]
    meanwhile()
    return [result(wire.reply(number, 20)) for wire, number in zip(wires, numbers)]


def held(server, body=b"body"):
    """A resource, the requests for it, and what its responses wait for."""
    release = threading.Event()

    def reply(number, fields):
        release.wait(20)
        return Reply(body)

    return (*server.script(reply), release)


def test_clients_share_one_request(listening, server):
    url, seen, release = held(server, b"shared" * 1000)
    with contextlib.ExitStack() as stack:
        wires = [stack.enter_context(contract.Wire(listening)) for _ in range(20)]

        def meanwhile():
            until_shared(wires[0], "crowd", 19)
            release.set()

        results = at_once(wires, {"url": url, "cache": "crowd"}, meanwhile)
    assert {response["body"]["size"] for response in results} == {6000} and len(seen) == 1
    assert sum(response["cache"].get("collapsed", False) for response in results) == 19


@pytest.mark.parametrize(
    "wish", [{"cache": {"name": "wishes", "staleIfError": 60}}, {"headers": {"Cache-Control": "max-stale=5"}}], ids=str
)
def test_clients_with_two_wishes_share_two_requests(listening, server, wish):
    """A request that may not share an exchange leaves that exchange to those that may."""
    url, seen, release = held(server)
    plain = {"url": url, "cache": "wishes"}
    with contextlib.ExitStack() as stack:
        wires = [stack.enter_context(contract.Wire(listening)) for _ in range(10)]

        def meanwhile():
            until_shared(wires[0], "wishes", 8)
            release.set()

        results = at_once(wires, (plain, {**plain, **wish}), meanwhile)
    assert all(response["ok"] for response in results) and len(seen) == 2
    for turn in (results[::2], results[1::2]):
        assert sum(response["cache"].get("collapsed", False) for response in turn) == 4


def test_what_may_not_be_stored_is_not_shared(listening, server):
    fields = (("Cache-Control", "no-store"),)
    release, others = threading.Event(), threading.Barrier(5)

    def reply(number, _):
        # requests that waited for the first response are sent at the same time
        release.wait(20) if number == 1 else others.wait(20)
        return Reply(str(number).encode(), fields=fields)

    url, seen = server.script(reply)
    with contextlib.ExitStack() as stack:
        wires = [stack.enter_context(contract.Wire(listening)) for _ in range(6)]

        def meanwhile():
            until_shared(wires[0], "alone", 5)
            release.set()

        results = at_once(wires, {"url": url, "cache": "alone", "serialize": {"as": "text"}}, meanwhile)
    assert len({response["body"]["text"] for response in results}) == 6


def test_a_reader_that_leaves_does_not_harm_the_others(listening, server):
    url, seen, release = held(server)
    with contract.Wire(listening) as first, contract.Wire(listening) as other, contract.Wire(listening) as third:
        number = first.start("data.send", {"url": url, "cache": "leave"})
        deadline = time.monotonic() + 20
        while not seen:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        waiting = other.start("data.send", {"url": url, "cache": "leave"})
        until_shared(third, "leave")
        first.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
        assert first.reply(number)["error"]["code"] == -32800
        release.set()
        assert result(other.reply(waiting, 10))["ok"] and len(seen) == 1
