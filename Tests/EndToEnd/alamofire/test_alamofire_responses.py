# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cases of Alamofire's serializers: what becomes of a body, given by hand and sent by a real httpbin."""

import base64
import pathlib

import contract
import pytest
from capture_server import Capture
from request_client import get, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
NOBODY = "http://127.0.0.1:1/nobody"
KINDS = ({"as": "base64"}, {"as": "text"}, {"as": "json"}, {"as": "json", "schema": {"type": "object"}}, {"as": "none"})


def evaluate(line, serialize, body=None, status=200, content_type=None, **response):
    """What a response would become, without a network."""
    given = {"status": status, **response}
    if body is not None:
        given["body"] = {"base64": base64.b64encode(body).decode()}
    if content_type:
        given["headers"] = {"Content-Type": content_type}
    return result(line.call("evaluate.serialization", {"response": given, "serialize": serialize}))


def code(evaluated):
    assert evaluated["ok"] is False
    return evaluated["error"]["code"], evaluated["error"]["reason"]


# The response as a whole


def test_a_response_has_all_that_is_known(line, bin):
    """[3.F.1] [G1] [G4] [G8]"""
    response = get(line, bin + "/get", metrics=True)
    assert response["ok"] is True and "error" not in response and response["status"] == 200
    assert response["url"] == bin + "/get" and response["method"] == "GET" and response["headers"]
    assert response["body"]["json"]["url"] == bin + "/get" and response["body"]["size"] > 0
    [attempt] = response["metrics"]["attempts"]
    assert response["metrics"]["total"] > 0 and attempt["total"] > 0 and attempt["bytesReceived"] > 0


@pytest.mark.parametrize("serialize", KINDS)
def test_no_server_responds(line, serialize):
    """Its failure is that of every serialization; there are metrics, and nothing else. [3.F.2] [3.F.3]"""
    response = get(line, NOBODY, metrics=True, serialize=serialize)
    assert response["ok"] is False and response["error"]["code"] == 1402 and "status" not in response
    assert response["body"] == {"kind": "none", "size": 0} and response["metrics"]["total"] >= 0


def test_a_status_is_no_failure_unless_validated(line, bin):
    """And what the server said is there in both cases. [3.F.4] [3.F.5] [I1] [AB7]"""
    url = bin + "/anything/no"
    with Capture(
        response=b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\nContent-Type: text/plain\r\n\r\ngone"
    ) as capture:
        url = capture.url()
        response = get(line, url)
        assert response["ok"] is True and response["status"] == 404 and response["body"]["text"] == "gone"
        response = get(line, url, validate=True)
        assert response["ok"] is False and response["error"]["code"] == 1600
        assert response["status"] == 404 and response["body"]["text"] == "gone"


# Empty bodies


def test_an_empty_body_is_a_failure_where_a_value_is_wanted(line):
    """As bytes and text only where it was said which bodies may be empty.

    [3.F.7] [3.F.13] [3.F.22] [3.F.32] [H3]
    """
    strict = {"emptyStatus": [204, 205]}
    assert code(evaluate(line, {"as": "base64", **strict})) == (1700, "inputDataNilOrZeroLength")
    assert code(evaluate(line, {"as": "text", **strict})) == (1700, "inputDataNilOrZeroLength")
    assert code(evaluate(line, {"as": "json"})) == (1700, "inputDataNilOrZeroLength")
    assert code(evaluate(line, {"as": "json", "schema": {"type": "object"}})) == (1700, "inputDataNilOrZeroLength")


@pytest.mark.parametrize(
    ("serialize", "member", "value"),
    [({"as": "base64"}, "base64", ""), ({"as": "text"}, "text", ""), ({"as": "json"}, "json", None)],
    ids=["base64", "text", "json"],
)
def test_an_empty_body_is_fine_for_some_responses(line, serialize, member, value):
    """204, 205, and responses to HEAD. [3.F.9] [3.F.11] [3.F.19] [3.F.25] [H3]"""
    strict = {**serialize, "emptyStatus": [204, 205], "emptyMethods": ["HEAD"]}
    for response in ({"status": 204}, {"status": 205}, {"method": "HEAD"}):
        evaluated = evaluate(line, strict, **response)
        assert evaluated["ok"], evaluated
        assert evaluated["body"].get(member, value) == value and evaluated["body"]["size"] == 0


def test_an_empty_body_where_a_schema_wants_a_value(line):
    """[3.F.29]"""
    schema = {"as": "json", "schema": {"type": "object"}}
    assert code(evaluate(line, schema, status=204)) == (1707, "invalidEmptyResponse")
    nullable = {"as": "json", "schema": {"type": ["object", "null"]}}
    assert evaluate(line, nullable, status=204)["ok"]


def test_other_responses_may_be_empty(line):
    """[3.F.33] [H2]"""
    assert evaluate(line, {"as": "json", "emptyStatus": [200]})["ok"]
    assert evaluate(line, {"as": "json", "emptyMethods": ["PUT"]}, method="PUT")["ok"]


@pytest.mark.parametrize("serialize", KINDS)
def test_a_failure_comes_before_every_serialization(line, serialize):
    """[3.F.12] [H1]"""
    evaluated = evaluate(line, serialize, b'{"a":1}', error="explicitlyCancelled")
    assert evaluated["ok"] is False and evaluated["error"]["code"] == 1900


# Text


def test_text_without_a_charset(line):
    """UTF-8 where it is, else the fallback. [3.F.14] [3.F.15] [H5]"""
    assert evaluate(line, {"as": "text"}, "żółw".encode())["body"]["text"] == "żółw"
    assert evaluate(line, {"as": "text", "encoding": "utf-8"}, "żółw".encode())["body"]["text"] == "żółw"
    assert evaluate(line, {"as": "text", "fallback": "iso-8859-1"}, b"\xe4")["body"]["text"] == "ä"
    assert evaluate(line, {"as": "text"}, b"\xe4", content_type="text/plain; charset=iso-8859-1")["body"]["text"] == "ä"


@pytest.mark.parametrize("charset", ["utf-32", "utf-32le", "utf-32be", None])
def test_text_in_utf_32(line, charset):
    """By its label, or by its byte order mark. [H5]"""
    declared = f"text/plain; charset={charset}" if charset else "text/plain"
    body = evaluate(line, {"as": "text"}, "żółw 🐢".encode(charset or "utf-32"), content_type=declared)["body"]
    assert body["text"] == "żółw 🐢", body


def test_text_that_is_none(line):
    """UTF-32 is no UTF-8, and the failure says which charset it was. [3.F.17] [AB6]"""
    evaluated = evaluate(line, {"as": "text", "encoding": "utf-8"}, "random data \x80".encode("utf-32"))
    assert code(evaluated) == (1703, "stringSerializationFailed")
    assert evaluated["error"]["data"]["encoding"] == "utf-8"


# JSON


def test_json(line):
    """An object, a text alone, and what is none. [3.F.23] [3.F.24] [3.F.26] [H6]"""
    assert evaluate(line, {"as": "json"}, b'{"json": true}')["body"]["json"] == {"json": True}
    assert evaluate(line, {"as": "json"}, b'"abcd"')["body"]["json"] == "abcd"
    assert code(evaluate(line, {"as": "json"}, b"definitely not valid json")) == (1704, "jsonSerializationFailed")


def test_json_by_its_schema(line):
    """[3.F.27] [H7]"""
    schema = {"as": "json", "schema": {"type": "object", "properties": {"string": {"type": "string"}}}}
    assert evaluate(line, schema, b'{"string":"string"}')["body"]["json"] == {"string": "string"}
    evaluated = evaluate(line, schema, b'{"string":1}')
    assert code(evaluated) == (1705, "decodingFailed")
    assert evaluated["error"]["data"]["instancePointer"] == "/string"


# Preprocessors


def test_bytes_before_they_are_read(line):
    """[3.F.35] [3.F.36] [3.F.39] [H10]"""
    drop = {"preprocess": {"dropFirst": 1}}
    assert evaluate(line, {"as": "text", **drop}, b"abcd")["body"]["text"] == "bcd"
    assert evaluate(line, {"as": "json", **drop}, b'1"abcd"')["body"]["json"] == "abcd"
    guarded = {"as": "text", "preprocess": "googleXSSI"}
    for end in (b"\n", b"\r\n"):
        assert evaluate(line, guarded, b")]}'," + end + b"abcd")["body"]["text"] == "abcd"
    assert evaluate(line, guarded, b"abcd")["body"]["text"] == "abcd"


# Bodies in files


def test_a_body_in_a_file(line, bin):
    """Its path is in the response, its bytes can be read; none without a response.

    [3.F.44] [3.F.46] [3.F.50] [3.F.51] [G2] [H8] [H9]
    """
    response = get(line, bin + "/bytes/100?seed=1", bodyTo="file")
    path = pathlib.Path(response["body"]["path"])
    assert response["body"]["kind"] == "file" and len(path.read_bytes()) == 100 == response["body"]["size"]
    read = result(line.call("response.serialize", {"response": response["body"]["response"], "serialize": KINDS[0]}))
    assert base64.b64decode(read["body"]["base64"]) == path.read_bytes()
    response = get(line, NOBODY, bodyTo="file")
    assert response["body"] == {"kind": "none", "size": 0} and response["error"]["code"] == 1402


# Several handlers


def test_handlers_get_the_response_in_their_order(line, bin):
    """Each in its own shape, one of them in vain. [F11] [H15]"""
    handlers = [
        {"id": "text", "serialize": {"as": "text"}},
        {"id": "strict", "serialize": {"as": "json", "schema": {"type": "array"}}},
        {"id": "json", "serialize": {"as": "json"}},
    ]
    results = get(line, bin + "/uuid", handlers=handlers)["results"]
    assert [one["id"] for one in results] == ["text", "strict", "json"]
    assert [one["ok"] for one in results] == [True, False, True]
    assert results[0]["body"]["kind"] == "text" and results[1]["error"]["code"] == 1705
    assert results[2]["body"]["json"]["uuid"] in results[0]["body"]["text"]
