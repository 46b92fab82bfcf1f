# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Secrets that must stay hidden are planted, and looked for in all that the service says, writes and remembers."""

import os
import secrets

import contract
import pytest
from authorization_server import Authorizing
from credential_process import Service, Store

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root looks into processes that do not want it")
@pytest.mark.parametrize("persist", ["memory", "disk"])
def test_no_refresh_token_and_no_client_secret_is_anywhere_to_be_seen(tmp_path, persist):
    """Neither those that a program handed over, nor those that the server gave since."""
    store, log, place = Store(tmp_path), tmp_path / "log", tmp_path / "tmp"
    place.mkdir()
    with Authorizing(secret="client-" + secrets.token_hex(16)) as server, Service(store, log, place) as service:
        given = server.issue()
        planted = [server.secret, given["refresh_token"]]
        assert service.call("events.subscribe", topics=["*"])["result"]
        created = service.call(
            "oauth.create", name="work", grant="refresh", clientId=server.client, clientSecret=server.secret,
            clientAuth="body", tokenUrl=server.url("/token"), revocationUrl=server.url("/revoke"), persist=persist,
            token={"accessToken": given["access_token"], "refreshToken": given["refresh_token"], "expiresIn": 1},
            origins=[server.url("/")])
        assert created["result"]["credential"] == "work", created
        for _ in range(3):
            assert "result" in service.call("oauth.refresh", credential="work")
        token = service.call("oauth.token", credential="work")["result"]
        assert server.is_good(token["accessToken"])
        reply = service.call("data.send", url=server.url("/api"), auth={"oauth": "work"})
        assert reply["result"]["status"] == 200, reply
        service.call("oauth.get", credential="work")
        service.call("oauth.list")
        server.revoke_all()
        assert "error" in service.call("oauth.refresh", credential="work")
        planted += [token for family in server.families for token in family.refresh]
        assert len(set(planted)) >= 5
        # the scan sees what is there
        assert service.remembers([token["accessToken"]])
        assert service.remembers(planted) == set()
        service.process.terminate()
        rest, errors = service.process.communicate(timeout=30)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert log in written
    for secret in planted:
        assert secret.encode() not in service.said + rest + errors
        for path in written:
            assert secret.encode() not in path.read_bytes(), (secret, path)
