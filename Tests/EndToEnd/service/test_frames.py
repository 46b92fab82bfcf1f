# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Bytes that are no proper frames: a clear error, nothing hung, and the next client served.

What each case writes is all there is: the input ends after it, and the service must come to an end by itself.
"""

import json
import socket
import subprocess

import contract
import pytest

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

ECHO = b'{"jsonrpc":"2.0","id":7,"method":"diagnostics.echo","params":{"a":1}}'
LIMIT = 16 << 20


def framed(body, length=None):
    return b"Content-Length: %s\r\n\r\n%s" % (str(len(body) if length is None else length).encode(), body)


def deep(depth):
    params = b'{"a":' * depth + b"1" + b"}" * depth
    return b'{"jsonrpc":"2.0","id":7,"method":"diagnostics.echo","params":' + params + b"}"


# name: (bytes, id of the reply, code of the reply)
CASES = {
    "a header frame cut off": (framed(ECHO[:-9], 500), 7, -32700),
    "a header frame without its body": (framed(b"", 500), None, -32700),
    "a header block cut off": (b"Content-Length: 10\r\n", None, -32700),
    "a line cut off": (ECHO[:-9], 7, -32700),
    "a negative length": (framed(ECHO, -5), None, -32700),
    "a length of 400 digits": (framed(ECHO, "9" * 400), None, -32700),
    "a length that is no number": (framed(ECHO, "abc"), None, -32700),
    "a length of a terabyte": (framed(ECHO, 1 << 40), 7, -32010),
    "a block without a length": (b"Content-Type: application/json\r\n\r\n{}", None, -32700),
    "an endless header": (b"X: " + b"y" * 100_000, None, -32700),
    "a line over the limit": (ECHO[:-3] + b'"' + b"x" * LIMIT + b'"}}\n', 7, -32010),
    "a frame over the limit": (framed(ECHO[:-3] + b'"' + b"x" * LIMIT + b'"}}'), 7, -32010),
    "not UTF-8": (ECHO.replace(b'"a":1', b'"a":"\xff"') + b"\n", 7, -32700),
    "a lone surrogate": (ECHO.replace(b'"a":1', b'"a":"\\ud800"') + b"\n", 7, -32700),
    "a name twice": (ECHO.replace(b'"a":1', b'"a":1,"a":2') + b"\n", 7, -32700),
    "an integer of 30 digits": (ECHO.replace(b":1}", b":" + b"9" * 30 + b"}") + b"\n", 7, -32700),
    "129 levels": (deep(128) + b"\n", 7, -32700),
    "100,000 levels": (deep(100_000) + b"\n", 7, -32700),
    "a flood of tokens": (ECHO.replace(b":1}", b":[" + b"[]," * 300_000 + b"1]}") + b"\n", 7, -32700),
    "neither JSON nor a header": (b"\x16\x03\x01\x02\x00\x01\n", None, -32700),
}


def replies(raw):
    """What came, whichever the framing: the objects."""
    text = raw.decode("ascii")
    decoder, found = json.JSONDecoder(), []
    while "{" in text:
        text = text[text.index("{") :]
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:]
    return found


def over_stdio(data):
    done = subprocess.run([contract.binary(), "serve", "--stdio"], input=data, capture_output=True, timeout=20)
    assert done.returncode >= 0, done.stderr
    return done.stdout


def over_socket(service, data):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(service)
        try:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # refused while we still spoke
        raw = b""
        try:
            while piece := client.recv(65536):
                raw += piece
        except ConnectionResetError:
            pass
        return raw


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("transport", ["stdio", "socket"])
def test_it_is_refused_once_and_the_service_goes_on(name, transport, service):
    data, number, code = CASES[name]
    raw = over_stdio(data) if transport == "stdio" else over_socket(service, data)
    (reply,) = replies(raw)
    contract.check_message("diagnostics.echo", reply)
    assert (reply["id"], reply["error"]["code"]) == (number, code), reply
    (alive,) = replies(over_socket(service, ECHO + b"\n"))
    assert alive["result"] == {"a": 1}


def test_depth_128_is_not_too_deep(service):
    (reply,) = replies(over_socket(service, deep(127) + b"\n"))
    assert "result" in reply


def test_memory_stays_flat_under_bombs(service):
    def resident():
        (reply,) = replies(over_socket(service, b'{"jsonrpc":"2.0","id":1,"method":"server.stats"}\n'))
        return reply["result"]["memory"]["resident"]

    for name in ("a length of a terabyte", "a flood of tokens", "100,000 levels"):
        before = resident()
        over_socket(service, CASES[name][0])
        assert resident() - before < 64 << 20, name
