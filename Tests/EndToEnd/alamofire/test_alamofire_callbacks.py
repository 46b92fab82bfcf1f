# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cases of Alamofire in which the client's own code takes part in what becomes of an answer."""

import contract
import pytest
from code_client import Refused, ask
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
NOBODY = "http://127.0.0.1:1/nobody"


def refuse(_):
    raise Refused({"code": 7, "message": "cannot be read", "data": {"why": "no key"}})


def test_a_preprocessor_that_fails(line, bin):
    """[3.F.38]"""
    params = {"url": bin + "/get", "serialize": {"as": "json", "preprocess": {"callback": "decrypt"}}}
    reply, asked = ask(line, "data.send", params, {"callback.preprocess": refuse})
    response = result(reply)
    assert [name for name, _ in asked] == ["callback.preprocess"]
    assert response["error"]["code"] == 1706 and response["status"] == 200


def test_a_serializer_of_the_client_is_always_asked(line, bin):
    """After success and after failure, with what came and why it failed. [3.F.41] [H1] [H11]"""
    params = {"serialize": {"callback": "model"}}
    answers = {"callback.serialize": lambda asked: {"value": {"seen": asked.get("response", {}).get("status")}}}
    reply, [(_, asked)] = ask(line, "data.send", {"url": bin + "/get", **params}, answers)
    assert result(reply)["body"]["json"] == {"seen": 200}
    assert asked["callback"] == "model" and asked["body"]["size"] > 0 and "error" not in asked
    reply, [(_, asked)] = ask(line, "data.send", {"url": NOBODY, **params}, answers)
    assert asked["error"]["code"] == 1402 and "response" not in asked
    reply, [(_, asked)] = ask(line, "data.send", {"url": bin + "/status/404", "validate": True, **params}, answers)
    assert asked["error"]["code"] == 1600 and asked["response"]["status"] == 404


def test_a_serializer_of_the_client_that_fails(line, bin):
    """With its own words. [3.F.43] [H11] [AB5]"""
    params = {"url": bin + "/get", "serialize": {"callback": "model"}}
    reply, _ = ask(line, "data.send", params, {"callback.serialize": refuse})
    error = result(reply)["error"]
    assert error["code"] == 1706 and error["reason"] == "customSerializationFailed"
    assert error["data"]["error"] == {"code": 7, "message": "cannot be read", "data": {"why": "no key"}}


def test_a_validator_of_the_client_sees_the_body(line, bin):
    """In memory, and when it went to a file. [3.G.18] [3.G.19] [I11]"""
    answers = {"callback.validate": lambda asked: {"valid": asked["body"]["size"] > 0}}
    params = {"url": bin + "/get", "validate": {"callback": "full"}}
    reply, [(_, asked)] = ask(line, "data.send", params, answers)
    assert result(reply)["ok"] and bin + "/get" in asked["body"]["text"]
    reply, [(_, asked)] = ask(line, "data.send", {**params, "bodyTo": "file"}, answers)
    assert result(reply)["ok"] and asked["body"]["kind"] == "file" and asked["body"]["path"]


def test_the_first_validator_that_fails_counts(line, bin):
    """[3.G.20] [I12]"""
    rules = [{"callback": "first"}, {"callback": "second"}]
    answers = {"callback.validate": lambda asked: {"valid": False, "reason": asked["callback"] + " says no"}}
    reply, asked = ask(line, "data.send", {"url": bin + "/get", "validate": rules}, answers)
    error = result(reply)["error"]
    assert [question["callback"] for _, question in asked] == ["first"]
    assert error["code"] == 1605 and error["reason"] == "customValidationFailed" and "first says no" in error["message"]
