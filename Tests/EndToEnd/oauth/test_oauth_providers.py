# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Logging in at authorization servers of other authors, from Python, from a shell, and over plain JSON-RPC."""

import asyncio
import base64
import json
import pathlib
import sys

import contract
import providers
import pytest
from request_client import result
from shell import outrider, refused
from shell_login import browse
from shell_login import login as shell_login
from shell_login import token as shell_token

sys.path.insert(0, str(contract.ROOT / "clients/python/src"))

import outrider as library  # noqa: E402

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture(autouse=True)
def own_store(monkeypatch, tmp_path):
    """No credential of this user is read or written."""
    monkeypatch.setenv("OUTRIDER_CREDENTIALS", str(tmp_path / "credentials"))


@pytest.fixture
def client(listening):
    with library.Client(socket=listening) as client:
        yield client


def create(client, provider, grant="authorizationCode", **more):
    given = {"issuer": provider.issuer, "client_id": provider.client, "client_secret": provider.secret,
             "scope": provider.scope, **more}
    return client.oauth.create("work", grant=grant, **given)


def claims(token):
    """What stands in it; of others' clients this server does not tell whether a token is good."""
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


@pytest.mark.parametrize("proof", ["basic", "body"])
def test_a_confidential_client_logs_in_refreshes_and_logs_out(client, glewlwyd, proof):
    """Codes with PKCE, rotation of refresh tokens, revocation and introspection."""
    work = create(client, glewlwyd, client_auth=proof)
    login = work.login(redirect=glewlwyd.redirect)
    assert work.callback(glewlwyd.approve(login.url))["state"] == "ready"
    first = work.token()
    assert glewlwyd.is_active(str(first)) and work.introspect()["active"] is True
    for _ in range(3):
        work.refresh()
    last = work.token()
    assert last != first and glewlwyd.is_active(str(last))
    assert work.logout() == {"revoked": True}
    assert not glewlwyd.is_active(str(last))
    with pytest.raises(library.TokenError):
        work.token()


def test_a_public_client_logs_in(client, glewlwyd):
    work = create(client, glewlwyd, client_id=glewlwyd.public, client_secret=None)
    login = work.login(redirect=glewlwyd.redirect)
    work.callback(glewlwyd.approve(login.url))
    first = work.token()
    assert claims(first)["client_id"] == glewlwyd.public and claims(first)["scope"] == "read"
    work.refresh()
    assert work.token() != first


def test_a_code_with_another_clients_challenge_is_worth_nothing(client, glewlwyd):
    """The code of one attempt does not fit the verifier of the next."""
    work = create(client, glewlwyd)
    old = glewlwyd.approve(work.login(redirect=glewlwyd.redirect).url)
    new = work.login(redirect=glewlwyd.redirect)
    state = old.partition("state=")[2].partition("&")[0]
    with pytest.raises(library.TokenError) as raised:
        work.callback(old.replace(state, new.state))
    assert raised.value.data["failure"]["data"]["oauth"]["kind"] in ("needsLogin", "config")


def test_what_a_server_does_not_grant_is_told(client, glewlwyd):
    """It gives a code for what its client may have, and says so with the token."""
    work = create(client, glewlwyd, scope="read admin")
    info = work.callback(glewlwyd.approve(work.login(redirect=glewlwyd.redirect).url))
    assert info["scope"] == ["read"] and info["missingScope"] == ["admin"]
    assert work.token().missing_scope == ["admin"]
    work.refresh()
    token = work.token()
    assert token.missing_scope == ["admin"] and claims(token)["scope"] == "read"


def test_an_id_token_of_a_server_is_believed(client, mock):
    """OpenID Connect: a nonce, the server's own keys, its own signature."""
    work = create(client, mock)
    login = work.login(redirect=mock.redirect)
    assert work.callback(mock.approve(login.url))["state"] == "ready"
    assert work.token()
    work.refresh()


def test_a_device_is_approved(client, glewlwyd):
    work = create(client, glewlwyd, grant="device", client_id=glewlwyd.public, client_secret=None)
    shown = work.device()
    assert shown.verification_uri.startswith(glewlwyd.base)
    glewlwyd.approve_device(shown.user_code)
    assert work.wait(30)["state"] == "ready"
    assert claims(work.token())["client_id"] == glewlwyd.public


def test_client_credentials_need_nobody(client, glewlwyd):
    work = create(client, glewlwyd, grant="clientCredentials")
    assert glewlwyd.is_active(str(work.token()))


def test_discovery_finds_what_they_publish(client, glewlwyd, mock):
    for provider in (glewlwyd, mock):
        assert client.oauth.discover(provider.issuer)["token_endpoint"].startswith(provider.base)


def test_the_awaiting_client_does_the_same(listening, glewlwyd):
    async def main():
        async with library.AsyncClient(socket=listening) as client:
            work = await client.oauth.create(
                "work", grant="authorizationCode", issuer=glewlwyd.issuer, client_id=glewlwyd.client,
                client_secret=glewlwyd.secret, scope=glewlwyd.scope)
            login = await work.login(redirect=glewlwyd.redirect)
            await work.callback(glewlwyd.approve(login.url))
            token = await work.token()
            assert glewlwyd.is_active(str(token)) and (await work.introspect())["active"]
            assert (await work.wait(1))["state"] == "ready"
            assert (await work.logout())["revoked"]
            assert (await client.oauth.discover(glewlwyd.issuer))["issuer"] == glewlwyd.issuer
            work = await client.oauth.create(
                "tv", grant="device", issuer=glewlwyd.issuer, client_id=glewlwyd.public, scope=glewlwyd.scope)
            shown = await work.device()
            glewlwyd.approve_device(shown.user_code)
            assert (await work.wait(30))["state"] == "ready"

    asyncio.run(main())


def test_a_login_that_fails_raises_what_went_wrong(client, glewlwyd):
    work = create(client, glewlwyd)
    work.login(redirect=glewlwyd.redirect)
    with pytest.raises(library.TokenError) as raised:
        work.callback(glewlwyd.redirect + "?code=x&state=y")
    assert "state did not match" in str(raised.value)
    with pytest.raises(TimeoutError):
        work.wait(0.05)


def test_a_shell_takes_part(listening, client, glewlwyd):
    work = create(client, glewlwyd)
    work.callback(glewlwyd.approve(work.login(redirect=glewlwyd.redirect).url))
    done = outrider("token", "--socket", listening, "work")
    assert done.stdout.decode().strip() == str(work.token())
    assert outrider("logout", "--socket", listening, "work").returncode == 0
    assert not glewlwyd.is_active(done.stdout.decode().strip())


def in_a_shell(env, provider, act, *more):
    """Logs in, and reads what takes each token once: commands that share nothing but the store. The tokens."""
    secret = pathlib.Path(env["TMPDIR"], "secret")
    secret.write_text(provider.secret)
    with providers.Once(provider) as resource:
        words = ["--client-id", provider.client, "--client-secret-file", str(secret)]
        words += ["--issuer", provider.issuer, "--scope", provider.scope, "--origin", resource.url("")]
        status, said = shell_login(env, ["login", "work", *words, *more], act)
        assert status == 0 and "logged in as work" in said, said
        for _ in range(3):
            done = outrider("get", "-f", "--oauth", "work", resource.url("/me"), env=env)
            assert done.returncode == 0 and done.stdout == provider.whose(resource.tokens[-1]), done.stderr
        assert shell_token(env) == resource.tokens[-1] and len(set(resource.tokens)) == 3
        return resource.tokens


@pytest.mark.parametrize("way", ["browser", "paste", "device"])
def test_a_shell_logs_in_and_refreshes_with_rotation(env, glewlwyd, way):
    ways = {
        "browser": (lambda url: browse(glewlwyd.approve(url)), "--redirect", glewlwyd.listener),
        "paste": (lambda url: glewlwyd.approve(url).encode() + b"\n", "--paste", "--redirect", glewlwyd.redirect),
        "device": (lambda url: glewlwyd.approve_device(url.partition("code=")[2]), "--device"),
    }
    tokens = in_a_shell(env, glewlwyd, *ways[way])
    assert glewlwyd.chain() == [False, False, True]
    done = outrider("logout", "work", env=env)
    assert done.returncode == 0, done.stderr
    assert glewlwyd.chain() == [False] * 3 and glewlwyd.whose(tokens[-1]) is None


def test_a_shell_needs_nobody_for_client_credentials(env, glewlwyd):
    made = {"name": "work", "grant": "clientCredentials", "issuer": glewlwyd.issuer, "clientId": glewlwyd.client,
            "clientSecret": glewlwyd.secret, "scope": glewlwyd.scope, "persist": "disk"}
    done = outrider("credentials", "import", env=env, stdin=json.dumps(made).encode())
    assert done.returncode == 0, done.stderr
    first = shell_token(env)
    assert glewlwyd.is_active(first) and shell_token(env) == first
    assert shell_token(env, "--min-validity", "86400") != first


def test_a_shell_is_told_that_a_server_revokes_nothing_for_a_client_without_a_secret(env, glewlwyd):
    words = ["--issuer", glewlwyd.issuer, "--client-id", glewlwyd.public, "--redirect", glewlwyd.listener]
    words.append("--no-origin")
    status, said = shell_login(
        env, ["login", "work", "--scope", "read", *words], lambda url: browse(glewlwyd.approve(url)))
    assert status == 0, said
    refused(outrider("logout", "work", env=env), 11, "forgotten here", "revocation endpoint of 'work' answered 401",
            "does it let this client in")
    refused(outrider("token", "work", env=env), 11)


def test_a_shell_logs_in_with_openid_connect(env, mock):
    tokens = in_a_shell(env, mock, lambda url: browse(mock.approve(url)))
    assert mock.whose(tokens[0]) is None


def test_plain_messages_do_it_too(listening, glewlwyd):
    """As an editor would."""
    with contract.Wire(listening) as line:
        made = {"name": "work", "grant": "authorizationCode", "issuer": glewlwyd.issuer, "clientId": glewlwyd.public,
                "scope": glewlwyd.scope}
        result(line.call("oauth.create", made))
        begun = result(line.call("oauth.login", {"credential": "work", "redirect": glewlwyd.redirect}))
        waits = line.start("oauth.wait", {"credential": "work"})
        brings = line.start("oauth.callback", {"credential": "work", "url": glewlwyd.approve(begun["url"])})
        replies = line.replies([waits, brings])
        assert result(replies[waits])["ok"] and result(replies[brings])["state"] == "ready"
