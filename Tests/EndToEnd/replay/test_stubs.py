# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Stubs: responses and failures without a network."""

import base64
import gzip
import time

import contract
import pytest
from request_client import get, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
FAULTS = {
    "nameNotFound": (1401, "resolve", False),
    "refused": (1402, "connect", True),
    "lost": (1404, "firstByte", True),
    "timeout": (1405, "firstByte", True),
    "tls": (1406, "tls", False),
    "malformed": (1408, "firstByte", False),
    "offline": (1412, "connect", True),
}


def stub(wire, **params):
    return result(wire.call("stub.add", params))["stub"]


def stubs(wire, **params):
    return result(wire.call("stub.list", params))["stubs"]


@pytest.mark.parametrize(("fault", "expected"), FAULTS.items(), ids=FAULTS)
def test_a_fault_is_the_real_failure(wire, fault, expected):
    """Each fault has code, phase and retryability of the failure that users meet, and takes no time: a minute else."""
    stub(wire, url="https://api.example/*", fault=fault)
    start = time.monotonic()
    failure = get(wire, "https://api.example/a")["error"]
    assert (failure["code"], failure["phase"], failure["retryable"]) == expected, failure
    assert time.monotonic() - start < 10


def test_a_body_is_compared_before_its_compression(wire):
    stub(wire, url="/", body={"a": 1}, response={"text": "here"})
    for compress in ({}, {"compress": "gzip"}, {"compress": "zstd"}):
        params = {"method": "POST", "body": {"json": {"a": 1, "more": "x" * 5000}}, **compress}
        assert get(wire, "https://api.example/", **params)["body"]["text"] == "here", compress


def test_every_phase_times_out_without_waiting(wire):
    for phase in ("resolve", "connect", "tls", "request", "firstByte", "response", "total"):
        stub(wire, url="/" + phase, fault={"timeout": phase})
        failure = get(wire, "https://api.example/" + phase)["error"]
        assert (failure["code"], failure["phase"]) == (1405, phase)


def test_a_real_timeout_takes_as_long_as_the_request_allows(wire):
    stub(wire, url="/", fault={"timeout": "firstByte", "real": True})
    start = time.monotonic()
    failure = get(wire, "https://api.example/", timeout={"firstByte": 0.3})["error"]
    assert failure["code"] == 1405 and 0.25 < time.monotonic() - start < 10


def test_the_body_breaks_off(wire):
    for fault in ({"lost": 3}, {"truncated": 3}):
        stub(wire, url="/", response={"text": "hello", "fault": fault})
        response = get(wire, "https://api.example/")
        assert response["error"]["code"] == 1404 and response["error"]["phase"] == "response"


def test_rules_and_their_order(wire):
    """Method, pattern, query, fields and body must fit; the last stub that fits wins."""
    stub(wire, url="*", response={"status": 404})
    stub(wire, url="https://api.example/users/{id}", response={"json": {"who": "any"}})
    stub(wire, method="POST", url="/users/{id}", response={"status": 201})
    stub(wire, url="/users/7", query={"full": "a b"}, response={"text": "full"})
    stub(wire, url="/users/7", headers={"X-A": "1"}, response={"text": "field"})
    stub(wire, method="PUT", url="/users/7", body={"name": "Ada"}, response={"text": "body"})
    url = "https://api.example/users/7"
    assert get(wire, url)["body"]["json"] == {"who": "any"}
    assert get(wire, url, method="POST")["status"] == 201
    assert get(wire, url, query={"full": "a b", "x": "1"})["body"]["text"] == "full"
    assert get(wire, url, headers={"x-a": "1"})["body"]["text"] == "field"
    body = {"json": {"name": "Ada", "age": 36}}
    assert get(wire, url, method="PUT", body=body)["body"]["text"] == "body"
    assert get(wire, url, method="PUT", body={"json": {"name": "Bob"}})["body"]["json"] == {"who": "any"}
    assert get(wire, url + "/friends")["status"] == 404


def test_sequences_limits_and_order(wire):
    """`responses` play in order and the last one stays; `times`, `every` and `after` limit a stub."""
    first = stub(wire, url="/a", responses=[{"fault": "lost"}, {"text": "1"}, {"text": "2"}])
    assert get(wire, "http://x.example/a")["error"]["code"] == 1404
    assert [get(wire, "http://x.example/a")["body"]["text"] for _ in range(3)] == ["1", "2", "2"]
    stub(wire, url="/b", response={"text": "rest"})
    stub(wire, url="/b", times=2, response={"text": "twice"})
    assert [get(wire, "http://x.example/b")["body"]["text"] for _ in range(3)] == ["twice", "twice", "rest"]
    stub(wire, url="/c", response={"text": "well"})
    stub(wire, url="/c", every=3, fault="refused")
    assert ["error" in get(wire, "http://x.example/c") for _ in range(6)] == [False, False, True] * 2
    stub(wire, url="/d", response={"text": "before"})
    last = stub(wire, url="/e", response={"text": "e"})
    stub(wire, url="/d", after=last, response={"text": "after"})
    assert get(wire, "http://x.example/d")["body"]["text"] == "before"
    get(wire, "http://x.example/e")
    assert get(wire, "http://x.example/d")["body"]["text"] == "after"
    assert next(one for one in stubs(wire) if one["stub"] == first)["hits"] == 4


def test_retries_and_redirects_ask_again(wire):
    stub(wire, url="/flaky", responses=[{"status": 503}, {"fault": "lost"}, {"text": "ok"}])
    stub(wire, url="/old", response={"status": 302, "headers": {"Location": "/flaky"}})
    interceptor = [{"retry": {"limit": 3, "scale": 0.001}}]
    response = get(wire, "http://x.example/old", interceptors=interceptor)
    assert response["body"]["text"] == "ok" and response["url"] == "http://x.example/flaky"


def test_chunks_trailers_delays_and_files(wire, tmp_path):
    file = tmp_path / "a.bin"
    file.write_bytes(bytes(range(256)))
    stub(wire, url="/file", response={"file": str(file)})
    body = get(wire, "http://x.example/file")["body"]
    assert base64.b64decode(body["base64"]) == bytes(range(256))
    chunks = [{"text": "a"}, {"after": 0.1, "base64": "Yg=="}]
    stub(wire, url="/chunks", response={"chunks": chunks, "trailers": {"X-Sum": "2"}, "delay": 0.1})
    start = time.monotonic()
    response = get(wire, "http://x.example/chunks")
    assert response["body"]["text"] == "ab" and time.monotonic() - start >= 0.2
    stub(wire, url="/late", response={"text": "late", "delay": 5})
    assert get(wire, "http://x.example/late", timeout={"firstByte": 0.1})["error"]["code"] == 1405
    stub(wire, url="/slow", response={"text": "x" * 100, "fault": {"slow": 500}})
    start = time.monotonic()
    assert get(wire, "http://x.example/slow")["body"]["text"] == "x" * 100
    assert 0.15 < time.monotonic() - start < 10


def test_requests_without_a_stub(wire, origin):
    """They fail without touching the network, unless they may pass. [A16]"""
    name = stub(wire, url="/a", response={"text": "a"})
    failure = get(wire, origin + "/json")["error"]
    assert failure["code"] == 2203 and name in failure["message"] and not failure["retryable"]
    stub(wire, url="/b", unmatched="pass", response={"text": "b"})
    assert get(wire, origin + "/json")["status"] == 200
    seen = result(wire.call("stub.requests", {}))["requests"]
    assert [one.get("stub") for one in seen] == [None, None]
    assert result(wire.call("stub.remove", {}))["removed"] == 2
    assert get(wire, origin + "/json")["status"] == 200 and stubs(wire) == []


def test_sessions_have_stubs_of_their_own(wire, origin):
    """A session is given responses in place of its transport. [A3]"""
    session = result(wire.call("session.create", {}))["session"]
    stub(wire, session=session, url="/json", response={"text": "staged"})
    assert get(wire, origin + "/json", session=session)["body"]["text"] == "staged"
    assert "json" in get(wire, origin + "/json")["body"]


def test_secrets_of_requests_are_masked(wire):
    stub(wire, method="POST", url="/login", response={"text": "ok"})
    get(wire, "http://x.example/login?token=s3cr3t", method="POST", body={"json": {"password": "s3cr3t"}},
        headers={"X-Api-Key": "s3cr3t"})  # fmt: skip
    get(wire, "http://x.example/login", method="POST", body={"multipart": [{"name": "password", "text": "s3cr3t"}]})
    archive = result(wire.call("har.export", {"bodies": True}))
    assert "s3cr3t" not in str(archive) and "***" in str(archive)
    listed = result(wire.call("stub.requests", {}))
    assert "s3cr3t" not in str(listed) + str(stubs(wire)) and "***" in listed["requests"][0]["text"]


def test_uploads_and_downloads(wire, tmp_path):
    source, target = tmp_path / "up", tmp_path / "down"
    source.write_text("x" * 100_000)
    stub(wire, method="POST", url="/up", response={"status": 201})
    stub(wire, url="/down", response={"text": "y" * 100_000})
    assert get(wire, "http://x.example/up", method="POST", body={"file": str(source)})["status"] == 201
    reply = result(wire.call("download.send", {"url": "http://x.example/down", "destination": {"path": str(target)}}))
    assert target.read_text() == "y" * 100_000, reply


@pytest.mark.parametrize(
    ("params", "pointer"),
    [
        ({"url": "ftp://x/", "fault": "refused"}, "/url"),
        ({"url": "https://x/a b", "fault": "refused"}, "/url"),
        ({"url": "https://x/#a", "fault": "refused"}, "/url"),
        ({"url": "/{", "fault": "refused"}, "/url"),
        ({"url": "/"}, ""),
        ({"url": "/", "fault": "fire"}, "/fault"),
        ({"url": "/", "fault": {"lost": 1, "slow": 1}}, "/fault"),
        ({"url": "/", "response": {"text": "a", "json": 1}}, "/response"),
        ({"url": "/", "responses": []}, "/responses"),
        ({"url": "/", "response": {"headers": {"A": "1", "B c": "2"}}}, "/response/headers/B c"),
        ({"url": "/", "response": {"trailers": [{"name": "A", "value": "\n"}]}}, "/response/trailers/0"),
        ({"url": "/", "response": {"file": "/nowhere/x"}}, "/response/file"),
        ({"url": "/", "responses": [{"text": "a"}, {"file": "/nowhere/x"}]}, "/responses/1/file"),
    ],
)
def test_bad_stubs(wire, params, pointer):
    error = wire.call("stub.add", params)["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == pointer, error


@pytest.mark.parametrize(("call", "params", "pointer"), [
    ("stub.add", {"url": "/", "method": "get", "fault": "refused"}, "/method"),
    ("data.send", {"url": "http://x.example/", "retry": {"methods": ["GET", "post"]}}, "/retry/methods/1"),
    ("data.send", {"url": "http://x.example/", "serialize": {"as": "json", "emptyMethods": ["Head"]}},
     "/serialize/emptyMethods/0"),
])  # fmt: skip
def test_a_usual_method_in_lower_case_is_refused_where_methods_are_compared(wire, call, params, pointer):
    """Methods are case-sensitive: such a rule would fit no request that is meant."""
    error = wire.call(call, params)["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == pointer, error
    assert "methods are case-sensitive" in error["message"]


def test_methods_of_a_program_are_compared_as_they_are(wire):
    stub(wire, url="/", method="Frobnicate", response={"text": "here"})
    assert get(wire, "http://x.example/", method="Frobnicate")["body"]["text"] == "here"
    assert get(wire, "http://x.example/", method="frobnicate")["error"]["code"] == 2203


def test_a_body_that_the_client_compressed_is_compared_and_listed_decoded(wire):
    stub(wire, url="/", body={"a": 1}, response={"text": "here"})
    coded = base64.b64encode(gzip.compress(b'{"a":1,"password":"s3cr3t"}')).decode()
    body = {"base64": coded, "contentType": "application/json"}
    response = get(wire, "http://x.example/", method="POST", body=body, headers={"Content-Encoding": "gzip"})
    assert response["body"]["text"] == "here"
    assert result(wire.call("stub.requests", {}))["requests"][0]["text"] == '{"a":1,"password":"***"}'


def test_a_listed_body_is_text_unless_a_parser_may_lose_it(wire):
    """Half of the JSON parsers cut a string at U+0000; a long text is cut between its characters."""
    stub(wire, url="/", response={"text": "here"})
    for body in ({"base64": "AAE="}, {"text": "a" + "é" * 3000}):
        get(wire, "http://x.example/", method="POST", body=body)
    binary, long = result(wire.call("stub.requests", {}))["requests"]
    assert binary["base64"] == "AAE=" and "text" not in binary
    assert long["text"] == "a" + "é" * 2047


def test_an_unknown_stub_cannot_come_before(wire):
    error = wire.call("stub.add", {"url": "/", "after": "stub_9", "fault": "refused"})["error"]
    assert error["code"] == -32012 and error["data"]["pointer"] == "/after"
