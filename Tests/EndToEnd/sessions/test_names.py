# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Names that clients choose are the same if they have the same bytes, whatever their letters look like."""

import contract
import pytest
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"


def test_sessions_in_two_normal_forms_are_two(wire):
    made = [
        result(wire.call("session.create", {"name": name, "headers": {"X-Form": form}}))["session"]
        for name, form in [(COMPOSED, "1"), (DECOMPOSED, "2")]
    ]
    assert made[0] != made[1]
    for name, form in [(COMPOSED, "1"), (DECOMPOSED, "2")]:
        built = result(wire.call("request.build", {"url": "http://a.example/", "session": name}))
        assert {"name": "X-Form", "value": form} in built["headers"]
    assert wire.call("session.create", {"name": DECOMPOSED})["error"]["data"]["state"] == "taken"


def test_routers_in_two_normal_forms_are_two(wire):
    endpoints = {name: {"path": f"/{len(name)}"} for name in (COMPOSED, DECOMPOSED)}
    for name in (COMPOSED, DECOMPOSED):
        base = f"http://{len(name)}.example"
        result(wire.call("router.define", {"name": name, "baseUrl": base, "endpoints": endpoints}))
    assert {one["name"] for one in result(wire.call("router.list", {}))["routers"]} == {COMPOSED, DECOMPOSED}
    for name in (COMPOSED, DECOMPOSED):
        for endpoint in (COMPOSED, DECOMPOSED):
            built = result(wire.call("router.build", {"router": name, "endpoint": endpoint}))
            assert built["url"] == f"http://{len(name)}.example/{len(endpoint)}"
