# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Clients that ask for much at once, and read all the time."""

import json

import contract
import pytest

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def calls(count):
    params = {"bytes": 1_000_000}
    return [{"jsonrpc": "2.0", "id": i, "method": "diagnostics.blob", "params": params} for i in range(count)]


def test_a_client_that_reads_gets_every_reply(wire):
    """More than may wait for a client at once, on stdio and, in the next test, on a socket."""
    asks_for_much(wire)


def test_so_it_is_on_a_socket(listening):
    with contract.Wire(listening) as wire:
        asks_for_much(wire)


def asks_for_much(wire):
    for call in calls(150):
        wire.send(call)
    assert [json.loads(wire.receive_line(60))["id"] for _ in range(150)] == list(range(150))


def test_a_batch_gets_its_whole_reply_however_long_that_is(listening):
    with contract.Wire(listening) as wire:
        wire.send(calls(80))
        assert [len(one["result"]["data"]) >= 1_000_000 for one in json.loads(wire.receive_line(60))] == [True] * 80
        assert wire.call("diagnostics.echo", {"a": 1})["result"] == {"a": 1}
