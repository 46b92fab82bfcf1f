# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Header fields and authorization: what is sent, what is shown, and what can be asked for without a request."""

import base64
import gzip
import json

import contract
import pytest
from request_client import built, result, sent

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.mark.parametrize(
    ("auth", "value"),
    [
        ({"basic": {"username": "user", "password": "password"}}, "Basic dXNlcjpwYXNzd29yZA=="),
        ({"bearer": "abc"}, "Bearer abc"),
        ({"raw": "Token abc"}, "Token abc"),
    ],
)
def test_authorization_has_short_forms_that_are_not_shown(wire, origin, auth, value):
    """[D4] [3.C.8] [3.C.9]"""
    assert sent(wire, origin, auth=auth)["fields"]["authorization"] == value
    handle = result(wire.call("data.start", {"url": origin + "/echo", "auth": auth}))["request"]
    result(wire.call("request.wait", {"request": handle}))
    for method in ("request.curl", "request.get"):
        assert value not in json.dumps(wire.call(method, {"request": handle}))
    assert value not in built(wire, auth=auth)["curl"]
    found = result(wire.call("headers.normalize", {"headers": {"authorization": "x"}, "auth": auth}))
    assert found["headers"] == [{"name": "Authorization", "value": value}]


def test_defaults_are_sent_unless_replaced(wire, origin):
    """[D5] [D7] [D8]"""
    fields = sent(wire, origin)["fields"]
    assert fields["accept-encoding"] == "gzip, deflate, br, zstd" and fields["user-agent"].startswith("outrider/")
    fields = sent(wire, origin, headers={"user-agent": "mine", "Accept-Encoding": "identity"})["fields"]
    assert (fields["user-agent"], fields["accept-encoding"]) == ("mine", "identity")


@pytest.mark.parametrize(
    "body",
    [
        {"body": {"text": "a"}},
        {"body": {"form": {"a": 1}}},
        {"parameters": {"a": 1}},
        {"parameters": {"a": 1}, "encoding": "json"},
    ],
)
def test_a_request_without_defaults_has_the_fields_of_the_caller_and_no_other(wire, origin, body):
    params = {"url": origin + "/echo", "method": "POST", **body, "defaultHeaders": False}
    sent_fields = result(wire.call("data.send", {**params, "serialize": {"as": "json"}}))["body"]["json"]["headers"]
    assert [name for name, _ in sent_fields] == ["Host", "Content-Length"]


def test_a_body_is_given_as_the_server_sent_it_where_the_caller_decodes(wire, origin):
    params = {"url": origin + "/gzip", "decode": False, "serialize": {"as": "base64"}}
    found = result(wire.call("data.send", params))
    coded = base64.b64decode(found["body"]["base64"])
    assert gzip.decompress(coded) == b"this was compressed with gzip\n"
    assert len(coded) == found["body"]["size"]
    head = {field["name"].lower(): field["value"] for field in found["headers"]}
    assert (head["content-encoding"], head["content-length"]) == ("gzip", str(len(coded)))
    assert result(wire.call("data.send", {"url": origin + "/gzip"}))["body"]["text"].startswith("this was")


def test_repeated_fields_arrive_in_order(wire, origin):
    """[D1] [D2] [D10]"""
    given = [("x-B", "1"), ("X-a", "2"), ("x-b", "3")]
    seen = sent(wire, origin, headers=[{"name": name, "value": value} for name, value in given])
    assert [(name, value) for name, value in seen["headers"] if name.lower().startswith("x-")] == given


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"headers": {"key": "1", "Key": "2", "KEY": "3"}, "unique": True}, "KEY: 3"),  # [3.C.1]
        ({"headers": ["key:1", "Key: 2"], "add": ["KEY: 3"], "unique": True}, "KEY: 3"),
        ({"headers": {}, "set": ["key: 1", "Key: 2", "KEY: 3"]}, "KEY: 3"),
        ({"headers": ["c: 1", "a: 2", "b: 3"]}, "c: 1\na: 2\nb: 3"),  # [3.C.2] [3.C.6]
        ({"headers": ["c: 1", "a: 2", "b: 3"], "sort": True}, "a: 2\nb: 3\nc: 1"),  # [3.C.3]
        ({"headers": {"c": "a"}, "set": {"C": "c"}}, "C: c"),  # [3.C.5]
        ({"headers": {"a": ["1", "2"], "b": "3"}, "remove": ["A"]}, "b: 3"),
        ({"headers": ["a: 1", "b: 2"], "set": {"A": ["3", "4"]}}, "A: 3\nb: 2\nA: 4"),
        ({}, ""),
    ],
)
def test_fields_are_normalized(wire, params, text):
    """[D3]"""
    assert result(wire.call("headers.normalize", params))["text"] == text


@pytest.mark.parametrize(
    ("type", "acceptable", "match"),
    [
        ("text/html", ["text/*"], "text/*"),
        ("application/json", ["text/*"], None),
        ("application/json", ["*/json"], "*/json"),
        ("text/html", ["text/plain"], None),
        ("  Text/Plain  ", ["text/plain"], "text/plain"),
        ("application/json", ["text/html", " application/json ; q=0.8"], " application/json ; q=0.8"),
        ("text", ["*/*"], None),
        ("", ["*/*"], None),
        ("a/b", ["nonsense"], None),
        ("a/b", [], None),
    ],
)
def test_media_types_match_patterns(wire, type, acceptable, match):
    """[3.G.22] [3.G.24] [3.G.26] [3.G.27] [3.G.28]"""
    found = result(wire.call("mime.match", {"type": type, "acceptable": acceptable}))
    assert found["matches"] == (match is not None) and found.get("match") == match
    if match:
        assert [found["type"], found["subtype"]] == type.split(";")[0].strip().lower().split("/")


@pytest.mark.parametrize(
    ("params", "pointer"),
    [
        ({"headers": {"a b": "1"}}, "/headers/a b"),
        ({"headers": [{"name": "A", "value": "1"}, {"name": "B", "value": "\0"}]}, "/headers/1"),
        ({"headers": {"A": "1"}, "add": {"a/b": "1"}}, "/add/a~1b"),
        ({"headers": {"A": "1"}, "add": ["B: 1", "A B: 2"]}, "/add/1"),
        ({"headers": {"A": "1"}, "set": {"A": "2", "B": "\0"}}, "/set/B"),
        ({"headers": {"A": "1"}, "set": [{"name": "B", "value": "1"}, {"name": "C", "value": "\0"}]}, "/set/1"),
    ],
)
def test_a_field_that_may_not_be_sent_is_named_by_the_member_that_gave_it(wire, params, pointer):
    error = wire.call("headers.normalize", params)["error"]
    assert (error["code"], error["data"]["pointer"]) == (-32602, pointer)


def test_a_field_of_a_list_that_may_not_be_sent_is_named_by_its_number(wire, origin):
    headers = [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}, {"name": "b", "value": "\0"}]
    failure = result(wire.call("data.send", {"url": origin + "/echo", "headers": headers}))["error"]
    assert (failure["code"], failure["pointer"]) == (1101, "/headers/2")
    error = wire.call("request.build", {"url": origin, "headers": headers})["error"]
    assert (error["code"], error["data"]["pointer"]) == (-32602, "/headers/2")
    failure = result(wire.call("data.send", {"url": origin + "/echo", "headers": {"A": "1", "B": "\0"}}))["error"]
    assert failure["pointer"] == "/headers/B"
