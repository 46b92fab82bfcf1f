# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Responses in HTTP/1.1 that are written in an unusual way, and are proper all the same (RFC 9112)."""

import contract
import pytest
from proxy_server import Odd
from request_client import get

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
WHOLE = OK + b"Content-Length: 5\r\n\r\nhello"

RESPONSES = {
    "a comma behind the coding": OK + b"Transfer-Encoding: chunked,\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "a tab behind the coding": OK + b"Transfer-Encoding: chunked\t\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "a space before the extension of a chunk": CHUNKED + b"5 ;a=b\r\nhello\r\n0\r\n\r\n",
    "spaces behind the size of a chunk": CHUNKED + b"5  \r\nhello\r\n0\r\n\r\n",
    "Content-Length in the trailers": CHUNKED + b"5\r\nhello\r\n0\r\nContent-Length: 9\r\n\r\n",
    "100 in HTTP/1.0": b"HTTP/1.0 100 Continue\r\n\r\n" + WHOLE,
    "103 with Connection: close": b"HTTP/1.1 103 Early Hints\r\nConnection: close\r\n\r\n" + WHOLE,
}


@pytest.mark.parametrize("name", RESPONSES)
def test_an_unusual_response_is_read(wire, name):
    with Odd(lambda connection, head: connection.sendall(RESPONSES[name])) as server:
        response = get(wire, server.url("/"))
    assert response["ok"] and response["status"] == 200, response
    assert response["body"]["text"] == "hello"


def test_a_folded_field_becomes_one_line(wire):
    folded = OK + b"X-Long: one\r\n \t two\r\nContent-Length: 5\r\n\r\nhello"
    with Odd(lambda connection, head: connection.sendall(folded)) as server:
        response = get(wire, server.url("/"))
    assert response["ok"] and response["body"]["text"] == "hello", response
    assert [one["value"].split() for one in response["headers"] if one["name"] == "X-Long"] == [["one", "two"]]


TWO_LENGTHS = {
    "two equal fields": b"Content-Length: 5\r\nContent-Length: 5\r\n",
    "a list of equal numbers": b"Content-Length: 5, 5\r\n",
    "two fields and chunks": b"Content-Length: 5\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n",
}


@pytest.mark.parametrize("name", TWO_LENGTHS)
def test_more_than_one_length_is_refused(wire, name):
    """Even if all are equal (RFC 9110 section 8.6); the next request gets a connection of its own."""

    def act(connection, head):
        connection.sendall(WHOLE if b"/next" in head else OK + TWO_LENGTHS[name] + b"\r\nhello")

    with Odd(act) as server:
        error = get(wire, server.url("/"))["error"]
        assert (error["code"], error["reason"]) == (1408, "malformedHTTP"), error
        assert "Content-Length" in error["message"], error
        assert get(wire, server.url("/next"))["body"]["text"] == "hello"


OTHERS = {
    "a banner": (b"SSH-2.0-x", "does not begin with HTTP"),
    "an alert of TLS": (b"\x15\x03\x01\x00\x02\x02\x46", "use https"),
    "an alert of TLS with a line feed": (b"\x15\x03\x01\x00\x02\x02\x0a", "use https"),
    "SETTINGS of HTTP/2": (b"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64", 'httpVersion "2"'),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_protocol_is_noticed_at_once(wire, name):
    """The server waits for bytes of the client, and ends no line."""
    said, words = OTHERS[name]

    def act(connection, head):
        connection.sendall(said)
        server.until_gone(connection)

    with Odd(act) as server:
        error = get(wire, server.url("/"), timeout=10)["error"]
    assert error["code"] == 1408 and words in error["message"], error


def test_a_head_behind_some_empty_lines_is_read(wire):
    with Odd(lambda connection, head: connection.sendall(b"\r\n\r\n" + WHOLE)) as server:
        assert get(wire, server.url("/"))["body"]["text"] == "hello"


def test_empty_lines_without_end_are_refused(wire):
    def act(connection, head):
        connection.sendall(b"\r\n" * 100)
        server.until_gone(connection)

    with Odd(act) as server:
        error = get(wire, server.url("/"))["error"]
    assert (error["code"], error["reason"]) == (1408, "malformedHTTP"), error
