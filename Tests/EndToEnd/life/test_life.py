# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The life of a request: redirects, retries, being held up, changing hands."""

import random
import urllib.parse

import contract
import pytest
from request_client import get, memory, result, stood_still, until

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def to(server, location, status=302, kind="to"):
    return server.url(f"/{kind}/{status}?{urllib.parse.quote(location, safe='')}")


# Redirects


def test_a_redirect_is_followed_told_and_listed(wire, home):
    """A redirect is told as it happens, and listed. [T7] [T8] [F15] [W2]"""
    number = wire.start("data.send", {"url": to(home, "/echo?a=1"), "events": True, "metrics": True})
    events, reply = until(wire, number)
    response = result(reply)
    assert response["ok"] and response["url"] == home.url("/echo?a=1") and response["attempts"] == 1
    assert response["redirects"] == [{"status": 302, "from": to(home, "/echo?a=1"), "url": home.url("/echo?a=1")}]
    redirect = next(one["params"] for one in events if one["method"] == "event.redirect")
    assert (redirect["status"], redirect["to"]) == (302, home.url("/echo?a=1"))
    states = [one["params"]["state"] for one in events if one["method"] == "event.state"]
    assert states == ["created", "resumed", "sent", "responded", "finished"]
    # its short body was read, so the connection was used again
    assert [one["reused"] for one in response["metrics"]["attempts"]][-1] is True
    assert len({one["port"] for one in home.seen}) == 1
    known = result(wire.call("request.get", {"request": response["request"]}))
    assert [(one["attempt"], one["status"]) for one in known["requests"]] == [(1, 302), (1, 200)]
    assert known["redirects"] == response["redirects"] and len(known["metrics"]) == 2


def test_with_none_the_redirect_is_the_response(wire, home):
    response = get(wire, to(home, "/echo"), redirect="none")
    assert response["ok"] and response["status"] == 302 and response["redirects"] == []
    assert home.counts["/echo"] == 0


SECRETS = {"Authorization": "Bearer s", "Cookie": "a=b", "X-Api-Key": "s", "Proxy": "s", "X-Own": "1"}
KEPT = {"accept", "accept-encoding", "accept-language", "user-agent", "host"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("shape", ["port", "host", "later", "back"])
def test_nothing_secret_reaches_another_origin(wire, home, away, status, shape):
    ways = {
        "port": to(home, away.url(), status),
        "host": to(home, home.url(host="localhost"), status),
        "later": to(home, to(home, away.url(), status), status),
        "back": to(home, to(away, home.url(), status), status),
    }
    response = get(wire, ways[shape], headers={**SECRETS, "Accept": "a/b"})
    dropped = response["redirects"][-2 if shape == "back" else -1]["dropped"]
    assert response["ok"] and {one.lower() for one in SECRETS} <= {one.lower() for one in dropped}
    assert set(response["body"]["json"]["headers"]) <= KEPT
    for one in away.seen:
        assert set(one["headers"]) <= KEPT


def test_marked_headers_go_along_and_others_do_not(wire, home, away):
    response = get(wire, to(home, away.url()), headers=SECRETS, redirect={"keepHeaders": ["x-own"]})
    assert set(response["body"]["json"]["headers"]) <= KEPT | {"x-own"}
    assert "x-own" in response["body"]["json"]["headers"]


def test_a_body_stays_at_home_unless_it_may_leave(wire, home, away):
    params = {"method": "PUT", "body": {"text": "secret"}}
    refused = get(wire, to(home, away.url(), 307), **params)
    assert refused["error"]["code"] == 1414 and refused["status"] == 307 and not away.seen
    response = get(wire, to(home, away.url(), 307), redirect={"keepBody": True}, **params)
    assert response["body"]["json"]["body"] == "secret" and response["body"]["json"]["method"] == "PUT"
    assert get(wire, to(home, "/echo", 307), **params)["body"]["json"]["body"] == "secret"


def test_a_file_is_read_again_for_a_redirect(wire, home, tmp_path):
    path = tmp_path / "body"
    path.write_bytes(b"x" * 300_000)
    response = get(wire, to(home, "/echo", 308), method="POST", body={"file": str(path)}, maxInline=1 << 20)
    assert len(response["body"]["json"]["body"]) == 300_000


@pytest.mark.parametrize(("location", "code"), [
    ("file:///etc/passwd", 1413), ("ftp://127.0.0.1/", 1413), ("javascript:alert(1)", 1413), ("ws://127.0.0.1/", 1413),
    ("http://127.0.0.1:99999/", 1414), ("http://u:p@127.0.0.1/", 1414), ("http://", 1414),
    ("http+unix://%2Ftmp%2Fx.sock/", 1414), ("http://169.254.169.254/latest/meta-data/", 1414), ("http://a b/", 1414),
])
def test_where_must_not_be_gone_is_not_gone(wire, home, location, code):
    response = get(wire, to(home, location))
    assert response["error"]["code"] == code and response["status"] == 302 and "pointer" not in response["error"]


def test_a_loop_ends(wire, home):
    response = get(wire, home.url("/around"), redirect={"max": 5})
    assert response["error"]["code"] == 1407 and len(response["redirects"]) == 5
    home.counts.clear()
    assert get(wire, home.url("/around"))["error"]["code"] == 1407
    assert home.counts["/around"] == 21


def test_a_long_or_silent_body_does_not_hold_a_redirect_up(wire, home):
    assert get(wire, to(home, "/echo", kind="big"))["ok"]
    assert get(wire, to(home, "/echo", kind="silent"), 5)["ok"]


def test_redirects_share_the_time_of_their_attempt(wire, home):
    response = get(wire, to(home, to(home, "/silent/302?/echo"), kind="silent"), timeout=0.3)
    assert response["error"]["code"] == 1405


# Retries


def test_what_dies_is_sent_again(wire, home):
    """Each attempt is told, and known afterwards. [F13] [W3]"""
    number = wire.start("data.send", {"url": home.url("/dies/2"), "retry": {"scale": 0.01}, "events": True,
                                      "metrics": True})
    events, reply = until(wire, number)
    response = result(reply)
    assert response["ok"] and response["attempts"] == 3 and home.counts["/dies/2"] == 3
    retries = [one["params"] for one in events if one["method"] == "event.retry"]
    told = [(one["attempt"], one["delay"], one["error"]["code"]) for one in retries]
    assert told == [(1, 0.01, 1404), (2, 0.02, 1404)]
    states = [one["params"]["state"] for one in events if one["method"] == "event.state"]
    assert states == ["created", "resumed", "sent", "retrying", "sent", "retrying", "sent", "responded", "finished"]
    assert len(response["metrics"]["attempts"]) == 3
    known = result(wire.call("request.get", {"request": response["request"]}))
    assert [one["attempt"] for one in known["requests"]] == [1, 2, 3] and known["retries"] == 2


@pytest.mark.parametrize("retry", [None, True, {"limit": 5}, "connectionLost"])
def test_a_post_is_never_sent_twice(wire, home, retry):
    params = {"retry": retry} if retry is not None else {}
    response = get(wire, home.url("/dies/9"), method="POST", body={"text": "pay"}, **params)
    assert response["error"]["code"] == 1404 and home.counts["/dies/9"] == 1


def test_a_post_is_sent_again_where_that_was_said(wire, home):
    response = get(wire, home.url("/dies/1"), method="POST", body={"text": "x"},
                 retry={"methods": ["POST"], "scale": 0})
    assert response["ok"] and [one["body"] for one in home.seen] == ["x", "x"]


def test_a_status_is_repeated_where_that_was_said(wire, home):
    assert get(wire, home.url("/fails/1/503"), retry={"scale": 0, "onStatus": False})["status"] == 503
    home.counts.clear()
    response = get(wire, home.url("/fails/1/503"), retry={"scale": 0})
    assert response["status"] == 200 and response["attempts"] == 2
    limited = {"scale": 0, "statuses": [429], "maxRetryAfter": 1}
    assert get(wire, home.url("/fails/1/429?9"), retry=limited)["attempts"] == 1


def test_cancelled_during_the_delay_it_ends_at_once(wire, home):
    number = wire.start("data.start", {"url": home.url("/dies/9"), "retry": {"scale": 60}, "events": True})
    handle = wire.reply(number)["result"]["request"]
    while wire.receive()["method"] != "event.retry":
        pass
    assert result(wire.call("request.get", {"request": handle}))["state"] == "retrying"
    cancelled = wire.start("request.cancel", {"request": handle})
    messages = [wire.receive(3) for _ in range(3)]
    assert {one.get("id") for one in messages} == {None, cancelled}
    finishes = [one for one in messages if one.get("method") == "event.finish"]
    assert len(finishes) == 1 and finishes[0]["params"]["response"]["error"]["code"] == 1900
    with pytest.raises(TimeoutError):
        wire.receive(0.2)


# Held up


def test_a_suspended_request_reads_no_more(wire, home):
    size = 64 << 20
    number = wire.start("data.start", {"url": home.url(f"/many/{size}"), "bodyTo": "file", "timeout": {"idle": 3}})
    handle = wire.reply(number)["result"]["request"]
    result(wire.call("request.wait", {"request": handle, "until": "response"}))
    assert result(wire.call("request.suspend", {"request": handle}))["state"] == "suspended"
    before = result(wire.call("request.wait", {"request": handle, "timeout": 0.1}))
    assert before == {"pending": True, "state": "suspended"}
    written, received = stood_still(lambda: home.written), progress(wire, handle)
    used = memory(wire)
    # longer than the idle timeout, which stands still
    assert result(wire.call("request.wait", {"request": handle, "timeout": 3.3}))["pending"]
    assert home.written == written < size and progress(wire, handle) == received
    assert memory(wire) - used < 8 << 20
    for _ in range(3):
        wire.call("request.resume", {"request": handle})
    response = result(wire.call("request.wait", {"request": handle}, 30))
    assert response["ok"] and response["body"]["size"] == size


def test_a_suspended_upload_sends_no_more(wire, home, tmp_path):
    path, size = tmp_path / "body", 48 << 20
    path.write_bytes(bytes(size))
    params = {"url": home.url("/slow"), "method": "PUT", "body": {"file": str(path)}, "timeout": {"idle": 3}}
    handle = result(wire.call("data.start", params))["request"]
    while home.read < 1 << 20:
        assert result(wire.call("request.wait", {"request": handle, "timeout": 0.01}))["pending"]
    result(wire.call("request.suspend", {"request": handle}))
    # what the kernel had taken may still arrive
    read = stood_still(lambda: home.read)
    assert result(wire.call("request.wait", {"request": handle, "timeout": 2.3}))["state"] == "suspended"
    assert home.read == read < size
    wire.call("request.resume", {"request": handle})
    assert result(wire.call("request.wait", {"request": handle}, 60))["body"]["text"] == "taken"
    assert home.read == size


def progress(wire, handle):
    return result(wire.call("request.get", {"request": handle}))["progress"]["received"]


def test_what_does_not_start_waits_to_be_resumed(wire, home):
    number = wire.start("data.start", {"url": home.url(), "startImmediately": False, "events": ["state", "finish"]})
    handle = wire.reply(number)["result"]["request"]
    assert result(wire.call("request.get", {"request": handle}))["state"] == "created"
    assert not home.seen
    calls = [wire.start("request.resume", {"request": handle}) for _ in range(20)]
    names = []
    while len(names) < 6:
        message = wire.receive()
        if "method" in message:
            names.append(message["params"].get("state", message["method"]))
        else:
            calls.remove(message["id"])
    assert names == ["created", "resumed", "sent", "responded", "finished", "event.finish"]
    assert len(home.seen) == 1


def test_nobody_could_resume_what_a_call_waits_for(wire, home):
    error = wire.call("data.send", {"url": home.url(), "startImmediately": False})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == "/startImmediately"


def test_any_order_of_holding_and_cancelling_ends_once(wire, home):
    """There is one ending in any order. [F18] [F7]"""
    random.seed(3)
    for _ in range(40):
        number = wire.start("data.start", {"url": home.url("/dies/2"), "events": ["finish"], "retry": {"scale": 0.001}})
        handle = wire.reply(number)["result"]["request"]
        methods = random.choices(["suspend", "resume", "cancel"], [5, 5, 1], k=random.randint(0, 6)) + ["resume"]
        left = {wire.start(f"request.{name}", {"request": handle}) for name in methods}
        ends = 0
        while left or not ends:
            message = wire.receive()
            if "method" in message:
                ends += message["method"] == "event.finish"
            else:
                left.discard(message["id"])
        assert ends == 1
        home.counts.clear()
    assert wire.call("server.stats")["result"]["requests"]["running"] == 0


# Owners


def test_on_stdio_nothing_is_detached(wire, home):
    handle = result(wire.call("data.start", {"url": home.url()}))["request"]
    assert wire.call("request.detach", {"request": handle})["error"]["code"] == -32014


def test_times_add_up(wire, home):
    """What a request took is known with its end; phases make attempts, and attempts the whole. [F17]"""
    get(wire, home.url())
    phases = ("queue", "dns", "connect", "tls", "request", "firstByte", "response")
    for path, attempts in (("/echo", 1), ("/many/3000000", 1), ("/to/302?%2Fecho", 2), ("/dies/1", 2)):
        home.written = 0
        metrics = get(wire, home.url(path), metrics=True, bodyTo="discard", retry={"scale": 0})["metrics"]
        # an idle connection that died in the meantime is no attempt of its own
        assert len(metrics["attempts"]) in (attempts, attempts - (path == "/dies/1"))
        for one in metrics["attempts"]:
            assert abs(sum(one.get(name, 0) for name in phases) - one["total"]) < 0.001
        last = metrics["attempts"][-1]
        assert last["bytesReceived"] > last["bodyBytes"] > 0 and last["bytesSent"] > 0
        assert sum(one["total"] for one in metrics["attempts"]) <= metrics["total"] + 0.001


def test_what_validation_refuses_is_repeated(wire, home):
    """Three attempts, then the failure of the validation; its response is there. [K6] [J7]"""
    response = get(wire, home.url("/fails/9/500"), validate=True, retry={"scale": 0.001, "onStatus": False})
    assert response["error"]["code"] == 1600 and response["status"] == 500 and response["attempts"] == 3
    assert home.counts["/fails/9/500"] == 3 and response["body"]["text"] == "busy"


def test_a_body_in_the_wrong_shape_is_repeated_where_that_was_said(wire, home):
    """The failure of the serializer is shown to the retriers. [H12]"""
    retry = {"scale": 0.001, "errors": ["jsonSerializationFailed"]}
    response = get(wire, home.url("/fails/9/200"), serialize={"as": "json"}, retry=retry)
    assert response["error"]["code"] == 1704 and response["attempts"] == 3


def test_many_requests_are_listed_in_their_order(wire):
    waiting = {"url": "http://127.0.0.1:1/", "startImmediately": False}
    made = [result(wire.call("data.start", {**waiting, "tag": str(number % 2)}))["request"] for number in range(150)]
    for params, expected in (({}, made), ({"tag": "1"}, made[1::2]), ({"state": "finished"}, [])):
        assert [one["request"] for one in result(wire.call("request.list", params))["requests"]] == expected
