# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Bodies that callbacks give in place of others, and lengths that a client does not keep to."""

import base64
import time

import contract
import pytest
from callback_client import converse
from request_client import result
from upload_server import Taker

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

HELLO = {"text": "hello"}


@pytest.fixture
def taker():
    with Taker() as taker:
        yield taker


# Callbacks


@pytest.mark.parametrize("kind", ["text", "file"])
def test_a_body_in_place_of_a_compressed_one_is_not_called_compressed(wire, taker, tmp_path, kind):
    """A Content-Encoding of the client's own stays, since its code knows the coding."""
    path = tmp_path / "file"
    path.write_bytes(b"hello" * 100)
    body = HELLO if kind == "text" else {"file": str(path)}
    params = {"url": taker.url("/keep"), "body": body, "interceptors": [{"callback": "mine"}]}
    functions = {"adapt": lambda params: {"body": {"text": "plain"}}}
    assert converse(wire, "upload.send", {**params, "compress": "gzip"}, functions)[0]["result"]["ok"]
    assert (taker.last().body, taker.last().field("content-encoding")) == (b"plain", None)
    own = {"headers": {"Content-Encoding": "br"}}
    assert converse(wire, "upload.send", {**params, **own}, functions)[0]["result"]["ok"]
    assert (taker.last().body, taker.last().field("content-encoding")) == (b"plain", "br")


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"file": "/etc/passwd"}, "a file"),
        ({"stream": "str_aaaaaaaaaaaaaaaa"}, "a stream"),
        ({"multipart": [{"name": "a", "text": "1"}, {"name": "b", "file": "/etc/passwd"}]}, "parts from files"),
    ],
)
def test_an_adapter_gives_no_file_and_no_stream(wire, taker, body, word):
    """Such a body was sent as an empty one."""
    params = {"url": taker.url("/keep"), "body": HELLO, "interceptors": [{"callback": "mine"}]}
    functions = {"adapt": lambda params: {"body": body}, "retry": lambda params: {"retry": False}}
    error = converse(wire, "upload.send", params, functions)[0]["result"]["error"]
    assert error["code"] == 1300 and "body must not" in error["message"] and word in error["message"], error
    assert "text or base64" in error["message"] and taker.taken == []


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_redirect_whose_callback_wants_no_body_carries_none(wire, home, method):
    params = {"url": home.url("/to/307?/echo"), "body": HELLO, "redirect": {"callback": "mine"}}
    functions = {"redirect": lambda params: {"follow": True, "request": {"method": method}}}
    assert converse(wire, "upload.send", params, functions)[0]["result"]["ok"]
    last = home.seen[-1]
    assert (last["method"], last["path"], last["body"]) == (method, "/echo", "")
    assert "content-type" not in last["headers"]
    functions = {"redirect": lambda params: {"follow": True, "request": {"method": method, "body": {"text": "new"}}}}
    error = converse(wire, "upload.send", params, functions)[0]["result"]["error"]
    assert error["code"] == 1102 and "use POST" in error["message"] and len(home.seen) == 3


# Streams


def opened(wire):
    return result(wire.call("upload.open"))["stream"]


def write(wire, stream, data):
    return wire.call("stream.write", {"stream": stream, "base64": base64.b64encode(data).decode()})


@pytest.mark.parametrize("body", ["stream", "multipart"])
def test_what_is_written_behind_the_length_is_refused(wire, taker, body):
    """Also if the request has its body already: bytes that no server gets are not taken. [Q12]"""

    def fed(data, length=3):
        """A request that has sent these bytes of its stream, and the stream."""
        stream = opened(wire)
        spec, before = {"stream": stream, "length": length}, b""
        if body == "multipart":
            spec = {"multipart": {"parts": [{"name": "a", **spec}, {"name": "b", "text": "c"}], "boundary": "b"}}
            before = b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n'
        params = {"url": taker.url("/later"), "body": spec}
        request = result(wire.call("upload.start", params))["request"]
        assert result(write(wire, stream, data))["accepted"] == len(data)
        ends = time.monotonic() + 20
        while result(wire.call("request.get", {"request": request}))["progress"]["sent"] < len(before + data):
            assert time.monotonic() < ends
        return request, stream

    request, stream = fed(b"1")
    # at once, before the request could end the stream
    numbers = [wire.start("stream.write", {"stream": stream, "text": text}) for text in ("23", "4")]
    replies = wire.replies(numbers)
    assert result(replies[numbers[0]])["accepted"] == 2
    error = replies[numbers[1]]["error"]
    assert (error["code"], error["data"]["state"]) == (-32013, "closed"), error
    taker.go.set()
    assert result(wire.call("request.wait", {"request": request}))["ok"]
    # a request that still waits for the rest fails
    request, stream = fed(b"1")
    assert write(wire, stream, b"234")["error"]["code"] == -32013
    error = result(wire.call("request.wait", {"request": request}))["error"]
    assert error["code"] == 1232 and "gave more" in error["message"] and "/stream" in error["pointer"], error
