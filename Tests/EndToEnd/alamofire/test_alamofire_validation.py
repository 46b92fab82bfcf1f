# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cases of Alamofire's validation: responses of a real httpbin, and what is made of them."""

import contract
import pytest
from request_client import get, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

SUCCESS = {"status": ["200..<300"]}
ERRORS = {"status": ["400..<600"]}
BYTES = {"contentType": ["application/octet-stream"]}
BROWSER = "text/xml, application/xml, application/xhtml+xml, text/html;q=0.9, text/plain;q=0.8,*/*;q=0.5"


# label and case: path, rules, more of the request, reason of the failure
CASES = {
    "a success [3.G.1]": ("/status/200", SUCCESS, {}, None),
    "a success that goes to a file [3.G.1] [I13]": ("/bytes/5", SUCCESS, {"bodyTo": "file"}, None),
    "another status [3.G.2] [I3]": ("/status/404", {"status": [200]}, {}, "unacceptableStatusCode"),
    "no status at all [3.G.3] [I3]": ("/status/201", {"status": []}, {}, "unacceptableStatusCode"),
    "a type [3.G.4] [I4]": ("/ip", {"contentType": ["application/json"]}, {}, None),
    "a type with a charset [3.G.4]": ("/ip", {"contentType": ["application/json; charset=utf-8"]}, {}, None),
    "a type with a weight [3.G.4]": ("/ip", {"contentType": ["application/json; q=0.8; charset=utf-8"]}, {}, None),
    "everything [3.G.5] [I7]": ("/ip", {"contentType": ["*/*"]}, {}, None),
    "all of a kind [3.G.5]": ("/ip", {"contentType": ["application/*"]}, {}, None),
    "all JSON [3.G.5]": ("/ip", {"contentType": ["*/json"]}, {}, None),
    "another type [3.G.6] [I10]": ("/xml", BYTES, {}, "unacceptableContentType"),
    "no type at all, and no body [3.G.9] [I8]": ("/status/204", {"contentType": []}, {}, None),
    "the status first [3.G.11] [I12]": ("/xml", [ERRORS, BYTES], {}, "unacceptableStatusCode"),
    "the type first [3.G.12]": ("/xml", [BYTES, ERRORS], {}, "unacceptableContentType"),
    "what was accepted [3.G.13] [I2] [I5]": ("/ip", True, {"headers": {"Accept": "application/json"}}, None),
    "what was not accepted [I2]": ("/xml", True, {"headers": {"Accept": "text/*"}}, "unacceptableContentType"),
    "an error [3.G.14] [I2]": ("/status/404", True, {}, "unacceptableStatusCode"),
    "what a browser accepts [3.G.16]": ("/xml", True, {"headers": {"Accept": BROWSER}}, None),
    "nothing is asked [I1]": ("/status/500", False, {}, None),
    "before the body [I15]": ("/xml", {**BYTES, "onHeaders": True}, {}, "unacceptableContentType"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_valid(line, bin, case):
    path, rules, more, reason = CASES[case]
    response = get(line, bin + path, validate=rules, **more)
    assert response["ok"] is (reason is None), response
    assert response.get("error", {}).get("reason") == reason
    if reason:
        assert response["error"]["kind"] == "responseValidationFailed" and response["status"] == int(response["status"])


def test_the_failure_says_what_came_and_what_was_wanted(line, bin):
    """[3.G.2] [3.G.6] [I10] [AB6]"""
    error = get(line, bin + "/status/404", validate={"status": [200]})["error"]
    assert error["code"] == 1600 and error["data"]["status"] == 404 and "404" in error["message"]
    wanted = ["application/octet-stream", "application/json"]
    error = get(line, bin + "/xml", validate={"contentType": wanted})["error"]
    assert error["code"] == 1601 and error["data"]["contentType"] == "application/xml"
    assert error["data"]["acceptable"] == sorted(wanted)


def test_a_response_without_a_type(line):
    """[I9]"""
    given = {"status": 200, "body": {"text": "x"}}
    for types, valid in ((["*/*"], True), (["text/*", "*/*"], True), (["text/plain"], False)):
        rules = {"contentType": types}
        told = result(line.call("evaluate.validation", {"response": given, "validate": rules}))
        assert told["valid"] is valid
        assert valid or told["error"]["reason"] == "missingContentType"


# Media types

TYPES = {
    "text/plain": ("text", "plain"), "application/json": ("application", "json"), "image/png": ("image", "png"),
    "*/*": ("*", "*"), "text/*": ("text", "*"), "*/json": ("*", "json"), "  text/plain  ": ("text", "plain"),
    "text": None, "": None, "/": None, "a/b/c": None,
}  # fmt: skip


@pytest.mark.parametrize("text", TYPES)
def test_a_media_type_has_two_parts(line, text):
    """[3.G.22] [3.G.24] [I6]"""
    told = result(line.call("mime.match", {"type": text, "acceptable": ["*/*"]}))
    assert (told.get("type"), told.get("subtype")) == (TYPES[text] or (None, None))


@pytest.mark.parametrize(
    ("pattern", "type", "matches"),
    [
        ("text/*", "text/html", True),
        ("text/*", "application/json", False),
        ("*/json", "application/json", True),
        ("text/plain", "text/html", False),
        ("text/plain", "TEXT/Plain; charset=utf-8", True),
    ],
)
def test_what_matches(line, pattern, type, matches):
    """[3.G.26] [3.G.27] [3.G.28] [I7]"""
    assert result(line.call("mime.match", {"type": type, "acceptable": [pattern]}))["matches"] is matches
