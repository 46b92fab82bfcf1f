# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The examples on the pages run: pairs of a call and what comes back, in fences of JSON."""

import json
import re

import contract
import pytest
import transcript

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

PAGES = ["docs/guide/requests.md"]
FENCE = re.compile(r"^```json\n(.*?)^```$", re.M | re.S)


def examples():
    for page in PAGES:
        found = FENCE.findall((contract.ROOT / page).read_text("utf-8"))
        assert found and len(found) % 2 == 0, f"{page}: calls and results come in pairs"
        for number, (call, reply) in enumerate(zip(found[::2], found[1::2]), 1):
            yield pytest.param(call, reply, id=f"{page} {number}")


@pytest.mark.parametrize(("call", "reply"), examples())
def test_an_example_is_true(wire, origin, call, reply):
    example = json.loads(call.replace("{origin}", origin))
    message = wire.call(example["method"], example["params"])
    assert "result" in message, message
    expected = json.loads(reply.replace("{origin}", origin))
    why = transcript.match(expected, message["result"], {})
    assert not why, f"{why}\n{json.dumps(message['result'])}"
