# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Bodies in the shape that was asked for, and what they fail with."""

import json
import plistlib

import contract
import pytest
from reply_server import Replying
from request_client import get, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

JSON = "application/json"
USER = {"type": "object", "required": ["id", "name"], "properties": {"id": {"type": "integer"}}}


@pytest.fixture(scope="module")
def server():
    with Replying() as server:
        yield server


SHAPED = [
    ("bytes [H4]", (200, None, b"\x00\xff"), {"as": "base64"}, {"kind": "base64", "base64": "AP8="}, None),
    ("an empty 204 as bytes [3.F.9]", (204,), {"as": "base64", "emptyStatus": [204]}, {"kind": "none"}, None),
    ("empty bytes [H3]", (200,), {"as": "base64", "emptyStatus": [204]}, {"kind": "none"}, 1700),
    ("empty text [3.F.13]", (200,), {"as": "text", "emptyMethods": ["HEAD"]}, {"kind": "none"}, 1700),
    (
        "the fallback [3.F.14] [H5]",
        (200, None, "é".encode()),
        {"as": "text", "fallback": "latin1"},
        {"text": "Ã©", "charset": "iso-8859-1"},
        None,
    ),
    (
        "UTF-8 [3.F.15]",
        (200, "text/plain; charset=latin1", "é".encode()),
        {"as": "text", "encoding": "utf-8"},
        {"text": "é"},
        None,
    ),
    ("UTF-32 is not UTF-8 [3.F.17]", (200, None, "ab".encode("utf-32")), {"as": "text", "encoding": "utf-8"}, {}, 1703),
    (
        "Japanese [H5]",
        (200, "text/html; charset=Shift_JIS", "日本語".encode("shift_jis")),
        {"as": "text"},
        {"text": "日本語", "charset": "shift_jis"},
        None,
    ),
    (
        "Chinese [H5]",
        (200, "text/html; charset=gb2312", "中文".encode("gbk")),
        {},
        {"text": "中文", "charset": "gbk"},
        None,
    ),
    ("empty JSON [3.F.22]", (200,), {"as": "json"}, {"kind": "none"}, 1700),
    ("an object [3.F.23]", (200, JSON, b'{"json": true}'), {"as": "json"}, {"json": {"json": True}}, None),
    ("no JSON [3.F.24]", (200, JSON, b"definitely not valid json"), {"as": "json"}, {"kind": "text"}, 1704),
    ("205 [3.F.25]", (205,), {"as": "json"}, {"kind": "none"}, None),
    ("a fragment [3.F.26]", (200, JSON, b'"abcd"'), {"as": "json"}, {"json": "abcd"}, None),
    ("it fits [3.F.27]", (200, JSON, b'{"id":1,"name":"n"}'), {"schema": USER}, {"json": {"id": 1, "name": "n"}}, None),
    ("no value [3.F.29]", (204,), {"schema": USER}, {"kind": "none"}, 1707),
    ("no value and no reason [3.F.32]", (200,), {"schema": USER}, {"kind": "none"}, 1700),
    ("200 may be empty [3.F.33]", (200,), {"as": "json", "emptyStatus": [200]}, {"kind": "none"}, None),
    (
        "bytes without the first [3.F.35]",
        (200, None, b"abcd"),
        {"as": "base64", "preprocess": {"dropFirst": 1}},
        {"base64": "YmNk"},
        None,
    ),
    (
        "JSON without the first byte [3.F.36]",
        (200, None, b'1"abcd"'),
        {"as": "json", "preprocess": {"dropFirst": 1}},
        {"json": "abcd"},
        None,
    ),
    (
        "the prefix [3.F.39]",
        (200, JSON, b")]}',\n[1]"),
        {"preprocess": "googleXSSI"},
        {"json": [1]},
        None,
    ),
    (
        "another prefix [H10]",
        (200, JSON, b"while(1);[1]"),
        {"preprocess": {"dropPrefix": "while(1);"}},
        {"json": [1]},
        None,
    ),
    (
        "a property list [H13]",
        (200, None, plistlib.dumps({"a": b"\x00", "b": [1, 2.5]}, fmt=plistlib.FMT_BINARY)),
        {"as": "propertyList"},
        {"kind": "json", "json": {"a": {"$data": "AA=="}, "b": [1, 2.5]}},
        None,
    ),
    (
        "a property list in XML that fits [H13] [H7]",
        (200, "application/xml", plistlib.dumps({"id": 1, "name": "n"})),
        {"as": "propertyList", "schema": USER},
        {"json": {"id": 1, "name": "n"}},
        None,
    ),
    ("no property list [H13]", (200, "text/plain", b"hello"), {"as": "propertyList"}, {"text": "hello"}, 1705),
]


@pytest.mark.parametrize(("label", "reply", "serialize", "body", "code"), SHAPED, ids=lambda one: str(one)[:40])
def test_bodies_come_in_the_shape_that_was_asked_for(wire, server, label, reply, serialize, body, code):
    """And so they do later, when the body was kept. [H2] [H14]"""
    url = server.url(*reply)
    response = get(wire, url, serialize=serialize)
    assert response.get("error", {}).get("code") == code, label
    assert body.items() <= response["body"].items()
    request = result(wire.call("data.start", {"url": url}))["request"]
    later = result(wire.call("response.serialize", {"response": request, "serialize": serialize}))
    assert later.get("error", {}).get("code") == code
    if code is None:
        assert body.items() <= later["body"].items()
    else:
        assert "body" not in later


def test_a_schema_says_where_the_body_does_not_fit(wire, server):
    """[H7]"""
    body = json.dumps({"id": "one", "name": "n"}).encode()
    response = get(wire, server.url(200, JSON, body), serialize={"schema": USER})
    assert response["ok"] is False and response["body"]["json"] == {"id": "one", "name": "n"}
    assert response["error"]["code"] == 1705
    assert response["error"]["data"]["instancePointer"] == "/id"


@pytest.mark.parametrize(
    ("serialize", "pointer"),
    [
        ({"as": "xml"}, "/serialize/as"),
        ({"fallback": "utf-99"}, "/serialize/fallback"),
        ({"preprocess": "rot13"}, "/serialize/preprocess"),
        ({"preprocess": {}}, "/serialize/preprocess"),
        ({"preprocess": {"dropFirst": 1, "dropPrefix": "x"}}, "/serialize/preprocess"),
        ({"as": "text", "schema": {}}, "/serialize/schema"),
        ({"cases": [{}]}, "/serialize/cases/0/when"),
        ({"cases": [{"when": {"error": ["noSuchThing"]}}]}, "/serialize/cases/0/when/error/0"),
        ({"cases": [{"when": {}, "cases": []}]}, "/serialize/cases/0/cases"),
        ({"emptyStatus": ["all"]}, "/serialize/emptyStatus/0"),
    ],
)
def test_bad_shapes_are_refused(wire, server, serialize, pointer):
    error = wire.call("data.send", {"url": server.url(), "serialize": serialize})["error"]
    assert (error["code"], error["data"]["pointer"]) == (-32602, pointer)


@pytest.mark.parametrize("serialize", [{"as": "json"}, {"cases": [{"when": {"status": [200]}, "as": "json"}]}])
@pytest.mark.parametrize("method", ["data.send", "data.start"])
def test_a_body_of_another_shape_is_a_failure_everywhere(wire, server, method, serialize):
    before = result(wire.call("server.stats"))["requests"]["failed"]
    params = {"url": server.url(200, "text/plain", b"hello"), "serialize": serialize}
    response = result(wire.call(method, params))
    handle = {"request": response["request"]}
    if method == "data.start":
        response = result(wire.call("request.wait", handle))
    assert (response["ok"], response["error"]["code"], response["body"]["text"]) == (False, 1704, "hello")
    assert result(wire.call("request.get", handle))["error"]["code"] == 1704
    assert result(wire.call("server.stats"))["requests"]["failed"] == before + 1
    # the reply to a later call is the same
    assert result(wire.call("request.wait", handle))["error"] == response["error"]


def test_a_body_that_is_stored_is_checked_all_the_same(wire, server):
    long = b"[" + b"1," * 3000 + b"1]"
    for serialize, body, code in [
        ({"as": "json"}, long, None),
        ({"as": "json"}, long[1:], 1704),
        ({"schema": {"type": "object"}}, long, 1705),
        ({}, long[1:], None),
    ]:
        response = get(wire, server.url(200, JSON, body), serialize=serialize, maxInline=100)
        assert response["body"]["kind"] == "stored"
        assert response.get("error", {}).get("code") == code and response["ok"] is (code is None)
