# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The limit of a body, and the guide to responses."""

import json
import shlex

import contract
import pytest
from http_server import Listening
from reply_server import Replying
from request_client import get, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture(scope="module")
def server():
    with Replying() as server:
        yield server


def test_a_body_over_its_limit_ends_the_request(wire, server, origin):
    """Declared or not, and after decoding."""
    assert get(wire, server.url(200, None, b"12345"), maxBody=5)["ok"] is True
    for url in (server.url(200, None, b"123456"), origin + "/chunked", origin + "/gzip"):
        response = get(wire, url, maxBody=5)
        assert response["error"]["code"] == 1411 and response["body"]["size"] <= 5
        assert "5 bytes that maxBody allows" in response["error"]["message"], response["error"]


@pytest.mark.parametrize("cache", [False, True])
def test_the_limit_of_a_body_hides_no_head(wire, server, cache):
    """A redirect, a challenge or a retry has another response, whatever the length of the first."""
    more, long, count = {"maxBody": 100, "cache": cache}, b"x" * 500, server.count
    moved = get(wire, server.url(302, None, long, Location=server.url(200, None, b"there")), **more)
    assert (moved["ok"], moved["body"]["text"], server.count - count) == (True, "there", 2)
    asked = server.url(401, None, long, **{"WWW-Authenticate": 'Basic realm="x"'})
    refused = get(wire, asked, auth={"username": "u", "password": "p"}, **more)
    assert (refused["status"], refused["error"]["code"], server.count - count) == (401, 1411, 4)
    failed = get(wire, server.url(503, None, long, X="y"), retry={"limit": 1, "scale": 0.001}, **more)
    assert (failed["status"], failed["error"]["code"]) == (503, 1411)
    assert {"name": "X", "value": "y"} in failed["headers"] and failed["body"]["size"] == 0
    head = get(wire, server.url(200, None, long), method="HEAD", **more)
    assert head["ok"] and head["status"] == 200


# Fields that are not UTF-8

FRAMES = [b"Content-Length: 2\r\n\r\nok", b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", b"\r\nok"]


class Telling(Listening):
    """Gives each request the next of these responses, on a connection of its own."""

    def __init__(self, *responses):
        self.responses = list(responses)
        super().__init__()

    def serve(self, connection, number):
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(4096) or b"\r\n\r\n"
        self.note(self.arrived, head.split(b" ")[1].decode())
        connection.sendall(self.responses.pop(0))


@pytest.mark.parametrize("frame", FRAMES)
def test_a_value_that_is_not_utf8_is_latin1(wire, frame):
    fields = b"X-A: caf\xe9\r\nX-B: caf\xc3\xa9\r\nX-C: \xef\xbf\xbd \r\nX-A:\t\xff\x80\r\n"
    with Telling(b"HTTP/1.1 200 OK\r\n" + fields + frame) as server:
        headers = get(wire, server.url("/"))["headers"]
    assert [field["value"] for field in headers[:4]] == ["caf\xe9", "caf\xe9", "\ufffd", "\xff\x80"]


@pytest.mark.parametrize("frame", FRAMES)
def test_a_location_that_is_not_utf8_is_followed_byte_by_byte(wire, frame):
    found = b"HTTP/1.1 302 Found\r\nLocation: /caf\xe9?%41\r\n" + frame
    with Telling(found, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") as server:
        assert get(wire, server.url("/"))["ok"] and server.arrived == ["/", "/caf%E9?%41"]


# The guide


def examples():
    """The commands of docs/guide/responses.md, with what they are said to print."""
    text = (contract.ROOT / "docs/guide/responses.md").read_text("utf-8")
    for piece in text.split("```sh\n")[1:]:
        command, _, rest = piece.partition("```\n```json\n")
        yield command.strip(), json.loads(rest.split("```")[0])


def within(expected, found):
    """Whether all that is expected is found, objects being open."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(n in found and within(v, found[n]) for n, v in expected.items())
    if isinstance(expected, list):
        return len(expected) == len(found) and all(map(within, expected, found))
    return expected == found


@pytest.mark.parametrize("example", examples(), ids=lambda one: one[0][:60])
def test_the_examples_of_the_guide_print_what_they_say(wire, origin, example):
    command, expected = json.loads(json.dumps(example).replace("http://127.0.0.1:8080", origin))
    _, _, method, params = shlex.split(command)
    found = result(wire.call(method, json.loads(params)))
    assert within(expected, found), found
