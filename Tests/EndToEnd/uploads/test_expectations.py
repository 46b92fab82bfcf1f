# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Bodies that wait for 100 Continue, RFC 9110 section 10.1.1."""

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
