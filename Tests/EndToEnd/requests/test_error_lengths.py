# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Errors stay below 64 KiB, and show at most 200 characters of what they complain about."""

import json

import contract
import pytest
from request_client import processor_seconds, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

MOST = 64 << 10
URL = "http://127.0.0.1:1/"
# what a name or value of that length may become: plain, escaped in JSON, with spaces, one character of many bytes
TEXTS = {
    "letters": "x" * (1 << 20),
    "controls": "\x01" * (1 << 18),
    "words": "word " * (1 << 18),
    "accents": "e" + "\u0301" * (1 << 18),
    "slashes": "~/" * (1 << 18),
}
CALLS = {
    "an unknown parameter": lambda text: ("data.send", {"url": URL, text: 1}),
    "an unknown parameter within": lambda text: ("data.send", {"url": URL, "retry": {text: 1}}),
    "a wrong value under a long name": lambda text: ("data.send", {"url": URL, "headers": {text: {"a": 1}}}),
    "a header": lambda text: ("data.send", {"url": URL, "headers": {text: "a"}}),
    "a URL": lambda text: ("data.send", {"url": text}),
    "a host": lambda text: ("data.send", {"url": f"http://{text}/"}),
    "a method of HTTP": lambda text: ("data.send", {"url": URL, "method": text}),
    "a session": lambda text: ("data.send", {"url": URL, "session": text}),
    "a file": lambda text: ("data.send", {"url": URL, "body": {"file": "/" + text}}),
    "a router": lambda text: ("router.send", {"router": text, "endpoint": text}),
    "a topic": lambda text: ("events.subscribe", {"topics": [text]}),
    "a feature": lambda text: ("server.hello", {"require": [text]}),
    "a handle": lambda text: ("response.read", {"response": text}),
    "a credential": lambda text: ("oauth.token", {"credential": text}),
    "a kind of encoding": lambda text: ("data.send", {"url": URL, "parameters": {"a": 1}, "encoding": text}),
    "a destination": lambda text: ("download.send", {"url": URL, "destination": {"path": "/" + text}}),
    "a path for the log": lambda text: ("server.setLog", {"to": "file", "path": "/" + text}),
    "a schema": lambda text: ("evaluate.schema", {"schema": {"$ref": text}, "value": 1}),
    "a routers definition": lambda text: ("router.define", {"name": text, "baseUrl": URL, "endpoints": {text: {}}}),
    "a handler": lambda text: ("data.send", {"url": URL, "handlers": [{"id": text}, {"id": text}]}),
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("what", CALLS)
def test_an_error_about_a_long_text_is_short(line, what, text):
    method, params = CALLS[what](TEXTS[text])
    number = line.start(method, params)
    found = line.receive_line(20)
    message = json.loads(found)
    assert message["id"] == number and len(found) < MOST, (len(found), found[:300])
    fault = message.get("error") or message["result"].get("error")
    if fault is None:
        return  # some texts are fine as a value
    # 200 characters and a mark, wherever the text is repeated
    assert fault["message"].count(TEXTS[text][1:6]) * 5 <= 2 * 201, fault["message"]


@pytest.mark.parametrize(
    "envelope",
    [
        {"jsonrpc": "2.0", "id": 1, "method": "x" * (1 << 20)},
        {"jsonrpc": "2.0", "id": "x" * (1 << 20), "method": "server.info"},
        {"jsonrpc": "2.0", "id": "e" + "\u0301" * (1 << 20), "method": "server.info"},
        {"jsonrpc": "x" * (1 << 20), "id": 1, "method": "server.info"},
        {"jsonrpc": "2.0", "id": 1, "method": "server.info", "params": ["x" * (1 << 20)]},
    ],
    ids=["method", "id", "id of one character", "version", "params"],
)
def test_an_error_about_an_envelope_is_short(line, envelope):
    line.send_text(json.dumps(envelope))
    found = line.receive_line(20)
    assert len(found) < 2048 and b"error" in found


def test_a_name_of_15_mb_takes_the_processor_no_longer_than_a_value(service):
    """Reading the message takes the time of its length; complaining about a name in it takes none."""
    long = "x" * (15 << 20)
    with contract.Wire(service) as wire:
        pid, times = result(wire.call("server.info"))["pid"], []
        for params in ({"url": URL, "timeout": long}, {"url": URL, long: 1}):
            before = processor_seconds(pid)
            wire.send_text(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "data.send", "params": params}))
            found = wire.receive_line(60)
            times.append(processor_seconds(pid) - before)
            assert json.loads(found)["error"]["code"] == -32602 and len(found) < MOST
        # of the processor: minutes if the name were compared with what it might have meant
        assert times[1] < 2 * times[0] + 0.5, times
