# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""An authorization server on loopback that takes assertions (RFC 7523): Authlib's, with what it leaves to its user.

python asserting.py PORT KEYS       # KEYS: a directory with the public keys of clients, CLIENT.pem

A client that has the name of an algorithm signs with that one, and no other; PS256 is one of them.

It knows signature, audience, time and issuer by Authlib's rules, and takes each `jti` once. /used lists the claims that
it has accepted.
"""

import pathlib
import sys

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin, InvalidGrantError, grants
from authlib.oauth2.rfc7523 import JWTBearerClientAssertion, JWTBearerGrant
from flask import Flask, jsonify
from joserfc import jwk
from joserfc.jws import JWSRegistry

PORT, KEYS = int(sys.argv[1]), pathlib.Path(sys.argv[2])
TOKEN = f"http://127.0.0.1:{PORT}/token"

# its authors know it, and leave it out unless one asks
JWSRegistry.recommended.append("PS256")
app = Flask(__name__)
used = []


class Client(ClientMixin):
    def __init__(self, name):
        self.name = name

    @property
    def key(self):
        text = (KEYS / f"{self.name}.pem").read_bytes()
        only = {"alg": self.name} if self.name in JWSRegistry.recommended else None
        # those of a curve are short
        return (jwk.RSAKey if len(text) > 300 else jwk.ECKey).import_key(text, only)

    def get_client_id(self):
        return self.name

    def get_allowed_scope(self, scope):
        return scope or ""

    def check_endpoint_auth_method(self, method, endpoint):
        return method == JWTBearerClientAssertion.CLIENT_AUTH_METHOD

    def check_grant_type(self, grant):
        return True


def find(name):
    return Client(name) if (KEYS / f"{name}.pem").exists() else None


def once(claims, place):
    """Each identifier counts once, in either place."""
    if claims["jti"] in [one["jti"] for one in used]:
        return False
    used.append({**claims, "as": place})
    return True


class Proof(JWTBearerClientAssertion):
    def get_audiences(self):
        return [TOKEN]

    def validate_jti(self, claims, jti):
        return once(claims, "client")

    def resolve_client_public_key(self, client):
        return client.key


class Bearer(JWTBearerGrant):
    def get_audiences(self):
        return [TOKEN]

    def resolve_issuer_client(self, issuer):
        return find(issuer)

    def resolve_client_public_key(self, client):
        return client.key

    def verify_claims(self, claims):
        super().verify_claims(claims)
        if not once(claims, "grant"):
            raise InvalidGrantError(description="JWT ID is used before.")

    def authenticate_user(self, subject):
        return subject

    def has_granted_permission(self, client, user):
        return True


class ClientCredentials(grants.ClientCredentialsGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = [Proof.CLIENT_AUTH_METHOD]


server = AuthorizationServer(app, query_client=find, save_token=lambda token, request: None)
server.register_client_auth_method(Proof.CLIENT_AUTH_METHOD, Proof())
server.register_grant(ClientCredentials)
server.register_grant(Bearer)


@app.post("/token")
def token():
    return server.create_token_response()


@app.get("/used")
def list_used():
    return jsonify(used)


app.run("127.0.0.1", PORT, threaded=True)
