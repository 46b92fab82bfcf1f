# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Logins by an issuer: its documents are entries of the cassette, as its token responses are."""

import base64
import json
import time
from urllib.parse import urlsplit

import contract
import pytest
from authorization_server import Authorizing
from browser_login import approved
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from request_client import result
from tape_client import entries, entry, fresh, start, stop, write
from test_replayed_tokens import calls

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
REDIRECT = "http://127.0.0.1:1/back"
CHANGING = ("url", "state", "accessToken")


@pytest.fixture
def issuer():
    with Authorizing() as server:
        yield server


@pytest.fixture(autouse=True)
def own_store(monkeypatch, tmp_path):
    """No credential of this user is read or written."""
    monkeypatch.setenv("OUTRIDER_CREDENTIALS", str(tmp_path / "credentials"))


class Signer:
    """Signs ID tokens, and publishes the key (RFC 7518 section 3.4)."""

    def __init__(self, server):
        self.server, self.key = server, ec.generate_private_key(ec.SECP256R1())
        server.metadata = lambda document: {**document, "jwks_uri": server.url("/.well-known/keys")}
        self.documents = server.at_well_known
        server.at_well_known = self.published
        server.id_token = self.token

    @staticmethod
    def text(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    def published(self, request):
        if request.path != "/.well-known/keys":
            return self.documents(request)
        place = self.key.public_key().public_numbers()
        x, y = (self.text(number.to_bytes(32, "big")) for number in (place.x, place.y))
        return "ok", 200, {}, {"keys": [{"kty": "EC", "crv": "P-256", "alg": "ES256", "kid": "k", "x": x, "y": y}]}

    def token(self, asked):
        now = int(time.time())
        claims = {"iss": self.server.issuer, "aud": self.server.client, "sub": "s", "nonce": asked["nonce"],
                  "iat": now, "exp": now + 600}  # fmt: skip
        head = {"alg": "ES256", "kid": "k"}
        signed = ".".join(self.text(json.dumps(part).encode()) for part in (head, claims))
        r, s = utils.decode_dss_signature(self.key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{signed}.{self.text(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def credential(server, grant="authorizationCode", **more):
    return {"name": "work", "grant": grant, "issuer": server.issuer, "clientId": server.client, "persist": "memory",
            "origins": [server.url("/")], "events": True, **more}  # fmt: skip


def log_in(wire, approve, params):
    """A login in a browser: the calls and the events, without what differs from run to run."""
    seen = calls(wire, ("oauth.create", params))
    begun = result(wire.call("oauth.login", {"credential": "work", "redirect": REDIRECT}, 20))
    back = approve(begun)
    for method in ("oauth.callback", "oauth.token", "oauth.introspect", "oauth.revoke"):
        answer = {"url": back} if method == "oauth.callback" else {}
        seen += calls(wire, (method, {"credential": "work", **answer}))
    return [(method, {k: v for k, v in one.items() if k not in CHANGING} if isinstance(one, dict) else one)
            for method, one in seen]  # fmt: skip


def given(server):
    """What a browser brings back when no server is there: the code is masked, and the state is this login's."""
    return lambda begun: f"{REDIRECT}?code=any&state={begun['state']}&iss={server.issuer}"


@pytest.mark.parametrize("scope", ["read", "openid"])
def test_a_login_by_issuer_plays_without_the_network(issuer, tape, scope):
    """The metadata and the keys of the issuer, the code, the token and its end; with the same events."""
    params = credential(issuer, scope=scope)
    if scope == "openid":
        Signer(issuer)
    with fresh() as wire:
        # the cassette has the document all the same
        result(wire.call("oauth.discover", {"issuer": issuer.issuer}, 20))
        start(wire, tape)
        recorded = log_in(wire, lambda begun: approved(issuer, begun["url"]), params)
        stop(wire)
    assert "error" not in str([one for _, one in recorded if isinstance(one, dict) and "message" in one]), recorded
    found = [(one["request"]["method"], urlsplit(one["request"]["url"]).path) for one in entries(tape)]
    keys = [("GET", "/.well-known/keys")] if scope == "openid" else []
    assert found == [
        ("GET", "/.well-known/oauth-authorization-server"), *keys, ("POST", "/token"), ("POST", "/introspect"),
        ("POST", "/revoke"), ("POST", "/revoke")]  # fmt: skip
    document = json.loads(entries(tape)[0]["response"]["content"]["text"])
    assert document["token_endpoint"] == issuer.url("/token") and document["issuer"] == issuer.issuer
    asked = len(issuer.arrived)
    for arguments in ((), ("--replay", tape)):
        with contract.Wire(arguments=arguments) as wire:
            if not arguments:
                start(wire, tape, mode="none")
            assert log_in(wire, given(issuer), params) == recorded, arguments
            told = result(wire.call("replay.get", {"session": "*"} if arguments else {}, 20))
            assert (told["missed"], told["unused"]) == (0, []), told
    assert len(issuer.arrived) == asked


def test_a_document_that_was_not_recorded_is_refused(issuer, tape):
    """Neither the network nor what the service knows already stands in; behind the cassette the network is back."""
    with fresh() as wire:
        start(wire, tape)
        result(wire.call("data.send", {"url": issuer.url("/api")}, 20))
        stop(wire)
        result(wire.call("oauth.discover", {"issuer": issuer.issuer}, 20))
        asked = len(issuer.arrived)
        start(wire, tape, mode="none")
        for method, params in (("oauth.create", credential(issuer)), ("oauth.discover", {"issuer": issuer.issuer})):
            error = wire.call(method, params, 20)["error"]
            assert error["data"]["failure"]["data"]["oauth"]["reason"] == "not_played", error
            assert "/api" in error["message"], error
        assert len(issuer.arrived) == asked and stop(wire)["missed"] == 2
        result(wire.call("oauth.create", credential(issuer), 20))


def test_a_document_is_recorded_once_and_anew_on_demand(issuer, tape):
    """What a cassette played is forgotten with the cassette."""
    run = [("oauth.discover", {"issuer": issuer.issuer, "fresh": fresh}) for fresh in (False, False, True)]
    with fresh() as wire:
        start(wire, tape)
        recorded = calls(wire, *run)
        stop(wire)
    assert len(entries(tape)) == len(issuer.arrived) == 2
    with fresh() as wire:
        start(wire, tape, mode="none")
        assert calls(wire, *run) == recorded
        stop(wire)
        assert len(issuer.arrived) == 2
        result(wire.call("oauth.discover", {"issuer": issuer.issuer}, 20))
        assert len(issuer.arrived) == 3


def test_documents_of_stubs_are_for_their_connection_alone(listening, issuer):
    """What a client makes up is no metadata for another client."""
    with contract.Wire(listening) as one, contract.Wire(listening) as other:
        made = {"issuer": issuer.issuer, "token_endpoint": "https://made.up.example/token"}
        result(one.call("stub.add", {"url": "*/.well-known/*", "response": {"json": made}}, 20))
        stubbed, real = made["token_endpoint"], issuer.url("/token")
        for wire, place in ((one, stubbed), (other, real), (one, stubbed)):
            found = result(wire.call("oauth.discover", {"issuer": issuer.issuer}, 20))
            assert found["metadata"]["token_endpoint"] == place


def device(wire, params):
    who = {"credential": "work"}
    return calls(wire, ("oauth.create", params), ("oauth.device", who), ("oauth.wait", {**who, "timeout": 15}),
                 ("oauth.get", who))  # fmt: skip


@pytest.mark.parametrize("polls", [["authorization_pending", None], ["access_denied"]])
def test_a_device_login_plays_with_its_events(issuer, tape, polls):
    issuer.interval, issuer.polls = 1, list(polls)
    with fresh() as wire:
        start(wire, tape)
        recorded = device(wire, credential(issuer, "device"))
        stop(wire)
    asked = len(issuer.arrived)
    with fresh() as wire:
        start(wire, tape, mode="none")
        assert device(wire, credential(issuer, "device")) == recorded
        told = stop(wire)
        assert (told["missed"], told["unused"]) == (0, [])
    assert len(issuer.arrived) == asked


def test_a_device_login_that_expired_plays_as_such(tape):
    """A code of ten minutes, whose recorded polls took longer than their interval."""
    host = "https://login.example"
    codes = {"device_code": "d", "user_code": "U-1", "verification_uri": host, "expires_in": 600, "interval": 30}
    recorded = [entry(host + "/device", 200, codes)]
    recorded += [entry(host + "/token", 400, {"error": "authorization_pending"})] * 17
    params = {"name": "work", "grant": "device", "clientId": "c", "tokenUrl": host + "/token", "persist": "memory",
              "deviceUrl": host + "/device", "origins": [host + "/"], "events": True}  # fmt: skip
    for count, reason in ((18, "expired_token"), (3, "not_played")):
        write(tape, *recorded[:count])
        with fresh() as wire:
            start(wire, tape, mode="none", match={"body": False})
            seen = device(wire, params)
            ended = next(one for method, one in seen if method == "oauth.wait")
            assert not ended["ok"] and ended["error"]["reason"] == reason, seen
            told = stop(wire)
            assert (told["played"], told["missed"]) == (count, int(reason == "not_played"))
