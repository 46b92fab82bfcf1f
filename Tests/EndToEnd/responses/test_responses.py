# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The limit of a body, and the guide to responses."""

import json
import shlex

import contract
import pytest
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
