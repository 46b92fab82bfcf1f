# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Replies for which there is room neither in memory nor on the disk: each fails its own call, and no other."""

import contextlib
import json

import contract
import pytest
from budget import LEAST, MIB, serving, until
from small_disk import on_small_disk

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

SIZE = 4 * MIB - 1024
# as many fit into the memory
FITTING = LEAST // SIZE


@pytest.fixture
def service(tmp_path):
    """With the smallest budget, and private files on a disk of 64 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    with serving(tmp_path, on_small_disk(disk, 64), disk) as path:
        yield path


@pytest.fixture
def wires(service):
    with contextlib.ExitStack() as stack:
        yield lambda count: [stack.enter_context(contract.Wire(service)) for _ in range(count)]


def is_refused(reply):
    if "error" not in reply:
        return False
    error = reply["error"]
    assert error["code"] == -32011 and error["data"] == {"what": "memory"}, error
    assert "$TMPDIR" in error["message"] and "--memory" in error["message"], error
    return True


def filled(wires, service):
    """Clients that read nothing, until memory is full."""
    full = wires(FITTING)
    for wire in full:
        wire.start("diagnostics.blob", {"bytes": SIZE})
    until(service, lambda now: now["held"] > LEAST - MIB)
    return full


def test_replies_without_room_fail_alone(wires, service):
    many = wires(FITTING + 4)
    for wire in many:
        wire.start("diagnostics.blob", {"bytes": SIZE})
        wire.start("diagnostics.echo", {"value": 1})
    found = until(service, lambda now: now["refused"] >= 4)
    assert found["held"] <= LEAST
    refused = 0
    for wire in many:
        replies = wire.replies([1, 2])
        refused += is_refused(replies[1])
        assert replies[2]["result"] == {"value": 1}
        assert is_refused(replies[1]) or len(replies[1]["result"]["data"]) == SIZE
        assert wire.call("diagnostics.echo", {"value": 2})["result"] == {"value": 2}
    assert refused == 4
    until(service, lambda now: now["held"] == 0)
    assert len(many[0].call("diagnostics.blob", {"bytes": SIZE})["result"]["data"]) == SIZE


def test_replies_without_room_fail_their_places_in_a_batch(wires, service):
    full, (wire,) = filled(wires, service), wires(1)
    blob = ("diagnostics.blob", {"bytes": SIZE})
    calls = [blob, ("diagnostics.echo", {"value": 1}), blob]
    batch = [{"jsonrpc": "2.0", "id": number, "method": method, "params": params}
             for number, (method, params) in enumerate(calls)]  # fmt: skip
    wire.send_text(json.dumps(batch))
    replies = json.loads(wire.receive_line(20))
    assert [reply["id"] for reply in replies] == [0, 1, 2]
    assert [is_refused(reply) for reply in replies] == [True, False, True]
    assert wire.call("diagnostics.echo", {"value": 2})["result"] == {"value": 2}
    for other in full:
        assert len(other.receive(20)["result"]["data"]) == SIZE
    until(service, lambda now: now["held"] == 0)


def test_a_callback_without_room_fails_its_request(wires, service, origin):
    """An adapter is shown long headers."""
    full, (wire,) = filled(wires, service), wires(1)
    adapter = {"callback": "mine", "asks": ["adapt"]}
    params = {"url": f"{origin}/json", "headers": {"X": "x" * 200_000}, "interceptors": [adapter]}
    reply = wire.call("data.send", params, 20)["result"]
    assert not reply["ok"] and "the callback of" in reply["error"]["message"], reply
    assert wire.call("diagnostics.echo", {"value": 2})["result"] == {"value": 2}
    assert all(len(other.receive(20)["result"]["data"]) == SIZE for other in full)
