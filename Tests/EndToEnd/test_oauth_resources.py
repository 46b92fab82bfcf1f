# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A resource that says which authorization server it takes tokens of (RFC 9728)."""

import asyncio
import sys

import contract
import pytest
from asking import result
from authorizing import Authorizing

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
        answer = self.says(document) if self.says else document
        return ("none", 404, {}, b"") if answer is None else ("ok", 200, {}, answer)


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


def refusal(wire, resource):
    error = wire.call("oauth.discover", {"resource": resource}, 20)["error"]
    assert error["code"] == -32018
    return error["data"]["failure"]["data"]["oauth"]["reason"]


@pytest.mark.parametrize(("says", "reason"), [
    (lambda document: {**document, "resource": "https://other.example"}, "resource_mismatch"),
    (lambda document: {**document, "resource": document["resource"] + "/"}, "resource_mismatch"),
    (lambda document: {**document, "resource": None}, "resource_mismatch"),
    (lambda document: {**document, "authorization_servers": []}, "invalid_metadata"),
    (lambda document: {**document, "authorization_servers": "https://a.example"}, "invalid_metadata"),
    (lambda document: {**document, "authorization_servers": ["http://a.example"]}, "invalid_metadata"),
    (lambda document: {**document, "authorization_servers": [1]}, "invalid_metadata"),
    (lambda document: [document], "no_metadata"), (lambda document: b"{", "invalid_metadata"),
    (lambda document: None, "no_metadata"),
])  # fmt: skip
def test_what_it_says_is_held_against_the_rules(wire, server, says, reason):
    server.says = says
    assert refusal(wire, server.url("/api")) == reason
    assert not any(one.path.endswith("oauth-authorization-server") for one in server.audit)


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
