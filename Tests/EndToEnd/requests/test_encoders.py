# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Parameters that the client's own code encodes."""

import contract
import pytest
from callback_client import Refuse, exchange, sent, way

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

WAYS = ["request", "pull"]


def custom(how):
    return {"kind": "custom", "callback": "mine", **way(how)}


@pytest.mark.parametrize("how", WAYS)
def test_the_clients_own_code_encodes_the_parameters(wire, origin, how):
    """[C26]"""

    def encode(params):
        assert params["callback"] == "mine" and params["parameters"] == {"b": [1, None], "a": {"$data": "AA=="}}
        assert (params["method"], params["attempt"]) == ("POST", 1)
        return {"query": {"v": 1}, "body": {"text": "b;a", "contentType": "text/x-mine"}}

    parameters = {"b": [1, None], "a": {"$data": "AA=="}}
    spec = {"url": origin + "/echo", "method": "POST", "parameters": parameters, "encoding": custom(how)}
    response, callbacks = exchange(wire, how, spec, {"encode": encode})
    fields, seen = sent(response)
    assert len(callbacks) == 1 and (seen["target"], seen["body"]) == ("/echo?v=1", "b;a")
    assert fields["Content-Type"] == "text/x-mine"


@pytest.mark.parametrize(
    ("body", "type_"),
    [
        ({"json": {"a": 1}}, "application/vnd.api+json"),
        ({"text": "x" * 100_000}, "application/vnd.api+json"),
        ({"text": "a", "contentType": "text/x-mine"}, "text/x-mine"),
    ],
)
@pytest.mark.parametrize("how", WAYS)
def test_the_body_of_an_encoder_keeps_the_type_that_the_caller_named(wire, origin, how, body, type_):
    """[C26]"""
    spec = {"url": origin + "/echo", "method": "POST", "parameters": {"a": 1}, "encoding": custom(how)}
    spec["headers"] = {"content-type": "application/vnd.api+json"}
    response, _ = exchange(wire, how, spec, {"encode": lambda _: {"body": body}})
    fields, _ = sent(response)
    assert {name.lower(): value for name, value in fields.items()}["content-type"] == type_


@pytest.mark.parametrize("how", WAYS)
def test_an_encoder_that_refuses_fails_the_request(wire, origin, how):
    """[C26] [3.A.35]"""

    def encode(_):
        raise Refuse("no such date")

    spec = {"url": origin + "/echo", "parameters": {"a": 1}, "encoding": custom(how)}
    response, _ = exchange(wire, how, spec, {"encode": encode})
    error = response["error"]
    assert (error["code"], error["reason"]) == (1202, "customEncodingFailed") and "no such date" in error["message"]
    assert response["attempts"] == 0


def test_an_encoder_comes_before_the_adapters(wire, origin):
    """[B12]"""

    def adapt(params):
        assert params["url"].endswith("/echo?a=1")
        return {"headers": {"X-Seen": params["url"]}}

    adapter = {"callback": "sign", "asks": ["adapt"]}
    spec = {"url": origin + "/echo", "parameters": 1, "encoding": custom("request"), "interceptors": [adapter]}
    response, callbacks = exchange(wire, "request", spec, {"encode": lambda _: {"query": {"a": 1}}, "adapt": adapt})
    fields, seen = sent(response)
    assert [kind for kind, _ in callbacks] == ["encode", "adapt"] and seen["target"] == "/echo?a=1"
    assert fields["X-Seen"].endswith("/echo?a=1")


def test_a_get_that_may_carry_a_body_gets_it_from_adapters_too(wire, origin):
    given = {"text": "x" * 100}
    adapter = {"interceptors": [{"callback": "mine", "asks": ["adapt"]}]}
    functions = {kind: lambda _: {"body": {"text": "given"}} for kind in ("adapt", "encode")}
    ways = [
        ({"body": given, "interceptors": [{"compress": "gzip"}]}, None),
        ({"body": given, **adapter}, "given"),
        (adapter, "given"),
        ({"parameters": {"a": 1}, "encoding": custom("request")}, "given"),
    ]
    for members, body in ways:
        spec = {"url": origin + "/echo", "allowGetBody": True, **members}
        response, _ = exchange(wire, "request", spec, functions)
        fields, seen = sent(response)
        assert seen["method"] == "GET" and (seen["body"] == body if body else fields["Content-Encoding"] == "gzip")
    for members, _ in ways[2:]:
        response, _ = exchange(wire, "request", {"url": origin + "/echo", **members}, functions)
        assert response["error"]["data"]["cause"]["code"] == 1102, response


def test_building_asks_nobody(wire):
    params = {"url": "http://h/", "parameters": {"a": 1}, "encoding": custom("request")}
    assert wire.call("request.build", params)["result"]["url"] == "http://h/"
