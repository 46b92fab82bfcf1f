# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A response that is at hand needs no script; the result is that of the script."""

import json

import contract
import pytest
from request_client import result, until
from tape_client import fresh, start, stop

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

HOST = "http://recorded.example"
JSON = ("Content-Type", "application/json")


def entry(path, status=200, text="", fields=(), **more):
    response = {"status": status, "statusText": more.pop("reason", ""), "httpVersion": "HTTP/1.1",
                "headers": [{"name": name, "value": value} for name, value in fields],
                "content": {"size": len(text), "mimeType": "text/plain", "text": text}}  # fmt: skip
    return {"request": {"method": "GET", "url": HOST + path, "headers": []}, "response": response, **more}


ENTRIES = [
    entry("/json", text='{"a": [1, 2.5, "\u00e4"]}', fields=[JSON, ("Content-Length", "999"), ("ETag", '"1"')]),
    entry("/empty", fields=[("Content-Length", "0")]),
    entry("/long", text="x" * 70_000),
    entry("/nothing", status=204),
    entry("/created", status=201, text="made", reason="Made", fields=[("X-A", "1"), ("x-a", "2")]),
    entry("/missing", status=404, text="no"),
    entry("/moved", status=302, fields=[("Location", "/json")]),
    entry("/packed", text="text", fields=[("Content-Encoding", "gzip"), ("Content-Length", "40")]),
    entry("/pieces", text="abcdef", _chunks=[[0, 2], [40, 4]]),
    entry("/cookie", text="set", fields=[("Set-Cookie", "a=b; Path=/")]),
    entry("/partial", status=206, text="bc", fields=[("Content-Range", "bytes 1-2/4")]),
]  # fmt: skip


@pytest.fixture
def recorded(tape):
    with open(tape, "w") as file:
        json.dump({"log": {"version": "1.2", "entries": ENTRIES}}, file)
    return tape


def played(wire, path, **params):
    # the message of a failed check has no moment in it
    response = result(wire.call("data.send", {"url": HOST + path, **params}))
    return {name: value for name, value in response.items() if name not in ("request", "total")}


@pytest.mark.parametrize("settings", [
    {}, {"serialize": {"as": "base64"}}, {"serialize": {"as": "text"}}, {"maxInline": 3}, {"maxBody": 4},
])  # fmt: skip
def test_the_result_is_that_of_the_script(recorded, settings):
    with fresh() as wire:
        start(wire, recorded, mode="none", repeat="last")
        paths = [one["request"]["url"][len(HOST):] for one in ENTRIES]
        heard = {"events": True}
        ready = [(played(wire, path, **settings), played(wire, path, **settings, **heard)) for path in paths]
        # with a stub the stage compares each request
        result(wire.call("stub.add", {"url": HOST + "/other", "response": {}}))
        for path, found in zip(paths, ready):
            responses = [*found, played(wire, path, **settings), played(wire, path, **settings, **heard)]
            stored = [response.get("body", {}).pop("response", None) is None for response in responses]
            assert responses == 4 * responses[:1] and stored == 4 * stored[:1], path


def test_the_events_are_those_of_the_script(recorded):
    def events(wire, path):
        told, _ = until(wire, wire.start("data.send", {"url": HOST + path, "events": ["state", "response"]}))
        return [(event["method"], event["params"]["seq"], event["params"].get("state")) for event in told]

    with fresh() as wire:
        start(wire, recorded, mode="none", repeat="last")
        paths = [one["request"]["url"][len(HOST):] for one in ENTRIES]
        ready = [events(wire, path) for path in paths]
        result(wire.call("stub.add", {"url": HOST + "/other", "response": {}}))
        assert ready == [events(wire, path) for path in paths] and all(ready)


def test_both_ways_take_their_turns_and_count(recorded):
    with open(recorded, "w") as file:
        turns = [entry("/turn", text=str(number)) for number in range(6)]
        json.dump({"log": {"version": "1.2", "entries": turns}}, file)
    with fresh() as wire:
        start(wire, recorded, mode="none")
        texts = [played(wire, "/turn", serialize={"as": "text"}, **({"events": True} if number % 2 else {}))
                 for number in range(7)]  # fmt: skip
        assert [response.get("body", {}).get("text") for response in texts] == [*"012345", None]
        assert texts[6]["error"]["code"] == 2200
        info = stop(wire)
        assert (info["played"], info["missed"], info["unused"]) == (6, 1, [])


def test_a_stub_comes_first(recorded):
    with fresh() as wire:
        start(wire, recorded, mode="none", repeat="last")
        result(wire.call("stub.add", {"url": HOST + "/json", "response": {"status": 299}}))
        assert played(wire, "/json")["status"] == 299 and played(wire, "/created")["status"] == 201


def test_a_finished_request_is_known_by_its_handle(recorded):
    with fresh() as wire:
        start(wire, recorded, mode="none", repeat="last")
        handle = result(wire.call("data.send", {"url": HOST + "/json"}))["request"]
        assert result(wire.call("request.get", {"request": handle}))["state"] == "finished"
