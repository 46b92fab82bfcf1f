# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A reader polls its socket for a moment before it sleeps, where messages follow each other closely."""

from __future__ import annotations

import time

import pytest
from outrider import Client, RequestTimeout
from outrider._connection import wire
from outrider._connection.polling import CLOSE, FEWEST, MOST, PRICE, SHORT, TOLERANCE, BusyPolling

LATE = 2 * CLOSE


def polling_after(close: int, processors: int = 2) -> BusyPolling:
    polling = BusyPolling(processors)
    for _ in range(close):
        polling.slept(CLOSE)
    return polling


def test_polls_begin_after_some_close_messages() -> None:
    assert polling_after(FEWEST).credit <= 0
    assert polling_after(FEWEST + 1).credit > 0


def test_late_messages_begin_no_poll_and_take_back_close_ones() -> None:
    polling = BusyPolling(2)
    for _ in range(1000):
        polling.slept(LATE)
    assert polling.credit == -FEWEST
    polling = polling_after(FEWEST)
    polling.slept(LATE)
    assert polling.credit == -FEWEST
    polling.slept(CLOSE)
    assert polling.credit == 1 - FEWEST


def test_the_only_processor_is_never_polled_on() -> None:
    assert polling_after(100_000, processors=1).credit <= 0


@pytest.mark.parametrize("good", range(PRICE + 1))
def test_at_most_every_fifth_poll_is_in_vain(good: int) -> None:
    polling = polling_after(FEWEST + 1)
    vain = successful = 0
    for turn in range(10_000):
        if polling.credit <= 0:
            polling.slept(CLOSE)
        elif turn % (good + 1) == 0:
            polling.missed()
            vain += 1
        else:
            polling.came()
            successful += 1
    # one or two more for each time that polls begin again, which soon takes MOST close messages
    assert vain <= successful / PRICE + 2 * (10_000 / MOST + 8)


def test_after_vain_polls_more_close_messages_are_needed_until_polls_pay_again() -> None:
    polling = BusyPolling(2)
    for wanted in (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 4096):
        assert (polling.wanted, polling.credit) == (wanted, -wanted)
        for _ in range(wanted + 1):
            assert polling.credit <= 0
            polling.slept(CLOSE)
        polling.missed()
    for _ in range(MOST + 1):
        polling.slept(CLOSE)
    for _ in range(FEWEST * 9):
        polling.came()
    assert polling.wanted == FEWEST


def test_polls_end_if_most_of_them_are_long() -> None:
    polling = polling_after(FEWEST + 1)
    for _ in range(1000):
        polling.came(2 * SHORT)
        polling.came(SHORT)
    assert polling.credit > 0
    for _ in range(TOLERANCE):
        assert polling.credit > 0
        polling.came(2 * SHORT)
    assert (polling.credit, polling.wanted) == (-2 * FEWEST, 2 * FEWEST)


def test_a_reply_ends_a_poll_and_a_late_one_is_slept_for(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    came, missed = BusyPolling.came, BusyPolling.missed
    monkeypatch.setattr(BusyPolling, "came", lambda self, seconds: (seen.append("came"), came(self, seconds))[1])
    monkeypatch.setattr(BusyPolling, "missed", lambda self: (seen.append("missed"), missed(self))[1])
    client.info()
    connection = client._connection
    assert isinstance(connection, wire.Wire)
    polling = connection._polling

    polling.credit = FEWEST
    with monkeypatch.context() as patient:
        patient.setattr(wire, "PATIENCE", 30.0)
        assert client.call("diagnostics.echo", value=1) == {"value": 1}
    assert seen == ["came"]

    polling.credit = FEWEST
    before = time.process_time()
    client.call("diagnostics.sleep", seconds=1)
    assert seen == ["came", "missed"] and polling.credit == FEWEST - PRICE
    assert time.process_time() - before < 0.5, "the reader polled all the time"

    polling.credit = FEWEST
    with pytest.raises(RequestTimeout):
        client.invoke("diagnostics.sleep", {"seconds": 30}, timeout=0.05)
    assert client.call("diagnostics.echo", value=2) == {"value": 2}
