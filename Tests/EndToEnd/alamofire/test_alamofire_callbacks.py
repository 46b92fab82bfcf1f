# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cases of Alamofire in which the client's own code takes part in what becomes of a response."""

import contract
import pytest
from code_client import Refused, call_with_code
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
NOBODY = "http://127.0.0.1:1/nobody"


def refuse(_):
    raise Refused({"code": 7, "message": "cannot be read", "data": {"why": "no key"}})


def test_a_preprocessor_that_fails(line, bin):
    """[3.F.38]"""
    params = {"url": bin + "/get", "serialize": {"as": "json", "preprocess": {"callback": "decrypt"}}}
    reply, callbacks = call_with_code(line, "data.send", params, {"callback.preprocess": refuse})
    response = result(reply)
    assert [name for name, _ in callbacks] == ["callback.preprocess"]
    assert response["error"]["code"] == 1706 and response["status"] == 200


def test_a_serializer_of_the_client_is_always_asked(line, bin):
    """After success and after failure, with what came and why it failed. [3.F.41] [H1] [H11]"""
    params = {"serialize": {"callback": "model"}}
    functions = {"callback.serialize": lambda params: {"value": {"seen": params.get("response", {}).get("status")}}}
    reply, [(_, callback)] = call_with_code(line, "data.send", {"url": bin + "/get", **params}, functions)
    assert result(reply)["body"]["json"] == {"seen": 200}
    assert callback["callback"] == "model" and callback["body"]["size"] > 0 and "error" not in callback
    reply, [(_, callback)] = call_with_code(line, "data.send", {"url": NOBODY, **params}, functions)
    assert callback["error"]["code"] == 1402 and "response" not in callback
    params = {"url": bin + "/status/404", "validate": True, **params}
    reply, [(_, callback)] = call_with_code(line, "data.send", params, functions)
    assert callback["error"]["code"] == 1600 and callback["response"]["status"] == 404


def test_a_serializer_of_the_client_that_fails(line, bin):
    """With its own words. [3.F.43] [H11] [AB5]"""
    params = {"url": bin + "/get", "serialize": {"callback": "model"}}
    reply, _ = call_with_code(line, "data.send", params, {"callback.serialize": refuse})
    error = result(reply)["error"]
    assert error["code"] == 1706 and error["reason"] == "customSerializationFailed"
    assert error["data"]["error"] == {"code": 7, "message": "cannot be read", "data": {"why": "no key"}}


def test_a_validator_of_the_client_sees_the_body(line, bin):
    """In memory, and when it went to a file. [3.G.18] [3.G.19] [I11]"""
    functions = {"callback.validate": lambda params: {"valid": params["body"]["size"] > 0}}
    params = {"url": bin + "/get", "validate": {"callback": "full"}}
    reply, [(_, callback)] = call_with_code(line, "data.send", params, functions)
    assert result(reply)["ok"] and bin + "/get" in callback["body"]["text"]
    reply, [(_, callback)] = call_with_code(line, "data.send", {**params, "bodyTo": "file"}, functions)
    assert result(reply)["ok"] and callback["body"]["kind"] == "file" and callback["body"]["path"]


def test_the_first_validator_that_fails_counts(line, bin):
    """[3.G.20] [I12]"""
    rules = [{"callback": "first"}, {"callback": "second"}]
    functions = {"callback.validate": lambda params: {"valid": False, "reason": params["callback"] + " says no"}}
    reply, callbacks = call_with_code(line, "data.send", {"url": bin + "/get", "validate": rules}, functions)
    error = result(reply)["error"]
    assert [params["callback"] for _, params in callbacks] == ["first"]
    assert error["code"] == 1605 and error["reason"] == "customValidationFailed" and "first says no" in error["message"]
