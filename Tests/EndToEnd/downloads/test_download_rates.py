# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Downloads with a rate: how fast, and for how long."""

import time

import contract
import pytest
from download_client import SIZE, download, failure, server, to
from range_server import Ranging
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
__all__ = ["server"]


def test_the_rate_can_be_limited(wire, server, tmp_path):
    """A quarter of the file at once would be against it; how long it takes is the product's, not the machine's."""
    begin = time.monotonic()
    assert download(wire, server.url("/fine"), destination=to(tmp_path / "file"), rateLimit=SIZE)["ok"]
    assert time.monotonic() - begin >= 0.8
    assert (tmp_path / "file").read_bytes() == server.data


@pytest.mark.parametrize("size", [SIZE, 6000])
@pytest.mark.parametrize("way", ["plain", "cache", "cassette"])
def test_a_slow_rate_does_not_extend_the_time(wire, tmp_path, size, way):
    """What is there at once takes many minutes at this rate; the short file is there with its head."""
    wish = {"destination": to(tmp_path / "file"), "rateLimit": 100, "timeout": {"total": 3}}
    if way == "cache":
        wish["cache"] = True
    if way == "cassette":
        cassette = {"path": str(tmp_path / "tape.yaml")}
        wish["session"] = result(wire.call("session.create", {"replay": cassette}))["session"]
    with Ranging(size) as server:
        response = download(wire, server.url("/fine"), seconds=30, **wish)
    failure(response, 1405, "more than 3 s in all")
    assert "resumeData" in response and not (tmp_path / "file").exists()


def test_the_wait_for_a_turn_is_no_part_of_the_time_of_a_slow_rate(wire, tmp_path):
    limits = {"rate": {"requests": 1, "seconds": 5}}
    session = result(wire.call("session.create", {"limits": limits}))["session"]
    with Ranging(1000) as server:
        wishes = [{"url": server.url("/fine"), "session": session, "destination": to(tmp_path / name),
                   "rateLimit": 1000, "timeout": {"total": 4}} for name in "ab"]
        numbers = [wire.start("download.send", wish) for wish in wishes]
        replies = wire.replies(numbers, 30)
    assert all(result(replies[number])["ok"] for number in numbers), replies
