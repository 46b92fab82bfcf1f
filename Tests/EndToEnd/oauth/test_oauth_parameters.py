# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What single servers want beside the standards: further parameters, forms in place of JSON, errors as messages."""

import json

import contract
import pytest
from authorization_server import served
from browser_login import create, token, wait
from request_client import result
from shell import outrider, refused
from shell_login import browse, login, making

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


server = served()

AUDIENCE = "https://api.example/?a=b&c"


@pytest.fixture(autouse=True)
def own_store(monkeypatch, tmp_path):
    """No credential of this user is read or written."""
    monkeypatch.setenv("OUTRIDER_CREDENTIALS", str(tmp_path / "credentials"))


def forms(server, path):
    return [one.form for one in server.audit if one.path == path]


# Further parameters


def test_a_program_that_proves_itself_says_for_which_audience(wire, server):
    """Auth0 gives no token for an API without this parameter."""
    create(wire, server, grant="clientCredentials", parameters={"audience": AUDIENCE})
    token(wire)
    assert forms(server, "/token")[0]["audience"] == AUDIENCE
    result(wire.call("oauth.set", {"credential": "work", "parameters": {"audience": "other", "empty": ""}}))
    result(wire.call("oauth.refresh", {"credential": "work"}))
    latest = forms(server, "/token")[-1]
    assert latest["audience"] == "other" and latest["empty"] == ""
    result(wire.call("oauth.set", {"credential": "work", "parameters": {}}))
    result(wire.call("oauth.refresh", {"credential": "work"}))
    assert "audience" not in forms(server, "/token")[-1]


def test_a_device_says_them_with_its_request_and_with_each_poll(wire, server):
    server.interval = 1
    create(wire, server, grant="device", parameters={"scopes": "chat:read"})
    result(wire.call("oauth.device", {"credential": "work"}))
    assert wait(wire, 20)["ok"]
    result(wire.call("oauth.refresh", {"credential": "work"}))
    assert forms(server, "/device")[0]["scopes"] == "chat:read"
    poll, refresh = forms(server, "/token")
    assert poll["scopes"] == "chat:read" and "scopes" not in refresh


@pytest.mark.parametrize("method", ["oauth.create", "oauth.set"])
@pytest.mark.parametrize("given", [{"scope": "a"}, {"grant_type": "password"}, {"audience": 1}, {"": "a"}])
def test_a_parameter_that_cannot_be_is_refused_by_name(wire, server, method, given):
    create(wire, server, grant="clientCredentials")
    params = {"credential": "work"}
    if method == "oauth.create":
        params = {"name": "x", "grant": "clientCredentials", "clientId": "c", "tokenUrl": server.url("/token")}
    error = wire.call(method, {**params, "parameters": given})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == f"/parameters/{next(iter(given))}", error


def test_later_logins_have_the_parameters_of_the_first(env, server):
    addresses = []

    def read(address):
        addresses.append(address)
        browse(address)

    further = ["--parameter", "access_type=offline", "--parameter", "hint=a"]
    for words in (making(server, *further), ["login", "work"], ["login", "work", "--parameter", "hint=b"]):
        status, said = login(env, words, read)
        assert status == 0, said
    assert all("&access_type=offline&" in address for address in addresses)
    assert [address.rpartition("&")[2] for address in addresses] == ["hint=a", "hint=a", "hint=b"]
    assert all("access_type" not in form for form in forms(server, "/token"))


def test_a_device_of_the_shell_has_parameters(env, server):
    server.interval = 1
    status, said = login(env, making(server, "--device", "--parameter", "audience=a"), lambda _: None)
    assert status == 0, said
    assert forms(server, "/device")[0]["audience"] == "a" and forms(server, "/token")[0]["audience"] == "a"


def test_a_stored_device_takes_no_parameters_for_one_login(env, server):
    server.interval = 1
    assert login(env, making(server, "--device"), lambda _: None)[0] == 0
    for words in (["--parameter", "a=b"], ["--paste"], ["--redirect", "http://localhost:8400/callback"]):
        refused(outrider("login", "work", *words, env=env), 2, "work", "leave out --parameter, --paste and --redirect")
    assert len(forms(server, "/device")) == 1


def test_a_credential_shows_its_parameters(wire, server):
    create(wire, server, parameters={"prompt": "consent", "audience": AUDIENCE})
    told = result(wire.call("oauth.get", {"credential": "work"}))
    assert told["parameters"] == {"prompt": "consent", "audience": AUDIENCE}
    told = result(wire.call("oauth.set", {"credential": "work", "parameters": {}}))
    assert "parameters" not in told


# A first login that did not succeed


def test_a_first_login_with_a_wrong_client_does_not_keep_its_name(env, server):
    wrong = [word if word != server.client else "mistyped" for word in making(server)]
    status, said = login(env, wrong, browse)
    assert status == 11 and "invalid_client" in said, said
    status, said = login(env, making(server), browse)
    assert status == 0 and 'replaced the credential "work"' in said, said
    # what has tokens is not replaced
    refused(outrider(*wrong, env=env), 11, "another credential named work", "outrider logout --forget")
    assert outrider("token", "work", env=env).returncode == 0


@pytest.mark.parametrize("fault", [["--parameter", "state=x"], ["--scope", 'a"b']])
def test_a_first_login_is_not_replaced_by_what_cannot_be(env, server, fault):
    assert login(env, making(server, "--timeout", "0.5"), lambda _: None)[0] == 4
    other = [word if word != server.client else "other" for word in making(server)]
    refused(outrider(*other, *fault, env=env), 1)
    done = outrider("call", "--stdio", "oauth.get", "credential=work", env=env)
    assert done.returncode == 0 and json.loads(done.stdout)["clientId"] == server.client, done.stderr


def test_a_first_login_without_a_browser_may_go_on_with_a_device(env, server):
    server.interval = 1
    status, said = login(env, making(server, "--timeout", "0.5"), lambda _: None)
    assert status == 4, said
    status, said = login(env, making(server, "--device"), lambda _: None)
    assert status == 0, said


# Other shapes


@pytest.mark.parametrize("lifetime", ["expires_in", "expires"])
def test_tokens_of_a_form_are_taken(wire, server, lifetime):
    form = f"access_token=a%2Fb%7C1&{lifetime}=3600&refresh_token=r1&scope=read".encode()
    server.script = [(200, {"Content-Type": "text/plain"}, form)]
    create(wire, server, grant="clientCredentials")
    told = result(wire.call("oauth.token", {"credential": "work"}))
    assert told["accessToken"] == "a/b|1" and "expiresAt" in told


def test_a_login_that_a_form_refuses_says_why(env, server):
    server.script = [(200, {}, b"error=bad_verification_code&error_description=The+code+is+old")]
    status, said = login(env, making(server), browse)
    assert status == 11 and "(bad_verification_code: The code is old)" in said, said


@pytest.mark.parametrize("more", [{}, {"error": "Bad Request"}])
def test_a_device_that_is_told_to_wait_by_a_message_waits(wire, server, more):
    """As Twitch does."""
    server.interval = 1
    server.script = [(400, {}, {**more, "status": 400, "message": "authorization_pending"})]
    create(wire, server, grant="device")
    result(wire.call("oauth.device", {"credential": "work"}))
    assert wait(wire, 20)["ok"] and len(forms(server, "/token")) == 2
    server.script = [(400, {}, {**more, "status": 400, "message": "Invalid refresh token"})]
    error = wire.call("oauth.refresh", {"credential": "work"})["error"]
    assert error["data"]["failure"]["data"]["oauth"]["kind"] == "needsLogin", error
