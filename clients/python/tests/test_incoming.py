# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The reader of messages: lines, and raw bodies behind their lines, however the bytes are cut."""

from __future__ import annotations

import json
import random
import tracemalloc
from base64 import b64encode
from typing import Any

import pytest
from outrider import ProtocolError, Response
from outrider._protocol.frames import MESSAGE_LIMIT, Incoming, encode, told, unpack


def _raw(number: int, body: bytes, ok: bool = True) -> bytes:
    result = {"ok": ok, "url": "http://a/", "method": "GET", "body": {"kind": "raw", "size": len(body)}}
    line = f'{{"raw":{len(body)},"jsonrpc":"2.0","id":{number},"result":{encode(result)}}}\n'
    return line.encode() + body


def _plain(number: int, text: str) -> bytes:
    return f'{{"jsonrpc":"2.0","id":{number},"result":{encode({"ok": False, "text": text})}}}\n'.encode()


FAKES = [b'{"jsonrpc":"2.0","id":9,"result":{"ok":true}}\n', b'\n{"raw":5,"jsonrpc":"2.0"}\n', b"\n\n", b""]


def _seen(message: Any) -> Any:
    """What a message says, in whatever form it is."""
    if isinstance(message, tuple):
        return json.loads(message[0])["id"], message[1]
    if isinstance(message, bytes):
        message = json.loads(message)
    return message["id"], message["result"].get("text")


def test_a_body_behind_its_line_comes_with_it() -> None:
    [(number, message)] = Incoming().take(_raw(7, b"\n{}\n"))
    assert number == 7
    response = Response(message, print)
    assert response.content == b"\n{}\n"
    assert response.body_kind == "base64" and response.size == 4
    assert response.raw["body"] == {"kind": "base64", "size": 4, "base64": b64encode(b"\n{}\n").decode()}


def test_a_body_of_a_failed_exchange_gets_its_usual_form() -> None:
    [(number, message)] = Incoming().take(_raw(7, b"no", ok=False))
    assert (number, message["result"]["ok"]) == (7, False)
    assert Response(message["result"], print).content == b"no"
    assert told(message)["body"] == {"kind": "base64", "size": 2, "base64": "bm8="}


def test_a_result_for_a_program_has_the_body_in_base64() -> None:
    [(_, message)] = Incoming().take(_raw(7, b"hi"))
    assert told(message)["body"] == {"kind": "base64", "size": 2, "base64": "aGk="}


def test_a_piece_of_a_body_stays_in_bytes_for_the_client_and_is_base64_for_a_program() -> None:
    line = b'{"raw":2,"jsonrpc":"2.0","id":7,"result":{"offset":0,"end":true,"size":2}}\nhi'
    [(number, message)] = Incoming().take(line)
    assert number == 7 and unpack(message)["base64"] == b"hi"
    assert told(message) == {"offset": 0, "end": True, "size": 2, "base64": "aGk="}


def test_a_piece_of_a_stream_has_its_bytes_in_place_of_the_mark_for_them() -> None:
    line = b'{"raw":2,"jsonrpc":"2.0","id":7,"result":{"raw":true,"offset":0,"seq":0,"end":true}}\nhi'
    [(_, message)] = Incoming().take(line)
    assert told(message) == {"offset": 0, "seq": 0, "end": True, "base64": "aGk="}


def test_the_reader_says_how_many_bytes_of_a_body_are_missing() -> None:
    reader = Incoming()
    frame = _raw(7, bytes(100_000))
    line = frame.index(b"\n") + 1
    assert reader.take(frame[: line - 1]) == [] and reader.missing == 0 and reader.size == line - 1
    assert reader.take(frame[line - 1 : line + 10]) == [] and reader.missing == 99_990
    assert reader.take(frame[line + 10 : -1]) == [] and reader.missing == 1
    [(_, message)] = reader.take(frame[-1:])
    assert message[1] == bytes(100_000) and reader.missing == 0


def test_a_copy_of_the_reader_leaves_it_alone() -> None:
    reader = Incoming()
    frame = _raw(7, b"abcdef")
    assert reader.take(frame[:-3]) == []
    assert reader.copy().take(frame[-3:]) == [(7, reader.copy().take(frame[-3:])[0][1])]
    assert reader.missing == 3
    assert _seen(reader.take(frame[-3:])[0][1]) == (7, b"abcdef")


def test_a_long_body_is_handed_out_without_a_copy() -> None:
    reader = Incoming()
    frame = _raw(7, bytes(8 << 20))
    reader.take(frame[:1000])
    tracemalloc.start()
    try:
        reader.room()[:] = frame[-reader.missing :]
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        [(_, message)] = reader.filled(reader.missing)
        assert tracemalloc.get_traced_memory()[1] - before < 1 << 20
    finally:
        tracemalloc.stop()
    assert message[1] == bytes(8 << 20)


@pytest.mark.parametrize("count", [b"", b"-1", b"x", b"1.5", b"1e3", str(MESSAGE_LIMIT + 1).encode(), b"9" * 40])
def test_a_length_that_is_none_is_a_protocol_error(count: bytes) -> None:
    with pytest.raises(ProtocolError):
        Incoming().take(b'{"raw":' + count + b',"jsonrpc":"2.0","id":1,"result":{"ok":true}}\n')


@pytest.mark.parametrize(
    "rest",
    [
        b'"jsonrpc":"2.0","id":1,"result":{"ok":false}}',
        b'"jsonrpc":"2.0","id":1,"result":{"ok":false,"body":{"kind":"text","text":"a"}}}',
        b'"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}',
        b'"jsonrpc":"2.0","method":"event.data","params":{}}',
        b"",
    ],
)
def test_bytes_that_belong_to_no_body_are_a_protocol_error(rest: bytes) -> None:
    with pytest.raises(ProtocolError):
        Incoming().take(b'{"raw":2,' + rest + b"\nhi")


def test_a_line_without_an_end_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outrider._protocol.frames.MESSAGE_LIMIT", 1000)
    reader = Incoming()
    with pytest.raises(ProtocolError, match="more than"):
        for _ in range(11):
            reader.take(bytes(100))


@pytest.mark.parametrize("seed", range(40))
def test_messages_are_the_same_however_their_bytes_are_cut(seed: int) -> None:
    dice = random.Random(seed)
    frames: list[bytes] = []
    expected: list[Any] = []
    for number in range(dice.randrange(1, 30)):
        kind = dice.randrange(3)
        if kind == 0:
            text = "x" * dice.randrange(200)
            frames.append(_plain(number, text))
            expected.append((number, text))
        else:
            body = b"".join([dice.choice([*FAKES, dice.randbytes(20)]) for _ in range(dice.randrange(8))])
            frames.append(_raw(number, body, ok=kind == 1))
            expected.append((number, body if kind == 1 else None))
        if dice.random() < 0.2:
            frames.append(b"\n" if dice.random() < 0.5 else b"  ")
    stream = b"".join(frames).rstrip(b" ")
    reader = Incoming()
    found: list[Any] = []
    place = 0
    while place < len(stream):
        size = dice.choice([1, 2, 7, 64, 1000])
        if reader.missing and dice.random() < 0.7:
            # as the blocking connection does: the bytes of a body go where they stay
            size = reader.missing if dice.random() < 0.5 else min(size, reader.missing)
            reader.room()[:size] = stream[place : place + size]
            found += reader.filled(size)
        else:
            found += reader.take(stream[place : place + size])
        place += size
    assert [number for number, _ in found] == [number for number, _ in expected]
    assert [_seen(message) for _, message in found] == expected
    assert reader.missing == reader.size == 0


@pytest.mark.parametrize("seed", range(40))
def test_damaged_bytes_end_in_messages_or_a_protocol_error(seed: int) -> None:
    dice = random.Random(seed)
    stream = bytearray(b"".join([_raw(n, dice.randbytes(50)) + _plain(n, "y") for n in range(10)]))
    for _ in range(dice.randrange(1, 6)):
        stream[dice.randrange(len(stream))] = dice.randrange(256)
    reader = Incoming()
    try:
        for place in range(0, len(stream), 37):
            for _, message in reader.take(bytes(stream[place : place + 37])):
                assert isinstance(message, (dict, bytes, tuple))
    except ProtocolError:
        pass
