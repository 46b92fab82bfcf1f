# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The client's own code about responses: validators, serializers and preprocessors, and what they are told."""

import base64

import contract
import pytest
from callback_client import Refuse, exchange, way
from reply_server import Replying
from request_client import get

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

WAYS = ["request", "pull"]
JSON = "application/json"


@pytest.fixture(scope="module")
def server():
    with Replying() as server:
        yield server


def mine(how="request", name="mine", **more):
    return {"callback": name, **way(how), **more}


def bytes_of(body):
    """What a callback shows of a body."""
    if body["kind"] == "file":
        with open(body["path"], "rb") as file:
            return file.read()
    return base64.b64decode(body["base64"]) if body["kind"] == "base64" else body.get("text", "").encode()


# Validators


@pytest.mark.parametrize("how", WAYS)
def test_a_validator_sees_the_head_and_the_body(wire, server, how):
    """[3.G.18] [I11]"""

    def validate(params):
        assert params["callback"] == "mine" and params["response"]["status"] == 200
        return {"valid": bytes_of(params["body"]) == b"fine"}

    spec = {"url": server.url(200, "text/plain", b"fine"), "validate": mine(how)}
    response, callbacks = exchange(wire, how, spec, {"validate": validate})
    assert response["ok"] is True and len(callbacks) == 1
    spec["url"] = server.url(200, "text/plain", b"poor")
    response, _ = exchange(wire, how, spec, {"validate": validate})
    assert response["error"]["code"] == 1605 and response["body"]["text"] == "poor"


def test_a_validator_sees_the_body_that_went_to_a_file(wire, server):
    """[3.G.19] [I13]"""
    body = b"x" * 10

    def validate(params):
        assert params["body"]["kind"] == "file" and bytes_of(params["body"]) == body
        return {"valid": True}

    spec = {"url": server.url(200, "text/plain", body), "bodyTo": "file", "validate": mine()}
    response, callbacks = exchange(wire, "request", spec, {"validate": validate})
    assert response["ok"] is True and len(callbacks) == 1


def test_of_two_validators_that_fail_the_first_counts(wire, server):
    """And the second is not asked. [3.G.20] [I12]"""
    spec = {"url": server.url(), "validate": [mine(name="one"), mine(name="two")]}
    refusing = {"validate": lambda q: {"valid": False, "reason": q["callback"]}}
    response, callbacks = exchange(wire, "request", spec, refusing)
    assert response["error"]["reason"] == "customValidationFailed" and "one" in response["error"]["message"]
    assert len(callbacks) == 1


def test_rules_come_before_the_validator_of_their_rule(wire, server):
    spec = {"url": server.url(404), "validate": mine(status=[200])}
    response, callbacks = exchange(wire, "request", spec, {"validate": lambda _: {"valid": True}})
    assert response["error"]["code"] == 1600 and callbacks == []


def test_a_validator_may_be_asked_before_the_body(wire, server):
    """[I15]"""

    def validate(params):
        assert "body" not in params
        return {"valid": False, "reason": "too long"}

    spec = {"url": server.held(200, "text/plain"), "validate": mine(onHeaders=True)}
    response, _ = exchange(wire, "request", spec, {"validate": validate})
    assert response["error"]["code"] == 1605 and response["body"]["size"] == 0
    assert server.gone.wait(10)


def test_a_validator_that_fails_says_so_in_its_own_words(wire, server):
    """[I11]"""

    def validate(_):
        raise Refuse("cannot tell")

    response, _ = exchange(wire, "request", {"url": server.url(), "validate": mine()}, {"validate": validate})
    assert response["error"]["code"] == 1605 and "cannot tell" in response["error"]["message"]


# Serializers


@pytest.mark.parametrize("how", WAYS)
def test_a_serializer_says_what_the_body_says(wire, server, how):
    """[3.F.41] [H1]"""

    def serialize(params):
        assert params["response"]["status"] == 200 and "error" not in params
        return {"value": {"length": len(bytes_of(params["body"]))}}

    spec = {"url": server.url(200, "text/plain", b"four"), "serialize": mine(how)}
    response, callbacks = exchange(wire, how, spec, {"serialize": serialize})
    assert response["body"] == {"kind": "json", "size": 4, "contentType": "text/plain", "json": {"length": 4}}
    assert response["ok"] is True and len(callbacks) == 1


@pytest.mark.parametrize(
    ("reply", "validate", "code"), [(None, False, 1402), ((500, "text/plain", b"broken"), True, 1600)]
)
def test_a_serializer_is_asked_whatever_happened_and_told_why(wire, server, reply, validate, code):
    """The promise of its kind: no response, and a response that is not acceptable. [3.F.41] [H1] [H11]"""

    def serialize(params):
        assert params["error"]["code"] == code
        assert ("response" in params) == (reply is not None)
        assert bytes_of(params["body"]) == (b"broken" if reply else b"")
        return {"value": {"problem": params["error"]["code"]}}

    url = server.url(*reply) if reply else "http://127.0.0.1:1/"
    spec = {"url": url, "validate": validate, "handlers": [{"id": "model", "serialize": mine()}]}
    response, callbacks = exchange(wire, "request", spec, {"serialize": serialize})
    assert response["ok"] is False and response["error"]["code"] == code and len(callbacks) == 1
    (model,) = response["results"]
    assert model["ok"] is True and model["body"]["json"] == {"problem": code}


def test_a_serializer_that_fails_keeps_the_body(wire, server):
    """[3.F.43] [H11]"""

    def serialize(_):
        raise Refuse("not my model")

    spec = {"url": server.url(200, "text/plain", b"text"), "serialize": mine()}
    response, _ = exchange(wire, "request", spec, {"serialize": serialize})
    assert response["error"]["code"] == 1706 and "not my model" in response["error"]["message"]
    assert response["body"]["text"] == "text"


def test_a_serializer_is_asked_once_for_each_attempt_and_its_failure_is_shown_to_the_retriers(wire, server):
    """[H12]"""
    before, callbacks = server.count, []

    def serialize(_):
        callbacks.append(1)
        if len(callbacks) < 2:
            raise Refuse("once more")
        return {"value": len(callbacks)}

    spec = {
        "url": server.url(200, "text/plain", b"text"),
        "serialize": mine(),
        "retry": {"limit": 3, "errors": ["customSerializationFailed"], "base": 2, "scale": 0.001},
    }
    response, _ = exchange(wire, "request", spec, {"serialize": serialize})
    assert response["ok"] is True and response["body"]["json"] == 2
    assert len(callbacks) == 2 and server.count - before == 2


# Preprocessors


def test_a_preprocessor_changes_the_bytes_before_they_are_read(wire, server):
    """[H10] [3.F.36]"""

    def preprocess(params):
        return {"base64": base64.b64encode(bytes_of(params["body"])[1:]).decode()}

    serialize = {"as": "json", "preprocess": mine()}
    spec = {"url": server.url(200, None, b"1[2]"), "serialize": serialize}
    response, _ = exchange(wire, "request", spec, {"preprocess": preprocess})
    assert response["body"]["json"] == [2]
    spec = {"url": server.url(204), "serialize": serialize}
    empty, callbacks = exchange(wire, "request", spec, {"preprocess": preprocess})
    assert empty["ok"] is True and callbacks == []


def test_a_preprocessor_that_fails_is_the_failure(wire, server):
    """[3.F.38]"""

    def preprocess(_):
        raise Refuse("cannot")

    spec = {"url": server.url(200, None, b"x"), "serialize": {"preprocess": mine()}}
    response, _ = exchange(wire, "request", spec, {"preprocess": preprocess})
    assert response["error"]["code"] == 1706 and response["body"]["text"] == "x"


def test_without_a_client_that_replies_nothing_is_believed(wire, server):
    result = get(wire, server.url(200, JSON, b"[1]"), validate=mine(timeout=0.1), serialize=mine(timeout=0.1))
    assert result["ok"] is False and result["error"]["code"] == 1605 and result["body"]["size"] == 3
