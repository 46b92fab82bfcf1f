# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""WebSockets on a second connection, and behind a proxy, that meet what they cannot follow."""

import queue

import contract
import pytest
from proxy_server import Proxy
from raw_client import Raw
from websocket_server import Acting, Deaf, opened

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

GOODBYE = b"\x88\x02" + (1000).to_bytes(2, "big")


@pytest.mark.parametrize(
    "kind, length, payload, code, words",
    [
        (3, None, b'{"close":{"code":"4000"}}', 1007, b"code or reason that cannot be sent"),
        (3, None, b'{"close":{"reason":5}}', 1007, b"code or reason that cannot be sent"),
        (3, None, b'{"close":true}', 1007, b"code or reason that cannot be sent"),
        (2, (64 << 20) + 1, b"", 1009, b"a record is longer than 67108864 bytes"),
    ],
)
def test_a_record_that_cannot_be_followed_says_why(listening, kind, length, payload, code, words):
    """No close with another code than was meant."""
    came = queue.SimpleQueue()

    def act(frames, number):
        frames.accept()
        came.put(frames.next())

    head = bytes([kind]) + (len(payload) if length is None else length).to_bytes(4, "big")
    with Acting(act) as server, contract.Wire(listening) as wire:
        stream = opened(wire, server.url("/", "ws"))["stream"]
        with Raw(listening, stream, "both") as raw:
            raw.reply()
            raw.send(head + payload)
            end = raw.rest()
        assert b'"error"' in end and words in end
        assert came.get(timeout=20) == (8, code.to_bytes(2, "big"))


@pytest.mark.parametrize("direction", ["read", "write"])
def test_a_second_connection_carries_a_socket_both_ways(listening, direction):
    with Deaf() as server, contract.Wire(listening) as wire:
        stream = opened(wire, server.url("/", "ws"))["stream"]
        with Raw(listening, stream, direction) as raw:
            error = raw.reply()
        assert (error["code"], error["data"]["state"]) == (-32013, "both") and '"both"' in error["message"]


class Restarting(Proxy):
    """Cannot reach the server for the second connection, as while the server is started again."""

    def __init__(self, status):
        self.status = status
        super().__init__()

    def tunnel(self, connection, reader, request):
        if len(self.connects) == 2:
            connection.sendall(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n" % self.status)
        else:
            super().tunnel(connection, reader, request)


@pytest.mark.parametrize("status", [503, 403])
def test_a_reconnection_asks_a_proxy_again_that_could_not_reach_the_server(wire, status):
    """503 may pass; a connection that is not permitted is the end."""

    def act(frames, number):
        frames.accept()
        frames.send(b"\x81\x01%d" % number)
        if number == 2:
            frames.send(GOODBYE)

    with Acting(act) as server, Restarting(status) as proxy:
        params = {"reconnect": {"delay": 0.01}, "states": False, "proxy": proxy.address}
        stream = opened(wire, server.url("/", "ws"), **params)["stream"]
        values, end = [], {"end": False}
        while not end["end"]:
            end = wire.call("stream.read", {"stream": stream, "wait": 10})["result"]
            values += end["values"]
        if status == 503:
            assert values == [{"text": "1"}, {"text": "2"}] and end["close"]["code"] == 1000
        else:
            assert values == [{"text": "1"}] and end["error"]["code"] == 1415
        assert len(proxy.connects) == (3 if status == 503 else 2)
