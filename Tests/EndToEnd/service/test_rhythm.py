# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What quick rows of calls leave behind: a service that sleeps."""

import json
import select
import socket

import contract
import pytest
from request_client import processor_seconds

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def test_after_a_quick_row_of_calls_the_service_sleeps(listening):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(listening)
        client.settimeout(30)
        replies = client.makefile("rb")

        def call(method, **params):
            frame = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            client.sendall(json.dumps(frame).encode() + b"\n")
            return json.loads(replies.readline())["result"]

        process = call("server.info")["pid"]
        for number in range(3000):
            assert call("diagnostics.echo", number=number) == {"number": number}
        before = processor_seconds(process)
        # it says nothing of itself
        assert select.select([client], [], [], 1) == ([], [], [])
        assert processor_seconds(process) - before < 0.2
        assert call("diagnostics.echo", still="here") == {"still": "here"}
