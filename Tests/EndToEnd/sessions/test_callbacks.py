# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Callbacks to clients about their requests: each in three ways, and what follows when there is no reply."""

import json
import time

import contract
import pytest
from callback_client import Refuse, callback, converse, exchange, reply_to, sent
from digest_server import Guard
from http_server import Listening
from request_client import result
from subscription_client import pulled, subscribe

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

WAYS = ["request", "pull"]


# Adapters


@pytest.mark.parametrize("how", WAYS)
def test_an_adapter_changes_what_is_sent(wire, origin, how):
    def adapt(message):
        assert message["callback"] == "mine" and message["attempt"] == 1 and message["method"] == "GET"
        assert message["deadline"] > "2026" and message["request"].startswith("req_")
        return {
            "url": origin + "/echo?a=1",
            "method": "POST",
            "headers": {"X-Signed": "yes"},
            "removeHeaders": ["X-Plain"],
            "query": {"b": 2},
            "body": {"json": {"c": 3}},
        }

    spec = {
        "url": origin + "/nowhere",
        "headers": {"X-Plain": "1"},
        "interceptors": [callback(how=how, asks=["adapt"])],
    }
    response, callbacks = exchange(wire, how, spec, {"adapt": adapt})
    assert len(callbacks) == 1 and response["ok"] and response["attempts"] == 1
    fields, seen = sent(response)
    assert (seen["method"], seen["target"], seen["body"]) == ("POST", "/echo?a=1&b=2", '{"c":3}')
    assert fields["X-Signed"] == "yes" and "X-Plain" not in fields and fields["Content-Type"] == "application/json"


@pytest.mark.parametrize("how", WAYS)
def test_an_adapter_that_refuses_fails_the_request(wire, origin, how):
    def adapt(_):
        raise Refuse("no key")

    spec = {"url": origin + "/json", "interceptors": [callback(how=how, asks=["adapt"])]}
    response, _ = exchange(wire, how, spec, {"adapt": adapt})
    error = response["error"]
    assert (error["code"], error["kind"]) == (1300, "requestAdaptationFailed") and "no key" in error["message"]
    assert error["underlying"]["domain"] == "callback" and error["underlying"]["code"] == -32021
    assert response["attempts"] == 0 and response["body"]["kind"] == "none"


BAD = [
    {"headers": {"X": "a\r\nb"}},
    {"url": ""},
    {"url": 1},
    {"method": "G T"},
    {"stranger": 1},
    {"body": {"text": "x"}},
]


@pytest.mark.parametrize("given", BAD)
def test_what_cannot_be_sent_fails_as_adaptation(wire, origin, given):
    """[3.D.7]"""
    spec = {"url": origin + "/json", "interceptors": [callback(asks=["adapt"])]}
    response, _ = exchange(wire, "request", spec, {"adapt": lambda _: given})
    assert response["error"]["code"] == 1300, response
    if "body" in given:
        assert response["error"]["data"]["cause"]["code"] == 1102


# Retriers


@pytest.mark.parametrize("how", WAYS)
def test_a_retrier_has_four_replies(wire, server, origin, how):
    dead = "http://127.0.0.1:1/"
    verdicts = iter([{"retry": True}, {"retry": True, "delay": 0.01}, {"retry": False}])
    spec = {"url": dead, "interceptors": [callback(how=how, asks=["retry"])]}
    response, callbacks = exchange(wire, how, spec, {"retry": lambda _: next(verdicts)})
    assert response["error"]["code"] == 1402 and response["attempts"] == 3
    assert [message["retries"] for _, message in callbacks] == [0, 1, 2]
    assert callbacks[0][1]["error"]["code"] == 1402
    response, callbacks = exchange(wire, how, spec, {"retry": lambda _: {"retry": False, "error": "give up"}})
    error = response["error"]
    assert error["code"] == 1310 and error["data"]["originalError"]["code"] == 1402 and len(callbacks) == 1
    assert "give up" in str(error["data"]["retryError"])


def test_adapters_run_again_from_the_start_on_every_attempt(wire, origin):
    urls = iter(["http://127.0.0.1:1/", origin + "/echo"])
    spec = {
        "url": "http://127.0.0.1:2/",
        "interceptors": [{"headers": {"X-First": "1"}}, callback("a"), callback("b", asks=["adapt"])],
    }
    functions = {
        "adapt": lambda q: {"url": next(urls)} if q["callback"] == "a" else {"headers": {"X-Url": q["url"]}},
        "retry": lambda q: {"retry": True},
    }
    response, callbacks = exchange(wire, "request", spec, functions)
    assert [(kind, q["callback"], q["attempt"]) for kind, q in callbacks] == [
        ("adapt", "a", 1),
        ("adapt", "b", 1),
        ("retry", "a", 1),
        ("adapt", "a", 2),
        ("adapt", "b", 2),
    ]
    fields, _ = sent(response)
    assert fields["X-Url"] == origin + "/echo" and fields["X-First"] == "1" and response["attempts"] == 2


def test_retriers_are_called_in_order_until_one_retries(wire):
    spec = {
        "url": "http://127.0.0.1:1/",
        "interceptors": [callback(name, asks=["retry"]) for name in ("one", "two", "three")],
    }
    functions = {"retry": lambda q: {"retry": q["callback"] == "two" and q["retries"] == 0}}
    _, callbacks = exchange(wire, "request", spec, functions)
    assert [message["callback"] for _, message in callbacks] == ["one", "two", "one", "two", "three"]
    functions = {"retry": lambda q: {"retry": False, "error": "no"} if q["callback"] == "two" else {"retry": False}}
    _, callbacks = exchange(wire, "request", spec, functions)
    assert [message["callback"] for _, message in callbacks] == ["one", "two"]


def test_code_may_be_asked_once_for_all_attempts(wire, origin):
    spec = {"url": "http://127.0.0.1:1/", "interceptors": [callback("key", asks=["adapt"], askPer="request"),
                                                           callback("again", asks=["retry"])]}
    functions = {
        "adapt": lambda q: {"headers": {"X-Key": "1"}, "url": origin + "/status/503" if q["attempt"] > 1 else q["url"]},
        "retry": lambda q: {"retry": q["retries"] < 2},
    }
    response, callbacks = exchange(wire, "request", spec, functions)
    assert [kind for kind, _ in callbacks] == ["adapt", "retry", "retry", "retry"]
    assert response["attempts"] == 3


def test_nobody_is_asked_about_a_status_that_is_no_failure(wire, origin):
    spec = {"url": origin + "/status/500", "interceptors": [callback(asks=["retry"])]}
    response, callbacks = exchange(wire, "request", spec, {})
    assert response["ok"] and response["status"] == 500 and callbacks == []


# Redirects and bodies


@pytest.mark.parametrize("how", WAYS)
def test_a_redirect_is_followed_as_the_client_says(wire, origin, how):
    spec = {"url": origin + "/redirect/2", "redirect": callback(how=how)}
    response, callbacks = exchange(wire, how, spec, {"redirect": lambda _: {"follow": True}})
    assert response["status"] == 200 and len(response["redirects"]) == 2 and len(callbacks) == 2
    assert callbacks[0][1]["status"] == 302 and callbacks[0][1]["from"].endswith("/redirect/2")
    functions = {"redirect": lambda _: {"follow": True, "request": {"url": origin + "/echo", "headers": {"X": "1"}}}}
    response, _ = exchange(wire, how, spec, functions)
    assert sent(response)[0]["X"] == "1" and response["url"] == origin + "/echo"
    response, _ = exchange(wire, how, spec, {"redirect": lambda _: {"follow": False}})
    assert response["ok"] and response["status"] == 302 and response["redirects"] == []


def test_a_redirect_that_nobody_decides_is_not_followed(wire, origin):
    spec = {"url": origin + "/redirect/2", "redirect": callback(timeout=0.1)}
    number = wire.start("data.send", spec)
    wire.receive()
    assert result(wire.reply(number))["status"] == 302


def test_the_retry_of_a_request_asks_after_its_interceptors(wire):
    spec = {
        "url": "http://127.0.0.1:1/",
        "retry": callback("own", timeout=5),
        "interceptors": [callback("first", asks=["retry"])],
    }
    response, callbacks = exchange(wire, "request", spec, {"retry": lambda q: {"retry": q["retries"] == 0}})
    assert [message["callback"] for _, message in callbacks] == ["first", "first", "own"]
    assert response["attempts"] == 2


def test_the_head_of_a_response_decides_whether_it_is_read(wire, origin):
    for how in WAYS:
        spec = {"url": origin + "/bytes/1000", "disposition": callback(how=how)}
        response, callbacks = exchange(wire, how, spec, {"disposition": lambda _: {"allow": True}})
        assert response["ok"] and response["body"]["size"] == 1000 and callbacks[0][1]["response"]["status"] == 200
        response, _ = exchange(wire, how, spec, {"disposition": lambda _: {"allow": False}})
        assert response["error"]["code"] == 1900 and response["status"] == 200 and response["body"]["size"] == 0


@pytest.mark.parametrize("how", WAYS)
def test_a_validator_says_whether_a_response_is_acceptable(wire, origin, how):
    spec = {"url": origin + "/json", "validate": callback(how=how)}
    response, callbacks = exchange(wire, how, spec, {"validate": lambda _: {"valid": True}})
    assert response["ok"] and callbacks[0][1]["response"]["status"] == 200
    assert callbacks[0][1]["body"]["text"] == '{"id":1,"x":0.1}'
    response, _ = exchange(wire, how, spec, {"validate": lambda _: {"valid": False, "reason": "no id"}})
    assert response["error"]["code"] == 1605 and "no id" in response["error"]["message"]
    assert response["error"]["data"]["error"] == {"valid": False, "reason": "no id"}
    assert response["body"]["size"] == 16, "what came is kept"


@pytest.mark.parametrize("how", WAYS)
def test_a_serializer_says_what_a_body_is(wire, origin, how):
    spec = {"url": origin + "/json", "serialize": callback(how=how)}
    functions = {"serialize": lambda q: {"value": {"length": len(q["body"]["text"])}}}
    response, _ = converse(wire, "data.send", spec, functions) if how == "request" else (None, None)
    if response:
        assert result(response)["body"]["json"] == {"length": 16}


def test_no_validator_is_no_consent_and_no_serializer_no_value(wire, origin):
    for spec, code in (({"validate": callback(timeout=0.1)}, 1605), ({"serialize": callback(timeout=0.1)}, 1706)):
        number = wire.start("data.send", {"url": origin + "/json", **spec})
        while True:
            message = wire.receive()
            if message.get("id") == number:
                break
        assert message["result"]["error"]["code"] == code and message["result"]["body"]["size"] == 16


def test_a_failed_validation_is_shown_to_the_retriers(wire, origin):
    spec = {"url": origin + "/json", "validate": callback("v"), "interceptors": [callback("r", asks=["retry"])]}
    functions = {
        "validate": lambda q: {"valid": q["attempt"] == 3},
        "retry": lambda q: {"retry": q["error"]["code"] == 1605},
    }
    response, callbacks = exchange(wire, "request", spec, functions)
    assert response["ok"] and response["attempts"] == 3
    assert [kind for kind, _ in callbacks] == ["validate", "retry", "validate", "retry", "validate"]


def test_a_serializer_learns_the_last_attempt_though_no_response_came(wire, origin):
    urls = iter([origin + "/status/503", "http://127.0.0.1:1/"])
    mine = callback("i", asks=["adapt", "retry"])
    spec = {"url": origin, "validate": True, "serialize": callback("s"), "interceptors": [mine]}
    functions = {
        "adapt": lambda _: {"url": next(urls)},
        "retry": lambda q: {"retry": q["retries"] == 0},
        "serialize": lambda _: {"value": 1},
    }
    response, callbacks = exchange(wire, "request", spec, functions)
    assert response["attempts"] == 2
    assert [(kind, q["attempt"]) for kind, q in callbacks][-2:] == [("retry", 2), ("serialize", 2)]


# No reply


@pytest.mark.parametrize("how", WAYS)
def test_an_adapter_that_is_late_fails_the_request(wire, origin, how):
    spec = {"url": origin + "/json", "timeout": 0.1, "interceptors": [callback(how=how, asks=["adapt"], timeout=0.3)]}
    began = time.monotonic()
    number = wire.start("data.start", spec)
    request = wire.reply(number)["result"]["request"]
    wait = wire.start("request.wait", {"request": request})
    message = None
    if how == "request":
        message = wire.receive()
    response = result(wire.reply(wait))
    assert response["error"]["code"] == 1300 and response["error"]["underlying"]["code"] == -32020
    assert time.monotonic() - began >= 0.3, "the request's own timeout stood still"
    if message:
        reply_to(wire, message, {"headers": {}})
        reply_to(wire, message, {"headers": {}})
    else:
        assert wire.call("events.next", {"request": request, "wait": 0})["result"]["events"] == []


@pytest.mark.parametrize("how", WAYS)
def test_a_retrier_that_is_late_wants_no_retry(wire, how):
    spec = {"url": "http://127.0.0.1:1/", "interceptors": [callback(how=how, asks=["retry"], timeout=0.1)]}
    number = wire.start("data.send", spec)
    while True:
        message = wire.receive()
        if message.get("id") == number:
            break
    assert message["result"]["error"]["code"] == 1402 and message["result"]["attempts"] == 1


def test_a_head_that_nobody_judges_is_read(wire, origin):
    number = wire.start("data.send", {"url": origin + "/json", "disposition": callback(timeout=0.1)})
    wire.receive()
    assert result(wire.reply(number))["ok"]


def test_a_reply_that_makes_no_sense_is_none(wire):
    spec = {"url": "http://127.0.0.1:1/", "interceptors": [callback(asks=["retry"])]}
    for given in ({}, {"retry": "yes"}, {"retry": True, "delay": -1}, {"retry": False, "delay": 1}, {"again": True}):
        response, _ = exchange(wire, "request", spec, {"retry": lambda _, given=given: given})
        assert response["attempts"] == 1 and response["error"]["code"] == 1402
        told = "refused the connection (no retry: the reply to callback.retry cannot be used: "
        assert told in response["error"]["message"]


@pytest.mark.parametrize(
    ("given", "told"),
    [({"timeout": {"total": 0}}, "timeout.total must be from 0.001 to 86400 seconds"), (5, "result must be an object")],
)
def test_what_is_wrong_with_a_reply_is_named(wire, origin, given, told):
    spec = {"url": origin + "/json", "interceptors": [callback(asks=["adapt"])]}
    response, _ = exchange(wire, "request", spec, {"adapt": lambda _: given})
    assert f"the reply to callback.adapt cannot be used: {told}" in response["error"]["message"]


def test_monitors_see_why_a_reply_cannot_be_used(wire):
    subscription = subscribe(wire, "callback.failed", pull=True)
    with Guard("MD5", "auth") as guard:
        spec = {"url": guard.url("/vault"), "challenge": callback()}
        response, _ = exchange(wire, "request", spec, {"challenge": lambda _: {"username": "u", "password": "p"}})
    assert response["ok"] and response["status"] == 401
    [event] = pulled(wire, subscription, last="callback.failed")
    detail = event["detail"]
    assert detail["problem"] == "callbackFailed"
    assert detail["reason"].startswith("the reply to callback.challenge cannot be used: ")


@pytest.mark.parametrize("how", WAYS)
def test_cancelling_the_request_ends_its_callback(wire, origin, how):
    spec = {"url": origin + "/json", "interceptors": [callback(how=how)]}
    request = wire.call("data.start", spec)["result"]["request"] if how == "pull" else None
    if request is None:
        number = wire.start("data.start", spec)
        messages = [wire.receive(), wire.receive()]
        request = next(one["result"]["request"] for one in messages if one.get("id") == number)
        message = next(one for one in messages if "method" in one)
        cancel = wire.start("request.cancel", {"request": request})
        messages = [wire.receive(), wire.receive()]
        assert {one.get("method", one.get("id")) for one in messages} == {"$/cancelRequest", cancel}
        told = next(one for one in messages if "method" in one)
        assert told["params"]["id"] == message["id"]
        reply_to(wire, message, {})
    else:
        event = wire.call("events.next", {"request": request})["result"]["events"][0]
        wire.call("request.cancel", {"request": request})
        decided = wire.call("request.decide", {"decision": event["params"]["decision"], "answer": {}})
        assert decided["error"]["code"] in (-32012, -32013)
    response = result(wire.call("request.wait", {"request": request}))
    assert response["error"]["code"] == 1900 and response["attempts"] == 0


def test_the_limits_stand_still_though_the_request_is_suspended_and_resumed_meanwhile(wire):
    class Long(Listening):
        def serve(self, connection, number):
            connection.makefile("rb").readline()
            # more than the service reads ahead
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n" + b"x" * 3_000_000)
            self.ended.wait(30)

    with Long() as server:
        validate = {"callback": "mine", "onHeaders": True}
        params = {"url": server.url("/"), "timeout": {"total": 3}, "validate": validate}
        request = result(wire.call("data.start", params))["request"]
        callback = wire.receive()
        assert callback["method"] == "callback.validate"
        result(wire.call("request.suspend", {"request": request}))
        result(wire.call("request.resume", {"request": request}))
        began = time.monotonic()
        while time.monotonic() - began < 3.2:
            time.sleep(0.1)
        reply_to(wire, callback, {"valid": True})
        response = result(wire.call("request.wait", {"request": request}))
        assert response["ok"] and response["body"]["size"] == 3_000_000, response


def test_a_reply_that_is_no_json_ends_its_callback_at_once(wire):
    number = wire.start("diagnostics.callback", {"method": "callback.ask", "timeout": 60})
    asked = wire.receive()
    wire.send_text('{"jsonrpc":"2.0","id":%d,"result":{"a\\u0000":1}}' % asked["id"])
    error = wire.reply(number)["error"]
    assert error["code"] == -32021 and "Parse error" in error["message"]
    assert error["data"]["error"]["code"] == -32700


def test_a_reply_without_a_result_is_a_reply_of_null(wire):
    """Clients whose null is an absent member send that, such as those in Lua."""
    number = wire.start("diagnostics.callback", {"method": "callback.ask", "timeout": 60})
    asked = wire.receive()
    wire.send({"jsonrpc": "2.0", "id": asked["id"]})
    assert wire.reply(number)["result"] == {"answer": None, "id": asked["id"]}
    # a second one is late, and an id that no callback had is that of a broken call
    wire.send({"jsonrpc": "2.0", "id": asked["id"]})
    wire.send({"jsonrpc": "2.0", "id": asked["id"] + 1})
    broken = json.loads(wire.receive_line())
    assert broken["id"] == asked["id"] + 1 and broken["error"]["message"] == "method is missing"
