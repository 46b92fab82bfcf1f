# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cassettes that are none, are in use, do not fit on the disk, or were cut off."""


import contract
import pytest
from request_client import get
from tape_client import entries, fresh, start, stop

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
HEAD = '{"log":{"version":"1.2","creator":{"name":"outrider","version":"1"},"_cassette":{"version":%d},"entries":[\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello", ["line 1, byte 0"]),
        ('{"log": {"entries": [\n  {"request": {}},\n  oops]}}', ["line 3", "byte"]),
        ('{"a": 1}', ["no HAR file"]),
        (HEAD % 9 + "]}}\n", ["format 9", "newer"]),
        (HEAD % 1 + '{"a":,\n{}\n]}}\n', ["line 2, byte"]),
    ],
)  # fmt: skip
def test_what_is_no_cassette(wire, tape, text, words):
    with open(tape, "w") as file:
        file.write(text)
    error = wire.call("replay.start", {"path": tape})["error"]
    assert error["data"]["pointer"] == "/path" and error["data"]["failure"]["code"] == 2201
    assert all(word in error["message"] for word in [*words, tape]), error
    assert open(tape).read() == text


def test_a_second_recorder_is_refused(wire, tape):
    start(wire, tape)
    with fresh() as other:
        error = other.call("replay.start", {"path": tape, "mode": "newEpisodes"})["error"]
        assert "another program records to it" in error["message"], error
    assert wire.call("replay.start", {"path": tape})["error"]["code"] == -32013


def test_a_full_disk_stops_the_recording_only(server, tmp_path):
    tape = str(tmp_path / "a.har")
    with contract.Wire(under=("prlimit", "--fsize=4000")) as wire:
        start(wire, tape)
        for _ in range(6):
            assert get(wire, server.url + "/json")["ok"]
        info = stop(wire)
        assert info["failure"]["code"] == 2201 and "written" in info["failure"]["message"], info
    assert len(entries(tape)) == info["recorded"] > 0


def test_a_cassette_that_was_cut_off_can_be_read(server, tape):
    with fresh() as wire:
        start(wire, tape)
        for number in range(3):
            get(wire, server.url + f"/json?{number}")
        stop(wire)
    whole = open(tape, "rb").read()
    for cut in range(len(whole) - 400, len(whole)):
        with open(tape, "wb") as file:
            file.write(whole[:cut])
        with fresh() as wire:
            info = start(wire, tape, mode="newEpisodes" if cut % 7 == 0 else "once")
            assert info["entries"] in (2, 3)
        if cut % 40:
            continue
        assert len(whole[:cut]) == cut
