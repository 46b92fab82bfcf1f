# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""One response for many: cases, handlers, and those who come late."""

import base64

import contract
import pytest
from callback_client import Refuse, callback, exchange
from reply_server import Replying
from request_client import get, read_all, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

JSON = "application/json"
USER = {"type": "object", "required": ["id", "name"], "properties": {"id": {"type": "integer"}}}
PROBLEM = {"type": "object", "required": ["message"]}


@pytest.fixture(scope="module")
def server():
    with Replying() as server:
        yield server


CASES = [
    {"name": "user", "when": {"status": ["200..299"]}, "schema": USER},
    {"name": "offline", "when": {"error": ["timedOut", 1402], "empty": True}, "value": {"message": "no network"}},
    {"name": "problem", "when": {"error": True}, "schema": PROBLEM},
]


@pytest.mark.parametrize(
    ("reply", "case", "value", "ok"),
    [
        ((200, JSON, b'{"id":1,"name":"n"}'), "user", {"id": 1, "name": "n"}, True),
        ((422, JSON, b'{"message":"no name"}'), "problem", {"message": "no name"}, False),
        (None, "offline", {"message": "no network"}, False),
    ],
)
def test_two_models_for_one_api(wire, server, reply, case, value, ok):
    """One request, one shape for success and one for errors, chosen by data. [H11]"""
    url = server.url(*reply) if reply else "http://127.0.0.1:1/"
    response = get(wire, url, validate=True, handlers=[{"id": "api", "serialize": {"cases": CASES}}])
    assert response["ok"] is ok
    (handled,) = response["results"]
    assert handled["ok"] is True and handled["id"] == "api"
    assert (handled["body"]["case"], handled["body"]["json"]) == (case, value)


def test_several_handlers_are_served_in_order(wire, server):
    """Each gets its own shape, or its own failure. [H15] [3.F.3]"""
    handlers = [
        {"id": "text", "serialize": {"as": "text"}},
        {"id": "json", "serialize": {"as": "json"}},
        {"id": "bytes", "serialize": {"as": "base64"}},
        {"id": "strict", "validate": {"status": [204]}},
        {"id": "plain"},
    ]
    response = get(wire, server.url(200, "text/plain", b"hello"), handlers=handlers)
    assert response["ok"] is True
    results = response["results"]
    assert [handled["id"] for handled in results] == ["text", "json", "bytes", "strict", "plain"]
    assert [handled["ok"] for handled in results] == [True, False, True, False, True]
    assert results[0]["body"]["text"] == "hello"
    assert results[1]["error"]["code"] == 1704 and "body" not in results[1]
    assert results[2]["body"]["base64"] == "aGVsbG8="
    assert results[3]["error"]["code"] == 1600


PAIR = [{"id": "json", "serialize": {"as": "json"}}, {"id": "text", "serialize": {"as": "text"}}]


@pytest.mark.parametrize("more", [{}, {"retry": True}, {"retry": True, "method": "PUT", "body": {"text": "x"}}])
def test_a_handler_that_fails_fails_alone(wire, server, tmp_path, more):
    """A retrier that does not want the failure changes nothing, and a download keeps its file."""
    url = server.url(200, "text/plain", b"hello")
    response = get(wire, url, handlers=PAIR, **more)
    assert response["ok"] is True and "error" not in response
    assert [(one["id"], one["ok"]) for one in response["results"]] == [("json", False), ("text", True)]
    params = {"url": url, "destination": {"path": str(tmp_path / "file")}, "handlers": PAIR, **more}
    response = result(wire.call("download.send", params))
    assert response["ok"] is True and (tmp_path / "file").read_bytes() == b"hello"
    assert [one["ok"] for one in response["results"]] == [False, True]


@pytest.mark.parametrize("handler", [{"validate": {"status": [201]}}, {"serialize": {"as": "json"}}])
def test_the_failure_of_a_handler_is_shown_to_the_retriers(wire, server, handler):
    retry = {"limit": 1, "scale": 0.001, "statuses": [200], "errors": ["jsonSerializationFailed"]}
    handlers = [{"id": "one", **handler}]
    response = get(wire, server.url(200, "text/plain", b"hello"), handlers=handlers, retry=retry)
    assert (response["attempts"], response["ok"], response["results"][0]["ok"]) == (2, True, False)


@pytest.mark.parametrize("more", [{}, {"retry": True}])
def test_a_handler_does_not_share_the_shape_of_the_body(wire, server, more):
    response = get(wire, server.url(200, "text/plain", b"hello"), serialize={"as": "json"}, handlers=PAIR, **more)
    assert response["ok"] is False and response["error"]["code"] == 1704
    assert [one["ok"] for one in response["results"]] == [False, True]


def test_a_retrier_without_a_usable_reply_does_not_spread_the_failure_of_the_shape(wire, server):
    """The message tells why there was no retry; handlers have their own shapes all the same."""
    spec = {"url": server.url(200, "text/plain", b"hello"), "serialize": {"as": "json"}, "handlers": PAIR}
    spec["interceptors"] = [callback(asks=["retry"])]
    response, _ = exchange(wire, "request", spec, {"retry": lambda _: {"retry": "yes"}})
    assert response["error"]["code"] == 1704 and "no retry" in response["error"]["message"]
    assert [one["ok"] for one in response["results"]] == [False, True]


def test_a_serializer_that_failed_is_not_called_again_because_a_retrier_failed(wire, server):
    def fail(_):
        raise Refuse("no")

    spec = {"url": server.url(200, "text/plain", b"hello"), "serialize": callback("s")}
    spec["interceptors"] = [callback("r", asks=["retry"])]
    response, callbacks = exchange(wire, "request", spec, {"serialize": fail, "retry": fail})
    assert [kind for kind, _ in callbacks] == ["serialize", "retry"]
    assert response["error"]["code"] == 1706 and response["body"]["text"] == "hello"


@pytest.mark.parametrize("serialize", [{}, {"as": "json"}, {"as": "text"}, {"as": "base64"}, {"schema": USER}])
def test_without_a_response_every_handler_has_the_failure_of_the_exchange(wire, serialize):
    """[3.F.2] [3.F.3] [3.F.12] [3.F.54]"""
    response = get(wire, "http://127.0.0.1:1/", metrics=True, handlers=[{"id": "a", "serialize": serialize}])
    assert "status" not in response and response["metrics"]["total"] >= 0
    assert response["body"] == {"kind": "none", "size": 0}
    assert response["error"]["code"] == 1402
    assert response["results"] == [{"id": "a", "ok": False, "error": response["error"]}]


def test_a_handler_may_want_the_body_although_the_exchange_failed(wire, server):
    """[H11] [3.F.12]"""
    response = get(
        wire,
        server.url(404, JSON, b'{"message":"gone"}'),
        validate=True,
        handlers=[{"id": "strict"}, {"id": "problem", "serialize": {"schema": PROBLEM, "ignoreError": True}}],
    )
    strict, problem = response["results"]
    assert strict["error"] == response["error"] and response["error"]["code"] == 1600
    assert problem["ok"] is True and problem["body"]["json"] == {"message": "gone"}


@pytest.mark.parametrize("bodyTo", ["stored", "file"])
def test_handlers_read_bodies_that_are_kept(wire, server, bodyTo):
    """[H8] [3.F.46]"""
    handlers = [{"id": "json", "serialize": {"as": "json"}}, {"id": "bytes", "serialize": {"as": "base64"}}]
    response = get(wire, server.url(200, JSON, b"[1, 2]"), bodyTo=bodyTo, handlers=handlers)
    assert response["body"]["kind"] == bodyTo
    assert response["results"][0]["body"]["json"] == [1, 2]
    assert base64.b64decode(response["results"][1]["body"]["base64"]) == b"[1, 2]"


@pytest.mark.parametrize(
    ("reply", "serialize", "code"),
    [
        ((200,), {"as": "text", "emptyStatus": [204, 205]}, 1700),
        ((205,), {"as": "json"}, None),
    ],
)
def test_an_empty_file_is_judged_like_an_empty_body(wire, server, reply, serialize, code):
    """[3.F.47] [3.F.49]"""
    handlers = [{"id": "a", "serialize": serialize}]
    response = get(wire, server.url(*reply), bodyTo="file", handlers=handlers)
    assert response["results"][0].get("error", {}).get("code") == code


def test_a_file_is_named_by_its_path_and_there_is_none_without_a_response(wire, server):
    """[3.F.44] [3.F.50] [3.F.51] [H9]"""
    response = get(wire, server.url(200, JSON, b"[1]"), bodyTo="file")
    assert open(response["body"]["path"], "rb").read() == b"[1]"
    missing = get(wire, "http://127.0.0.1:1/", bodyTo="file", handlers=[{"id": "a"}])
    assert missing["body"] == {"kind": "none", "size": 0}
    assert missing["results"][0]["error"]["code"] == 1402


@pytest.mark.parametrize(
    ("handlers", "pointer"),
    [
        ([{}], "/handlers/0/id"),
        ([{"id": ""}], "/handlers/0/id"),
        ([{"id": "a"}, {"id": "a"}], "/handlers/1/id"),
        ([{"id": str(n)} for n in range(17)], "/handlers"),
        ({"id": "a"}, "/handlers"),
    ],
)
def test_bad_handlers_are_refused(wire, server, handlers, pointer):
    error = wire.call("data.send", {"url": server.url(), "handlers": handlers})["error"]
    assert (error["code"], error["data"]["pointer"]) == (-32602, pointer)


def test_results_that_do_not_fit_a_message_say_so(wire, origin):
    result(wire.call("server.hello", {"maxMessageBytes": 16384}))
    handlers = [{"id": "a"}, {"id": "b", "serialize": {"as": "json"}}]
    response = get(wire, origin + "/bytes/20000", handlers=handlers)
    assert response["ok"] is True and response["body"]["kind"] == "stored"
    assert [handled["error"]["code"] for handled in response["results"]] == [1411, 1704]


# Responses that are over


def test_a_late_handler_uses_the_bytes_that_came_and_reperform_sends_again(wire, server):
    url = server.url(200, JSON, b'{"id":1,"name":"n"}')
    before = server.count
    request = result(wire.call("data.start", {"url": url}))["request"]
    for serialize, kind in [({"as": "text"}, "text"), ({"schema": USER}, "json"), ({"as": "base64"}, "base64")]:
        reply = result(wire.call("response.serialize", {"response": request, "serialize": serialize}))
        assert reply["ok"] is True and reply["body"]["kind"] == kind and "request" not in reply
    assert server.count == before + 1
    again = result(wire.call("response.serialize", {"response": request, "reperform": True}))
    assert again["ok"] is True and again["request"] != request
    assert server.count == before + 2
    third = result(wire.call("response.serialize", {"response": again["request"], "serialize": {"as": "text"}}))
    assert third["ok"] is True and server.count == before + 2


def test_a_late_handler_of_a_request_that_failed_gets_its_failure(wire):
    request = result(wire.call("data.start", {"url": "http://127.0.0.1:1/"}))["request"]
    reply = result(wire.call("response.serialize", {"response": request}))
    assert reply["ok"] is False and reply["error"]["code"] == 1402
    verdict = result(wire.call("response.validate", {"response": request, "validate": True}))
    assert verdict["valid"] is False and verdict["error"]["code"] == 1402


def test_kept_responses_know_their_head(wire, server):
    response = get(
        wire,
        server.url(404, "text/plain", b"gone"),
        bodyTo="stored",
        headers={"Accept": "text/plain"},
    )
    kept = response["body"]["response"]

    def verdict(validate):
        return result(wire.call("response.validate", {"response": kept, "validate": validate}))

    assert verdict(True)["error"]["data"] == {"status": 404}
    assert verdict({"contentType": True}) == {"valid": True}
    assert verdict({"contentType": [JSON]})["error"]["code"] == 1601
    assert verdict({"schema": {}})["error"]["code"] == 1605


def test_a_new_response_that_does_not_fit_a_message_tells_its_request(wire, origin):
    """Otherwise no call could name the request that was sent again."""
    result(wire.call("server.hello", {"maxMessageBytes": 16384}))
    request = result(wire.call("data.start", {"url": origin + "/bytes/20000"}))["request"]
    wish = {"response": request, "serialize": {"as": "base64"}}
    error = wire.call("response.serialize", wish)["error"]
    assert error["data"] == {"pointer": "/serialize", "state": "tooLong"} and "request.wait" in error["message"]
    again = result(wire.call("response.serialize", {**wish, "reperform": True}))
    assert again["error"]["code"] == 1411 and "request.wait" in again["error"]["message"]
    assert again["request"] != request
    stored = result(wire.call("request.wait", {"request": again["request"]}))["body"]["response"]
    assert len(read_all(wire, stored)) == 20000


def test_a_request_with_a_name_is_sent_again_without_the_name(listening, server):
    with contract.Wire(listening) as wire:
        params = {"url": server.url(200, "text/plain", b"x"), "detach": True, "name": "reperformed"}
        request = result(wire.call("data.start", params))["request"]
        result(wire.call("request.wait", {"request": request}))
        again = result(wire.call("response.serialize", {"response": request, "reperform": True}))
        assert again["ok"] and again["request"] != request
        named = result(wire.call("request.get", {"request": "reperformed"}))
        assert named["request"] == request
        for one in (request, again["request"]):
            result(wire.call("request.forget", {"request": one}))


def test_a_new_request_that_no_result_names_is_forgotten(wire, server):
    def handles():
        return {one["request"] for one in result(wire.call("request.list"))["requests"]}

    params = {"url": server.url(200, "text/plain", b"x"), "bodyTo": "discard"}
    request = result(wire.call("data.start", params))["request"]
    result(wire.call("request.wait", {"request": request}))
    error = wire.call("response.serialize", {"response": request, "reperform": True})["error"]
    assert error["data"]["state"] == "bodiless" and handles() == {request}


def test_handlers_without_a_body_are_told_which_member_keeps_it(wire, server):
    params = {"url": server.url(200, "text/plain", b"x"), "bodyTo": "discard", "handlers": [{"id": "one"}]}
    (told,) = result(wire.call("data.send", params))["results"]
    assert told["error"]["code"] == 1700 and "bodyTo" in told["error"]["message"], told


def test_what_is_gone_cannot_be_shaped(wire, server, origin):
    sent = get(wire, origin + "/bytes/200000")["request"]
    error = wire.call("response.serialize", {"response": sent})["error"]
    assert (error["code"], error["data"]) == (-32013, {"pointer": "/response", "state": "bodiless"})
    error = wire.call("response.serialize", {"response": sent, "reperform": True})["error"]
    assert (error["code"], error["data"]) == (-32013, {"pointer": "/reperform", "state": "unkept"})
    discarded = result(wire.call("data.start", {"url": server.url(200, None, b"x"), "bodyTo": "discard"}))["request"]
    assert wire.call("response.validate", {"response": discarded, "validate": True})["error"]["code"] == -32013
    error = wire.call("response.validate", {"response": "rsp_aaaaaaaaaaaaaaaa", "validate": True})["error"]
    assert error["code"] == -32012


def test_kept_bodies_that_are_too_long_for_rules_say_so(wire, origin):
    response = get(wire, origin + "/bytes/9000000", bodyTo="stored", handlers=[{"id": "a"}])
    assert response["results"][0]["error"]["code"] == 1411
    kept = response["body"]["response"]
    reply = result(wire.call("response.serialize", {"response": kept}))
    assert reply["error"]["code"] == 1411
    assert result(wire.call("response.validate", {"response": kept, "validate": True})) == {"valid": True}
