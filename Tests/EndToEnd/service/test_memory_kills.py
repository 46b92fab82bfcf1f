# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Clients that are killed: the budget for large payloads is empty afterwards, whatever they had left in the service."""

import signal
import subprocess
import sys
import time

import contract
import pytest
from budget import MIB, origins, services, until

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

CLIENT = str(contract.ROOT / "Tests/EndToEnd/support/clients/heavy_client.py")

STAGES = [
    "partial message", "partial batch", "batch", "waiting request", "unread reply", "stored body", "kept content",
    "waiting stream", "fed request", "attached stream",
]


origin, service = origins(), services()


@pytest.fixture
def killed(service, origin):
    made = []

    def start(stages):
        new = [
            subprocess.Popen(
                [sys.executable, "-S", CLIENT, service, origin.url, stage],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            )
            for stage in stages
        ]
        made.extend(new)
        return new

    yield start
    for process in made:
        process.kill()
        process.wait(10)
        process.stdout.close()


@pytest.mark.parametrize("stage", STAGES)
def test_nothing_stays_counted_when_processes_are_killed(service, killed, stage):
    processes = killed([stage] * 3)
    for process in processes:
        assert process.stdout.readline() == b"ready\n"
    until(service, lambda now: now["highest"] > MIB)
    for process in processes:
        process.send_signal(signal.SIGKILL)
        # at different moments of a stage
        time.sleep(0.03)
    found = until(service, lambda now: now["held"] == 0)
    assert found["shares"] == []


def test_nothing_stays_counted_when_all_are_killed_while_the_memory_is_full(service, killed):
    processes = killed(STAGES)
    for process in processes:
        assert process.stdout.readline() == b"ready\n"
    until(service, lambda now: now["waited"] > 0 or now["spilt"]["payloads"] > 0)
    for process in processes:
        process.send_signal(signal.SIGKILL)
    found = until(service, lambda now: now["held"] == 0)
    assert found["shares"] == []
    with contract.Wire(service) as wire:
        reply = wire.call("diagnostics.echo", {"value": "x" * (2 * MIB)})
        assert reply["result"]["value"] == "x" * (2 * MIB)
