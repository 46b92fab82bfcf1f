# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Messages arrive whole and in order, however the server cuts messages into frames, and frames into segments."""

import base64
import itertools
import json
import random
import socket
import threading
import time
import zlib

import contract
import pytest
from http_server import Listening
from raw_client import Raw
from websocket_server import Frames, opened

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

# around the lengths of heads, of payloads that are written without a copy, and of the pieces of reads and writes
LENGTHS = [0, 1, 125, 126, 16379, 16380, 16383, 16384, 16385, 65535, 65536, 131_067, 131_072, 131_073, 300_000]
# of one to four bytes in UTF-8
CHARACTERS = "aZ0é߿ࠀ€\ud7ff\ue000�𐀀\U0010ffff"
GOODBYE = b"\x88\x02" + (1000).to_bytes(2, "big")
DEFLATE = b"Sec-WebSocket-Extensions: permessage-deflate\r\n"


def texts(chance, length):
    """A text of that many bytes; characters are cut at every place."""
    pattern = "".join(chance.choices(CHARACTERS, k=chance.randint(5, 40)))
    text = (pattern * (length // len(pattern.encode()) + 1)).encode()[:length].decode(errors="ignore")
    return text + "x" * (length - len(text.encode()))


def message(chance):
    """A text or bytes."""
    near = chance.choice(LENGTHS) + chance.randint(-1, 1)
    length = max(0, near) if chance.random() < 0.6 else chance.randint(0, 400)
    return texts(chance, length) if chance.random() < 0.5 else chance.randbytes(length)


def frame(first, payload):
    length = len(payload)
    if length < 126:
        return bytes([first, length]) + payload
    if length < 65536:
        return bytes([first, 126]) + length.to_bytes(2, "big") + payload
    return bytes([first, 127]) + length.to_bytes(8, "big") + payload


class Script:
    """The messages of a server, the pings among their frames, and all of that as bytes."""

    def __init__(self, chance, many, is_deflated):
        self.chance = chance
        self.packer = zlib.compressobj(wbits=-15) if is_deflated else None
        self.messages = [message(chance) for _ in range(many)]
        self.pings = []
        self.bytes = b"".join(map(self.frames, self.messages)) + GOODBYE

    def frames(self, value):
        first = 1 if isinstance(value, str) else 2
        payload = value.encode() if isinstance(value, str) else value
        if self.packer and self.chance.random() < 0.7:
            first |= 0x40
            payload = self.packer.compress(payload) + self.packer.flush(zlib.Z_SYNC_FLUSH)
            payload = payload[:-4]
        many = self.chance.choice([0, 0, 1, 3])
        cuts = sorted(self.chance.randint(0, len(payload)) for _ in range(many))
        made = []
        for start, end in itertools.pairwise([0, *cuts, len(payload)]):
            made += [self.control(), frame(first, payload[start:end])]
            first = 0
        made[-1] = bytes([made[-1][0] | 0x80]) + made[-1][1:]
        return b"".join(made)

    def control(self):
        """Sometimes a ping, or a pong without a ping."""
        if self.chance.random() < 0.8:
            return b""
        payload = self.chance.randbytes(self.chance.randint(0, 125))
        if self.chance.random() < 0.3:
            return frame(0x8A, payload)
        self.pings.append(payload)
        return frame(0x89, payload)

    def segments(self):
        """The bytes in arbitrary cuts."""
        start = 0
        while start < len(self.bytes):
            size = self.chance.choice([1, 7, 1400, 16384, 65536, 131_072, 500_000])
            end = start + self.chance.randint(1, size)
            yield self.bytes[start:end]
            start = end


class Scripted(Listening):
    """Plays a script on its only connection, and notes the pongs."""

    def __init__(self, script):
        self.script = script
        self.pongs = []
        self.closed = threading.Event()
        super().__init__()

    def serve(self, connection, number):
        frames = Frames(connection)
        if self.script.packer:
            self.agree(frames)
        else:
            frames.accept()
        thread = threading.Thread(target=self.listen, args=(frames,), daemon=True)
        thread.start()
        for segment in self.script.segments():
            frames.send(segment)
            if self.script.chance.random() < 0.1:
                time.sleep(0.001)
        thread.join(20)

    @staticmethod
    def agree(frames):
        send = frames.send
        frames.send = lambda head: send(head.replace(b"Upgrade: websocket\r\n", DEFLATE + b"Upgrade: websocket\r\n"))
        frames.accept()
        frames.send = send

    def listen(self, frames):
        """Until the Close frame."""
        while True:
            try:
                kind, payload = frames.next()
            except (EOFError, OSError):
                return
            if kind == 10:
                self.pongs.append(payload)
            if kind == 8:
                return self.closed.set()

    def pongs_fit(self):
        """RFC 6455 section 5.5.3 lets a client respond to the latest of several pings only."""
        pings = iter(self.script.pings)
        return all(pong in pings for pong in self.pongs)


def value(found):
    """The message in a value of a read, or in an event."""
    if "text" in found:
        return found["text"]
    data = base64.b64decode(found["base64"])
    return data.decode() if found.get("isText") else data


def records(data):
    """The messages and the decoded controls of a second connection."""
    found, start = [], 0
    while start < len(data):
        kind, end = data[start], start + 5 + int.from_bytes(data[start + 1 : start + 5], "big")
        payload = bytes(data[start + 5 : end])
        found.append({1: bytes.decode, 2: bytes, 3: json.loads}[kind](payload))
        start = end
    assert start == len(data), "the last record is cut off"
    return found


def side_channel(listening, wire, url, pause, **options):
    """What a second connection receives that waits before its reads."""
    stream = opened(wire, url, **options)["stream"]
    with Raw(listening, stream, "both") as raw:
        raw.reply()
        data = bytearray(raw.buffer)
        while piece := raw.socket.recv(1 << 16):
            data += piece
            if pause.random() < 0.05:
                time.sleep(0.002)
    return records(data)


def reads(wire, url, chance):
    stream = opened(wire, url)["stream"]
    values, end = [], False
    while not end:
        params = {"stream": stream, "wait": 10, "items": chance.randint(1, 5)}
        found = wire.call("stream.read", params)["result"]
        values, end = values + list(map(value, found["values"])), found["end"]
    return values, found


def events(wire, url, chance):
    stream = opened(wire, url, mode="push", credit=1000, states=False)["stream"]
    values = []
    while True:
        event = wire.receive()
        if event["method"] == "event.end":
            return values, event["params"]
        assert event["method"] == "event.message"
        values.append(value(event["params"]))
        more = chance.choice([1, 5000, 200_000]) + len(values[-1])
        wire.send({"jsonrpc": "2.0", "method": "stream.credit", "params": {"stream": stream, "bytes": 4 * more}})


@pytest.mark.parametrize("is_deflated", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_second_connection_gets_every_message(listening, seed, is_deflated):
    chance = random.Random(seed)
    script = Script(chance, 120, is_deflated)
    with Scripted(script) as server, contract.Wire(listening) as wire:
        found = side_channel(listening, wire, server.url("/", "ws"), random.Random(seed))
        assert found.pop() == {"close": {"code": 1000, "clean": True}}
        assert found == script.messages
        assert server.pongs_fit()


@pytest.mark.parametrize("receive", [reads, events])
@pytest.mark.parametrize("is_deflated", [False, True])
def test_reads_and_events_have_every_message(wire, receive, is_deflated):
    chance = random.Random(7)
    script = Script(chance, 40, is_deflated)
    with Scripted(script) as server:
        found, end = receive(wire, server.url("/", "ws"), random.Random(7))
        assert found == script.messages
        assert end["close"]["code"] == 1000
        assert server.pongs_fit()


@pytest.mark.parametrize("states", [True, False])
def test_a_slow_second_connection_gets_the_newest_messages_in_order(listening, states):
    """`dropOldest`: the reports count every message that is missing."""
    script = Script(random.Random(11), 120, False)
    with Scripted(script) as server, contract.Wire(listening) as wire:
        # room for the longest message and the state behind it: a message beyond the limit gives way to the next
        options = {"overflow": "dropOldest", "backlog": 200_000, "states": states}
        found = side_channel(listening, wire, server.url("/", "ws"), random.Random(11), **options)
    assert found.pop()["close"]["code"] == 1000
    told = [one["socket"] for one in found if isinstance(one, dict)]
    came = [one for one in found if not isinstance(one, dict)]
    left = iter(script.messages)
    assert all(one in left for one in came)
    assert came[-1] == script.messages[-1]
    if states:
        assert len(came) + sum(one.get("dropped", 0) for one in told) == len(script.messages)


def test_a_second_connection_that_reads_nothing_gets_the_first_messages_and_the_reason(listening):
    """`overflow: close`: what was taken before the limit is whole and in order."""
    script = Script(random.Random(13), 400, False)
    with Scripted(script) as server, contract.Wire(listening) as wire:
        stream = opened(wire, server.url("/", "ws"), overflow="close", backlog=65536)["stream"]
        with Raw(listening, stream, "both") as raw:
            raw.reply()
            assert server.closed.wait(20)
            found = records(raw.rest())
    end = found.pop()
    assert (end["close"]["code"], end["error"]["code"]) == (1008, 1411)
    assert 0 < len(found) < len(script.messages)
    assert found == script.messages[: len(found)]


def leave(raw):
    raw.socket.close()


def leave_in_steps(raw):
    """Ends the sending first: what the server sends then is still received."""
    raw.socket.shutdown(socket.SHUT_WR)
    assert raw.socket.recv(200_000, socket.MSG_WAITALL)
    raw.socket.close()


@pytest.mark.parametrize("way", [leave, leave_in_steps])
def test_a_second_connection_that_leaves_ends_the_socket(listening, way):
    """Messages are unread: the client has cancelled the request, whichever direction the service finds closed first."""
    script = Script(random.Random(17), 400, False)
    with Scripted(script) as server, contract.Wire(listening) as wire:
        result = opened(wire, server.url("/", "ws"))
        with Raw(listening, result["stream"], "both") as raw:
            raw.reply()
            while len(raw.buffer) < 200_000:
                raw.buffer += raw.socket.recv(1000)
            way(raw)
        response = wire.call("request.wait", {"request": result["request"]})["result"]
        assert (response["ok"], response["error"]["code"]) == (False, 1900)
        assert response["error"]["message"] == "the stream was closed"
        assert response["body"]["size"] < len(script.bytes) // 2


def test_a_stream_that_is_closed_with_messages_unread_cancels_the_request(wire):
    """The server hears 1001, and the result is the same in every run."""
    # less than the megabyte that the service drops before it closes TCP, which may lose its Close
    script = Script(random.Random(19), 20, False)
    for _ in range(4):
        with Scripted(script) as server:
            result = opened(wire, server.url("/", "ws"))
            assert wire.call("stream.close", {"stream": result["stream"]})["result"] == {}
            response = wire.call("request.wait", {"request": result["request"]})["result"]
            assert (response["ok"], response["error"]["code"]) == (False, 1900)
            assert server.closed.wait(20)
