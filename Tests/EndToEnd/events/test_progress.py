# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What is told of bodies while they move."""

import base64
import gzip
import os
import time

import contract
import pytest
from capture_server import Capture
from request_client import result, until
from upload_server import Taker

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def taker():
    with Taker() as taker:
        yield taker


def watch(wire, url, call="data.send", seconds=15, **params):
    """The progress of one request, by direction, and its response."""
    number = wire.start(call, {"url": url, "events": ["progress"], **params})
    events, reply = until(wire, number, seconds)
    told = {"upload": [], "download": []}
    for event in events:
        told[event["params"]["direction"]].append(event["params"])
    return told, result(reply)


def fits(one):
    """The members of one report fit each other."""
    assert one["completed"] <= one.get("total", one["completed"])
    if one.get("total") and not one.get("estimated"):
        assert one["fraction"] == pytest.approx(one["completed"] / one["total"])
    elif one.get("wireTotal"):
        assert one["fraction"] == pytest.approx(one["wireCompleted"] / one["wireTotal"])
    assert one.get("rate", 0) >= 0 and one.get("remaining", 0) >= 0


def rises(told):
    """Never falls, and says the whole at its end."""
    for name in ("completed", "fraction", "wireCompleted"):
        numbers = [one[name] for one in told if name in one]
        assert numbers == sorted(numbers), (name, numbers)
    for one in told:
        fits(one)
    last = told[-1]
    assert last["completed"] == last["total"] and last["fraction"] == 1 and last["remaining"] == 0
    return last["total"]


# What comes


def test_a_body_of_known_length(wire, origin):
    """Bytes, the whole, the fraction and the rate in one report; the last is the whole. [N1] [N5] [N8]"""
    told, response = watch(wire, origin + "/bytes/3000000", bodyTo="stored")
    assert rises(told["download"]) == 3_000_000 == response["body"]["size"]
    assert all(one["total"] == 3_000_000 and "estimated" not in one for one in told["download"])
    assert told["upload"] == [] and told["download"][-1]["rate"] > 0


def test_a_body_that_goes_to_a_file(wire, origin):
    """[N3]"""
    told, response = watch(wire, origin + "/bytes/2000000", bodyTo="file")
    assert rises(told["download"]) == 2_000_000 and response["body"]["kind"] == "file"


@pytest.mark.parametrize("path", ["/gzip", "/deflate"])
def test_a_compressed_body_says_how_far_it_is_on_the_wire(wire, origin, path):
    """Decoded bytes are counted; how many there will be is known at the end only. [N2]"""
    told, response = watch(wire, origin + path)
    assert rises(told["download"]) == response["body"]["size"]
    assert all("total" not in one and "wireTotal" in one for one in told["download"][:-1])
    assert told["download"][-1]["wireCompleted"] == told["download"][-1]["wireTotal"]


@pytest.mark.parametrize("call", ["data.send", "download.send"])
def test_a_long_compressed_body(wire, call):
    """The fraction of the bytes on the wire, where Alamofire has none. [N2]"""
    place = {"bodyTo": "discard"} if call == "data.send" else {"headers": {"Accept-Encoding": "gzip"}}
    plain = b"".join(b"%d wolves\n" % number for number in range(400_000))
    packed = gzip.compress(plain, 1)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(packed)
    wire.call("server.hello", {"progressInterval": 0})
    with Capture(response=head + packed) as capture:
        told, response = watch(wire, capture.url(), call, **place)
    assert rises(told["download"]) == len(plain) == response["body"]["size"]
    assert all(one["wireTotal"] == len(packed) for one in told["download"])
    parts = [one["fraction"] for one in told["download"]]
    assert len(parts) > 3 and 0 < parts[0] < 1


def test_a_body_of_unknown_length(wire, origin):
    """[N2]"""
    told, response = watch(wire, origin + "/chunked")
    assert rises(told["download"]) == response["body"]["size"]
    assert all("total" not in one and "fraction" not in one for one in told["download"][:-1])


def chunked(*sizes):
    pieces = [b"%x\r\n%s\r\n" % (size, bytes(size)) for size in sizes]
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    return head + b"".join(pieces) + b"0\r\n\r\n"


def test_what_the_caller_expects_is_the_whole_until_it_is_passed(wire):
    wire.call("server.hello", {"progressInterval": 0})
    with Capture(response=chunked(*[100_000] * 20)) as capture:
        told, _ = watch(wire, capture.url(), bodyTo="discard", expectedSize=1_000_000)
    reports = told["download"]
    guessed = [one for one in reports if one.get("estimated")]
    assert guessed and all(one["total"] == 1_000_000 >= one["completed"] for one in guessed)
    assert all(one["fraction"] == pytest.approx(one["completed"] / 1_000_000) for one in guessed)
    assert any("total" not in one and "fraction" not in one for one in reports[:-1])
    assert reports[-1]["total"] == 2_000_000 and "estimated" not in reports[-1]


def test_what_the_server_declares_is_believed_instead(wire, origin):
    told, _ = watch(wire, origin + "/bytes/5000", expectedSize=7)
    assert all(one["total"] == 5000 and "estimated" not in one for one in told["download"])
    error = wire.call("data.send", {"url": origin + "/json", "expectedSize": -1})["error"]
    assert (error["code"], error["data"]["pointer"]) == (-32602, "/expectedSize")


def test_a_body_that_is_cut_short_tells_no_end(wire):
    response = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345"
    with Capture(response=response) as capture:
        told, response = watch(wire, capture.url())
    assert response["error"]["code"] == 1404
    assert all(one["completed"] < one["total"] == 10 for one in told["download"])
    assert told["download"][-1]["completed"] == 5


# What is sent


def test_a_body_that_is_sent(wire):
    """Up to the whole, and no more often than asked for. [N1] [N4] [N5]"""
    wire.call("server.hello", {"progressInterval": 3600})
    with Capture() as capture:
        body = {"base64": base64.b64encode(bytes(2_000_000)).decode()}
        told, _ = watch(wire, capture.url(), call="upload.send", body=body)
        assert rises(told["upload"]) == 2_000_000 and len(told["upload"]) <= 2
        told, _ = watch(wire, capture.url(), call="upload.send", body={"text": "x"})
        assert [one["completed"] for one in told["upload"]] == [1]


@pytest.mark.parametrize("size", [3_000_000, 50_000_000])
def test_a_file_that_is_sent(wire, tmp_path, size):
    """A short one, and one that is long enough to be sent without being read. [N4]"""
    path = tmp_path / "big"
    path.write_bytes(os.urandom(1_000_000) * (size // 1_000_000))
    with Capture() as capture:
        told, _ = watch(wire, capture.url(), call="upload.send", body={"file": str(path)})
        assert rises(told["upload"]) == size
        assert capture.take().body == path.read_bytes()


def test_a_body_that_is_compressed_on_its_way(wire, taker, tmp_path):
    """Its own bytes are counted, and those on the wire beside them. [N4]"""
    content = b"".join(b"%d wolves\n" % number for number in range(300_000))
    (tmp_path / "wolves").write_bytes(content)
    wire.call("server.hello", {"progressInterval": 0})
    body = {"file": str(tmp_path / "wolves")}
    told, _ = watch(wire, taker.url("/keep"), call="upload.send", body=body, compress="gzip")
    assert rises(told["upload"]) == len(content)
    last = told["upload"][-1]
    assert last["wireCompleted"] == last["wireTotal"] == len(taker.last().body)
    assert all(one["total"] == len(content) for one in told["upload"])


@pytest.mark.parametrize("size", [1000, 3_000_000])
def test_a_body_in_memory_that_is_compressed(wire, taker, size):
    """Its own bytes are counted, as for a file."""
    content = base64.b64encode(os.urandom(size)).decode()
    told, response = watch(wire, taker.url("/keep"), method="POST", body={"text": content}, compress="gzip")
    assert response["ok"] and gzip.decompress(taker.last().body) == content.encode()
    assert rises(told["upload"]) == len(content)
    last = told["upload"][-1]
    assert last["wireCompleted"] == last["wireTotal"] == len(taker.last().body)
    assert all(one["total"] == len(content) for one in told["upload"])
    progress = result(wire.call("request.get", {"request": response["request"]}))["progress"]
    assert progress["sent"] == progress["sentTotal"] == len(content)


def test_only_what_the_kernel_took_is_counted(wire, taker, tmp_path):
    """No client reads: what the buffers of the connection hold is all there is, however long one waits. [N4]"""
    path = tmp_path / "big"
    with open(path, "wb") as file:
        file.truncate(100_000_000)
    wire.call("server.hello", {"progressInterval": 0})
    handle = result(
        wire.call("upload.start", {"url": taker.url("/later"), "body": {"file": str(path)}, "events": ["progress"]})
    )
    taker.wait_for("/later")
    told = []
    with pytest.raises(TimeoutError):
        while True:
            told.append(wire.receive(1.0)["params"]["completed"])
    assert told and told == sorted(told) and told[-1] < 40_000_000
    progress = result(wire.call("request.get", handle))["progress"]
    assert progress["sent"] == told[-1] and progress["sentTotal"] == 100_000_000
    taker.go.set()
    reply = wire.call("request.wait", handle, 60)
    assert result(reply)["ok"] and len(taker.last().body) == 100_000_000


# Sendings


def test_each_attempt_counts_from_nothing(wire, taker):
    """And says which one it is. [N6]"""
    wire.call("server.hello", {"progressInterval": 0})
    body = {"text": "x" * 200_000}
    params = {"body": body, "method": "PUT", "retry": {"limit": 2, "scale": 0.01}}
    told, response = watch(wire, taker.url("/times/503/2"), **params)
    assert response["status"] == 200 and response["attempts"] == 3
    for number in (1, 2, 3):
        reports = [one for one in told["upload"] if one["attempt"] == number]
        assert rises(reports) == 200_000 and "redirects" not in reports[-1]


def test_a_redirect_that_takes_the_body_along_counts_from_nothing(wire, taker):
    wire.call("server.hello", {"progressInterval": 0})
    told, response = watch(
        wire, taker.url("/on/307/keep"), call="upload.send", body={"text": "x" * 200_000}
    )
    assert response["status"] == 200
    first = [one for one in told["upload"] if "redirects" not in one]
    second = [one for one in told["upload"] if one.get("redirects") == 1]
    assert rises(second) == 200_000 and all(one["attempt"] == 1 for one in told["upload"])
    assert first == told["upload"][: len(first)]


# Clients


def test_progress_can_be_asked_for(wire, origin):
    """By those who do not listen. [N1]"""
    handle = result(wire.call("data.start", {"url": origin + "/bytes/5000", "method": "POST", "body": {"text": "abc"}}))
    assert result(wire.call("request.wait", handle))["ok"]
    assert result(wire.call("request.get", handle))["progress"] == {
        "sent": 3, "sentTotal": 3, "received": 5000, "receivedTotal": 5000,
    }  # fmt: skip


def test_the_last_report_reaches_even_a_client_that_reads_late(wire, taker, tmp_path):
    """Its queue is full while the body is sent: what was in between is dropped, the whole is told."""
    path = tmp_path / "big"
    with open(path, "wb") as file:
        file.truncate(3_000_000)
    wire.call("server.hello", {"progressInterval": 0})
    blobs = [wire.start("diagnostics.blob", {"bytes": 1_000_000}) for _ in range(6)]
    number = wire.start("upload.send", {"url": taker.url("/keep"), "body": {"file": str(path)}, "events": ["progress"]})
    taker.wait_for("/keep")
    sent, replies = [], set()
    while not {number, *blobs} <= replies:
        message = wire.receive()
        if "id" in message:
            replies.add(message["id"])
        elif message["method"] == "event.progress":
            sent.append(message["params"])
    uploads = [one for one in sent if one["direction"] == "upload"]
    assert uploads[-1]["completed"] == uploads[-1]["total"] == 3_000_000


def test_no_more_than_ten_a_second(wire, origin):
    """The first and the last besides, by the interval that the service has by itself."""
    began = time.monotonic()
    told, _ = watch(wire, origin + "/bytes/60000000", bodyTo="discard", seconds=60)
    assert rises(told["download"]) == 60_000_000
    assert 2 <= len(told["download"]) <= (time.monotonic() - began) * 10 + 2


# In the words of other protocols


def aliases(wire, url, call="data.send", **params):
    """What is told before the reply, by name, and the reply."""
    events, reply = until(wire, wire.start(call, {"url": url, **params}))
    told = {}
    for event in events:
        told.setdefault(event["method"], []).append(event["params"])
    return told, reply


@pytest.mark.parametrize("token", ["bar", 7, ""])
def test_an_editor_gets_a_bar_for_its_token(wire, origin, token):
    """Begin, reports, end; nothing else is sent. [N1]"""
    wire.call("server.hello", {"progressInterval": 0})
    url = origin + "/bytes/3000000"
    told, reply = aliases(wire, url + "?key=secret", workDoneToken=token, bodyTo="discard")
    assert result(reply)["ok"] and set(told) == {"$/progress"}
    assert all(one["token"] == token for one in told["$/progress"])
    values = [one["value"] for one in told["$/progress"]]
    assert values[0] == {"kind": "begin", "title": "GET " + url, "cancellable": False, "percentage": 0}
    assert values[-1] == {"kind": "end"}
    percents = [one["percentage"] for one in values[1:-1]]
    assert percents == sorted(percents) and percents[-1] == 100
    assert all(one["kind"] == "report" and "MB" in one["message"] for one in values[1:-1])


def test_the_end_of_a_bar_says_what_went_wrong(wire):
    told, reply = aliases(wire, "http://127.0.0.1:1/", workDoneToken="t")
    values = [one["value"] for one in told["$/progress"]]
    assert [one["kind"] for one in values] == ["begin", "end"]
    assert values[-1]["message"] == result(reply)["error"]["message"]


def test_a_bar_ends_with_a_call_that_is_cancelled(wire, taker):
    number = wire.start("data.send", {"url": taker.url("/later"), "workDoneToken": "t"})
    taker.wait_for("/later")
    wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
    events, reply = until(wire, number)
    assert reply["error"]["code"] == -32800
    assert [event["params"]["value"]["kind"] for event in events] == ["begin", "end"]


def test_an_agent_gets_numbers_that_rise_for_its_token(wire, taker, tmp_path):
    """What is sent and what comes is one piece of work; attempts that begin anew are told when they are ahead."""
    wire.call("server.hello", {"progressInterval": 0})
    body = {"text": "x" * 300_000}
    told, reply = aliases(
        wire, taker.url("/times/503/1"), call="upload.send", body=body, _meta={"progressToken": 3},
        retry={"limit": 1, "scale": 0.01, "methods": ["POST"]},
    )  # fmt: skip
    assert result(reply)["attempts"] == 2 and set(told) == {"notifications/progress"}
    reports = told["notifications/progress"]
    numbers = [one["progress"] for one in reports]
    assert numbers == sorted(set(numbers)) and all(one["progressToken"] == 3 for one in reports)
    assert reports[-1]["progress"] == 300_002 == reports[-1]["total"]


def test_tokens_that_are_none_are_refused_or_ignored(wire, origin):
    error = wire.call("data.send", {"url": origin + "/json", "workDoneToken": {}})["error"]
    assert (error["code"], error["data"]["pointer"]) == (-32602, "/workDoneToken")
    for meta in [{"progressToken": {}}, {"progressToken": None}, {}, 7, None]:
        told, reply = aliases(wire, origin + "/json", _meta=meta)
        assert result(reply)["ok"] and told == {}
