# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Calls that would turn a connection into bytes and fail: what is behind them is not run."""

import contextlib
import json
import socket

import contract
import pytest
from chunk_server import Feeder
from stream_client import opened

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

RUN = b'{"jsonrpc":"2.0","id":99,"method":"session.create","params":{"shared":true,"name":"injected"}}'

@pytest.fixture
def feeder():
    with Feeder() as feeder:
        yield feeder


@pytest.fixture
def owner(listening):
    """The connection whose streams they are."""
    with contract.Wire(listening) as wire:
        wire.path = listening
        yield wire


def injected(owner):
    return "injected" in str(owner.call("session.list"))


@pytest.mark.parametrize("framing", [b"", b"Content-Length: %d\r\n\r\n"])
@pytest.mark.parametrize(
    "params",
    [
        {"stream": "str_none", "direction": "write"},
        {"stream": "str_none", "direction": "wriet"},
        {"stream": "str_none", "direction": "write", "sice": 4},
        {"direction": "write"},
        ["str_none", "write"],
        {"upload": "read"},
        {"pulled": "write"},
    ],
    ids=str,
)
def test_a_file_behind_a_call_that_fails_is_not_run(owner, feeder, params, framing):
    """The maker of the file would otherwise call with the rights of its sender."""
    if "upload" in params:
        params = {"stream": owner.call("upload.open")["result"]["stream"]}
    if "pulled" in params:
        params = {"stream": opened(owner, feeder.url("/hand/a"))["stream"], "direction": "write"}
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "stream.attach", "params": params}).encode()
    refused_and_not_run(owner, framing, call)


@pytest.mark.parametrize(
    "call",
    [
        '{"jsonrpc":"2.0","id":1,"method":"stream.attach","params":{"stream":"str_"x"","direction":"write"}}',
        '{"id":1,"method":"stream.attach","params":{"stream":"str_none","direction":"write"}}',
        '{"jsonrpc":"2.0","id":{},"method":"stream.attach","params":{"stream":"str_none"}}',
        '[{"jsonrpc":"2.0","id":1,"method":"stream.attach","params":{"stream":"str_none"}}]',
    ],
)
def test_nor_behind_a_call_that_cannot_be_understood(owner, call):
    refused_and_not_run(owner, b"", call.encode())


def test_a_broken_message_that_names_the_method_in_its_params_costs_nothing_else(owner):
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as client:
        client.settimeout(30)
        client.connect(owner.path)
        call = b'{"jsonrpc":"2.0","id":%d,"method":"diagnostics.echo","params":{"a":["stream.attach","%s"]}}\n'
        client.sendall(call % (1, b"\xff") + call % (2, b""))
        client.shutdown(socket.SHUT_WR)
        replies = [json.loads(line) for line in client.makefile("rb")]
    assert [(one["id"], "error" in one) for one in replies] == [(1, True), (2, False)]


def refused_and_not_run(owner, framing, call):
    """One reply, an error, then the end; and what came behind the call has done nothing."""
    for at_once in (True, False):
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as raw:
            raw.settimeout(30)
            raw.connect(owner.path)
            framed = [framing % len(text) + text if framing else text + b"\n" for text in (call, RUN)]
            raw.sendall(b"".join(framed) if at_once else framed[0])
            received = raw.recv(65536)
            with contextlib.suppress(BrokenPipeError):
                raw.sendall(framed[1])
            while piece := raw.recv(65536):
                received += piece
        assert received.count(b'"error"') == 1 and b'"id":99' not in received
        assert not injected(owner)


def test_a_call_that_fails_beside_others_leaves_them_their_replies(owner, feeder):
    stream = opened(owner, feeder.url("/length/10"))["stream"]
    with contract.Wire(owner.path) as other:
        sleeping = other.start("diagnostics.sleep", {"seconds": 0.2})
        assert other.call("stream.attach", {"stream": stream})["error"]["code"] == -32013
        assert other.reply(sleeping)["result"]
        with pytest.raises(contract.Gone):
            other.receive_line()
    with contract.Wire(owner.path) as other:
        echo = {"jsonrpc": "2.0", "id": 8, "method": "diagnostics.echo", "params": {"a": 1}}
        other.send([{"jsonrpc": "2.0", "id": 7, "method": "stream.attach", "params": {"stream": stream}}, echo])
        refused, echoed = json.loads(other.receive_line())
        assert (refused["error"]["code"], echoed["result"]) == (-32013, {"a": 1})
        with pytest.raises(contract.Gone):
            other.receive_line()
    with contract.Wire(owner.path) as other:
        other.send({"jsonrpc": "2.0", "method": "stream.attach", "params": {"stream": stream}})
        with pytest.raises(contract.Gone):
            other.receive_line()
    assert owner.call("stream.read", {"stream": stream})["result"]["base64"]
