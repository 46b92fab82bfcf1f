# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Clients that prove themselves with a private key, and assertions that are exchanged for tokens (RFC 7523).

At Authlib's server, which looks at signature, audience, time, issuer, and that no assertion comes twice."""

import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.request

import contract
import providers
import pytest
from listeners import free_port
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

RSA = ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
KINDS = {"RS256": RSA, "PS256": RSA, "ES256": ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"], "other": RSA}
ALGORITHMS = ["RS256", "PS256", "ES256"]


class Server:
    """What runs, and the private keys of its clients."""

    def __init__(self, port, place):
        self.token, self.place = f"http://127.0.0.1:{port}/token", place

    def key(self, client):
        return str(self.place / f"{client}.key")

    def used(self):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        return json.load(opener.open(self.token.replace("/token", "/used"), timeout=20))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    pytest.importorskip("authlib", reason="authlib is not here; scripts/setup --test installs it")
    place = tmp_path_factory.mktemp("keys")
    for name, words in KINDS.items():
        key, public = place / f"{name}.key", place / f"{name}.pem"
        subprocess.run(["openssl", "genpkey", "-algorithm", *words, "-out", str(key)], check=True, capture_output=True)
        subprocess.run(["openssl", "pkey", "-in", str(key), "-pubout", "-out", str(public)], check=True)
        key.chmod(0o600)
    port = free_port()
    program = contract.ROOT / "Tests/EndToEnd/support/servers/assertion_server.py"
    os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
    try:
        with providers.running([sys.executable, str(program), str(port), str(place)], port, place / "log"):
            yield Server(port, place)
    finally:
        del os.environ["AUTHLIB_INSECURE_TRANSPORT"]


def create(wire, server, algorithm="RS256", grant="clientCredentials", **more):
    proof = {"privateKeyJwt": {"file": server.key(algorithm), "alg": algorithm, "kid": "one"}}
    params = {"name": "work", "grant": grant, "clientId": algorithm, "tokenUrl": server.token, "clientAuth": proof}
    return wire.call("oauth.create", {**params, **more})


def token(wire, seconds=30):
    return wire.call("oauth.token", {"credential": "work"}, seconds)


def oauth(reply):
    assert reply["error"]["code"] == -32018, reply
    return reply["error"]["data"]["failure"]["data"]["oauth"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_client_proves_itself_with_its_key_anew_each_time(wire, server, algorithm):
    before = len(server.used())
    result(create(wire, server, algorithm))
    first = result(token(wire))["accessToken"]
    result(wire.call("oauth.refresh", {"credential": "work"}, 30))
    assert result(token(wire))["accessToken"] != first
    used = server.used()[before:]
    assert len(used) == 2 and used[0]["jti"] != used[1]["jti"]
    for claims in used:
        assert claims["as"] == "client" and claims["iss"] == claims["sub"] == algorithm
        assert claims["aud"] == server.token and 0 < claims["exp"] - claims["iat"] <= 300


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_assertion_is_made_and_exchanged(wire, server, algorithm):
    """One as the grant, another one as the client's proof."""
    before = len(server.used())
    result(create(wire, server, algorithm, grant="jwtBearer"))
    assert result(token(wire))["accessToken"]
    result(wire.call("oauth.refresh", {"credential": "work"}, 30))
    used = server.used()[before:]
    assert sorted(claims["as"] for claims in used if claims["as"] == "grant") == ["grant"] * 2
    assert len({claims["jti"] for claims in used}) == len(used)


def made(server, **claims):
    """An assertion of another maker."""
    jwk, jwt = pytest.importorskip("joserfc.jwk"), pytest.importorskip("joserfc.jwt")
    key = jwk.RSAKey.import_key(pathlib.Path(server.key("RS256")).read_bytes())
    return jwt.encode({"alg": "RS256"}, {"iss": "RS256", "sub": "alice", "aud": server.token, **claims}, key)


def test_an_assertion_that_is_given_is_exchanged_once(wire, server):
    given = made(server, exp=int(time.time()) + 60, jti="given")
    params = {"clientAuth": "none", "assertion": given}
    result(create(wire, server, grant="jwtBearer", **params))
    assert result(token(wire))["accessToken"]
    # this server takes it once: only another assertion helps
    refusal = oauth(wire.call("oauth.refresh", {"credential": "work"}, 30))
    assert (refusal["kind"], refusal["reason"]) == ("needsLogin", "invalid_grant")
    result(create(wire, server, grant="jwtBearer", **{**params, "assertion": made(
        server, exp=int(time.time()) + 60, jti="another")}))
    result(wire.call("oauth.refresh", {"credential": "work"}, 30))


@pytest.mark.parametrize("wrong", ["exp", "aud", "signature"])
def test_an_assertion_that_is_wrong_is_refused_by_the_server(wire, server, wrong):
    claims = {"exp": int(time.time()) + 60, "jti": wrong}
    claims.update({"exp": {"exp": 1}, "aud": {"aud": "https://other.example"}}.get(wrong, {}))
    given = made(server, **claims)
    if wrong == "signature":
        given = given[:-8] + "AAAAAAAA"
    result(create(wire, server, grant="jwtBearer", clientAuth="none", assertion=given))
    refusal = oauth(token(wire))
    assert (refusal["kind"], refusal["reason"]) == ("needsLogin", "invalid_grant")


@pytest.mark.parametrize(("client", "algorithm"), [("PS256", "RS256"), ("RS256", "PS256")])
def test_a_client_signs_with_the_algorithm_that_it_was_told_to(wire, server, client, algorithm):
    """One key serves both; the server takes the one that it knows the client by."""
    proof = {"privateKeyJwt": {"file": server.key(client), "alg": algorithm}}
    result(create(wire, server, client, clientAuth=proof))
    refusal = oauth(token(wire))
    assert (refusal["kind"], refusal["reason"]) == ("config", "invalid_client")


def test_the_key_of_another_client_is_a_fault_of_the_configuration(wire, server):
    proof = {"privateKeyJwt": {"file": server.key("other"), "alg": "RS256"}}
    result(create(wire, server, clientAuth=proof))
    refusal = oauth(token(wire))
    assert (refusal["kind"], refusal["reason"]) == ("config", "invalid_client")


@pytest.mark.parametrize(("file", "algorithm", "reason"), [
    ("nowhere.key", "RS256", "no_private_key"), ("RS256.pem", "RS256", "unusable_key"),
    ("ES256.key", "RS256", "unusable_key"),
])  # fmt: skip
def test_a_key_that_cannot_be_used_is_named_and_nothing_is_sent(wire, server, file, algorithm, reason):
    before = len(server.used())
    proof = {"privateKeyJwt": {"file": str(server.place / file), "alg": algorithm}}
    result(create(wire, server, clientAuth=proof))
    refusal = oauth(token(wire))
    assert (refusal["kind"], refusal["reason"]) == ("config", reason)
    assert len(server.used()) == before


@pytest.mark.parametrize("algorithm", ["HS256", "none", "es256"])
def test_an_algorithm_that_no_private_key_has_is_refused_at_once(wire, server, algorithm):
    proof = {"privateKeyJwt": {"file": server.key("RS256"), "alg": algorithm}}
    error = create(wire, server, clientAuth=proof)["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == "/clientAuth/privateKeyJwt/alg", error
    assert "RS256" in error["message"]
