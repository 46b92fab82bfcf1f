# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Forms and queries as the descriptions of public APIs want them, as they arrive at a server."""

import json
import urllib.parse

import contract
import pytest

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

FORM = "application/x-www-form-urlencoded"
EXPAND = {"name": "expand", "in": "query", "style": "deepObject", "schema": {"type": "array"}}
MEDIA = {"schema": {"type": "object"}, "encoding": {"items": {"style": "deepObject", "explode": True}}}
OPERATION = {"operationId": "pay", "parameters": [EXPAND], "requestBody": {"content": {FORM: MEDIA}}, "responses": {}}


def test_nested_values_arrive_in_brackets(wire, origin):
    document = {
        "openapi": "3.0.3", "info": {"title": "Pay", "version": "1"}, "servers": [{"url": origin}],
        "paths": {"/echo": {"post": OPERATION}},
    }
    made = wire.call("router.import", {"from": {"document": document}})["result"]
    assert made["notes"] == []
    body = {"items": [{"price": "p_1", "taxed": True}], "metadata": {"order": 7}, "off": None}
    params = {"expand": ["data", "total"], "body": body}
    reply = wire.call(
        "router.send",
        {"router": "Pay", "endpoint": "pay", "params": params, "overrides": {"serialize": {"as": "text"}}})
    got = json.loads(reply["result"]["body"]["text"])
    query = urllib.parse.parse_qsl(urllib.parse.urlsplit(got["target"]).query)
    assert query == [("expand[]", "data"), ("expand[]", "total")]
    fields = [("items[0][price]", "p_1"), ("items[0][taxed]", "true"), ("metadata[order]", "7")]
    assert urllib.parse.parse_qsl(got["body"]) == fields
