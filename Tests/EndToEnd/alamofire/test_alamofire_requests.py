# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cases of Alamofire's encoders and requests: what is built, and what a real httpbin says it was sent."""

import base64
import random

import contract
import pytest
from request_client import get, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

URL = "http://example.test/"
FORM = "application/x-www-form-urlencoded; charset=utf-8"
PROPERTY = {"property": "property"}


def build(line, **params):
    """What would be sent: method, target, fields by lower-case name, body."""
    built = result(line.call("request.build", {"url": URL, **params}))
    fields = {field["name"].lower(): field["value"] for field in built["headers"]}
    target = built["url"][len("http://example.test") :]
    return built, target, fields


def query(target):
    return target.partition("?")[2]


# Encoded requests

# label: what is asked for, query, Content-Type, body
BUILT = {
    "[3.B.1]": ({"method": "POST", "parameters": PROPERTY}, "", FORM, "property=property"),
    "[3.B.2]": (
        {"method": "POST", "parameters": PROPERTY, "headers": {"Content-Type": "type"}},
        "", "type", "property=property",
    ),
    "[3.B.3]": (
        {"method": "POST", "parameters": PROPERTY, "encoding": {"destination": "queryString"}},
        "property=property", None, None,
    ),
    "[3.B.5]": ({"parameters": {"bool": True}, "encoding": {"bool": "literal"}}, "bool=true", None, None),
    "[3.B.6]": (
        {"method": "POST", "parameters": PROPERTY, "encoding": {"kind": "json"}},
        "", "application/json", '{"property":"property"}',
    ),
    "[3.B.7]": (
        {
            "method": "POST", "parameters": PROPERTY, "encoding": {"kind": "json"},
            "headers": {"content-type": "type"},
        },
        "", "type", '{"property":"property"}',
    ),
    "[3.B.10]": ({}, "", None, None),
    "[3.B.11]": ({"parameters": {}}, "", None, None),
    "[3.B.12]": ({"url": URL + "?baz=qux", "parameters": {"foo": "bar"}}, "baz=qux&foo=bar", None, None),
    "[3.B.13]": ({"parameters": {"foo": "bar", "baz": "qux"}}, "baz=qux&foo=bar", None, None),
    "[3.B.14]": (
        {"parameters": {"foo": ["a", 1, True]}}, "foo%5B%5D=a&foo%5B%5D=1&foo%5B%5D=1", None, None,
    ),
    "[3.B.16]": (
        {"parameters": {"foo": ["a", 1, True]}, "encoding": {"array": "noBrackets"}},
        "foo=a&foo=1&foo=1", None, None,
    ),
    "[3.B.18]": ({"parameters": {"foo": {"bar": {"baz": 1}}}}, "foo%5Bbar%5D%5Bbaz%5D=1", None, None),
    "[3.B.20]": (
        {
            "parameters": {"a": 1, "b": 0, "c": 1.0, "d": 0.0, "i": True, "j": False},
            "encoding": {"bool": "literal", "number": "plain"},
        },
        "a=1&b=0&c=1&d=0&i=true&j=false", None, None,
    ),
    "[3.B.23]": ({"method": "POST", "parameters": {"foo": 1, "bar": 2}}, "", FORM, "bar=2&foo=1"),
    "[3.B.25]": ({"method": "POST", "encoding": {"kind": "json"}}, "", None, None),
    "[3.B.28]": (
        {
            "method": "POST", "parameters": PROPERTY, "encoding": {"kind": "json"},
            "headers": {"Content-Type": "application/custom-json-type+json"},
        },
        "", "application/custom-json-type+json", '{"property":"property"}',
    ),
}  # fmt: skip


@pytest.mark.parametrize("label", BUILT)
def test_what_is_built(line, label):
    asked, wanted, content_type, body = BUILT[label]
    built, target, fields = build(line, **asked)
    assert query(target) == wanted
    assert fields.get("content-type") == content_type
    assert (built["body"]["size"] if "body" in built else 0) == len(body or "")
    if body:
        assert body in built["curl"]


def test_brackets_in_the_urls_own_query_stay_what_they_mean(line):
    """They are sent as they were written, or escaped: servers read both alike. [3.B.21]"""
    _, target, _ = build(line, url="https://example.com/movies?hd=[1]", parameters={"page": "0"})
    assert query(target) in ("hd=%5B1%5D&page=0", "hd=[1]&page=0")


def test_nested_json_comes_back_the_same(line, bin):
    """[3.B.26] [3.D.16]"""
    value = {"foo": "bar", "baz": ["a", 1, True], "qux": {"a": 1, "b": [2, 2], "c": [3, 3, 3], "e": 1.0}}
    for asked in ({"parameters": value, "encoding": {"kind": "json"}}, {"body": {"json": value}}):
        response = get(line, bin + "/post", method="POST", **asked)
        echo = response["body"]["json"]
        assert echo["json"] == value and echo["headers"]["Content-Type"] == "application/json" and echo["args"] == {}
    response = get(line, bin + "/post", method="POST", parameters={"property": "one"}, encoding={"kind": "json"})
    assert response["body"]["json"]["data"] == '{"property":"one"}'


def test_the_pairs_of_a_value(line):
    """[3.B.30] [C22]"""
    pairs = result(line.call("encode.queryComponents", {"name": "foo", "value": {"bar": [1, 2]}}))["components"]
    assert [(pair["name"], pair["value"]) for pair in pairs] == [
        ("foo%5Bbar%5D%5B%5D", "1"), ("foo%5Bbar%5D%5B%5D", "2"),
    ]  # fmt: skip


# Fields


def normalized(line, **params):
    fields = result(line.call("headers.normalize", params))["headers"]
    return [(field["name"], field["value"]) for field in fields]


def test_spellings_of_one_name_are_one_field(line):
    """From an object, a list, and one by one. [3.C.1] [D1]"""
    fields = [{"name": name, "value": name} for name in ("key", "Key", "KEY")]
    assert normalized(line, headers={"key": "a", "Key": "b", "KEY": "c"}, unique=True) == [("KEY", "c")]
    assert normalized(line, headers=fields, unique=True) == [("KEY", "KEY")]
    assert normalized(line, headers=fields[:1], set=fields[2:]) == [("KEY", "KEY")]


def test_the_order_of_fields(line):
    """It is kept, unless sorting is asked for; printed it is the same. [3.C.2] [3.C.3] [3.C.6]"""
    fields = [{"name": name, "value": name} for name in ("c", "a", "b")]
    assert normalized(line, headers=fields) == [("c", "c"), ("a", "a"), ("b", "b")]
    assert normalized(line, headers=fields, sort=True) == [("a", "a"), ("b", "b"), ("c", "c")]
    assert normalized(line, headers=["c: c", "a: a", "b: b"]) == [("c", "c"), ("a", "a"), ("b", "b")]


def test_a_later_spelling_replaces_name_and_value(line):
    """[3.C.5] [D3]"""
    assert normalized(line, headers={"c": "a", "d": "x"}, set={"C": "c"}) == [("C", "c"), ("d", "x")]


@pytest.mark.parametrize(
    ("auth", "value"),
    [
        ({"basic": {"username": "user", "password": "password"}}, "Basic dXNlcjpwYXNzd29yZA=="),
        ({"bearer": "abc"}, "Bearer abc"),
        ({"raw": "Custom x"}, "Custom x"),
    ],
)
def test_authorization_in_short(line, bin, auth, value):
    """[3.C.8] [3.C.9] [D4]"""
    assert normalized(line, auth=auth) == [("Authorization", value)]
    assert get(line, bin + "/headers", auth=auth)["body"]["json"]["headers"]["Authorization"] == value


# Making requests


@pytest.mark.parametrize("more", [{}, {"bodyTo": "file"}, {"method": "POST", "body": {"text": "x"}}])
def test_an_empty_url_is_a_failure_of_the_exchange(line, more):
    """Neither status nor body, and the same for every kind of request. [3.D.1] [3.D.2] [3.D.3] [B8] [B9]"""
    response = get(line, "", **more)
    assert response["error"]["code"] == 1100 and response["error"]["kind"] == "invalidURL"
    assert response["error"]["pointer"] == "/url" and response["url"] == ""
    assert "status" not in response and response["body"] == {"kind": "none", "size": 0} and response["attempts"] == 0


def test_a_get_with_a_body_is_refused(line):
    """Before anything is sent. [3.D.6] [B10]"""
    for method in ("GET", "HEAD"):
        response = get(line, "http://127.0.0.1:1/", method=method, body={"text": "invalid"})
        assert response["error"]["code"] == 1102 and response["attempts"] == 0
        assert response["error"]["reason"] == "bodyDataInGETRequest" and response["error"]["pointer"] == "/body"


def test_a_request_has_its_own_time_limit(line, bin):
    """[3.D.8]"""
    response = get(line, bin + "/delay/10", timeout=0.05)
    assert response["error"]["code"] == 1405 and response["error"]["kind"] == "sessionTaskFailed"
    assert response["error"]["reason"] == "timedOut" and response["error"]["retryable"] is True


def test_parameters_of_a_get_arrive(line, bin):
    """[3.D.13] [B1] [C15]"""
    response = get(line, bin + "/get", parameters={"foo": "bar"})
    assert response["ok"] and response["status"] == 200 and response["body"]["json"]["args"] == {"foo": "bar"}


def test_a_form_in_many_scripts_arrives(line, bin):
    """[3.D.14] [3.D.18] [C28]"""
    form = {"french": "français", "japanese": "日本語", "arabic": "العربية", "emoji": "😃", "long": "你好世界" * 5000}
    response = get(line, bin + "/post", method="POST", parameters=form)
    assert response["body"]["json"]["form"] == form


def test_long_values_arrive_byte_for_byte(line, bin):
    """Two of them, as large as pictures. [3.D.15]"""
    chance = random.Random("images")
    form = {name: base64.b64encode(chance.randbytes(150_000)).decode() for name in ("rainbow", "unicorn")}
    response = get(line, bin + "/post", method="POST", parameters=form)
    assert response["body"]["json"]["form"] == form


def test_ten_requests_at_once(line, bin):
    """[3.D.19]"""
    numbers = [line.start("data.send", {"url": f"{bin}/get?n={n}"}) for n in range(10)]
    replies = line.replies(numbers)
    assert [result(replies[number])["body"]["json"]["args"]["n"] for number in numbers] == [str(n) for n in range(10)]
