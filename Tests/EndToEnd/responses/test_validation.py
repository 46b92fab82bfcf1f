# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Responses held against rules: status, Content-Type, schema, in order."""

import base64

import contract
import pytest
from reply_server import Replying
from request_client import get

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

JSON = "application/json"
USER = {"type": "object", "required": ["id", "name"], "properties": {"id": {"type": "integer"}}}


@pytest.fixture(scope="module")
def server():
    with Replying() as server:
        yield server


def reason(response):
    return response.get("error", {}).get("reason")


VALIDATED = [
    ("200 in 200 to 299 [3.G.1]", (200, JSON, b"{}"), {}, {"status": ["200..299"]}, None),
    ("404 where 200 is wanted [3.G.2]", (404, JSON, b"{}"), {}, {"status": [200]}, "unacceptableStatusCode"),
    ("201 where nothing is [3.G.3]", (201, JSON, b"{}"), {}, {"status": []}, "unacceptableStatusCode"),
    ("the type, and parameters [3.G.4]", (200, JSON, b"{}"), {}, {"contentType": ["application/json; q=0.8"]}, None),
    ("a wildcard [3.G.5]", (200, JSON, b"{}"), {}, {"contentType": ["*/json"]}, None),
    (
        "another type [3.G.6]",
        (200, "application/xml", b"<x/>"),
        {},
        {"contentType": ["application/octet-stream"]},
        "unacceptableContentType",
    ),
    ("204 has every type [3.G.9]", (204,), {}, {"contentType": []}, None),
    (
        "the first rule counts [3.G.11]",
        (200, "application/xml", b"<x/>"),
        {},
        [{"status": ["400..<600"]}, {"contentType": ["application/octet-stream"]}],
        "unacceptableStatusCode",
    ),
    (
        "whichever it is [3.G.12]",
        (200, "application/xml", b"<x/>"),
        {},
        [{"contentType": ["application/octet-stream"]}, {"status": ["400..<600"]}],
        "unacceptableContentType",
    ),
    ("the Accept of the request [3.G.13]", (200, JSON, b"{}"), {"Accept": JSON}, True, None),
    ("plain validation and 404 [3.G.14]", (404, JSON, b"{}"), {}, True, "unacceptableStatusCode"),
    (
        "a browser's Accept [3.G.16]",
        (200, "application/xml", b"<x/>"),
        {"Accept": "text/xml, application/xml, text/html;q=0.9, text/plain;q=0.8,*/*;q=0.5"},
        True,
        None,
    ),
    ("another than accepted [I5]", (200, "text/html", b"<p>"), {"Accept": JSON}, True, "unacceptableContentType"),
    ("no type at all [I9]", (200, None, b"x"), {}, {"contentType": ["text/plain"]}, "missingContentType"),
    ("nothing is asked [I1]", (500, JSON, b"{}"), {}, False, None),
    ("a schema [H7]", (200, JSON, b'{"id":"x","name":""}'), {}, {"schema": USER}, "customValidationFailed"),
]


@pytest.mark.parametrize("bodyTo", ["inline", "stored", "file"])
@pytest.mark.parametrize(("label", "reply", "headers", "validate", "expected"), VALIDATED, ids=lambda one: str(one)[:9])
def test_rules_are_judged_in_order_wherever_the_body_goes(
    wire, server, label, reply, headers, validate, expected, bodyTo
):
    """What came is there, whatever the rules say. [3.F.5] [G1] [I12] [I13]"""
    response = get(wire, server.url(*reply), headers=headers, validate=validate, bodyTo=bodyTo)
    assert reason(response) == expected, label
    assert response["ok"] == (expected is None)
    assert response["status"] == reply[0]
    assert response["body"]["size"] == len(reply[2] if len(reply) > 2 else b"")


def test_a_failed_validation_keeps_the_data_and_tells_the_story(wire, server):
    """Code, kind, reason, a sentence, and the body. [3.F.5] [3.G.14]"""
    response = get(wire, server.url(404, "text/plain", b"no such thing"), validate=True)
    assert response["body"]["text"] == "no such thing"
    assert response["error"]["code"] == 1600
    assert response["error"]["kind"] == "responseValidationFailed"
    assert response["error"]["data"] == {"status": 404}
    assert response["error"]["retryable"] is False
    assert response["error"]["message"].startswith("Response status code was unacceptable: 404 (GET http://127.0.0.1:")
    assert "?" not in response["error"]["message"]


def test_a_described_response_without_a_url_is_named_by_its_method(wire):
    params = {"response": {"status": 404}, "validate": True}
    error = wire.call("evaluate.validation", params)["result"]["error"]
    assert error["message"] == "Response status code was unacceptable: 404 (GET)"


def test_404_without_validation_is_a_success(wire, server):
    """[3.F.4] [I1]"""
    response = get(wire, server.url(404, "text/plain", b"gone"), serialize={"as": "base64"})
    assert response["ok"] is True and response["status"] == 404
    assert base64.b64decode(response["body"]["base64"]) == b"gone"


def test_a_503_is_worth_repeating_unless_it_was_a_post(wire, server):
    url = server.url(503, "text/plain", b"later")
    assert get(wire, url, validate=True)["error"]["retryable"] is True
    assert get(wire, url, validate=True, method="POST")["error"]["retryable"] is False


@pytest.mark.parametrize(
    ("validate", "pointer"),
    [
        (1, "/validate"),
        ("true", "/validate"),
        ([1], "/validate/0"),
        ({"status": [99]}, "/validate/status/0"),
        ({"status": [200, "2xx"]}, "/validate/status/1"),
        ({"status": 200}, "/validate/status"),
        ({"contentType": ["text"]}, "/validate/contentType/0"),
        ([True, {"contentType": "text/plain"}], "/validate/1/contentType"),
        ({"schema": 7}, "/validate/schema"),
        ({"schema": {"type": "number", "minimum": "1"}}, "/validate/schema/minimum"),
        ({"callback": ""}, "/validate/callback"),
        ({"statuses": []}, "/validate/statuses"),
        ([True] * 17, "/validate"),
    ],
)
def test_bad_rules_are_refused_before_anything_is_sent(wire, server, validate, pointer):
    before = server.count
    error = wire.call("data.send", {"url": server.url(), "validate": validate})["error"]
    assert (error["code"], error["data"]["pointer"]) == (-32602, pointer)
    assert server.count == before


# Before the body, and before retriers


def test_a_bad_head_keeps_the_body_from_being_read(wire, server):
    """The connection is given up: a gigabyte is not waited for. [I15]"""
    url = server.held(404, "text/html")
    response = get(wire, url, validate={"status": ["200..299"], "onHeaders": True})
    assert reason(response) == "unacceptableStatusCode"
    assert response["status"] == 404 and response["body"]["kind"] == "none" and response["body"]["size"] == 0
    assert server.gone.wait(10)


def test_the_type_is_judged_on_the_head_too_unless_there_will_be_no_body(wire, server):
    """[I15] [I8]"""
    rule = {"contentType": [JSON], "onHeaders": True}
    assert reason(get(wire, server.url(200, "text/html", b"<p>"), validate=rule)) == "unacceptableContentType"
    assert get(wire, server.url(200, "text/html", b""), validate=rule)["ok"] is True
    assert get(wire, server.url(200, "text/html", b"x"), method="HEAD", validate=rule)["ok"] is True


def test_a_schema_waits_for_the_body(wire, server):
    rule = {"status": [200], "schema": USER, "onHeaders": True}
    response = get(wire, server.url(200, JSON, b"{}"), validate=rule)
    assert reason(response) == "customValidationFailed" and response["body"]["json"] == {}


@pytest.mark.parametrize(
    ("reply", "more", "count", "expected"),
    [
        ((503, JSON, b"{}"), {"validate": True}, 3, "unacceptableStatusCode"),
        ((404, JSON, b"{}"), {"validate": True}, 1, "unacceptableStatusCode"),
        ((200, JSON, b"{}"), {"validate": True}, 1, None),
    ],
)
def test_a_failed_validation_is_shown_to_the_retriers(wire, server, reply, more, count, expected):
    """[I14]"""
    before = server.count
    retry = {"limit": 2, "base": 2, "scale": 0.001}
    response = get(wire, server.url(*reply), retry=retry, **more)
    assert reason(response) == expected
    assert (server.count - before, response["attempts"]) == (count, count)
