# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests, their events and bodies, against a server that behaves and one that does not."""

import base64
import hashlib
import os
import pathlib
import signal
import socket
import stat
import subprocess
import time

import contract
import pytest
from hostile import Hostile

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

BLOCK = bytes(range(256)) * 256


@pytest.fixture(scope="module")
def server():
    with Hostile() as server:
        yield server


@pytest.fixture
def wire(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with contract.Wire() as wire:
        yield wire
        assert wire.call("diagnostics.echo", {"alive": True})["result"] == {"alive": True}


@pytest.fixture
def listening(monkeypatch, tmp_path):
    """The path of a socket that a service of its own listens on."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    path = tmp_path / "s"
    process = subprocess.Popen(
        [contract.binary(), "serve", "--socket", str(path)], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(200):
            if path.exists():
                break
            time.sleep(0.02)
        yield str(path)
    finally:
        process.terminate()
        process.wait(10)


def result(reply):
    assert "result" in reply, reply
    return reply["result"]


def get(wire, url, seconds=20.0, **params):
    return result(wire.call("data.send", {"url": url, **params}, seconds))


def until(wire, number, seconds=15.0):
    """The events that arrive before the reply to a call, and the reply."""
    events = []
    while True:
        message = wire.receive(seconds)
        if "method" not in message:
            assert message["id"] == number
            return events, message
        events.append(message)


# What a bad answer gets

FAILURES = {
    "/reset/": (1404, None),
    "/close/": (1404, None),
    "/close/head": ((1404, 1408), None),
    "/broken/text": (1408, None),
    "/broken/version": (1408, None),
    "/broken/status": (1408, None),
    "/broken/lengths": (1408, None),
    "/broken/length": (1408, None),
    "/broken/minus": (1408, None),
    "/broken/field": (1408, None),
    "/reset/body": (1404, "0123456789"),
    "/close/body": (1404, "0123456789"),
    "/close/chunk": (1404, "0123456789"),
    "/close/last": (1404, "0123456789"),
    "/broken/size": (1408, ""),
    "/broken/negative": (1408, ""),
    "/broken/huge": (1408, ""),
    "/broken/end": (1408, "hello"),
    "/broken/gzip": (1408, ""),
}


@pytest.mark.parametrize("path", FAILURES)
def test_a_bad_answer_is_a_failure_that_keeps_what_came(wire, server, path):
    codes, text = FAILURES[path]
    answer = get(wire, server.url(path), timeout=5)
    assert not answer["ok"]
    assert answer["error"]["code"] in (codes if isinstance(codes, tuple) else (codes,)), answer["error"]
    assert ("status" in answer) == (text is not None), answer
    if text:
        assert answer["body"]["text"] == text and answer["body"]["complete"] is False
    else:
        assert answer["body"]["kind"] == "none"
    # the next request finds a connection that works
    assert get(wire, server.url("/fine"))["body"]["text"] == "fine"


@pytest.mark.parametrize(
    ("path", "limit", "phase"),
    [
        ("/stall/", {"firstByte": 0.3}, "firstByte"),
        ("/stall/continue", {"firstByte": 0.3, "idle": 0.3}, None),
        ("/stall/head", {"firstByte": 0.3, "idle": 0.3}, None),
        ("/stall/body", {"idle": 0.3}, "response"),
        ("/stall/middle", {"idle": 0.3}, "response"),
        ("/stall/chunk", {"idle": 0.3}, "response"),
        ("/stall/", {"total": 0.3}, None),
        ("/stall/middle", {"total": 0.3}, None),
        ("/drip/200", {"total": 0.4}, None),
    ],
)
def test_a_stall_ends_in_time_and_says_where(wire, server, path, limit, phase):
    began = time.monotonic()
    answer = get(wire, server.url(path), timeout=limit)
    assert time.monotonic() - began < 3
    assert answer["error"]["code"] == 1405 and answer["error"]["retryable"] is True, answer
    assert phase is None or answer["error"]["phase"] == phase
    if path == "/stall/middle":
        assert answer["body"]["text"] == "0123456789"


def test_a_server_that_never_shakes_hands(wire, server):
    answer = get(wire, server.url("/tls", "https"), timeout={"tls": 0.3})
    assert answer["error"]["code"] == 1405 and answer["error"]["phase"] == "tls"
    server.wait_gone("/tls")


def test_a_server_that_does_not_read(wire, server):
    body = {"base64": base64.b64encode(bytes(8 << 20)).decode()}
    answer = get(wire, server.url("/deaf/3"), method="POST", body=body, timeout={"idle": 0.4})
    assert answer["error"]["code"] == 1405 and answer["error"]["phase"] == "request"


def test_a_wait_for_a_connection_ends_too(wire, server):
    running = [wire.start("data.send", {"url": server.url("/stall/"), "timeout": 2}) for _ in range(6)]
    server.wait_for("/stall/", 6)
    began = time.monotonic()
    answer = get(wire, server.url("/fine"), timeout=0.3)
    assert answer["error"]["code"] == 1405 and answer["error"]["phase"] in ("queue", "total")
    assert time.monotonic() - began < 1.5
    assert all(not reply["result"]["ok"] for reply in wire.replies(running).values())


@pytest.mark.parametrize("path", ["/headers/100000000", "/line/100000000"])
def test_endless_headers_are_cut_off(wire, server, path):
    answer = get(wire, server.url(path), timeout=10)
    assert answer["error"]["code"] in (1408, 1411), answer["error"]
    assert memory(wire) < 200 << 20


def test_a_bomb_does_not_go_off(wire, server):
    answer = get(wire, server.url("/bomb/1000000000"), bodyTo="discard", timeout=20)
    assert answer["error"]["code"] in (1408, 1411), answer
    assert memory(wire) < 200 << 20


def memory(wire):
    """Bytes resident in the service."""
    lines = pathlib.Path(f"/proc/{wire.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


BAD_URLS = {
    "http://127.0.0.1:99999/": 1100,
    "http://127.0.0.1:-1/": 1100,
    "http://127.0.0.1:0/": 1100,
    "http://127.0.0.1:x/": 1100,
    "http://[::1/": 1100,
    "http:///nowhere": 1100,
    "nonsense": 1100,
    "": 1100,
    "http://a\r\nb/": 1100,
    "http://a b/": 1100,
    "ftp://127.0.0.1/": 1413,
    "file:///etc/passwd": 1413,
    "javascript:alert(1)": 1413,
}


@pytest.mark.parametrize("url", BAD_URLS)
def test_a_bad_url_is_refused_unsent(wire, url):
    answer = get(wire, url)
    assert answer["error"]["code"] == BAD_URLS[url] and answer["error"]["pointer"] == "/url", answer
    assert answer["attempts"] == 0 and answer["error"]["message"]
    error = wire.call("request.build", {"url": url})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == "/url"
    handle = result(wire.call("data.start", {"url": url}))["request"]
    assert result(wire.call("request.wait", {"request": handle}))["error"]["code"] == BAD_URLS[url]


@pytest.mark.parametrize(
    ("params", "code", "pointer"),
    [
        ({"method": "GE T"}, 1101, "/method"),
        ({"method": ""}, 1101, "/method"),
        ({"headers": {"X-A": "b\r\nX-C: d"}}, 1101, "/headers/X-A"),
        ({"headers": {"X A": "b"}}, 1101, "/headers/X A"),
        ({"headers": [{"name": "X-A", "value": "b\0"}]}, 1101, "/headers/X-A"),
        ({"body": {"text": "x"}}, 1102, "/body"),
        ({"method": "POST", "body": {"file": "relative"}}, 1103, "/body/file"),
        ({"method": "POST", "body": {"file": "/nowhere/at/all"}}, 1103, "/body/file"),
        ({"method": "POST", "body": {"file": "/dev/zero"}}, 1103, "/body/file"),
        ({"method": "POST", "body": {"text": "\u20ac", "charset": "us-ascii"}}, 1211, "/body/text"),
    ],
)
def test_what_must_not_be_sent_is_not(wire, server, params, code, pointer):
    answer = get(wire, server.url("/fine"), **params)
    assert (answer["error"]["code"], answer["error"]["pointer"]) == (code, pointer), answer
    assert answer["attempts"] == 0


@pytest.mark.parametrize(
    ("params", "pointer"),
    [
        ({"url": 1}, "/url"),
        ({"headers": "x"}, "/headers"),
        ({"headers": {"a": 1}}, "/headers/a"),
        ({"headers": {"a": ["b", 1]}}, "/headers/a/1"),
        ({"headers": [{"name": "a"}]}, "/headers/0/value"),
        ({"query": {"a": {"b": 1}}}, "/query/a"),
        ({"body": {}}, "/body"),
        ({"body": {"text": "a", "json": 1}}, "/body"),
        ({"body": {"base64": "!"}}, "/body/base64"),
        ({"body": {"form": {"a": [[]]}}}, "/body/form/a/0"),
        ({"timeout": 0}, "/timeout"),
        ({"timeout": -1}, "/timeout"),
        ({"timeout": 86401}, "/timeout"),
        ({"timeout": {"tls": 0}}, "/timeout/tls"),
        ({"timeout": {"forever": 1}}, "/timeout/forever"),
        ({"bodyTo": "moon"}, "/bodyTo"),
        ({"maxInline": -1}, "/maxInline"),
        ({"maxInline": 1 << 40}, "/maxInline"),
        ({"serialize": {"as": "xml"}}, "/serialize/as"),
        ({"events": ["state", "nothing"]}, "/events/1"),
        ({"retries": 1}, "/retries"),
    ],
)
def test_wrong_parameters_are_named(wire, params, pointer):
    error = wire.call("data.send", {"url": "http://127.0.0.1:1/", **params})["error"]
    assert (error["code"], error["data"]["pointer"]) == (-32602, pointer), error


def test_nobody_listens(wire):
    answer = get(wire, "http://127.0.0.1:1/")
    assert answer["error"]["code"] == 1402 and answer["error"]["retryable"] is True
    assert "127.0.0.1" in answer["error"]["message"]


# Cancelling

PHASES = ["/stall/", "/stall/head", "/stall/middle", "/endless/", "/drip/1000"]


@pytest.mark.parametrize("path", PHASES)
def test_a_cancelled_call_ends_its_request(wire, server, path):
    number = wire.start("data.send", {"url": server.url(path + ("x" if path.endswith("ss/") else ""))})
    server.wait_for(path + ("x" if path.endswith("ss/") else ""))
    wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
    assert wire.reply(number, 3)["error"]["code"] == -32800
    assert wire.call("server.stats")["result"]["requests"]["running"] == 0


@pytest.mark.parametrize("path", PHASES)
def test_a_cancelled_request_answers_its_call(wire, server, path):
    server.gone.clear()
    seen = server.arrived.count(path)
    number = wire.start("data.send", {"url": server.url(path), "events": ["state"], "bodyTo": "discard"})
    server.wait_for(path, seen + 1)
    handle = wire.receive()["params"]["request"]
    cancelled = wire.start("request.cancel", {"request": handle})
    replies = wire.replies([number, cancelled], 5)
    assert replies[cancelled]["result"]["state"] == "cancelled"
    assert replies[number]["result"]["error"]["code"] == 1900
    if path != "/drip/1000":
        server.wait_gone(path)
    assert result(wire.call("request.get", {"request": handle}))["state"] == "cancelled"


def test_cancelling_while_waiting_for_a_connection(wire, server):
    running = [wire.start("data.send", {"url": server.url("/stall/"), "timeout": 1}) for _ in range(6)]
    number = wire.start("data.send", {"url": server.url("/fine/never")})
    wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
    assert wire.reply(number, 1)["error"]["code"] == -32800
    wire.replies(running)
    assert "/fine/never" not in server.arrived


@pytest.mark.parametrize("path", ["/stall/", "/stall/middle", "/endless/"])
def test_a_client_that_vanishes_takes_its_request_along(listening, server, path):
    server.gone.clear()
    seen = server.arrived.count(path)
    with contract.Wire(listening) as wire:
        wire.start("data.send", {"url": server.url(path)})
        wire.start("data.start", {"url": server.url(path)})
        server.wait_for(path, seen + 2)
    server.wait_gone(path)
    with contract.Wire(listening) as other:
        end = time.monotonic() + 5
        while other.call("server.stats")["result"]["requests"]["running"]:
            assert time.monotonic() < end, "requests of a client that is gone still run"
            time.sleep(0.02)


def test_half_close_answers_what_was_asked(listening, server):
    with contract.Wire(listening) as wire:
        number = wire.start("data.send", {"url": server.url("/drip/15")})
        wire.socket.shutdown(socket.SHUT_WR)
        assert wire.reply(number)["result"]["body"]["text"] == "." * 15


def test_a_detached_request_outlives_its_client(listening, server):
    with contract.Wire(listening) as wire:
        handle = result(wire.call("data.start", {"url": server.url("/drip/20"), "detach": True}))["request"]
    with contract.Wire(listening) as other:
        found = result(other.call("request.list", {"scope": "detached"}))["requests"]
        assert [one["request"] for one in found] == [handle] and found[0]["detached"] is True
        answer = result(other.call("request.wait", {"request": handle}))
        assert answer["ok"] and answer["body"]["text"] == "." * 20


def test_handles_are_private(listening, server):
    with contract.Wire(listening) as wire, contract.Wire(listening) as other:
        handle = result(wire.call("data.start", {"url": server.url("/fine")}))["request"]
        for method in ("request.get", "request.cancel", "request.curl", "request.wait"):
            assert other.call(method, {"request": handle})["error"]["code"] == -32012
        assert result(other.call("request.list", {"scope": "all"}))["requests"] == []


# Events


def test_events_of_a_call_precede_its_reply(wire, server):
    number = wire.start("data.send", {"url": server.url("/fine"), "events": True, "tag": "mine"})
    events, reply = until(wire, number)
    assert [one["params"]["seq"] for one in events] == list(range(len(events)))
    assert all(one["params"]["call"] == number and one["params"]["tag"] == "mine" for one in events)
    assert {one["params"]["request"] for one in events} == {reply["result"]["request"]}
    names = [one["params"].get("state", one["method"]) for one in events]
    assert names == ["created", "sent", "responded", "event.response", "event.progress", "finished"]
    with pytest.raises(TimeoutError):
        wire.receive(0.2)


def test_the_handle_precedes_its_events_and_finish_is_the_last(wire, server):
    number = wire.start("data.start", {"url": server.url("/fine"), "events": True})
    first = wire.receive()
    assert first["id"] == number
    events = [wire.receive()]
    while events[-1]["method"] != "event.finish":
        events.append(wire.receive())
    assert [one["params"]["seq"] for one in events] == list(range(len(events)))
    assert all("call" not in one["params"] for one in events)
    assert events[-1]["params"]["response"]["body"]["text"] == "fine"
    assert events[-2]["params"]["state"] == "finished"


def test_progress_is_seldom_and_its_last_is_the_whole(wire, server):
    wire.call("server.hello", {"progressInterval": 0.2})
    number = wire.start("data.send", {"url": server.url("/drip/30"), "events": ["progress"]})
    events, reply = until(wire, number)
    assert reply["result"]["ok"] and 2 <= len(events) <= 8
    completed = [one["params"]["completed"] for one in events]
    assert completed == sorted(completed) and completed[-1] == 30
    assert events[-1]["params"]["total"] == 30 and events[-1]["params"]["fraction"] == 1


def test_uploads_make_progress_too(wire, server):
    body = {"base64": base64.b64encode(bytes(1 << 20)).decode()}
    number = wire.start("data.send", {"url": server.url("/deaf/0.5"), "method": "POST", "body": body, "timeout": 5,
                                      "events": ["progress"]})
    events, _ = until(wire, number)
    assert events and all(one["params"]["direction"] == "upload" for one in events)
    assert all(one["params"]["total"] == 1 << 20 for one in events)


def test_a_failed_start_finishes_with_its_failure(wire):
    wire.start("data.start", {"url": "http://127.0.0.1:99999/", "events": ["finish"]})
    wire.receive()
    assert wire.receive()["params"]["response"]["error"]["code"] == 1100


# Bodies


def read_all(wire, handle, **params):
    pieces, offset = [], 0
    while True:
        piece = result(wire.call("response.read", {"response": handle, "offset": offset, **params}))
        data = base64.b64decode(piece["base64"])
        pieces.append(data)
        offset += len(data)
        if piece["end"]:
            return b"".join(pieces)


def expected(size):
    return (BLOCK * (size // len(BLOCK) + 1))[:size]


@pytest.mark.parametrize("size", [0, 1, 1000, 65536, 70000, 1 << 20])
def test_inline_bodies_arrive_whole(wire, server, size):
    answer = get(wire, server.url(f"/bytes/{size}"), serialize={"as": "base64"})
    assert answer["ok"] and answer["body"]["size"] == size
    assert base64.b64decode(answer["body"].get("base64", "")) == expected(size)


def test_what_is_too_long_is_stored(wire, server):
    body = get(wire, server.url(f"/bytes/{(1 << 20) + 1}"))["body"]
    assert body["kind"] == "stored" and body["size"] == (1 << 20) + 1
    assert read_all(wire, body["response"], bytes=1 << 20) == expected((1 << 20) + 1)


def test_what_is_far_too_long_does_not_fill_the_memory(wire, server, tmp_path):
    size = 200_000_001
    body = get(wire, server.url(f"/bytes/{size}"), 60)["body"]
    assert body["kind"] == "stored" and body["size"] == size
    piece = result(wire.call("response.read", {"response": body["response"], "offset": size - 1}))
    assert (base64.b64decode(piece["base64"]), piece["end"]) == (expected(size)[-1:], True)
    result(wire.call("response.save", {"response": body["response"], "path": str(tmp_path / "saved")}, 60))
    with open(tmp_path / "saved", "rb") as file:
        assert hashlib.file_digest(file, "sha256").digest() == hashlib.sha256(expected(size)).digest()
    assert memory(wire) < 100 << 20


def test_a_body_in_a_file_is_private_and_goes_with_its_owner(listening, server, tmp_path):
    with contract.Wire(listening) as wire:
        kept = [get(wire, server.url("/bytes/100000"), bodyTo="file")["body"] for _ in range(2)]
        path = pathlib.Path(kept[0]["path"])
        assert kept[0]["kind"] == "file" and path.read_bytes() == expected(100000)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert read_all(wire, kept[0]["response"]) == expected(100000)
        result(wire.call("response.release", {"response": kept[0]["response"]}))
        assert not path.exists()
        other = pathlib.Path(kept[1]["path"])
        assert other.exists()
    end = time.monotonic() + 5
    while other.exists():
        assert time.monotonic() < end, "the file outlived its owner"
        time.sleep(0.02)


def test_a_truncated_body_is_kept_as_far_as_it_came(wire, server):
    answer = get(wire, server.url("/close/body"), bodyTo="stored")
    assert answer["error"]["code"] == 1404 and answer["body"]["complete"] is False
    assert read_all(wire, answer["body"]["response"]) == b"0123456789"


def test_a_discarded_body_is_counted(wire, server):
    body = get(wire, server.url("/bytes/50000000"), bodyTo="discard")["body"]
    assert (body["kind"], body["size"]) == ("none", 50000000)
    assert memory(wire) < 100 << 20


def test_saving_is_whole_or_not_at_all(wire, server, tmp_path):
    kept = get(wire, server.url("/bytes/3000000"), bodyTo="stored")["body"]["response"]
    path = tmp_path / "saved"
    saved = result(wire.call("response.save", {"response": kept, "path": str(path)}))
    assert saved == {"path": str(path), "size": 3000000} and path.read_bytes() == expected(3000000)
    for params, code in [({"path": str(path)}, 1801), ({"path": "saved"}, 1803), ({"path": "/nowhere/x"}, 1803)]:
        error = wire.call("response.save", {"response": kept, **params})["error"]
        assert (error["code"], error["data"]["pointer"]) == (-32602, "/path"), error
        assert error["data"]["failure"]["code"] == code
    path.write_bytes(b"old")
    result(wire.call("response.save", {"response": kept, "path": str(path), "replace": True}))
    assert path.stat().st_size == 3000000
    assert sorted(one.name for one in tmp_path.iterdir() if "saved" in one.name) == ["saved"]


def test_a_client_with_short_messages_gets_none_longer(wire, server):
    wire.call("server.hello", {"maxMessageBytes": 65536})
    wire.start("data.send", {"url": server.url("/bytes/200000"), "maxInline": 8 << 20})
    line = wire.receive_line()
    assert len(line) <= 65536
    answer = get(wire, server.url("/bytes/200000"), maxInline=8 << 20)
    assert answer["body"]["kind"] == "stored" and answer["body"]["note"]
    assert read_all(wire, answer["body"]["response"], bytes=8 << 20) == expected(200000)
    assert get(wire, server.url("/bytes/30000"))["body"]["kind"] == "base64"


def test_the_next_start_sweeps_what_a_kill_left(server, monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    wire = contract.Wire()
    path = pathlib.Path(get(wire, server.url("/bytes/1000"), bodyTo="file")["body"]["path"])
    wire.process.send_signal(signal.SIGKILL)
    wire.process.wait()
    assert path.exists()
    with contract.Wire() as other:
        other.call("server.info")
        end = time.monotonic() + 5
        while path.exists():
            assert time.monotonic() < end, "nobody swept"
            time.sleep(0.02)


# Handles


def test_a_request_of_a_call_is_known_for_a_while(wire, server):
    headers = {"Authorization": "Bearer secret"}
    handle = get(wire, server.url("/fine"), headers=headers, tag="one")["request"]
    known = result(wire.call("request.get", {"request": handle}))
    assert known["state"] == "finished" and known["response"]["status"] == 200 and known["tag"] == "one"
    command = result(wire.call("request.curl", {"request": handle}))["command"]
    assert command.startswith("curl ") and "secret" not in command and server.url("/fine") in command
    for _ in range(300):
        get(wire, server.url("/fine"))
    assert wire.call("request.get", {"request": handle})["error"]["code"] == -32012
    assert len(result(wire.call("request.list"))["requests"]) <= 256


def test_without_handles_equal_calls_give_equal_answers(wire, server):
    answers = [get(wire, server.url("/fine"), handles=False) for _ in range(2)]
    assert answers[0] == answers[1] and "request" not in answers[0]


def test_waiting_for_the_head_alone(wire, server):
    handle = result(wire.call("data.start", {"url": server.url("/drip/20")}))["request"]
    head = result(wire.call("request.wait", {"request": handle, "until": "response"}))
    assert head["status"] == 200 and head["body"]["size"] == 0
    whole = result(wire.call("request.wait", {"request": handle}))
    assert whole["body"]["text"] == "." * 20
    assert result(wire.call("request.wait", {"request": handle})) == whole


def test_many_at_once_are_all_answered(wire, server):
    numbers = [wire.start("data.send", {"url": server.url(f"/fine/{index}")}) for index in range(200)]
    replies = wire.replies(numbers)
    texts = [replies[number]["result"]["body"]["text"] for number in numbers]
    assert texts == [str(index) for index in range(200)]
    stats = wire.call("server.stats")["result"]
    assert stats["requests"]["running"] == 0 and stats["requests"]["total"] >= 200


def test_metrics_are_told_when_asked_for(wire, server):
    first = get(wire, server.url("/fine"), metrics=True)["metrics"]
    second = get(wire, server.url("/fine"), metrics=True)["metrics"]["attempts"][0]
    assert first["total"] > 0 and first["attempts"][0]["reused"] is False and "connect" in first["attempts"][0]
    assert second["reused"] is True and "connect" not in second and second["bodyBytes"] == 4
    assert "metrics" not in get(wire, server.url("/fine"))


def test_detaching_needs_a_socket(wire, server):
    error = wire.call("data.start", {"url": server.url("/fine"), "detach": True})["error"]
    assert error["code"] == -32014 and error["data"]["pointer"] == "/detach"


def test_a_body_of_the_same_name_is_not_lost_with_its_service(listening, server):
    """A service that ends in good order leaves nothing behind."""
    with contract.Wire(listening) as wire:
        path = pathlib.Path(get(wire, server.url("/bytes/10"), bodyTo="file")["body"]["path"])
        wire.call("server.stop", {"grace": 0})
    end = time.monotonic() + 5
    while path.exists() or os.path.exists(listening):
        assert time.monotonic() < end, "something was left behind"
        time.sleep(0.02)
