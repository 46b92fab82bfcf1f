# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Changes of a named cache by hand, its limits, and requests that must not touch the network."""

import contract
import pytest

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("OUTRIDER_CACHES", str(tmp_path / "caches"))
    return tmp_path / "caches"


@pytest.mark.parametrize("status", [206, 304])
def test_parts_and_confirmations_cannot_be_put(wire, status):
    error = wire.call("cache.put", {"cache": "docs", "url": "http://a.test/", "status": status, "base64": "eA=="})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == "/status" and "200" in error["message"], error
