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
