# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Credentials whose tokens come from an authorization server; their secrets are kept by a process of their own."""

import os
import unicodedata

import contract
import pytest
from authorization_server import served
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


server = served()


@pytest.fixture
def wire(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("OUTRIDER_CREDENTIALS", str(tmp_path / "credentials"))
    with contract.Wire() as wire:
        yield wire


def make(wire, server, **more):
    """A credential as after a login, and the tokens that it was given."""
    given = server.issue()
    token = {"accessToken": given["access_token"], "refreshToken": given["refresh_token"]}
    params = {"grant": "refresh", "clientId": "cli", "tokenUrl": server.url("/token"), "origins": [server.url("")],
              "token": token, **more}
    return result(wire.call("oauth.create", params, 20))["credential"], given


def send(wire, server, mine, **more):
    return wire.start("data.send", {"url": server.url("/api"), "auth": {"oauth": mine}, **more})


def test_many_refusals_are_one_exchange(wire, server):
    """[L12]"""
    mine, _ = make(wire, server)
    assert result(wire.reply(send(wire, server, mine), 20))["status"] == 200
    server.expire()
    numbers = [send(wire, server, mine) for _ in range(20)]
    replies = wire.replies(numbers, 30)
    assert {result(replies[number])["status"] for number in numbers} == {200}
    assert server.outcomes() == ["ok"]


def test_a_token_that_ends_soon_is_refreshed_before_it_is_used(wire, server):
    mine, given = make(wire, server, name="soon")
    changed = {"credential": mine, "token": {"accessToken": given["access_token"], "expiresIn": 1}}
    result(wire.call("oauth.set", changed, 20))
    token = result(wire.call("oauth.token", {"credential": mine}, 20))
    assert token["accessToken"] != given["access_token"] and server.outcomes() == ["ok"]
    assert server.is_good(token["accessToken"])


def test_a_refresh_token_alone_gets_an_access_token_at_the_first_use(wire, server):
    mine, given = make(wire, server, token={"refreshToken": server.issue()["refresh_token"]})
    assert result(wire.reply(send(wire, server, mine), 20))["status"] == 200 and server.outcomes() == ["ok"]
    result(wire.call("oauth.set", {"credential": mine, "token": {"refreshToken": given["refresh_token"]}}, 20))
    assert result(wire.reply(send(wire, server, mine), 20))["status"] == 200 and server.outcomes() == ["ok", "ok"]


@pytest.mark.parametrize(
    ("grant", "place", "remedy"),
    [
        ("refresh", {}, "oauth.set"),
        ("device", {"deviceUrl": "/device"}, "oauth.device"),
        ("authorizationCode", {"authorizationUrl": "/authorize"}, "oauth.login"),
    ],
)
def test_without_a_refresh_token_the_error_names_the_call_that_helps(wire, server, grant, place, remedy):
    """A credential of one grant refuses the logins of the others."""
    places = {name: server.url(path) for name, path in place.items()}
    mine, _ = make(wire, server, grant=grant, token={"accessToken": "old", "expiresIn": -1}, **places)
    error = wire.call("oauth.token", {"credential": mine}, 20)["error"]
    assert error["code"] == -32018 and remedy in error["message"], error


@pytest.mark.parametrize("token", [{}, {"expiresIn": 60}, {"scope": "read"}])
def test_tokens_without_a_token_are_refused(wire, server, token):
    params = {"grant": "refresh", "clientId": "cli", "tokenUrl": server.url("/token"), "token": token}
    error = wire.call("oauth.create", params)["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == "/token", error
    assert "accessToken, refreshToken or both" in error["message"]


def test_a_name_in_another_normal_form_is_another_credential(wire, server):
    """Names are compared byte by byte, in the service as in the store."""
    names = [unicodedata.normalize(form, "caf\u00e9") for form in ("NFC", "NFD")]
    for name in names:
        make(wire, server, name=name, token={"accessToken": f"token-{len(name)}"})
    for name in names:
        assert result(wire.call("oauth.token", {"credential": name}))["accessToken"] == f"token-{len(name)}"
    listed = [each["credential"] for each in result(wire.call("oauth.list"))["credentials"]]
    assert sorted(listed) == sorted(names)
    result(wire.call("oauth.delete", {"credential": names[0]}, 20))
    assert result(wire.call("oauth.token", {"credential": names[1]}))["accessToken"] == "token-5"


def test_the_server_has_forgotten_who_logged_in(wire, server):
    """It gets one request; then none follows, before there are other tokens."""
    mine, _ = make(wire, server)
    server.revoke_all()
    for _ in range(3):
        response = result(wire.reply(send(wire, server, mine), 20))
        cause = response["error"]["data"]["cause"]
        assert response["error"]["code"] == 1310 and cause["data"]["oauth"]["reason"] == "invalid_grant"
    assert server.outcomes() == ["invalid_grant"]
    assert result(wire.call("oauth.get", {"credential": mine}))["state"] == "needsLogin"
    fresh = server.issue()
    token = {"accessToken": fresh["access_token"], "refreshToken": fresh["refresh_token"]}
    result(wire.call("oauth.set", {"credential": mine, "token": token}, 20))
    assert result(wire.reply(send(wire, server, mine), 20))["status"] == 200


def test_a_server_in_trouble_is_left_in_peace(wire, server):
    """No service sends more often than every two seconds, then four, after the second failure."""
    mine, _ = make(wire, server)
    server.expire()
    server.script = [(503, {}, b"busy")] * 20
    for _ in range(6):
        response = result(wire.reply(send(wire, server, mine), 20))
        assert response["error"]["data"]["cause"]["data"]["oauth"]["kind"] == "temporary"
    assert len(server.audit) - sum(one.path == "/api" for one in server.audit) == 2


@pytest.mark.parametrize("how", ["tokenUrl", "issuer"])
def test_client_credentials(wire, server, how):
    """A token is got when a client wants the first one; where, the issuer may say."""
    where = {"issuer": server.issuer} if how == "issuer" else {"tokenUrl": server.url("/token")}
    params = {"grant": "clientCredentials", "clientId": "cli", "origins": [server.url("")], **where}
    mine = result(wire.call("oauth.create", params, 20))["credential"]
    assert server.outcomes("client_credentials") == []
    replies = wire.replies(numbers := [send(wire, server, mine) for _ in range(5)], 30)
    assert {result(replies[number])["status"] for number in numbers} == {200}
    assert server.outcomes("client_credentials") == ["ok"]


def test_client_credentials_leave_a_refresh_token_aside(wire, server):
    """RFC 6749 section 4.4.3: the client asks by its own secret again, whatever the server sends."""
    server.odd = lambda tokens: {**tokens, "refresh_token": "superfluous"}
    params = {"name": "work", "grant": "clientCredentials", "clientId": "cli", "tokenUrl": server.url("/token")}
    result(wire.call("oauth.create", params, 20))
    for _ in range(2):
        assert result(wire.call("oauth.refresh", {"credential": "work"}, 20))["state"] == "ready"
    assert server.outcomes("client_credentials") == ["ok", "ok"] and server.outcomes() == []


@pytest.mark.parametrize("method, more", [("oauth.set", {"clear": True}), ("oauth.revoke", {})])
def test_after_cleared_tokens_a_token_must_be_demanded(wire, server, method, more):
    server.secret = "secret"
    made = {"name": "work", "grant": "clientCredentials", "clientId": "cli", "clientSecret": "secret",
            "tokenUrl": server.url("/token"), "origins": [server.url("")]}
    result(wire.call("oauth.create", made, 20))
    for demand in [("oauth.refresh", {"credential": "work"}), ("oauth.create", made)]:
        assert result(wire.reply(send(wire, server, "work"), 20))["status"] == 200
        result(wire.call(method, {"credential": "work", **more}, 20))
        cause = result(wire.reply(send(wire, server, "work"), 20))["error"]["data"]["cause"]
        assert cause["code"] == 1320 and "oauth.refresh" in cause["message"]
        result(wire.call(*demand, 20))
    assert result(wire.reply(send(wire, server, "work"), 20))["status"] == 200


def test_no_method_gives_a_refresh_token_or_a_secret_back(wire, server):
    server.secret = "canary-secret"
    mine, given = make(wire, server, clientSecret="canary-secret", events=True)
    result(wire.call("events.subscribe", {"topics": ["*"]}))
    asked = [("oauth.get", {"credential": mine}), ("oauth.list", {}), ("oauth.refresh", {"credential": mine}),
             ("oauth.token", {"credential": mine}), ("har.export", {}), ("server.stats", {})]
    said = []
    for method, params in asked:
        number = wire.start(method, params)
        while True:
            line = wire.receive_line(20)
            said.append(line)
            if b'"id":%d,' % number in line:
                break
    assert server.outcomes() == ["ok"], said
    everything = b"".join(said)
    newest = [token for family in server.families for token in family.refresh]
    assert len(newest) == 2 and given["refresh_token"] in newest
    assert not any(secret.encode() in everything for secret in [*newest, "canary-secret"])


@pytest.mark.parametrize("method", ["oauth.revoke", "oauth.delete"])
def test_a_logout_behind_a_refresh_that_hangs_can_be_cancelled(wire, server, method):
    """The call waited for the end of the refresh."""
    mine, _ = make(wire, server, name="work", revocationUrl=server.url("/revoke"))
    server.stall = "commit"
    refresh = wire.start("oauth.refresh", {"credential": mine})
    with server.changed:
        assert server.changed.wait_for(lambda: "/token" in server.arrived, 10)
    number = wire.start(method, {"credential": mine})
    wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
    found = wire.replies([number], 10)
    assert found[number]["error"]["code"] == -32800
    server.go.set()
    # the deletion ends the refresh at once
    assert refresh in found or wire.reply(refresh, 20)["id"] == refresh


def test_deleting_revokes(wire, server):
    mine, given = make(wire, server, revocationUrl=server.url("/revoke"))
    assert result(wire.call("oauth.delete", {"credential": mine, "revoke": True}, 20)) == {}
    assert not server.is_good(given["access_token"])
    error = wire.reply(send(wire, server, mine), 20)["error"]
    assert error["code"] == -32012 and error["data"]["pointer"] == "/auth/oauth"


def test_a_name_that_exists_keeps_its_tokens(wire, server):
    mine, given = make(wire, server, name="work")
    params = {"name": mine, "grant": "refresh", "clientId": "cli", "tokenUrl": server.url("/token"), "hold": True}
    result(wire.call("oauth.create", params, 20))
    info = result(wire.call("oauth.get", {"credential": mine}))
    assert info["hold"] and info["origins"] == [] and info["generation"] == 1
    assert result(wire.call("oauth.token", {"credential": mine}))["accessToken"] == given["access_token"]
    error = wire.call("oauth.create", {**params, "clientId": "another"}, 20)["error"]
    assert error["code"] == -32018 and error["data"]["failure"]["data"]["oauth"]["reason"] == "name_taken"


def test_without_a_key_nothing_goes_to_disk(wire, server):
    params = {"name": "kept", "grant": "clientCredentials", "clientId": "cli", "tokenUrl": server.url("/token"),
              "persist": "disk"}
    error = wire.call("oauth.create", params, 20)["error"]
    assert error["code"] == -32018 and error["data"]["failure"]["data"]["oauth"]["kind"] == "store"
    assert "outrider credentials key" in error["message"]


def test_what_a_killed_service_or_its_keeper_has_left_is_removed(server, wire, tmp_path):
    """With a free lock, or with none; never what another service holds."""
    place = tmp_path / "outrider-memory"
    place.mkdir(mode=0o700)
    for name in ("1-1", "2-2"):
        (place / name / "abcd").mkdir(parents=True, mode=0o700)
        (place / name / "abcd" / "record").write_bytes(b"sealed")
    (place / "1-1.lock").touch()
    make(wire, server, name="mine")
    (ours,) = [one.name for one in place.iterdir() if one.is_dir()]
    with contract.Wire() as other:
        make(other, server, name="other")
        assert len([one for one in place.iterdir() if one.is_dir()]) == 2
        assert (place / ours).is_dir()
    assert sorted(one.name for one in place.iterdir()) == [ours, f"{ours}.lock"]


def test_two_services_share_what_is_on_disk(server, monkeypatch, tmp_path):
    """And the next one finds it: one exchange for all of them. [L13] [L14]"""
    key = tmp_path / "key"
    key.write_bytes(os.urandom(32))
    key.chmod(0o600)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("OUTRIDER_CREDENTIALS", str(tmp_path / "credentials"))
    monkeypatch.setenv("OUTRIDER_CREDENTIAL_KEY", f"file:{key}")
    with contract.Wire() as one, contract.Wire() as two:
        mine, _ = make(one, server, name="shared", persist="disk")
        assert result(two.call("oauth.list", {}, 20))["credentials"][0]["credential"] == mine
        server.expire()
        numbers = [(wire, send(wire, server, mine)) for wire in (one, two) for _ in range(5)]
        for wire in (one, two):
            own = [number for other, number in numbers if other is wire]
            assert {result(reply)["status"] for reply in wire.replies(own, 30).values()} == {200}
        assert server.outcomes() == ["ok"]
    with contract.Wire() as three:
        assert result(three.reply(send(three, server, mine), 20))["status"] == 200
        assert server.outcomes() == ["ok"]
