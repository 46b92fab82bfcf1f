# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""WebSockets that a client closes while messages wait."""

import struct
import threading

import contract
import pytest
from websocket_server import Acting, opened

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

GOODBYE = b"\x88\x02" + (1000).to_bytes(2, "big")
MESSAGE = struct.pack("!BBH", 0x81, 126, 10_000) + b"x" * 10_000


@pytest.mark.parametrize("more", [{}, {"mode": "push", "credit": 1000}])
def test_a_close_passes_a_full_backlog_and_loses_no_message(wire, more):
    """The server's Close stands behind messages that the client takes only after the result."""

    def act(frames, number):
        frames.accept()
        feed = threading.Thread(target=lambda: frames.send(MESSAGE * 400), daemon=True)
        feed.start()
        while frames.next()[0] != 8:
            pass
        feed.join(20)
        frames.send(GOODBYE)

    with Acting(act) as server:
        stream = opened(wire, server.url("/", "ws"), backlog=1024, states=False, **more)["stream"]
        number = wire.start("websocket.close", {"stream": stream})
        came, messages = {}, 0
        while number not in came:
            message = wire.receive()
            came[message.get("id")] = message
            messages += message.get("method") == "event.message"
        assert came[number]["result"] == {"code": 1000, "clean": True}
        if more:
            credit = {"stream": stream, "bytes": 10_000_000}
            wire.send({"jsonrpc": "2.0", "method": "stream.credit", "params": credit})
        end = None
        while end is None and more:
            event = wire.receive()
            messages += event["method"] == "event.message"
            end = event["params"] if event["method"] == "event.end" else None
        while end is None:
            found = wire.call("stream.read", {"stream": stream, "wait": 10})["result"]
            messages += len(found["values"])
            end = found if found["end"] else None
    assert (messages, end["close"]) == (400, {"code": 1000, "clean": True})
