# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What is told of bodies while they move."""

import base64

import contract
import pytest
from asking import result, until
from capture import Capture

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def watch(wire, url, **params):
    """The progress of one request, by direction, and its response."""
    number = wire.start("data.send", {"url": url, "events": ["progress"], **params})
    events, reply = until(wire, number)
    told = {"upload": [], "download": []}
    for event in events:
        told[event["params"]["direction"]].append(event["params"])
    return told, result(reply)


def rises(told):
    """Never falls, says the whole at its end, and each member fits the others."""
    completed = [one["completed"] for one in told]
    assert completed == sorted(completed), completed
    for one in told:
        assert one["completed"] <= one.get("total", one["completed"])
        if one.get("total"):
            assert one["fraction"] == pytest.approx(one["completed"] / one["total"])
        assert one.get("rate", 0) >= 0
    assert told[-1]["completed"] == told[-1]["total"] and told[-1]["fraction"] == 1
    return told[-1]["total"]


def test_a_body_of_known_length(wire, origin):
    """Bytes, the whole, the fraction and the rate in one report; the last is the whole. [N1] [N5] [N8]"""
    told, response = watch(wire, origin + "/bytes/3000000", bodyTo="stored")
    assert rises(told["download"]) == 3_000_000 == response["body"]["size"]
    assert all(one["total"] == 3_000_000 for one in told["download"]) and told["upload"] == []
    assert told["download"][-1]["rate"] > 0


def test_a_body_that_goes_to_a_file(wire, origin):
    """[N3]"""
    told, response = watch(wire, origin + "/bytes/2000000", bodyTo="file")
    assert rises(told["download"]) == 2_000_000 and response["body"]["kind"] == "file"


@pytest.mark.parametrize("path", ["/gzip", "/deflate", "/chunked"])
def test_a_body_of_unknown_length(wire, origin, path):
    """Decoded bytes are counted; how many there will be is known at the end only. [N2]"""
    told, response = watch(wire, origin + path)
    assert rises(told["download"]) == response["body"]["size"]
    assert all("total" not in one and "fraction" not in one for one in told["download"][:-1])


def test_a_body_that_is_sent(wire):
    """Up to the whole, and no more often than asked for. [N1] [N4] [N5]"""
    wire.call("server.hello", {"progressInterval": 3600})
    with Capture() as capture:
        body = {"base64": base64.b64encode(bytes(2_000_000)).decode()}
        told, _ = watch(wire, capture.url(), method="PUT", body=body)
        assert rises(told["upload"]) == 2_000_000 and len(told["upload"]) <= 2
        told, _ = watch(wire, capture.url(), method="PUT", body={"text": "x"})
        assert [one["completed"] for one in told["upload"]] == [1]


def test_a_file_that_is_sent(wire, tmp_path):
    """[N4]"""
    path = tmp_path / "big"
    path.write_bytes(bytes(3_000_000))
    with Capture() as capture:
        told, _ = watch(wire, capture.url(), method="POST", body={"file": str(path)})
        assert rises(told["upload"]) == 3_000_000 == len(capture.take().body)


def test_a_body_that_is_cut_short_tells_no_end(wire):
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345"
    with Capture(answer=answer) as capture:
        told, response = watch(wire, capture.url())
    assert response["error"]["code"] == 1404
    assert all(one["completed"] < one["total"] == 10 for one in told["download"])


def test_progress_can_be_asked_for(wire, origin):
    """By those who do not listen. [N1]"""
    handle = result(wire.call("data.start", {"url": origin + "/bytes/5000", "method": "POST", "body": {"text": "abc"}}))
    assert result(wire.call("request.wait", handle))["ok"]
    assert result(wire.call("request.get", handle))["progress"] == {
        "sent": 3, "sentTotal": 3, "received": 5000, "receivedTotal": 5000,
    }  # fmt: skip
