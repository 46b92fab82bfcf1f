# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Short API descriptions that stand for large ones: read within limits of size and time, away from the event loop."""

import json
import time

import contract
import pytest
from request_client import memory, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

HEAD = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}}


def imported(wire, document, seconds=30.0):
    """The reply to router.import. Other calls of the same client are served meanwhile."""
    source = {"text": document} if isinstance(document, str) else {"document": document}
    number = wire.start("router.import", {"from": source, "name": "api"})
    begin = time.monotonic()
    other = wire.start("diagnostics.echo", {"value": 1})
    first = wire.receive(seconds)
    waited = time.monotonic() - begin
    if first.get("id") == other:
        assert waited < 3, f"the event loop was busy for {waited:.1f} s"
        return wire.reply(number, seconds)
    wire.reply(other, seconds)
    return first


def test_a_value_of_a_server_variable_is_not_expanded_again(wire):
    variables = {"a": {"default": "{b}"}, "b": {"default": "x"}}
    servers = [{"url": "http://h/{a}/{b}", "variables": variables}]
    made = result(imported(wire, {**HEAD, "servers": servers, "paths": {}}))
    assert made["baseUrl"] == "http://h/{b}/x"


def test_variables_that_name_variables_do_not_multiply(wire):
    variables = {f"v{number}": {"default": f"{{v{number + 1}}}" * 10} for number in range(9)}
    servers = [{"url": "http://h/{v0}", "variables": {**variables, "v9": {"default": "xxxxxxxx"}}}]
    before = memory(wire)
    made = result(imported(wire, {**HEAD, "servers": servers, "paths": {}}))
    assert len(made["baseUrl"]) < 100 and memory(wire) - before < 32 << 20


def test_a_server_url_has_at_most_64_kib_with_its_variables(wire):
    variables = {"a": {"default": "x" * 40_000}}
    servers = [{"url": "http://h/{a}{a}", "variables": variables}]
    error = imported(wire, {**HEAD, "servers": servers, "paths": {}})["error"]
    assert error["data"]["pointer"] == "/from/document/servers/0" and "65536 bytes" in error["message"]


def test_an_alias_counts_as_deep_as_what_it_stands_for(wire):
    lines = ["a0: &a0 [x]"]
    for level in range(1, 200):
        lines.append(f"a{level}: &a{level} [*a{level - 1}]")
    error = imported(wire, "\n".join(lines))["error"]
    assert "nested deeper than 128 levels" in error["message"], error["message"][:200]


def test_texts_count_as_often_as_aliases_repeat_them(wire):
    lines = ["a: &a " + "x" * 100_000, "b: &b [" + ", ".join(["*a"] * 50) + "]", "c: [" + ", ".join(["*b"] * 50) + "]"]
    error = imported(wire, "\n".join(lines))["error"]
    assert "bytes of text, aliases counted" in error["message"], error["message"][:200]


def shared_item(count, **operation):
    item = {method: operation for method in ("get", "put", "post", "delete", "options", "head", "patch", "trace")}
    paths = {f"/p{number}": {"$ref": "#/components/pathItems/shared"} for number in range(count)}
    return {"paths": paths, "components": {"pathItems": {"shared": item}}}



@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(
            shared_item(1000, servers=[{"url": "http://h/" + "x" * 60_000}]), id="many operations, one long server"
        ),
        pytest.param(
            shared_item(1000, parameters=[{"name": f"p{number}", "in": "query"} for number in range(1500)]),
            id="many operations, many parameters",
        ),
        pytest.param(
            {
                "paths": {},
                "x": {"s" * 500_000: {"properties": {f"p{number}": {} for number in range(2000)}}},
                "$defs": {"a": {"properties": {f"p{number}": {"$id": "urn:x:" + "y" * 1000} for number in range(9)}}},
                "definitions": {"n" * 500_000: {"properties": {f"p{number}": {} for number in range(2000)}}},
            },
            id="a long name above many schemas",
        ),
    ],
)
def test_what_would_become_too_large_is_refused(wire, parts):
    before = memory(wire)
    document = {**HEAD, "servers": [{"url": "http://h/"}], **parts}
    error = imported(wire, document, 60)["error"]
    assert error["code"] == -32602 and "the document is refused" in error["message"], error["message"][:300]
    assert memory(wire) - before < 600 << 20


def test_long_references_are_followed_in_time_that_grows_with_their_length(wire):
    reference = "#" + "/a" * 200_000
    schema = {"$ref": reference}
    begin = time.monotonic()
    error = wire.call("evaluate.schema", {"schema": schema, "value": 1}, 30)["error"]
    assert time.monotonic() - begin < 5 and len(error["message"]) < 1000


def test_a_definition_is_read_away_from_the_event_loop(wire):
    names = {f"n{number}": {"$ref": f"#/properties/n{(number * 7) % 9000}"} for number in range(9000)}
    endpoints = {"one": {"path": "/", "params": {"properties": names}}}
    params = {"name": "api", "baseUrl": "http://h/", "endpoints": endpoints}
    number = wire.start("router.define", params)
    other = wire.start("diagnostics.echo", {"value": 1})
    replies = [wire.receive(30) for _ in range(2)]
    assert {one["id"] for one in replies} == {number, other}
    assert result(next(one for one in replies if one["id"] == number))["endpoints"] == ["one"]


def test_operations_of_one_name_are_numbered_quickly(wire):
    paths = {f"/p{number}": {"get": {"operationId": "one", "responses": {}}} for number in range(6000)}
    made = result(imported(wire, {**HEAD, "servers": [{"url": "http://h/"}], "paths": paths}, 60))
    assert len(made["endpoints"]) == len(set(made["endpoints"])) == 6000
    assert json.dumps(made["endpoints"][:3]) == '["one", "one2", "one3"]'


def test_a_schema_that_takes_many_steps_does_not_hold_other_calls_up(wire):
    definitions = {f"s{number}": {"allOf": [{"$ref": f"#/$defs/s{number + 1}"}] * 2} for number in range(30)}
    definitions["s30"] = {"type": "integer"}
    params = {"$defs": definitions, "properties": {"x": {"$ref": "#/$defs/s0"}}}
    endpoints = {"one": {"path": "/", "params": params}}
    result(wire.call("router.define", {"name": "api", "baseUrl": "http://127.0.0.1:1/", "endpoints": endpoints}))
    number = wire.start("router.build", {"router": "api", "endpoint": "one", "params": {"x": 1}})
    assert result(wire.call("diagnostics.echo", {"value": 1}, 3)) == {"value": 1}
    error = wire.reply(number, 60)["error"]
    assert error["data"]["failure"]["code"] == 2102 and "steps" in error["message"]
