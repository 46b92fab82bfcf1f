# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What monitors are told of passwords, files, streams and sessions: in order, to the right ones, without secrets."""

import contract
import pytest
from callback_client import callback, reply_to, second
from digest_server import ADA, PASSWORD, USER, Guard, session
from download_client import SIZE, download, interrupted, server, to
from request_client import get, result
from stream_client import opened, read, response, whole
from subscription_client import pulled, subscribe, topics
from test_log import lines, log

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
__all__ = ["log", "server"]


def details(events):
    return [(event["topic"], event["detail"]) for event in events]


# Passwords


def test_each_step_of_saying_who_asks_is_told(wire):
    """A password that is wrong, one that is right, and one that is known already. [W2]"""
    subscription = subscribe(wire, "challenge.*", "credential.*", "callback.asked", pull=True)
    passwords = iter(["wrong", PASSWORD])
    with Guard("SHA-256") as guard:
        place = session(wire)
        number = wire.start("data.send", {"url": guard.url("/vault"), "session": place, "challenge": callback()})
        for password in passwords:
            reply_to(wire, wire.receive(), {"credential": {"username": USER, "password": password}})
        assert result(wire.reply(number))["status"] == 200
        get(wire, guard.url("/vault"), session=place)
    events = pulled(wire, subscription)
    challenged = ["challenge.received", "challenge.asked", "callback.asked", "credential.used"]
    refused = ["challenge.received", "credential.refused", "challenge.asked", "callback.asked", "credential.used"]
    assert topics(events) == [*challenged, *refused, "credential.accepted", "credential.used", "credential.accepted"]
    offers = [{"scheme": "digest", "realm": "the vault", "algorithm": "SHA-256"}]
    assert events[0]["detail"] == {"attempt": 1, "url": guard.url("/vault"), "offers": offers}
    said = {"attempt": 1, "scheme": "digest", "realm": "the vault", "username": USER, "unasked": False}
    assert details(events)[-4:-2] == [("credential.used", said), ("credential.accepted", said)]
    assert events[-2]["detail"] == {**said, "unasked": True}
    assert PASSWORD not in str(events)


def test_a_refusal_is_told_though_nobody_has_a_password(wire):
    subscription = subscribe(wire, "challenge.*", "credential.*", pull=True)
    with Guard() as guard:
        assert get(wire, guard.url("/vault"))["status"] == 401
    assert topics(pulled(wire, subscription)) == ["challenge.received"]


def test_a_request_that_waits_for_the_callback_of_another_is_told_of_as_well(wire):
    """[W2] [M15]"""
    subscription = subscribe(wire, "challenge.asked", "callback.asked", pull=True)
    with Guard() as guard:
        spec = {"url": guard.url("/vault"), "challenge": callback()}
        numbers = [wire.start("data.send", spec) for _ in range(5)]
        reply_to(wire, wire.receive(), {"credential": ADA})
        assert {result(reply)["status"] for reply in wire.replies(numbers).values()} == {200}
    told = topics(pulled(wire, subscription))
    assert told.count("callback.asked") == 1 and 1 <= told.count("challenge.asked") <= 5


def test_the_log_names_neither_users_nor_realms_nor_files(wire, log, server, tmp_path):
    wire.call("server.setLog", {"level": "trace", "to": "file", "path": str(log), "format": "json"})
    with Guard(realm="the CANARY", user="CANARY", password="CANARY") as guard:
        who = {"username": "CANARY", "password": "CANARY"}
        assert get(wire, guard.url("/vault"), auth=who)["status"] == 200
    assert download(wire, server.url("/fine"), destination=to(tmp_path / "CANARY"))["ok"]
    found = lines(log, lambda found: any("download.moved" in line for line in found))
    assert any("credential.accepted" in line for line in found) and "CANARY" not in "".join(found)


# Files


def test_a_download_is_told_from_its_file_to_its_name(wire, server, tmp_path):
    """What is kept, what it goes on with, that it is what it should be, and where it is. [W2] [W7]"""
    subscription = subscribe(wire, "download.*", pull=True)
    path = tmp_path / "file"
    interrupted(wire, server, "/fine", path, resume=True)
    kept = pulled(wire, subscription)
    assert topics(kept) == ["download.opened", "download.kept"]
    assert kept[0]["detail"]["completed"] == 0 and kept[0]["detail"]["path"].startswith(str(tmp_path))
    part = {"path": kept[0]["detail"]["path"], "completed": 300_000, "total": SIZE}
    assert kept[1]["detail"] == part
    wanted = {"checksum": {"sha-256": server.digest()}}
    assert download(wire, server.url("/fine"), destination=to(path), resume=True, **wanted)["ok"]
    assert details(pulled(wire, subscription)) == [
        ("download.opened", part),
        ("download.resumed", part),
        ("download.verified", {"attempt": 1}),
        ("download.moved", {"path": str(path), "size": SIZE}),
    ]


def test_a_file_that_is_not_what_it_should_be_is_told(wire, server, tmp_path):
    """[W7]"""
    subscription = subscribe(wire, "download.*", pull=True)
    wrong = {"checksum": {"sha-256": "0" * 64}}
    assert not download(wire, server.url("/fine"), destination=to(tmp_path / "file"), **wrong)["ok"]
    events = pulled(wire, subscription)
    assert topics(events) == ["download.opened", "download.verified"]
    assert events[1]["detail"]["error"]["reason"] == "checksumMismatch"


# Streams


def test_a_stream_is_told_from_its_opening_to_its_end(wire, origin):
    """Each piece, and that it waits for its client. [W5]"""
    subscription = subscribe(wire, "stream.*", pull=True)
    place = opened(wire, origin + "/bytes/300000", mode="pull")
    stream = place["stream"]
    waits = pulled(wire, subscription, last="stream.paused")
    assert details(waits) == [("stream.opened", {"handle": stream}), ("stream.paused", {"handle": stream})]
    assert {event["request"] for event in waits} == {place["request"]}
    whole(wire, stream, key="base64")
    events = pulled(wire, subscription, last="stream.ended")
    sizes = [event["detail"]["size"] for event in events if event["topic"] == "stream.item"]
    assert sum(sizes) == 300_000 and "stream.resumed" in topics(events)
    assert details(events)[-1] == ("stream.ended", {"handle": stream, "size": 300_000})
    assert topics(events).count("stream.ended") == 1


@pytest.mark.parametrize("how", ["stream.close", "request.cancel"])
def test_a_stream_that_is_given_up_is_told_once(wire, origin, how):
    """[W5]"""
    subscription = subscribe(wire, "stream.opened", "stream.ended", pull=True)
    place = opened(wire, origin + "/bytes/300000", mode="pull")
    read(wire, place["stream"], bytes=1000)
    named = {"stream": place["stream"]} if how == "stream.close" else {"request": place["request"]}
    result(wire.call(how, named))
    assert not response(wire, place["request"])["ok"]
    if how == "request.cancel":
        whole(wire, place["stream"], key="base64")
    assert topics(pulled(wire, subscription)) == ["stream.opened", "stream.ended"]


def test_a_pushed_stream_is_told_by_its_items(wire, origin):
    """[W5]"""
    subscription = subscribe(wire, "stream.item", "stream.ended", pull=True)
    opened(wire, origin + "/bytes/100", mode="push", credit=1000)
    events = pulled(wire, subscription, last="stream.ended")
    assert [event["detail"]["size"] for event in events] == [100, 100]


# Sessions


def test_a_session_that_ends_with_its_client_is_told_to_the_log(tmp_path, listening, log):
    """A session that its client has closed is not reported again. [W2]"""
    with contract.Wire(listening) as operator:
        with second(listening) as wire:
            # a log that a client turns on shows that client alone
            result(wire.call("server.setLog", {"level": "info", "to": "file", "path": str(log)}))
            result(wire.call("session.create", {"name": "left behind"}))
            result(wire.call("session.create", {"name": "closed"}))
            result(wire.call("session.close", {"session": "closed"}))
        found = lines(log, lambda found: any("left behind" in line and "closed" in line for line in found))
        operator.call("server.setLog", {"level": "warning", "to": "stderr"})
    closed = [line for line in found if "session.closed" in line]
    assert len(closed) == 2 and "left behind" in closed[1]
