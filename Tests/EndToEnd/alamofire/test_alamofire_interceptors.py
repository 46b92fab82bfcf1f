# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Alamofire's cases of adapters and retriers, with the client's code called over the wire."""

import time

import contract
import pytest
from callback_client import credentials
from capture_server import HELD, Capture
from code_client import Refused, call_with_code
from request_client import get, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

LOCKED = b"HTTP/1.1 401 No\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"
ADAPT, RETRY = ["adapt"], ["retry"]


@pytest.fixture
def line():
    with contract.Wire() as line:
        yield line


@pytest.fixture
def server(home):
    return home


class Code:
    """The client's code: its calls, and its replies, one after the other; the last stays."""

    def __init__(self, adapt=({},), retry=({"retry": False},)):
        self.said = {"adapt": list(adapt), "retry": list(retry)}
        self.calls = []

    def functions(self):
        return {f"callback.{kind}": (lambda params, kind=kind: self.say(kind, params)) for kind in self.said}

    def say(self, kind, params):
        self.calls.append((kind, params["callback"]))
        said = self.said[kind]
        reply = said.pop(0) if len(said) > 1 else said[0]
        if isinstance(reply, str):
            raise Refused({"code": 7, "message": reply})
        return reply(params) if callable(reply) else reply

    def count(self, kind):
        return sum(1 for one, _ in self.calls if one == kind)

    def send(self, line, url, *interceptors, **params):
        given = {"url": url, "interceptors": [{"callback": "mine"}, *interceptors], **params}
        return result(call_with_code(line, "data.send", given, self.functions())[0])


def authorized(params):
    return {"headers": {"Authorization": credentials("user", "password")}}



@pytest.fixture(scope="module")
def locked():
    httpbin_server = pytest.importorskip("httpbin_server")
    pytest.importorskip("httpbin", reason="httpbin is not here; scripts/setup --test installs it")
    with httpbin_server.serving() as url:
        yield url + "/basic-auth/user/password"


def test_an_interceptor_with_nothing(line, server):
    """[3.H.1]"""
    response = get(line, server.url("/echo"), interceptors=[{"chain": []}, {"headers": {}}, {"retry": False}])
    plain = get(line, server.url("/echo"))
    assert response["body"]["json"]["headers"] == plain["body"]["json"]["headers"] and response["attempts"] == 1
    assert get(line, server.url("/fails/1/503"), validate=True, interceptors=[{"chain": []}])["attempts"] == 1


def test_the_first_adapter_that_fails_is_the_last(line, server):
    """[3.H.2] [3.H.3] [3.H.16]"""
    first = {"callback": "first", "asks": ADAPT}
    for adapt, interceptors, count in ((["broken"], [], 1), ([{}, "broken"], [first], 2)):
        code = Code(adapt=adapt)
        response = code.send(line, server.url(), *interceptors, {"callback": "never", "asks": ADAPT})
        assert response["error"]["code"] == 1300 and "broken" in response["error"]["message"]
        assert code.count("adapt") == count and not server.seen
    session = result(line.call("session.create", {"interceptors": [{"callback": "s", "asks": ADAPT}]}))["session"]
    for _ in range(2):
        code = Code(adapt=[{"url": "no url"}])
        response = code.send(line, server.url(), session=session)
        assert response["error"]["code"] == 1300 and response["error"]["data"]["cause"]["code"] == 1100
        assert code.calls == [("adapt", "s"), ("retry", "mine")]


def test_an_adapter_that_takes_its_time(line, server):
    """Longer than the request may: its time stands still meanwhile. [3.H.4]"""

    def slow(params):
        time.sleep(4.5)  # clock: longer than the limits below
        return {"headers": {"X-Late": "1"}}

    response = Code(adapt=[slow]).send(line, server.url(), timeout={"total": 4, "resource": 4}, events=["state"])
    assert response["ok"] and "x-late" in response["body"]["json"]["headers"]


def test_the_first_yes_counts(line, server):
    """[3.H.5] [3.H.19]"""
    session = result(line.call("session.create", {"interceptors": [{"callback": "s", "asks": RETRY}]}))["session"]
    code = Code(retry=[{"retry": False}, {"retry": True}])
    response = code.send(line, server.url("/fails/1/503"), {"callback": "later", "asks": RETRY}, session=session,
                         validate=True)
    assert response["ok"] and response["attempts"] == 2
    assert [one for one in code.calls if one[0] == "retry"] == [("retry", "s"), ("retry", "mine")]


def test_no_with_an_error_is_the_last_word(line, server):
    """[3.H.8]"""
    code = Code(retry=[{"retry": False, "error": "gone"}])
    response = code.send(line, server.url("/fails/9/503"), {"callback": "never", "asks": RETRY}, validate=True)
    assert response["error"]["code"] == 1310 and "gone" in response["error"]["message"] and code.count("retry") == 1


REPLIES = [
    ({"retry": True}, 2, None), ({"retry": True, "delay": 0.01}, 2, None), ({"retry": False}, 1, 1600),
    ({"retry": False, "error": "gone"}, 1, 1310), ({}, 1, 1600), ({"retry": "yes"}, 1, 1600),
    ({"retry": True, "delay": -1}, 1, 1600), ({"retry": True, "error": "gone"}, 1, 1600),
    ({"retry": False, "delay": 1}, 1, 1600), ({"retry": True, "again": 1}, 1, 1600),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "attempts", "code"), REPLIES)
def test_the_replies_of_a_retrier(line, server, reply, attempts, code):
    """What makes no sense is no reply. [3.H.9]"""
    response = Code(retry=[reply]).send(line, server.url("/fails/1/503"), validate=True)
    assert response["attempts"] == attempts and response.get("error", {}).get("code") == code


def test_adapters_are_asked_in_their_order_for_each_attempt(line, server):
    """[3.H.10] [3.H.11] [3.H.12]"""
    session = result(line.call("session.create", {"interceptors": [{"callback": "s", "asks": ADAPT}]}))["session"]
    code = Code(retry=[{"retry": True}])
    response = code.send(line, server.url("/fails/2/503"), {"callback": "second", "asks": ADAPT}, session=session,
                         validate=True)
    assert response["attempts"] == 3
    assert [name for kind, name in code.calls if kind == "adapt"] == ["s", "mine", "second"] * 3


def test_a_sessions_adapter_for_all_and_a_requests_for_its_own(line, server):
    """[3.H.13]"""
    session = result(line.call("session.create", {"interceptors": [{"callback": "s", "asks": ADAPT}]}))["session"]
    code = Code(adapt=[lambda params: {"method": "POST"} if params["callback"] == "s" else {"headers": {"X-Own": "1"}}])
    code.send(line, server.url(), session=session, interceptors=[])
    code.send(line, server.url(), session=session)
    assert [one["method"] for one in server.seen] == ["POST", "POST"]
    assert ["x-own" in one["headers"] for one in server.seen] == [False, True]
    assert [name for _, name in code.calls] == ["s", "s", "mine"]


def test_an_adapter_changes_the_method_of_an_upload(line, server, tmp_path):
    """[3.H.15]"""
    path = tmp_path / "body"
    path.write_text("body")
    stream = result(line.call("upload.open"))["stream"]
    result(line.call("stream.write", {"stream": stream, "text": "body"}))
    result(line.call("stream.finish", {"stream": stream}))
    with Capture() as capture:
        for body in ({"text": "body"}, {"file": str(path)}, {"stream": stream}):
            response = Code(adapt=[{"method": "PATCH"}]).send(line, capture.url(), method="POST", body=body)
            request = capture.take()
            assert response["ok"] and request.line.startswith(b"PATCH ") and request.body == b"body"
    refused = Code(adapt=[{"method": "GET"}]).send(line, server.url(), method="POST", body={"text": "body"})
    assert refused["error"]["code"] == 1300 and refused["error"]["data"]["cause"]["code"] == 1102


def test_a_policy_at_work(line):
    """[3.H.20]"""
    with Capture(response=HELD) as capture:
        retry = {"limit": 1, "scale": 0.1}
        number = line.start("data.send", {"url": capture.url(), "timeout": 0.05, "retry": retry, "events": ["retry"]})
        told = []
        while "method" in (message := line.receive(10)):
            told.append((message["params"]["attempt"], message["params"]["delay"]))
        response = result(message)
        assert message["id"] == number and told == [(1, 0.1)]
        assert response["attempts"] == 2 and response["error"]["code"] == 1405


@pytest.mark.parametrize("more", [{}, {"method": "POST", "body": {"text": "x"}}])
def test_an_adapter_that_fails_once(line, server, more):
    """[3.H.21] [3.H.23]"""
    code = Code(adapt=["not yet", authorized], retry=[{"retry": True}])
    response = code.send(line, server.url(), validate=True, **more)
    assert response["ok"] and "authorization" in response["body"]["json"]["headers"]
    assert (code.count("adapt"), code.count("retry"), len(server.seen)) == (2, 1, 1)


def test_one_retry_of_a_401(line, locked):
    """[3.H.24]"""
    code = Code(retry=[{"retry": True}, {"retry": False}])
    response = code.send(line, locked, validate=True, serialize={"as": "json"})
    assert response["error"]["code"] == 1600 and response["status"] == 401 and response["attempts"] == 2
    assert (code.count("adapt"), code.count("retry")) == (2, 2)
    assert result(line.call("request.get", {"request": response["request"]}))["retries"] == 1


def test_credentials_from_the_second_attempt_on(line, locked):
    """[3.H.26]"""
    code = Code(adapt=[{}, authorized], retry=[{"retry": True}])
    response = code.send(line, locked, validate=True)
    assert response["ok"] and response["body"]["json"]["authenticated"] is True
    assert (code.count("adapt"), code.count("retry")) == (2, 1)


def test_an_adapter_that_fails_at_the_second_attempt(line, locked):
    """[3.H.27]"""
    code = Code(adapt=[{}, "second"], retry=[{"retry": True}, {"retry": False}])
    response = code.send(line, locked, validate=True)
    assert response["error"]["code"] == 1300 and "second" in response["error"]["message"]
    assert response["attempts"] == 1 and (code.count("adapt"), code.count("retry")) == (2, 2)


@pytest.mark.parametrize("more", [{}, {"bodyTo": "file"}])
def test_a_retrier_that_replies_with_an_error(line, more):
    """[3.H.29] [3.H.34]"""
    code = Code(retry=[{"retry": False, "error": "first"}, {"retry": False, "error": "second"}])
    with Capture(response=LOCKED) as capture:
        error = code.send(line, capture.url(), validate=True, **more)["error"]
    assert error["code"] == 1310 and error["data"]["retryError"] == "first" and code.count("retry") == 1
    assert error["data"]["originalError"]["code"] == 1600


def test_the_same_for_handlers_that_fail(line):
    """[3.H.31]"""
    code = Code(retry=[{"retry": False, "error": "no"}])
    handlers = [{"id": name, "serialize": {"as": "json"}} for name in ("one", "two")]
    with Capture(response=PLAIN) as capture:
        response = code.send(line, capture.url(), serialize={"as": "json"}, handlers=handlers)
    assert code.count("retry") == 1 and response["error"]["code"] == 1310
    assert response["error"]["data"]["originalError"]["code"] == 1704
    assert [one["error"]["code"] for one in response["results"]] == [1310, 1310]


def test_a_cancelled_request_asks_no_retrier(line):
    """[3.H.35]"""
    with Capture(response=HELD) as capture:
        always = {"callback": "always", "asks": RETRY}
        handle = result(line.call("data.start", {"url": capture.url(), "interceptors": [always]}))["request"]
        capture.take()
        reply, callbacks = call_with_code(line, "request.cancel", {"request": handle}, {})
        assert result(reply)["state"] == "cancelled" and not callbacks
        reply, callbacks = call_with_code(line, "request.wait", {"request": handle}, {})
        assert result(reply)["error"]["code"] == 1900 and not callbacks
