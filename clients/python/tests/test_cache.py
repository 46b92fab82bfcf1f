# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The cache of sessions and requests, as Python programs see it."""

from __future__ import annotations

from collections.abc import Callable

import outrider
import pytest
from outrider import Client
from peers import Peer

FRESH = b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\n\r\nok"


def test_a_session_with_a_cache_asks_once(client: Client, peer: Callable[..., Peer]) -> None:
    server = peer(FRESH, FRESH)
    with client.session(cache=True) as session:
        first = session.get(server.url)
        assert first.cache["status"] == "miss" and first.content == b"ok"
        again = session.get(server.url)
        assert (again.cache["status"], again.content, again.status, again.ok) == ("hit", b"ok", 200, True)
        assert again.cache["ttl"] <= 60 and len(server.received) == 1
        assert session.get(server.url, cache={"mode": "reload"}).cache["status"] == "miss"
    assert len(server.received) == 2


def test_a_response_that_must_be_stored_and_is_not(client: Client, peer: Callable[..., Peer]) -> None:
    server = peer(FRESH)
    with client.session(cache=True) as session:
        with pytest.raises(outrider.ExchangeError) as missing:
            session.get(server.url, cache={"mode": "onlyIfCached"})
        assert missing.value.code == 1421 and not server.received
    assert client.get(server.url).cache == {"status": "bypass"}
