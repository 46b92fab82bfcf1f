# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What users are told when a token endpoint refuses: the server's own words, and no secret that the words repeat."""

import contract
import pytest
from authorization_server import served
from request_client import result
from shell_login import browse, login, making

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
SECRET = "s3cret+client/secret="
LOST = "Token has been expired or revoked."

server = served()


@pytest.fixture(autouse=True)
def own_store(monkeypatch, tmp_path):
    """No credential of this user is read or written."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("OUTRIDER_CREDENTIALS", str(tmp_path / "credentials"))


def refusal(status, error, said):
    return status, {"Content-Type": "application/json"}, {"error": error, "error_description": said}


def made(wire, server, **more):
    params = {"clientId": "cli", "tokenUrl": server.url("/token"), "origins": [server.url("")], **more}
    return result(wire.call("oauth.create", params, 20))["credential"]


def tokens(server):
    given = server.issue()
    return {"accessToken": given["access_token"], "refreshToken": given["refresh_token"]}


def test_a_login_that_the_server_refuses_says_why(env, server):
    server.script = [refusal(400, "invalid_grant", LOST)]
    status, said = login(env, making(server), browse)
    assert status == 11 and f"(invalid_grant: {LOST}); log in again" in said, said


@pytest.mark.parametrize("body", [b"{garbled", b"access_token=a&access_token=b"])
def test_a_login_whose_response_is_of_no_use_is_to_be_begun_anew(env, server, body):
    server.script = [(200, {}, body)]
    status, said = login(env, making(server), browse)
    assert status == 11 and "cannot be read; log in again" in said, said


def test_a_request_without_a_token_says_why_and_so_does_the_credential(wire, server):
    mine = made(wire, server, grant="refresh", token=tokens(server))
    server.expire()
    server.script = [refusal(400, "invalid_grant", LOST)]
    request = {"url": server.url("/api"), "auth": {"oauth": mine}}
    for _ in range(2):
        cause = result(wire.call("data.send", request, 20))["error"]["data"]["cause"]["data"]["oauth"]
        assert cause["reason"] == "invalid_grant" and f"(invalid_grant: {LOST})" in cause["message"]
    assert f"(invalid_grant: {LOST})" in str(result(wire.call("oauth.get", {"credential": mine}, 20)))


@pytest.mark.parametrize("proof", ["basic", "body"])
def test_words_that_repeat_a_secret_are_not_shown(wire, server, proof):
    server.secret = SECRET
    more = {"clientSecret": SECRET, "clientAuth": proof, "refreshWindow": False}
    mine = made(wire, server, grant="refresh", token=tokens(server), **more)
    server.script = [(503, {}, b"")]
    assert "error" in wire.call("oauth.refresh", {"credential": mine}, 20)
    got = server.received("/token")
    for secret in [got.form["refresh_token"], got.form.get("client_secret", SECRET), got.authorization or SECRET]:
        server.script = [refusal(400, "invalid_request", f"cannot use {secret} here")]
        error = wire.call("oauth.refresh", {"credential": mine}, 20)["error"]
        assert "(invalid_request)" in error["message"], error
        assert "cannot use" not in str(error) and secret not in str(error)


def test_a_device_endpoint_that_repeats_a_secret_does_not_show_it(wire, server):
    more = {"deviceUrl": server.url("/token"), "clientSecret": SECRET, "clientAuth": "body"}
    mine = made(wire, server, grant="device", **more)
    server.script = [(200, {"Content-Type": "application/json"}, {"error": SECRET})]
    error = wire.call("oauth.device", {"credential": mine}, 20)["error"]
    assert "refuses the client (unknown)" in error["message"] and SECRET not in str(error), error


def test_a_client_that_may_not_use_an_api_is_not_told_of_a_person(wire, server):
    mine = made(wire, server, grant="clientCredentials", clientSecret=SECRET)
    server.script = [refusal(403, "access_denied", "the client has no grant for this API")]
    error = wire.call("oauth.token", {"credential": mine}, 20)["error"]
    assert "403 (access_denied: the client has no grant for this API)" in error["message"]
    assert "person" not in error["message"] and error["data"]["failure"]["data"]["oauth"]["kind"] == "temporary"


def test_a_login_has_the_parameters_that_its_server_wants(env, server):
    addresses = []

    def read(address):
        addresses.append(address)
        browse(address)

    words = ["--parameter", "access_type=offline", "--parameter", "hint=a=b c"]
    status, said = login(env, making(server, *words), read)
    assert status == 0 and "&access_type=offline&hint=a%3Db+c" in addresses[0], (said, addresses)
