# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Records of a WebSocket, cut wherever a socket may cut them."""

from __future__ import annotations

import random
from typing import Any

import pytest
from outrider._resources.reading import PIECE
from outrider._resources.records import Records, control, record

LENGTHS = (0, 1, 5, 125, 4095, 4096, 5000, 65536, PIECE - 5, PIECE, PIECE + 1, 1 << 20)


def messages(seed: int, most: int) -> list[Any]:
    """Texts and bytes of chosen lengths, with characters of one to four bytes."""
    chance = random.Random(seed)
    found: list[Any] = []
    for _ in range(60):
        length = chance.choice([some for some in LENGTHS if some <= most])
        letter = chance.choice("aé€😀")
        found.append(letter * length if chance.random() < 0.5 else chance.randbytes(length))
    return found


def pour(records: Records, data: bytes, sizes: Any) -> list[Any]:
    """Puts the bytes into the room of the records in pieces of those sizes."""
    found: list[Any] = []
    at = 0
    while at < len(data):
        room = records.room()
        piece = data[at : at + min(len(room), next(sizes))]
        assert piece, "there is always room"
        room[: len(piece)] = piece
        found += records.filled(len(piece))
        at += len(piece)
    return found


def forever(chance: random.Random, most: int) -> Any:
    while True:
        yield chance.randint(1, most)


@pytest.mark.parametrize("piece", [4096, 1 << 17, 1 << 24])
@pytest.mark.parametrize("most", [125, 5000, 65536, 1 << 20])
def test_messages_survive_every_cut(most: int, piece: int) -> None:
    for seed in range(3):
        wanted = messages(seed, most)
        data = b"".join(map(record, wanted)) + control({"close": {"code": 1000}})
        records = Records()
        assert pour(records, data, forever(random.Random(seed), piece)) == wanted
        assert records.end == {"close": {"code": 1000}}


def test_a_head_is_cut_at_every_byte() -> None:
    wanted = messages(0, 125)
    data = b"".join(map(record, wanted))
    assert pour(Records(), data, iter(lambda: 1, 0)) == wanted


def test_bytes_that_were_read_elsewhere_come_first() -> None:
    wanted = messages(1, 1 << 20)
    data = b"".join(map(record, wanted))
    for cut in (1, 5, 100, 9000, PIECE, len(data)):
        records = Records()
        found = records.feed(data[:cut])
        assert found + pour(records, data[cut:], forever(random.Random(0), 1 << 18)) == wanted


def test_a_long_message_does_not_keep_its_memory() -> None:
    records = Records()
    for size in (64 << 20, 10):
        message = b"x" * size
        data = record(message)
        assert pour(records, data, iter(lambda: 1 << 24, 0)) == [message]
    assert len(records.room()) <= PIECE
