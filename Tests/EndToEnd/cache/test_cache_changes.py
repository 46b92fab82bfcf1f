# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Changes of a named cache by hand, its limits, and requests that must not touch the network."""

import contract
import pytest
from cache_server import CacheServer, Reply
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("OUTRIDER_CACHES", str(tmp_path / "caches"))
    return tmp_path / "caches"


@pytest.fixture(scope="module")
def server():
    server = CacheServer()
    yield server
    server.close()


@pytest.mark.parametrize("status", [206, 304])
def test_parts_and_confirmations_cannot_be_put(wire, status):
    error = wire.call("cache.put", {"cache": "docs", "url": "http://a.test/", "status": status, "base64": "eA=="})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == "/status" and "200" in error["message"], error


def test_no_upgrade_event_stream_or_download_leaves_an_offline_session(wire, server, tmp_path):
    url, seen = server.script(Reply())
    session = result(wire.call("session.create", {"cache": {"name": "docs", "mode": "onlyIfCached"}}))["session"]
    calls = [("websocket.open", {"url": url.replace("http", "ws", 1)}), ("sse.open", {"url": url, "wait": "response"}),
             ("download.send", {"url": url, "destination": {"path": str(tmp_path / "file")}})]
    for method, params in calls:
        reply = wire.call(method, {**params, "session": session})
        assert "no stored response" in repr(reply) and "onlyIfCached" in repr(reply), (method, reply)
    assert seen == []
