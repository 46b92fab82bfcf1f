# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A resource that says which authorization server it takes tokens of (RFC 9728)."""

import asyncio
import functools
import json
import sys

import contract
import pytest
from authorization_server import Authorizing
from request_client import result

sys.path.insert(0, str(contract.ROOT / "clients/python/src"))

import outrider as library  # noqa: E402

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

PLACE = "/.well-known/oauth-protected-resource"


class Resource(Authorizing):
    """With an API whose metadata are these; `says` changes them."""

    says = None

    def at_well_known(self, request):
        path = request.path
        if not path.startswith(PLACE):
            return super().at_well_known(request)
        document = {"resource": self.url(path[len(PLACE):]), "authorization_servers": [self.issuer],
                    "scopes_supported": ["read"]}
        document = self.says(document) if self.says else document
        return ("none", 404, {}, b"") if document is None else ("ok", 200, {}, document)


@pytest.fixture
def server():
    with Resource() as server:
        yield server


@pytest.mark.parametrize("path", ["", "/api", "/api?tenant=1"])
def test_a_resource_leads_to_its_server(wire, server, path):
    found = result(wire.call("oauth.discover", {"resource": server.url(path)}))
    assert found["issuer"] == server.issuer and found["metadata"]["token_endpoint"] == server.url("/token")
    assert found["resource"]["resource"] == server.url(path) and found["resource"]["scopes_supported"] == ["read"]
    assert "resource" not in result(wire.call("oauth.discover", {"issuer": server.issuer}))


def failed(wire, **what):
    error = wire.call("oauth.discover", {"fresh": True, **what}, 20)["error"]
    assert error["code"] == -32018
    return error["data"]["failure"]["data"]["oauth"]


def refusal(wire, resource):
    return failed(wire, resource=resource)["reason"]


# what a hostile one writes in place of a member, and what names it in the failure
RESOURCES = [
    ("resource", "https://other.example"), ("resource", None), ("resource", 7), ("resource", ["https://a.example"]),
    ("resource", ""), ("resource", "http://169.254.169.254/"), ("resource", {"href": "x"}),
    ("authorization_servers", None), ("authorization_servers", []), ("authorization_servers", "https://a.example"),
    ("authorization_servers", {"0": "https://a.example"}), ("authorization_servers", [1]),
    ("authorization_servers", ["http://a.example"]), ("authorization_servers", ["https://a.example", "file:///x"]),
    ("authorization_servers", ["https://a.example?x"]), ("authorization_servers", ["https://a.example#x"]),
    ("authorization_servers", ["https://u:p@a.example"]), ("authorization_servers", ["javascript:alert(1)"]),
    ("authorization_servers", ["--flag"]), ("authorization_servers", ["https://a.example/\r\nX: y"]),
    ("authorization_servers", ["https://a.example"] * 65), ("authorization_servers", [None]),
    ("scopes_supported", "read"), ("scopes_supported", [1]), ("bearer_methods_supported", {"header": True}),
    ("resource_signing_alg_values_supported", ["RS256", None]),
]
SERVERS = [
    ("issuer", None), ("issuer", 7), ("issuer", "https://other.example"), ("issuer", ["x"]),
    ("token_endpoint", None), ("token_endpoint", ""), ("token_endpoint", "/token"), ("token_endpoint", 7),
    ("token_endpoint", "http://a.example/token"), ("token_endpoint", "http://10.0.0.1/token"),
    ("token_endpoint", "http://127.0.0.1.a.example/"), ("token_endpoint", "https://u:p@a.example/token"),
    ("token_endpoint", "http+unix://%2Frun%2Fx/token"), ("token_endpoint", "file:///etc/passwd"),
    ("token_endpoint", "https://a.example/token#x"), ("token_endpoint", "https://a.example/\r\nX: y"),
    ("authorization_endpoint", "javascript:alert(1)"), ("authorization_endpoint", "--flag"),
    ("authorization_endpoint", "https://a.example/$(id) x"), ("authorization_endpoint", "data:text/html,x"),
    ("device_authorization_endpoint", "ftp://a.example/"), ("revocation_endpoint", {}),
    ("introspection_endpoint", "http://a.example/"), ("jwks_uri", "https://"), ("jwks_uri", "http://a.example/keys"),
    ("code_challenge_methods_supported", "S256"), ("scopes_supported", [[]]),
    ("authorization_response_iss_parameter_supported", "true"),
]


@pytest.mark.parametrize("of", ["resource", "issuer"])
def test_hostile_metadata_are_refused_and_the_member_is_named(line, server, of):
    """54 documents; none leads any further, neither to what it names nor to a credential."""
    assert len(RESOURCES) + len(SERVERS) == 54
    for name, value in RESOURCES if of == "resource" else SERVERS:
        change = functools.partial(dict, **{name: value})
        server.says, server.metadata = (change, None) if of == "resource" else (None, change)
        where = server.url("/api") if of == "resource" else server.issuer
        error = failed(line, **{of: where})
        assert error["kind"] == "config" and name in error["reason"] + error["message"], (name, value, error)
        if of == "issuer":
            made = {"grant": "clientCredentials", "clientId": "cli", "issuer": where}
            mine = line.call("oauth.create", made, 20)
            if "result" in mine:
                refused = line.call("oauth.token", {"credential": mine["result"]["credential"]}, 20)["error"]
                assert name in str(refused), (name, value, refused)
    # of a resource that is not believed, the server is not asked either
    paths = {one.path for one in server.audit}
    assert all(path.startswith(PLACE if of == "resource" else "/.well-known/") for path in paths), paths


@pytest.mark.parametrize(("says", "reason"), [
    (lambda document: [document], "no_metadata"), (lambda document: b"{", "invalid_metadata"),
    (lambda document: None, "no_metadata"), (lambda document: b"<html>{}", "no_metadata"),
    (lambda document: b'{"a":' + b"[" * 40 + b"]" * 40 + b"}", "invalid_metadata"),
    (lambda document: {**document, "resource": document["resource"] + "/"}, "resource_mismatch"),
])  # fmt: skip
def test_what_is_no_document_is_refused(wire, server, says, reason):
    server.says = says
    assert refusal(wire, server.url("/api")) == reason
    assert not any(one.path.endswith("oauth-authorization-server") for one in server.audit)


def test_a_foreign_object_and_a_byte_order_mark_end_no_search(wire, server):
    said = [{"message": "not here"}, None]

    def metadata(document):
        return said.pop(0) or b"\xef\xbb\xbf" + json.dumps(document).encode()

    server.metadata = metadata
    assert result(wire.call("oauth.discover", {"issuer": server.issuer}, 20))["issuer"] == server.issuer


def test_a_place_of_another_issuer_on_the_same_host_ends_no_search(wire, server):
    issuer = server.url("/tenant")
    setattr(server, "at_tenant/.well-known/openid-configuration", server.at_well_known)
    taken = iter([server.issuer, issuer])
    server.metadata = lambda document: {**document, "issuer": next(taken)}
    found = result(wire.call("oauth.discover", {"issuer": issuer}, 20))
    assert found["issuer"] == issuer and found["url"].endswith("/tenant/.well-known/openid-configuration")


def test_the_server_that_it_names_is_held_against_its_own(wire, server):
    server.metadata = lambda document: {**document, "issuer": "https://other.example"}
    assert refusal(wire, server.url("/api")) == "issuer_mismatch"


@pytest.mark.parametrize("resource", ["http://api.example/", "https://api.example/#x", "nonsense", ""])
def test_what_cannot_be_a_resource_is_asked_nothing(wire, resource):
    assert refusal(wire, resource) == "invalid_resource"


def test_the_python_clients_ask_for_it(listening, server):
    with library.Client(socket=listening) as client:
        assert client.oauth.discover(resource=server.url("/api"))["issuer"] == server.issuer
        with pytest.raises(TypeError):
            client.oauth.discover()

    async def main():
        async with library.AsyncClient(socket=listening) as client:
            assert (await client.oauth.discover(resource=server.url("/api")))["issuer"] == server.issuer

    asyncio.run(main())
