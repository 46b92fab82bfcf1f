# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Detached requests: they belong to their user, and their secrets to the connection that gave them."""

import contract
import pytest
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def listed(wire, **params):
    return result(wire.call("request.list", params))["requests"]


SECRET = "hidden-in-the-open"


def detached(wire, url, **more):
    params = {"url": url, "headers": {"Authorization": f"Bearer {SECRET}"}, "detach": True, **more}
    return result(wire.call("data.start", params))["request"]


def test_a_detached_request_outlives_its_connection_and_is_adopted(listening, home):
    """A handle is all that it takes, and adopting takes nothing away. [F20]"""
    with contract.Wire(listening) as first:
        params = {"url": home.url(), "startImmediately": False}
        handle = result(first.call("data.start", params))["request"]
        assert result(first.call("request.detach", {"request": handle}))["state"] == "created"
        assert result(first.call("request.get", {"request": handle}))["detached"] is True
    with contract.Wire(listening) as second:
        assert result(second.call("request.adopt", {"request": handle}))["state"] == "created"
        assert [one["request"] for one in listed(second, scope="detached")] == [handle]
        second.call("request.resume", {"request": handle})
        assert result(second.call("request.wait", {"request": handle}))["ok"]
        with contract.Wire(listening) as third:
            assert result(third.call("request.get", {"request": handle}))["state"] == "finished"
            assert listed(third, scope="all") == []
        assert result(second.call("request.forget", {"request": handle})) == {}
        assert second.call("request.get", {"request": handle})["error"]["code"] == -32012


@pytest.mark.parametrize("method", ["stream.open", "sse.open", "websocket.open"])
def test_a_request_with_a_stream_is_not_detached(listening, home, method):
    """It ends with the connection that reads the stream. [F20]"""
    with contract.Wire(listening) as wire:
        made = result(wire.call(method, {"url": home.url(), "startImmediately": False}))
        error = wire.call("request.detach", {"request": made["request"]})["error"]
        assert (error["code"], error["data"]) == (-32013, {"pointer": "/request", "state": "streaming"})
        assert result(wire.call("request.get", {"request": made["request"]}))["detached"] is False


def test_another_connection_sees_a_detached_request_only_by_its_handle_or_its_name(listening, home):
    """Neither a list nor an export of everything tells of it. [F20]"""
    with contract.Wire(listening) as first, contract.Wire(listening) as second:
        handle = detached(first, home.url(), name="nightly")
        result(first.call("request.wait", {"request": handle}))
        assert [one["request"] for one in listed(first, scope="detached")] == [handle]
        for scope in ("connection", "detached", "all"):
            assert listed(second, scope=scope) == []
        assert result(second.call("har.export", {}))["entries"] == 0
        for name in (handle, "nightly"):
            known = result(second.call("request.get", {"request": name}))
            assert (known["request"], known["name"], known["detached"]) == (handle, "nightly", True)
        assert second.call("request.get", {"request": "weekly"})["error"]["code"] == -32012
        taken = second.call("data.start", {"url": home.url(), "detach": True, "name": "nightly"})
        assert taken["error"]["data"]["pointer"] == "/name"


def refused_in_silence(wire, method, params):
    """The error of a call that wants events; checks that none came, neither before the error nor soon after it."""
    number = wire.start(method, {**params, "events": True})
    error, fence = None, None
    while fence is None or error["id"] != fence:
        error = wire.receive()
        assert "method" not in error, error
        if error["id"] == number:
            refusal = error["error"]
            fence = wire.start("diagnostics.sleep", {"seconds": 0.05})
    return refusal


def test_a_request_that_is_refused_has_no_events(listening, home):
    """No reply names its handle, so a client could not tell what the events are about."""
    with contract.Wire(listening) as wire:
        detached(wire, home.url(), name="nightly")
        params = {"url": home.url(), "detach": True, "name": "nightly"}
        assert refused_in_silence(wire, "data.start", params)["data"]["pointer"] == "/name"
        for _ in range(256):
            result(wire.call("diagnostics.stream", {"bytes": 1}))
        for method in ("stream.open", "sse.open"):
            assert refused_in_silence(wire, method, {"url": home.url()})["data"]["what"] == "streams"
        address = home.url().split("/")[2].split(":")
        params = {"host": address[0], "port": int(address[1])}
        assert refused_in_silence(wire, "tcp.open", params)["data"]["what"] == "streams"


def test_the_name_of_a_request_counts_once_it_is_detached(listening, home):
    with contract.Wire(listening) as first, contract.Wire(listening) as second:
        handle = result(first.call("data.start", {"url": home.url(), "name": "later"}))["request"]
        assert second.call("request.get", {"request": "later"})["error"]["code"] == -32012
        result(first.call("request.detach", {"request": handle}))
        assert result(second.call("request.get", {"request": "later"}))["request"] == handle
        result(first.call("request.forget", {"request": handle}))


def test_adopting_a_request_takes_nothing_away_from_its_owner(listening, home):
    """[F20]"""
    with contract.Wire(listening) as first:
        handle = detached(first, home.url(), startImmediately=False)
        with contract.Wire(listening) as second:
            result(second.call("request.adopt", {"request": handle}))
            assert [one["request"] for one in listed(second, scope="detached")] == [handle]
            # a share can be given up without the other one
            assert result(second.call("request.forget", {"request": handle})) == {}
            assert listed(second, scope="all") == []
            result(second.call("request.adopt", {"request": handle}))
        assert [one["request"] for one in listed(first, scope="detached")] == [handle]
        result(first.call("request.resume", {"request": handle}))
        assert result(first.call("request.wait", {"request": handle}))["ok"]
        result(first.call("request.forget", {"request": handle}))
        assert first.call("request.get", {"request": handle})["error"]["code"] == -32012


def test_secrets_of_a_request_are_shown_to_the_connection_that_gave_them_alone(listening, home):
    """By every method that shows a request; what came of it is masked the same way. [F20]"""
    with contract.Wire(listening) as first, contract.Wire(listening) as second:
        url = home.url(f"/echo?access_token={SECRET}")
        params = {"events": True, "bodyTo": "discard"}
        handle = detached(first, url, **params)
        result(first.call("request.wait", {"request": handle}))
        result(second.call("request.adopt", {"request": handle}))
        one = {"request": handle}
        refused = [
            ("request.curl", {**one, "secrets": True}),
            ("request.describe", {**one, "secrets": True}),
            ("har.export", {"requests": [handle], "secrets": True}),
            ("response.serialize", {"response": handle, "reperform": True}),
        ]
        for method, params in refused:
            error = second.call(method, params)["error"]
            assert error["code"] == -32014 and SECRET not in str(error), (method, error)
            if method != "response.serialize":
                assert SECRET in str(result(first.call(method, params)))
        shown = [
            ("request.get", one), ("request.list", {"scope": "all"}), ("request.wait", one), ("request.curl", one),
            ("request.wait", {**one, "until": "response"}), ("request.describe", one), ("request.cancel", one),
            ("har.export", {"requests": [handle]}), ("events.next", {**one, "wait": 0}),
        ]
        for method, params in shown:
            assert SECRET not in str(result(second.call(method, params))), method
        assert SECRET in str(result(first.call("request.get", one)))
        # coming for the events took none of the owner's
        theirs = result(first.call("events.next", {**one, "wait": 0}))["events"]
        assert [event["method"] for event in theirs][-1] == "event.finish" and SECRET in str(theirs)


def test_a_script_comes_back_for_its_request_by_name(listening, home):
    """[F20]"""
    with contract.Wire(listening) as first:
        detached(first, home.url("/slow"), name="nightly", events={"pull": True})
    with contract.Wire(listening) as second:
        assert result(second.call("request.wait", {"request": "nightly"}))["ok"]
        events = result(second.call("events.next", {"request": "nightly", "wait": 1}))["events"]
        assert events[-1]["method"] == "event.finish"
        result(second.call("request.forget", {"request": "nightly"}))
        assert second.call("request.get", {"request": "nightly"})["error"]["code"] == -32012
        detached(second, home.url(), name="nightly")
