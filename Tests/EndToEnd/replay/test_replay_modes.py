# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cassettes: modes, what is compared, misses, stages of sessions and of the service."""

import json
import os
import pathlib
import subprocess
import time

import contract
import pytest
from capture_server import Capture
from request_client import get, result
from tape_client import entries, entry, fresh, start, stop, write

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def test_a_miss_names_what_differs(server, tape):
    with fresh() as wire:
        start(wire, tape)
        get(wire, server.url + "/json?a=1", method="POST", body={"json": {"id": 1, "name": "Ada"}})
        get(wire, server.url + "/json?page=2")
        stop(wire)
    with fresh() as wire:
        start(wire, tape, mode="none")
        asked = server.count
        error = get(wire, server.url + "/json?a=1", method="POST", body={"json": {"id": 2, "name": "Ada"}})["error"]
        assert error["code"] == 2200 and not error["retryable"]
        assert "body at /id: 1 recorded, 2 requested" in error["message"], error
        error = get(wire, server.url + "/json?page=3")["error"]
        assert "query: page=2 recorded, page=3 requested" in error["message"], error
        assert server.count == asked and stop(wire)["missed"] == 2


@pytest.mark.parametrize("size", [100, 20_000, 1_000_000])
def test_a_request_before_the_end_of_a_cassette_or_stub_is_not_sent(server, tape, size):
    """Long requests are compared away from the event loop; what comes behind them is handled meanwhile."""
    url, body = server.url + "/echo", {"text": "x" * size}
    with fresh() as wire:
        start(wire, tape)
        get(wire, url, method="POST", body=body)
        stop(wire)
    asked, request = server.count, {"url": url, "method": "POST", "body": body}
    for _ in range(5):
        with fresh() as wire:
            start(wire, tape, mode="none")
            both(wire, ("data.send", request), ("replay.stop", {}))
        with fresh() as wire:
            name = result(wire.call("stub.add", {"url": url, "response": {"status": 204}}))["stub"]
            assert both(wire, ("data.send", request), ("stub.remove", {"stub": name}))["status"] == 204
    assert server.count == asked


def both(wire, *calls):
    """Sends two calls in one breath; the result of the first."""
    numbered = {900 + place: call for place, call in enumerate(calls)}
    wire.methods.update({str(number): method for number, (method, _) in numbered.items()})
    wire.send_text("\n".join(
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in numbered.items()))
    return result(wire.replies(list(numbered))[900])


def test_identical_requests_play_in_order_and_then_as_repeat_says(server, tape):
    with fresh() as wire:
        start(wire, tape)
        recorded = [get(wire, server.url + "/json")["body"]["json"]["n"] for _ in range(2)]
        stop(wire)
    expected = {"fail": [*recorded, None], "last": [*recorded, recorded[1]], "cycle": [*recorded, recorded[0]]}
    for repeat, numbers in expected.items():
        with fresh() as wire:
            start(wire, tape, repeat=repeat)
            bodies = [get(wire, server.url + "/json").get("body", {}) for _ in range(3)]
            assert [body.get("json", {}).get("n") if body else None for body in bodies] == numbers, repeat


def in_trouble(tape):
    """A cassette of a server that asks for a pause of half a minute, and then responds."""
    url = "http://api.test/item"
    write(tape, entry(url, 503, method="GET", headers=[("Retry-After", "30")]), entry(url, 204, method="GET"))
    return {"url": url, "interceptors": [{"retry": {"limit": 1}}], "events": ["retry"]}


def test_a_played_retry_does_not_wait(tape):
    request = in_trouble(tape)
    with fresh() as wire:
        start(wire, tape, mode="none")
        number = wire.start("data.send", request)
        event = wire.receive()
        # as in the recorded run
        assert event["method"] == "event.retry" and event["params"]["delay"] == 30
        found = result(wire.reply(number, 20))
        assert (found["status"], found["attempts"]) == (204, 2)


def test_the_delay_of_a_played_retry_follows_the_timing(tape):
    request = in_trouble(tape)
    with fresh() as wire:
        start(wire, tape, mode="none", timing=0.05)
        began = time.monotonic()
        assert result(wire.call("data.send", request, 20))["status"] == 204
        assert time.monotonic() - began >= 1.5


def test_the_delay_follows_the_cassette_that_has_the_response(tape, tmp_path):
    """A session's cassette for another server has no say beside that of the service."""
    request, other = in_trouble(tape), str(tmp_path / "other.har")
    write(other, entry("http://other.test/", 204, method="GET"))
    with contract.Wire(arguments=("--replay", json.dumps({"path": tape, "mode": "none"}))) as wire:
        replay = {"path": other, "mode": "none", "only": ["http://other.test/*"], "timing": "recorded"}
        session = result(wire.call("session.create", {"replay": replay}))["session"]
        assert result(wire.call("data.send", {**request, "session": session}, 20))["status"] == 204


def test_modes(server, tape):
    with fresh() as wire:
        error = wire.call("replay.start", {"path": tape, "mode": "none"})["error"]
        assert error["data"]["failure"]["code"] == 2201 and error["data"]["pointer"] == "/path"
        start(wire, tape, mode="newEpisodes")
        one = get(wire, server.url + "/json?a")["body"]
        # what is recorded in this run is not played in it
        assert get(wire, server.url + "/json?a")["body"] != one
        stop(wire)
    with fresh() as wire:
        start(wire, tape, mode="newEpisodes")
        assert get(wire, server.url + "/json?a")["body"] == one
        get(wire, server.url + "/json?b")
        info = stop(wire)
        assert (info["played"], info["recorded"]) == (1, 1) and len(entries(tape)) == 3
    with fresh() as wire:
        start(wire, tape, mode="all")
        assert get(wire, server.url + "/json?a")["body"] != one
        stop(wire)
        assert len(entries(tape)) == 1


def test_what_is_left_of_an_entry_that_was_cut_off_goes_with_the_next(server, tape):
    """The next entry may be shorter than the rest of one that a crash has cut off: the file is JSON all the same."""
    with fresh() as wire:
        start(wire, tape, mode="all")
        get(wire, server.url + "/json?a")
        stop(wire)
    whole = pathlib.Path(tape).read_text()
    cut = '{"startedDateTime":"' + "x" * 20_000
    pathlib.Path(tape).write_text(whole.removesuffix("\n]}}\n") + ",\n" + cut)
    with fresh() as wire:
        assert start(wire, tape, mode="newEpisodes")["entries"] == 1
        get(wire, server.url + "/json?b")
        stop(wire)
    assert [one["request"]["url"] for one in entries(tape)] == [server.url + "/json?a", server.url + "/json?b"]


def test_what_is_compared(server, tape):
    with fresh() as wire:
        start(wire, tape)
        get(wire, server.url + "/echo?ts=1&q=x", method="POST", headers={"X-Kind": "a"},
            body={"json": {"id": 1, "q": {"n": 1}}})  # fmt: skip
        stop(wire)
    ask = {"url": server.url + "/echo?q=x&ts=2", "method": "POST", "headers": {"X-Kind": "b"},
           "body": {"json": {"q": {"n": 1.0}, "id": 9}}}  # fmt: skip
    for spec, code in (
        ({}, 2200),
        ({"ignore": {"query": ["ts"], "body": ["/id"]}}, None),
        ({"ignore": {"query": ["ts"]}, "match": {"body": False}}, None),
        ({"ignore": {"query": ["ts"], "body": ["/id"]}, "match": {"headers": ["X-Kind"]}}, 2200),
    ):
        with fresh() as wire:
            start(wire, tape, **spec)
            assert result(wire.call("data.send", ask)).get("error", {}).get("code") == code, spec
    with fresh() as wire:
        start(wire, tape, match={"host": False}, ignore={"query": ["ts"], "body": ["/id"]})
        assert result(wire.call("data.send", {**ask, "url": "https://other.example/echo?q=x"}))["ok"]


def test_only_and_except(server, tape):
    with fresh() as wire:
        start(wire, tape, only=["/json*"], **{"except": ["/json/health"]})
        for path in ("/json", "/json/health", "/echo"):
            get(wire, server.url + path)
        assert stop(wire)["recorded"] == 1


def test_each_response_counts_as_soon_as_it_is_there(server, tape):
    with fresh() as wire:
        start(wire, tape)
        for number in range(1, 6):
            get(wire, server.url + f"/json?{number}")
            assert result(wire.call("replay.get", {}))["recorded"] == number


def test_sessions_have_cassettes_of_their_own(server, tape):
    with fresh() as wire:
        session = result(wire.call("session.create", {"replay": {"path": tape}, "cookies": True}))["session"]
        get(wire, server.url + "/old", session=session)
        get(wire, server.url + "/json")
        assert result(wire.call("replay.get", {"session": session}))["recorded"] == 2
        result(wire.call("session.close", {"session": session}))
        assert len(entries(tape)) == 2
        assert wire.call("replay.get", {})["error"]["code"] == -32013


def test_stubs_come_before_the_cassette(server, tape):
    with fresh() as wire:
        start(wire, tape)
        result(wire.call("stub.add", {"url": "/json?staged*", "response": {"text": "staged"}}))
        assert get(wire, server.url + "/json?staged=1")["body"]["text"] == "staged"
        get(wire, server.url + "/json")
        assert stop(wire)["recorded"] == 1


def test_the_service_plays_for_all(server, tape):
    with fresh() as wire:
        start(wire, tape)
        first = get(wire, server.url + "/json")["body"]
        stop(wire)
    with contract.Wire(arguments=("--replay", tape)) as wire:
        assert get(wire, server.url + "/json")["body"] == first
        session = result(wire.call("session.create", {}))["session"]
        assert get(wire, server.url + "/other", session=session)["error"]["code"] == 2200
        # a session with stubs does not lead around the cassette
        result(wire.call("stub.add", {"url": "/a", "response": {"text": "a"}, "session": session}))
        assert get(wire, server.url + "/other", session=session)["error"]["code"] == 2200
        assert result(wire.call("replay.get", {}))["missed"] == 2
    assert server.count == 1


@pytest.mark.parametrize("again", [True, False])
def test_a_cassette_that_is_removed_meanwhile_is_told(server, tape, again):
    """What was recorded is lost with the file, also if no request comes after that."""
    with fresh() as wire:
        start(wire, tape)
        get(wire, server.url + "/json?1")
        assert result(wire.call("replay.get", {}))["recorded"] == 1
        os.remove(tape)
        if again:
            assert get(wire, server.url + "/json?2")["ok"]
        info = stop(wire)
    assert info["failure"]["reason"] == "cassetteUnusable" and "removed or replaced" in info["failure"]["message"]
    assert not os.path.exists(tape)


def test_a_new_recording_leaves_no_body_of_the_old_one(tape):
    """Long bodies are files of their own; other files beside them stay."""
    names = []
    for letter in b"ab":
        body = bytes([letter]) * (2 << 20)
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        with Capture(response=head + body) as capture, fresh() as wire:
            start(wire, tape, mode="all")
            assert get(wire, capture.url(), bodyTo="stored")["ok"]
            stop(wire)
        folder = pathlib.Path(tape + ".d")
        names.append({path.name for path in folder.iterdir()})
        (folder / "notes.txt").write_text("mine")
    first, second = names
    assert len(first) == 1 and second > {"notes.txt"} and len(second) == 2 and not first & second


def test_a_new_recording_replaces_no_file_that_is_no_archive(server, tmp_path):
    """The path of a program in place of that of the cassette: the program was replaced by an empty archive."""
    program = tmp_path / "program.py"
    program.write_text(text := "print('{\"log\"')\n")
    replay = {"path": str(program), "mode": "all"}
    with fresh() as wire:
        for error in (
            wire.call("replay.start", replay)["error"],
            wire.call("session.create", {"replay": replay})["error"],
        ):
            assert error["data"]["failure"]["code"] == 2201 and "remove this one" in error["message"], error
        assert program.read_text() == text
        # the archive of a browser may be replaced, and so may an empty file
        for text in ('\ufeff\n{ "log": {"version": "1.2", "entries": []}}', ""):
            program.write_text(text)
            start(wire, str(program), mode="all")
            get(wire, server.url + "/json")
            assert stop(wire)["recorded"] == 1 and len(entries(program)) == 1
    program.write_text("notes")
    service = [contract.binary(), "serve", "--stdio", "--replay", f"{program}:all"]
    done = subprocess.run(service, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2 and "remove this one" in done.stderr, done
    assert program.read_text() == "notes"
