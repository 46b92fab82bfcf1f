# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Sessions, interceptors and the life of requests, as Alamofire has them, against servers on loopback."""

import contract
import pytest
from capture_server import Capture
from code_client import Refused, call_with_code
from request_client import get, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def line():
    with contract.Wire() as line:
        yield line


def create(line, **settings):
    return result(line.call("session.create", settings))["session"]


def start(line, url, **params):
    return result(line.call("data.start", {"url": url, **params}))["request"]


def wait(line, handle, seconds=10.0):
    return result(line.call("request.wait", {"request": handle}, seconds))


# Sessions


def test_the_default_session_is_always_there(line):
    """It adds nothing, and remembers nothing. [A1] [A6]"""
    session = result(line.call("session.get"))
    assert session["session"] == "default" and session["headers"] == [] and session["interceptors"] == []
    assert session["startImmediately"] is True
    with Capture() as capture:
        assert get(line, capture.url(), session="default")["ok"]
        assert capture.take().first("Cookie") is None


def test_a_session_has_settings_with_defaults(line):
    """[A2] [A7]"""
    settings = {
        "name": "api", "headers": {"X-Api": "1"}, "timeout": {"total": 7}, "connectionsPerHost": 2,
        "startImmediately": False, "interceptors": [{"query": {"v": 2}}],
    }  # fmt: skip
    session = create(line, **settings)
    told = result(line.call("session.get", {"session": session}))
    assert told["name"] == "api" and told["connectionsPerHost"] == 2 and told["startImmediately"] is False
    assert told["headers"] == [{"name": "X-Api", "value": "1"}] and told["timeout"]["total"] == 7
    assert len(told["interceptors"]) == 1
    plain = result(line.call("session.get", {"session": create(line)}))
    assert plain["connectionsPerHost"] == 64 and plain["startImmediately"] is True


def test_fields_of_a_session_reach_the_server(line, bin):
    """Those of the request come first; each session has its own. [3.C.11] [3.S.4] [D8] [A18]"""
    one = create(line, headers={"X-One": "123456", "Accept-Language": "en-US"})
    two = create(line, headers={"X-Two": "2"})
    echo = get(line, bin + "/headers", session=one, headers={"Accept-Language": "en-GB"})["body"]["json"]["headers"]
    assert echo["X-One"] == "123456" and echo["Accept-Language"] == "en-GB" and "X-Two" not in echo
    echo = get(line, bin + "/headers", session=two)["body"]["json"]["headers"]
    assert echo["X-Two"] == "2" and "X-One" not in echo


FORM = "application/x-www-form-urlencoded; charset=utf-8"
TYPED = {
    "form": ({"body": {"form": {"a": 1}}}, FORM),
    "parameters": ({"parameters": {"a": 1}}, FORM),
    "property list": ({"parameters": {"a": 1}, "encoding": "propertyList"}, "application/x-plist"),
    "own type": ({"body": {"text": "a,b", "contentType": "text/csv"}}, "text/csv"),
    "own field": ({"body": {"form": {"a": 1}}, "headers": {"content-type": "x/y"}}, "x/y"),
    "form in the query": ({"parameters": {"a": 1}, "encoding": {"destination": "queryString"}}, None),
    "text": ({"body": {"text": "{}"}}, None),
    "no body": ({}, None),
}


@pytest.mark.parametrize("kind", TYPED)
@pytest.mark.parametrize("session", ["application/vnd.api+json", "text/plain"])
def test_a_body_with_a_type_keeps_it_in_a_session_with_another(line, kind, session):
    """The session's type is a default. [C17] [D8]"""
    params, expected = TYPED[kind]
    handle = create(line, headers={"Content-Type": session})
    built = result(line.call("request.build", {"url": "http://h/", "method": "POST", "session": handle, **params}))
    types = [field["value"] for field in built["headers"] if field["name"].lower() == "content-type"]
    assert types == [expected or session]


@pytest.mark.parametrize("session, expected", [("application/vnd.api+json",) * 2, ("text/plain", "application/json")])
def test_json_may_have_the_sessions_type_of_json(line, session, expected):
    """[C19]"""
    handle = create(line, headers={"Content-Type": session})
    for params in ({"body": {"json": 1}}, {"parameters": {"a": 1}, "encoding": "json"}):
        built = result(line.call("request.build", {"url": "http://h/", "method": "POST", "session": handle, **params}))
        assert {"name": "Content-Type", "value": expected} in built["headers"]


def test_a_request_waits_to_be_resumed(line, bin):
    """As the session says, unless the request says otherwise. [A8] [F5]"""
    session = create(line, startImmediately=False)
    waiting = start(line, bin + "/get", session=session)
    assert result(line.call("request.get", {"request": waiting}))["attempts"] == 0
    assert wait(line, start(line, bin + "/get", session=session, startImmediately=True))["ok"]
    assert result(line.call("request.get", {"request": waiting}))["attempts"] == 0
    result(line.call("request.resume", {"request": waiting}))
    assert wait(line, waiting)["ok"]
    never = start(line, bin + "/get", startImmediately=False)
    result(line.call("request.cancel", {"request": never}))
    ended = wait(line, never)
    assert ended["error"]["code"] == 1900 and ended["attempts"] == 0 and "status" not in ended


def test_all_requests_of_a_session_can_be_cancelled(line, bin):
    """[A10] [A11] [A14] [F8]"""
    session = create(line)
    handles = [start(line, bin + "/delay/10", session=session) for _ in range(20)]
    assert result(line.call("session.cancelAll", {"session": session}))["cancelled"] == 20
    assert [wait(line, handle)["error"]["code"] for handle in handles] == [1900] * 20
    assert result(line.call("server.stats"))["requests"]["running"] == 0


def test_a_session_can_be_closed(line, bin):
    """Its requests end with it, and it is known no more. [A12] [A13]"""
    session = create(line)
    handle = start(line, bin + "/delay/10", session=session)
    result(line.call("session.close", {"session": session}))
    assert wait(line, handle)["error"]["code"] == 1902
    assert line.call("data.send", {"url": bin + "/get", "session": session})["error"]["code"] == -32012


# Adapters


def test_adapters_run_in_order(line):
    """The session's first; each sees what those before it did. [J1] [J2] [J12] [F14] [E5] [B7]"""
    session = create(line, interceptors=[{"headers": {"X-A": "1"}}, {"callback": "second"}])

    def adapt(params):
        seen.append([params["callback"], {field["name"]: field["value"] for field in params["headers"]}.get("X-A")])
        return {"headers": {"X-A": params["callback"]}}

    seen = []
    with Capture() as capture:
        params = {"url": capture.url(), "session": session, "interceptors": [{"callback": "third"}]}
        assert result(call_with_code(line, "data.send", params, {"callback.adapt": adapt})[0])["ok"]
        assert capture.take().first("X-A") == b"third"
    assert seen == [["second", "1"], ["third", "second"]]


def test_interceptors_are_made_of_parts(line):
    """Chains of what is named and what is written there. [J11]"""
    named = result(line.call("interceptor.create", {"interceptor": {"query": {"a": 1}}}))["interceptor"]
    inner = {"chain": [{"headers": {"X-B": "2"}}, {"query": {"b": 2}}]}
    chain = result(line.call("interceptor.create", {"interceptor": {"chain": [named, inner]}}))["interceptor"]
    with Capture() as capture:
        assert get(line, capture.url(), interceptors=[chain, {"bearer": "t"}])["ok"]
        request = capture.take()
    assert request.line.startswith(b"GET /?a=1&b=2 ") and request.first("X-B") == b"2"
    assert request.first("Authorization") == b"Bearer t"


def test_an_adapter_may_send_requests_of_its_own(line, bin):
    """In the same session, without being held up by itself. [J13]"""
    session = create(line, limits={"concurrent": 1})

    def adapt(params):
        number = line.start("data.send", {"url": bin + "/uuid"})
        while (message := line.receive()).get("id") != number:
            pass
        return {"headers": {"X-Token": result(message)["body"]["json"]["uuid"]}}

    params = {"url": bin + "/headers", "session": session, "interceptors": [{"callback": "token", "asks": ["adapt"]}]}
    reply, _ = call_with_code(line, "data.send", params, {"callback.adapt": adapt})
    assert len(result(reply)["body"]["json"]["headers"]["X-Token"]) == 36


def test_an_adapter_that_fails_stops_the_request(line):
    """[J1] [J2] [B13] [B14] [AB5]"""

    def refuse(params):
        raise Refused({"code": 7, "message": "no key"})

    params = {"url": "http://127.0.0.1:1/", "interceptors": [{"callback": "first"}, {"callback": "second"}]}
    functions = {"callback.adapt": refuse, "callback.retry": lambda params: {"retry": False}}
    reply, callbacks = call_with_code(line, "data.send", params, functions)
    error = result(reply)["error"]
    assert error["code"] == 1300 and error["kind"] == "requestAdaptationFailed" and "no key" in str(error)
    assert [name for name, _ in callbacks].count("callback.adapt") == 1
    # and the retriers are called about it
    assert "callback.retry" in [name for name, _ in callbacks]


def test_a_body_that_an_adapter_adds_to_a_get(line):
    """[3.D.7] [B10] [B12]"""
    params = {"url": "http://127.0.0.1:1/", "interceptors": [{"callback": "odd", "asks": ["adapt"]}]}
    reply, _ = call_with_code(line, "data.send", params, {"callback.adapt": lambda params: {"body": {"text": "x"}}})
    error = result(reply)["error"]
    assert error["code"] == 1300 and error["data"]["cause"]["code"] == 1102, error


# Retriers


def test_a_retrier_decides_and_adapters_run_anew(line):
    """[J3] [J4] [J5] [J7] [E2] [F13] [I14] [AB5]"""

    def adapt(params):
        return {"headers": {"X-Attempt": str(params["attempt"])}}

    def retry(params):
        retries.append([params["callback"], params["attempt"], params["error"]["code"]])
        return {"retry": params["callback"] == "willing" and params["attempt"] < 3, "delay": 0.001}

    retries = []
    with Capture(response=b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n") as capture:
        interceptors = [{"callback": "unwilling", "asks": ["retry"]}, {"callback": "willing"}]
        params = {"url": capture.url(), "validate": True, "interceptors": interceptors}
        reply, _ = call_with_code(line, "data.send", params, {"callback.adapt": adapt, "callback.retry": retry})
        assert [capture.take().first("X-Attempt") for _ in range(3)] == [b"1", b"2", b"3"]
    response = result(reply)
    assert response["attempts"] == 3 and response["error"]["code"] == 1600 and response["status"] == 503
    assert retries == [[who, attempt, 1600] for attempt in (1, 2, 3) for who in ("unwilling", "willing")]


def test_a_retrier_with_an_error_of_its_own(line, bin):
    """It becomes the failure, and wraps the one before; no other retrier is called. [J4] [J6] [AB5]"""
    functions = {"callback.retry": lambda params: {"retry": False, "error": "the token is gone"}}
    interceptors = [{"callback": name, "asks": ["retry"]} for name in ("first", "second")]
    params = {"url": bin + "/status/401", "validate": True, "interceptors": interceptors}
    reply, callbacks = call_with_code(line, "data.send", params, functions)
    error = result(reply)["error"]
    assert error["code"] == 1310 and error["kind"] == "requestRetryFailed" and "the token is gone" in str(error)
    assert error["data"]["originalError"]["code"] == 1600 and len(callbacks) == 1


def test_a_body_that_does_not_fit_is_shown_to_retriers(line, bin):
    """[H12] [J7]"""
    functions = {"callback.retry": lambda params: {"retry": False}}
    params = {"url": bin + "/xml", "serialize": {"as": "json"}, "interceptors": [{"callback": "x", "asks": ["retry"]}]}
    reply, [(_, callback)] = call_with_code(line, "data.send", params, functions)
    assert callback["error"]["code"] == 1704 and result(reply)["error"]["code"] == 1704


def test_a_cancelled_request_is_not_retried(line, bin):
    """Not even while the delay is awaited. [F10] [J7] [J9]"""
    handle = start(line, bin + "/status/503", validate=True, interceptors=[{"callback": "later", "asks": ["retry"]}])
    while "id" not in (message := line.receive()) or "method" not in message:
        pass
    line.send({"jsonrpc": "2.0", "id": message["id"], "result": {"retry": True, "delay": 3600}})
    result(line.call("request.cancel", {"request": handle}))
    ended = wait(line, handle)
    assert ended["error"]["code"] == 1900 and ended["attempts"] == 1


# The life of a request


def test_repeating_changes_nothing(line, bin):
    """Resuming, suspending and cancelling, before, while and after. [F2] [F4] [F7] [F9] [F18]"""
    handle = start(line, bin + "/delay/0.2", startImmediately=False)
    for method in ["request.resume"] * 5 + ["request.suspend"] * 5 + ["request.resume"] * 5:
        result(line.call(method, {"request": handle}))
    ended = wait(line, handle)
    assert ended["ok"] and ended["attempts"] == 1
    for _ in range(3):
        assert result(line.call("request.cancel", {"request": handle}))["state"] == "finished"
    assert wait(line, handle)["ok"]
    handle = start(line, bin + "/delay/10")
    for _ in range(3):
        assert result(line.call("request.cancel", {"request": handle}))["state"] == "cancelled"
    line.call("request.resume", {"request": handle})
    assert wait(line, handle)["error"]["code"] == 1900
    assert result(line.call("request.get", {"request": handle}))["state"] == "cancelled"


def test_the_client_can_stop_at_the_head(line, bin):
    """[F16] [A15] [W12]"""
    params = {"url": bin + "/bytes/1000", "disposition": {"callback": "big"}}
    refusing = {"callback.disposition": lambda params: {"allow": False}}
    reply, [(_, callback)] = call_with_code(line, "data.send", params, refusing)
    response = result(reply)
    assert callback["response"]["status"] == 200 and response["status"] == 200
    assert response["error"]["code"] == 1900 and response["body"]["size"] == 0
    reply, _ = call_with_code(line, "data.send", params, {"callback.disposition": lambda params: {"allow": True}})
    assert result(reply)["body"]["size"] == 1000


def test_basic_credentials(line, bin):
    """Sent without being asked for; wrong ones end as the response that came. [M1] [M2] [M4] [M5] [M6]"""
    right = {"basic": {"username": "user", "password": "password"}}
    assert get(line, bin + "/basic-auth/user/password", auth=right)["status"] == 200
    assert get(line, bin + "/hidden-basic-auth/user/password", auth=right)["status"] == 200
    wrong = {"basic": {"username": "user", "password": "no"}}
    response = get(line, bin + "/basic-auth/user/password", auth=wrong)
    assert response["ok"] and response["status"] == 401 and "error" not in response


# Events


def test_events_tell_all_that_happens(line, bin):
    """In order, a redirect and a retry among them. [W1] [W2] [W3] [W4] [W10] [F1] [F15] [F17]"""
    retry = {"callback": "once", "asks": ["retry"]}
    params = {"url": bin + "/redirect-to?url=/status/503", "validate": True, "events": True, "interceptors": [retry]}
    number, told, calls = line.start("data.start", params), [], 0
    handle = result(line.receive())["request"]
    while not told or told[-1]["method"] != "event.finish":
        message = line.receive()
        if "id" in message:
            calls += 1
            reply = {"retry": True, "delay": 0.001} if calls == 1 else {"retry": False}
            line.send({"jsonrpc": "2.0", "id": message["id"], "result": reply})
        elif message["method"] != "event.progress":
            told.append(message)
    assert number and calls == 2
    assert [event["params"]["request"] for event in told] == [handle] * len(told)
    names = [event["params"].get("state", event["method"]) for event in told]
    assert names[0] == "created" and names[-2:] == ["finished", "event.finish"]
    assert names.count("event.redirect") == 2 and names.count("event.retry") == 1
    assert names.index("event.redirect") < names.index("event.retry") < len(names) - 2
    ended = told[-1]["params"]["response"]
    assert ended["error"]["code"] == 1600 and ended["attempts"] == 2 and len(ended["redirects"]) == 1


def test_a_client_hears_what_it_asks_for(line, bin):
    """[W9] [W6]"""
    number = line.start(
        "data.send", {"url": bin + "/post", "method": "POST", "body": {"text": "x"}, "events": ["progress"]}
    )
    while "id" not in (message := line.receive()):
        assert message["method"] == "event.progress"
    assert message["id"] == number and result(message)["ok"]


# Redirects


def test_redirects(line, bin):
    """Followed or not, with a limit, and told of. [T1] [T2] [T4] [T6] [T8] [3.Q.2] [3.Q.6]"""
    response = get(line, bin + "/redirect/5")
    assert response["status"] == 200 and len(response["redirects"]) == 5
    response = get(line, bin + "/redirect/3")
    assert response["status"] == 200 and len(response["redirects"]) == 3 and response["url"] == bin + "/get"
    response = get(line, bin + "/redirect/3", redirect="none")
    assert response["ok"] and response["status"] == 302 and response["redirects"] == []
    assert response["url"] == bin + "/redirect/3"
    response = get(line, bin + "/redirect/3", redirect={"max": 2})
    assert response["error"]["code"] == 1407


def test_a_redirect_changes_the_method_as_it_should(line, bin):
    """303 and an old POST become a GET, 307 keeps all. [T5]"""
    body = {"text": "x"}
    for status, method in ((303, "GET"), (302, "GET"), (307, "POST"), (308, "POST")):
        url = f"{bin}/redirect-to?url=/anything&status_code={status}"
        echo = get(line, url, method="POST", body=body)["body"]["json"]
        assert echo["method"] == method and echo["data"] == ("x" if method == "POST" else "")


def test_the_clients_code_changes_a_redirect(line, bin):
    """[T2] [3.Q.1] [3.Q.3]"""
    url = bin + "/redirect-to?url=/get"
    assert get(line, url)["url"] == bin + "/get"
    changed = {"follow": True, "request": {"url": bin + "/patch", "method": "PATCH"}}
    params = {"url": url, "redirect": {"callback": "lead"}}
    response = result(call_with_code(line, "data.send", params, {"callback.redirect": lambda params: changed})[0])
    assert response["status"] == 200 and response["url"] == bin + "/patch" and response["method"] == "PATCH"


def test_the_rule_of_the_request_comes_first(line, bin):
    """[T3] [3.Q.5]"""
    session = create(line, redirect="none")
    assert get(line, bin + "/redirect/1", session=session)["status"] == 302
    assert get(line, bin + "/redirect/1", session=session, redirect="follow")["status"] == 200
