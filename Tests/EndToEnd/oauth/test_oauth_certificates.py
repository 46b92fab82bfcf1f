# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Clients that authenticate at their authorization server by a certificate (RFC 8705)."""

import shutil
import socket
import ssl

import certificate_authority
import contract
import pytest
from authorization_server import Authorizing
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

CLIENT = certificate_authority.LEAF + "extendedKeyUsage=clientAuth\n"


class Demanding(Authorizing):
    """Lets in who shows a certificate of the authority, and publishes the metadata of `front`, who lets in everyone."""

    def __init__(self, pki, front):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(pki.path("good.pem"), pki.path("good.key"))
        self.context.load_verify_locations(pki.path("root.crt"))
        self.context.verify_mode = ssl.CERT_REQUIRED
        super().__init__()
        names = {"token": "token", "device_authorization": "device", "revocation": "revoke"}
        aliases = {name + "_endpoint": self.address(path) for name, path in names.items()}
        front.metadata = lambda document: {**document, "mtls_endpoint_aliases": aliases}

    def address(self, path):
        return f"https://localhost:{self.port}/{path}"

    def serve(self, connection, number):
        with self.context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False) as shown:
            try:
                shown.do_handshake()
            except ssl.SSLError:
                # the alert must not be lost by a reset
                socket.socket.shutdown(shown, socket.SHUT_WR)
                while socket.socket.recv(shown, 65536):
                    pass
                return
            super().serve(shown, number)


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    made = certificate_authority.usual(tmp_path_factory.mktemp("certificates"))
    made.issue("client", "inter", CLIENT, chain=["inter"])
    made.issue("stranger", "evilroot", CLIENT, chain=["evilroot"])
    for name in ("client", "stranger"):
        (made.folder / f"{name}.key").chmod(0o600)
    (made.folder / "both.pem").write_text(made.text("client.pem") + made.text("client.key"))
    (made.folder / "both.pem").chmod(0o600)
    return made


@pytest.fixture
def front():
    with Authorizing() as front:
        yield front


@pytest.fixture
def server(pki, front):
    with Demanding(pki, front) as server:
        yield server


@pytest.fixture
def wire(pki, monkeypatch, tmp_path):
    # no credential of this user is read or written
    monkeypatch.setenv("OUTRIDER_CREDENTIALS", str(tmp_path / "credentials"))
    with contract.Wire(arguments=["--ca-file", pki.path("root.crt")]) as wire:
        yield wire


def made(wire, proof, **more):
    params = {"clientId": "cli", "grant": "clientCredentials", **more}
    if proof:
        params["clientAuth"] = {"certificate": proof}
    return result(wire.call("oauth.create", params, 20))["credential"]


def token(wire, mine):
    return wire.call("oauth.token", {"credential": mine}, 40)


@pytest.mark.parametrize("files", [("client.pem", "client.key"), ("both.pem", None)])
def test_a_certificate_is_shown_where_the_issuer_wants_it(wire, pki, front, server, files):
    proof = {"file": pki.path(files[0]), **({"key": pki.path(files[1])} if files[1] else {})}
    mine = made(wire, proof, issuer=front.issuer)
    assert server.is_good(result(token(wire, mine))["accessToken"])
    form = server.received("/token").form
    assert form["client_id"] == "cli" and "client_secret" not in form
    assert result(wire.call("oauth.revoke", {"credential": mine}, 40))["revoked"]
    assert server.received("/revoke") and not [one for one in front.audit if one.path == "/token"]


def test_a_client_without_a_certificate_is_sent_to_the_usual_place(wire, front, server):
    assert front.is_good(result(token(wire, made(wire, None, issuer=front.issuer)))["accessToken"])
    assert not server.audit


@pytest.mark.parametrize("name", ["stranger", "missing", None])
def test_a_certificate_that_is_not_accepted_brings_no_token(wire, pki, server, name):
    proof = name and {"file": pki.path(f"{name}.pem"), "key": pki.path(f"{name}.key")}
    error = token(wire, made(wire, proof, tokenUrl=server.address("token")))["error"]
    assert error["code"] == -32018 and not server.audit
    if name == "missing":
        assert "missing.pem" in error["message"], error


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
@pytest.mark.parametrize("grant", ["refresh", "device"])
def test_a_certificate_that_is_not_accepted_costs_no_login(wire, pki, server, tmp_path, version, grant):
    """With TLS 1.3 the alert comes after the request was written."""
    server.context.minimum_version = server.context.maximum_version = getattr(ssl.TLSVersion, version)
    proof = {"file": str(tmp_path / "now.pem"), "key": str(tmp_path / "now.key")}

    def show(name):
        for kind in ("pem", "key"):
            shutil.copy(pki.path(f"{name}.{kind}"), tmp_path / f"now.{kind}")

    show("stranger" if grant == "refresh" else "client")
    more = {"token": {"refreshToken": server.issue()["refresh_token"]}} if grant == "refresh" else {}
    mine = made(wire, proof, name="work", grant=grant, tokenUrl=server.address("token"),
                deviceUrl=server.address("device"), **more)
    if grant == "device":
        server.interval = 1
        result(wire.call("oauth.device", {"credential": mine}))
        assert wire.call("oauth.wait", {"credential": mine, "timeout": 20}, 25)["result"]["ok"]
        show("stranger")
    # a third failure in a row would begin a pause
    for _ in range(2):
        error = wire.call("oauth.refresh", {"credential": mine}, 40)["error"]
        told = error["data"]["failure"]["data"]["oauth"]
        assert (told["kind"], told["reason"]) == ("temporary", "certificate_refused"), error
        assert "unknown_ca" in error["message"], error
    assert server.outcomes() == []
    show("client")
    result(wire.call("oauth.refresh", {"credential": mine}, 40))
    assert server.outcomes() == ["ok"] and server.is_good(result(token(wire, mine))["accessToken"])


def test_unusable_addresses_for_certificates_are_those_of_certificates_alone(wire, pki, front, server):
    front.metadata = lambda document: {**document, "mtls_endpoint_aliases": {"token_endpoint": "http://a.example/"}}
    assert front.is_good(result(token(wire, made(wire, None, issuer=front.issuer)))["accessToken"])
    proof = {"file": pki.path("client.pem"), "key": pki.path("client.key")}
    params = {"clientId": "cli", "grant": "clientCredentials", "issuer": front.issuer}
    error = wire.call("oauth.create", {**params, "clientAuth": {"certificate": proof}}, 20)["error"]
    assert "mtls_endpoint_aliases.token_endpoint" in error["message"], error


@pytest.mark.parametrize("proof", [{}, {"certificate": {"file": "a"}}, {"certificate": {}},
                                   {"certificate": {"file": "/a"}, "privateKeyJwt": {"file": "/a", "alg": "ES256"}}])
def test_what_is_no_proof_is_refused(wire, server, proof):
    params = {"clientId": "c", "grant": "clientCredentials", "tokenUrl": server.address("token"), "clientAuth": proof}
    error = wire.call("oauth.create", params)["error"]
    assert error["code"] == -32602 and error["data"]["pointer"].startswith("/clientAuth"), error
