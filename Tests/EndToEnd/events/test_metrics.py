# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What the service counts: for people in `server.stats`, for machines in the text format of Prometheus."""

import json

import contract
import prometheus
import pytest
from callback_client import converse
from request_client import get, result
from shell import outrider
from subscription_client import subscribe

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def metrics(wire):
    found = result(wire.call("server.metrics"))
    assert found["contentType"] == "text/plain; version=0.0.4; charset=utf-8"
    return prometheus.parse(found["text"])


def test_a_new_service_counts_nothing(wire):
    found = metrics(wire)
    for name, family in found.items():
        if family["type"] == "counter" and "client" not in name and name not in ("outrider_calls_total",):
            assert all(number == 0 for _, _, number in family["samples"]), name
    states = {labels["state"] for _, labels, _ in found["outrider_requests"]["samples"]}
    assert states == {"created", "resumed", "adapted", "sent", "responded", "suspended", "retrying"}


def test_requests_are_counted_by_how_they_end(wire, origin):
    for path in ("/json", "/json", "/status/404", "/status/503", "/redirect/2"):
        get(wire, origin + path)
    get(wire, origin + "/status/500", validate=True, retry={"limit": 1, "scale": 0.01})
    get(wire, "http://127.0.0.1:1/")
    get(wire, "nothing://127.0.0.1/")
    found = metrics(wire)

    def value(name, **labels):
        return prometheus.value(found, name, **labels)

    assert value("outrider_requests_total") == 8
    assert value("outrider_responses_total", **{"class": "2xx"}) == 3
    assert value("outrider_responses_total", **{"class": "4xx"}) == 1
    assert value("outrider_responses_total", **{"class": "5xx"}) == 2
    failed = {labels["code"]: number for _, labels, number in found["outrider_requests_failed_total"]["samples"]}
    assert failed["1402"] == 1 and failed["1600"] == 1 and sum(failed.values()) == 3
    assert value("outrider_attempts_total") == 8 and value("outrider_redirects_total") == 2
    # 2 + 1 + 1 + 3 + 2 sendings reached the origin, all but the first on its connection; one found no listener
    assert value("outrider_sends_total", connection="opened") + value("outrider_sends_total", connection="reused") == 9
    assert value("outrider_sends_total", connection="reused") >= 7
    assert value("outrider_sends_total", connection="none") == 1
    assert value("outrider_request_duration_seconds_count") == 8
    assert value("outrider_phase_duration_seconds_count", phase="response") == 9
    assert value("outrider_phase_duration_seconds_count", phase="tls") == 0
    assert value("outrider_server_bytes_total", direction="received") > 500
    assert value("outrider_body_bytes_total") > 16
    stats = result(wire.call("server.stats"))
    assert stats["requests"]["total"] == 8 and stats["requests"]["failed"] == 3 and stats["requests"]["attempts"] == 8
    assert stats["pool"]["opened"] + stats["pool"]["reused"] == 9


def test_requests_under_way_are_counted_by_state(wire, server):
    held = result(wire.call("data.start", {"url": server.url("/fine"), "startImmediately": False}))["request"]
    sent = result(wire.call("data.start", {"url": server.url("/stall/head")}))["request"]
    server.wait_for("/stall/head")
    states = result(wire.call("server.stats"))["requests"]["states"]
    assert (states["created"], states["sent"], states["suspended"]) == (1, 1, 0)
    result(wire.call("request.suspend", {"request": sent}))
    assert prometheus.value(metrics(wire), "outrider_requests", state="suspended") == 1
    for request in (held, sent):
        wire.call("request.cancel", {"request": request})
        wire.call("request.wait", {"request": request})
    assert set(result(wire.call("server.stats"))["requests"]["states"].values()) == {0}


def test_callbacks_are_counted(wire, origin):
    params = {"url": origin + "/json", "validate": {"callback": "mine", "timeout": 5}}
    converse(wire, "data.send", params, {"validate": lambda params: {"valid": True}})
    number = wire.start("data.send", {**params, "validate": {"callback": "mine", "timeout": 0.2}})
    while "method" in wire.receive():
        pass
    assert number
    found = metrics(wire)
    assert prometheus.value(found, "outrider_callbacks_asked_total") == 2
    assert prometheus.value(found, "outrider_callbacks_answered_total") == 1
    assert prometheus.value(found, "outrider_callbacks_failed_total", error="callbackTimedOut") == 1
    assert prometheus.value(found, "outrider_callback_duration_seconds_count") == 1
    assert result(wire.call("server.stats"))["callbacks"] == {"asked": 2, "answered": 1, "failed": 1}


def test_what_subscriptions_drop_is_counted(wire, server):
    subscribe(wire, "request.finished", pull=True, queue=1)
    for _ in range(4):
        get(wire, server.url("/fine"))
    assert prometheus.value(metrics(wire), "outrider_events_dropped_total", queue="subscription") == 3
    assert prometheus.value(metrics(wire), "outrider_subscriptions") == 1
    assert result(wire.call("server.stats"))["events"]["dropped"] == 3


def test_counters_never_fall(wire, server):
    def counters():
        return {
            (name, tuple(labels.items())): number
            for family in metrics(wire).values() if family["type"] == "counter"
            for name, labels, number in family["samples"]
        }

    before = counters()
    for _ in range(10):
        get(wire, server.url("/fine"))
        after = counters()
        assert all(after[key] >= number for key, number in before.items())
        before = after


# The command


def test_a_shell_gets_the_counts(service, origin):
    done = outrider("stats", "--socket", service)
    stats = json.loads(done.stdout)
    assert done.returncode == 0 and stats["connections"] >= 1
    done = outrider("stats", "--prometheus", "--socket", service)
    assert done.returncode == 0 and "outrider_requests_total" in prometheus.parse(done.stdout.decode())


def test_a_shell_hears_that_there_is_no_service(tmp_path):
    done = outrider("stats", "--socket", str(tmp_path / "none"))
    assert done.returncode == 3 and done.stdout == b"" and done.stderr
