# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cassettes that are none, are in use, do not fit on the disk, or were cut off."""

import json

import contract
import pytest
from request_client import get, result
from small_disk import on_small_disk
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


@pytest.mark.parametrize("count", [2**63 - 1, 10**6, -1, 0])
def test_a_count_of_a_piece_may_be_any_number(server, tape, count):
    with fresh() as wire:
        start(wire, tape)
        body = get(wire, server.url + "/json")["body"]
        stop(wire)
    with open(tape) as file:
        archive = json.load(file)
    archive["log"]["entries"][0]["_chunks"] = [[0, 5], [0, count]]
    with open(tape, "w") as file:
        json.dump(archive, file)
    with fresh() as wire:
        reply = wire.call("replay.start", {"path": tape, "mode": "none"})
        assert "result" not in reply or get(wire, server.url + "/json")["body"] == body
        assert "result" in wire.call("server.info")


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


@pytest.mark.parametrize(("body", "size"), [(200, 8), (20_000, 64), (1_200_000, 4096)])
def test_a_disk_without_space(server, tmp_path, body, size):
    """Requests go on, `replay.get` and `replay.stop` tell the failure, and what was recorded plays."""
    tape = str(tmp_path / "a.har")

    def post(wire, number):
        text = f"{number} " + "x" * body
        return get(wire, f"{server.url}/echo?{number}", method="POST", body={"text": text})

    with contract.Wire(under=on_small_disk(tmp_path, size)) as wire:
        start(wire, tape)
        count = 0
        while "failure" not in (info := result(wire.call("replay.get", {}))):
            response = post(wire, count)
            assert response["ok"] and response["status"] == 200, response
            assert (count := count + 1) < 50
        assert info["failure"]["code"] == 2201 and "space" in info["failure"]["message"], info
        assert get(wire, server.url + "/json")["ok"]
        stopped = stop(wire)
        assert stopped["failure"] == info["failure"]
        told = start(wire, tape, mode="none", repeat="last") if stopped["recorded"] else {"entries": 0, "unusable": []}
        assert told["entries"] == stopped["recorded"] and not told["unusable"]
        for number in range(told["entries"]):
            assert post(wire, number)["ok"]


def test_a_tcp_stream_is_neither_recorded_nor_played(server, tape):
    """It is refused before anything is sent, also under stubs; `except` and `unmatched` let it pass."""
    target = {"host": "127.0.0.1", "port": server.server_port}
    with fresh() as wire:
        start(wire, tape)
        refused = result(wire.call("tcp.open", target))
        assert refused["error"]["code"] == 2200 and "except" in refused["error"]["message"], refused
        stop(wire)
        start(wire, tape, mode="all", **{"except": [f"tcp://127.0.0.1:{server.server_port}"]})
        assert result(wire.call("tcp.open", target))["ok"]
        stop(wire)
        session = result(wire.call("session.create", {}))["session"]
        wire.call("stub.add", {"session": session, "url": "/a", "response": {}})
        assert result(wire.call("tcp.open", {**target, "session": session}))["error"]["code"] == 2203
        wire.call("stub.add", {"session": session, "url": "/b", "response": {}, "unmatched": "pass"})
        assert result(wire.call("tcp.open", {**target, "session": session}))["ok"]


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
            info = start(wire, tape, mode="newEpisodes" if cut % 7 == 0 else "once")
            assert info["entries"] in (2, 3)
            stop(wire)
