# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Bodies that wait for 100 Continue, RFC 9110 section 10.1.1, or behind an early response."""

import base64

import contract
import pytest
from callback_client import callback, exchange
from request_client import result, upload
from upload_server import Taker

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

HELLO = {"text": "hello"}


@pytest.fixture
def taker():
    with Taker() as taker:
        yield taker


def big(tmp_path, size=30_000_000):
    path = tmp_path / "big"
    with open(path, "wb") as file:
        file.truncate(size)
    return path


@pytest.mark.parametrize("kind", ["text", "file"])
def test_the_body_waits_for_100_continue(wire, taker, tmp_path, kind):
    body = HELLO if kind == "text" else {"file": str(big(tmp_path, 1_000_000))}
    response = upload(wire, taker.url("/continue"), body, expectContinue=True)
    assert response["status"] == 200 and taker.last().field("expect") == "100-continue"
    assert not taker.last().early and len(taker.last().body) == (5 if kind == "text" else 1_000_000)
    assert upload(wire, taker.url("/keep"), HELLO)["ok"] and taker.connections == 1


def test_the_body_is_sent_though_nobody_says_continue(wire, taker):
    response = upload(wire, taker.url("/keep"), HELLO, expectContinue=True)
    assert response["status"] == 200 and taker.last().body == b"hello"


def test_the_field_itself_asks_for_it_too(wire, taker):
    response = upload(wire, taker.url("/continue"), HELLO, headers={"Expect": "100-continue"})
    assert response["ok"] and not taker.last().early and taker.last().field("expect") == "100-continue"
    # not without content
    assert upload(wire, taker.url("/keep"), {"text": ""}, expectContinue=True)["ok"]
    assert taker.last().field("expect") is None


def test_a_server_without_expectations_is_asked_again(wire, taker, tmp_path):
    response = upload(wire, taker.url("/expectation"), {"file": str(big(tmp_path, 200_000))}, expectContinue=True)
    assert response["status"] == 200 and [one.field("expect") for one in taker.taken] == ["100-continue", None]
    assert len(taker.last().body) == 200_000


@pytest.mark.parametrize("status", [200, 401, 413])
def test_a_final_response_before_the_body_ends_the_request(wire, taker, tmp_path, status):
    """Not a byte of the body follows, and the connection is closed."""
    response = upload(wire, taker.url(f"/final/{status}"), {"file": str(big(tmp_path))}, expectContinue=True)
    assert (response["status"], response["body"]["text"]) == (status, "final")
    assert upload(wire, taker.url("/keep"), HELLO)["ok"] and taker.connections == 2
    taker.until(lambda taker: len(taker.taken) == 2)
    assert [one.body for one in taker.taken if one.path != "/keep"] == [b""]


def test_there_is_nothing_to_expect_without_a_body(wire, taker):
    for more in ({"expectContinue": True}, {"headers": {"Expect": "100-continue"}}):
        assert result(wire.call("data.send", {"url": taker.url("/keep"), **more}))["ok"]
        assert taker.last().field("expect") is None


EXPECT = {"Expect": "100-continue"}
OTHERS = [{"headers": EXPECT}, callback(asks=["adapt"])]


@pytest.mark.parametrize("other", OTHERS, ids=["rule", "code"])
@pytest.mark.parametrize("more", [{}, {"expectContinue": True}])
def test_an_interceptor_may_add_the_field(wire, taker, other, more):
    def send(**spec):
        params = {"url": taker.url("/continue"), "interceptors": [other], **spec}
        return exchange(wire, "request", params, {"adapt": lambda _: {"headers": EXPECT}})[0]

    assert send(method="POST", body=HELLO, **more)["ok"] and not taker.last().early
    assert [value for name, value in taker.last().fields if name.lower() == "expect"] == ["100-continue"]
    # not without content
    assert send(url=taker.url("/keep"), **more)["ok"] and taker.last().field("expect") is None


def test_the_field_and_the_parameter_together_are_one_expectation(wire, taker):
    response = upload(
        wire, taker.url("/continue"), HELLO, headers={"Expect": "100-continue"}, expectContinue=True)
    assert response["ok"]
    assert [value for name, value in taker.last().fields if name.lower() == "expect"] == ["100-continue"]


# Responses before the body whose rest comes behind it


@pytest.mark.parametrize("kind", ["file", "base64"])
@pytest.mark.parametrize("expects", [False, True])
def test_a_server_that_reads_all_behind_an_early_head_gets_all(wire, taker, tmp_path, kind, expects):
    """Else both would wait for the other."""
    body = {"file": str(big(tmp_path))} if kind == "file" else {"base64": base64.b64encode(bytes(12_000_000)).decode()}
    response = upload(wire, taker.url("/insist/413"), body, expectContinue=expects)
    assert (response["ok"], response["status"], response["body"]["text"]) == (True, 413, "enough"), response
    assert len(taker.last().body) == (30_000_000 if kind == "file" else 12_000_000)


def test_a_fed_body_goes_on_behind_an_early_head(wire, taker):
    stream = result(wire.call("upload.open"))["stream"]
    number = wire.start("upload.send", {"url": taker.url("/insist/401"), "body": {"stream": stream}})
    taker.wait_for("/insist/401")
    piece = base64.b64encode(bytes(100_000)).decode()
    for _ in range(30):
        result(wire.call("stream.write", {"stream": stream, "base64": piece, "wait": 20}))
    result(wire.call("stream.finish", {"stream": stream}))
    response = result(wire.reply(number))
    assert (response["ok"], response["status"], response["body"]["text"]) == (True, 401, "enough"), response
    assert len(taker.last().body) == 3_000_000


def test_a_body_that_fails_behind_an_early_head_leaves_the_response(wire, taker):
    """The server does not need the body."""
    stream = result(wire.call("upload.open"))["stream"]
    params = {"url": taker.url("/talk/413"), "body": {"stream": stream}, "events": ["response"]}
    number = wire.start("upload.send", params)
    assert wire.receive(20)["method"] == "event.response"
    result(wire.call("stream.close", {"stream": stream}))
    taker.go.set()
    response = result(wire.reply(number))
    assert (response["ok"], response["status"]) == (True, 413), response
    assert response["body"]["text"].strip(".") == "over", response


def test_a_long_page_that_waits_for_its_reader_ends_the_upload(wire, taker):
    """The client feeds first, and reads afterwards."""
    stream = result(wire.call("upload.open"))["stream"]
    spec = {"url": taker.url("/page/413"), "body": {"stream": stream}, "method": "POST"}
    made = result(wire.call("stream.open", {**spec, "mode": "pull", "wait": "response"}))
    piece = base64.b64encode(bytes(500_000)).decode()
    reply = {"result": {}}
    for _ in range(100):
        reply = wire.call("stream.write", {"stream": stream, "base64": piece, "wait": 5})
        if "error" in reply:
            break
    assert reply.get("error", {}).get("code") == -32013, reply
    assert made["response"]["status"] == 413
    taker.go.set()
