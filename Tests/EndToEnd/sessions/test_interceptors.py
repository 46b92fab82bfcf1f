# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Interceptors of every kind: written where they are used, and made once and named."""

import base64
import gzip
import zlib

import contract
import pytest
from callback_client import exchange
from capture_server import Capture
from redirect_server import Server
from request_client import get, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

LOST = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\n12345"
BUSY = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
UNPACK = {b"deflate": zlib.decompress, b"gzip": gzip.decompress}


@pytest.fixture
def line():
    with contract.Wire() as line:
        yield line


@pytest.fixture(params=["inline", "created", "in a chain", "of a session"])
def using(request, line):
    """The same interceptor in every place where it may stand, as members of a request."""

    def use(interceptor):
        if request.param == "inline":
            return {"interceptors": [interceptor]}
        if request.param == "in a chain":
            interceptor = {"chain": [{"chain": [interceptor]}]}
        handle = result(line.call("interceptor.create", {"interceptor": interceptor}))["interceptor"]
        if request.param != "of a session":
            return {"interceptors": [handle]}
        return {"session": result(line.call("session.create", {"interceptors": [handle]}))["session"]}

    return use


def test_every_kind_can_be_named(line):
    """And is listed by what it does."""
    kinds = {
        "headers": {"X": "1"}, "query": {"a": 1}, "basic": {"user": "u", "password": "p"}, "bearer": "t",
        "retry": True, "connectionLost": True, "offline": True, "compress": "deflate", "chain": [], "callback": "x",
    }  # fmt: skip
    for kind, value in kinds.items():
        result(line.call("interceptor.create", {"interceptor": {kind: value}, "label": kind}))
    listed = result(line.call("interceptor.list"))["interceptors"]
    assert {one["label"]: one["kind"] for one in listed} == {kind: kind for kind in kinds}


BAD = [
    ({"basic": {"user": "u", "password": "p"}, "origins": []}, "/origins"),
    ({"bearer": "t", "origins": ["https://example.org/path"]}, "/origins/0"),
    ({"bearer": "t", "origins": ["https://example.org", "nowhere"]}, "/origins/1"),
    ({"bearer": "t", "origins": "https://example.org"}, "/origins"),
    ({"headers": {"X": "1"}, "origins": ["https://example.org"]}, "/origins"),
    ({"connectionLost": {"statuses": [503]}}, "/connectionLost/statuses"),
    ({"connectionLost": "yes"}, "/connectionLost"),
    ({"connectionLost": {"limit": -1}}, "/connectionLost/limit"),
    ({"offline": {"wait": -1}}, "/offline/wait"),
    ({"offline": 5}, "/offline"),
    ({"compress": "brotli"}, "/compress"),
    ({"compress": {"coding": "gzip", "duplicate": "perhaps"}}, "/compress/duplicate"),
    ({"query": {"a": {"b": 1}}}, "/query/a"),
    ({"headers": {"Host": "x"}}, "/headers/Host"),
    ({"bearer": None}, ""),
    ({"bearer": ""}, "/bearer"),
    ({"bearer": "t", "origin": ["https://example.org"]}, "/origin"),
]


@pytest.mark.parametrize(("method", "params", "pointer"), [
    ("data.send", {"url": "http://127.0.0.1:1/", "interceptors": [{"bearer": "t"}, "int_x"]}, "/interceptors/1"),
    ("session.create", {"interceptors": [{"chain": [{"bearer": "t"}, "int_x"]}]}, "/interceptors/0/chain/1"),
    ("interceptor.create", {"interceptor": {"chain": ["int_x"]}}, "/interceptor/chain/0"),
])  # fmt: skip
def test_an_unknown_handle_is_refused_where_it_stands(line, method, params, pointer):
    error = line.call(method, params)["error"]
    assert error["code"] == -32012 and error["data"]["pointer"] == pointer, error


@pytest.mark.parametrize(("interceptor", "pointer"), BAD)
def test_what_cannot_be_one_is_refused_where_it_is_said(line, interceptor, pointer):
    error = line.call("interceptor.create", {"interceptor": interceptor})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == "/interceptor" + pointer, error


# Credentials


@pytest.mark.parametrize(("kind", "value", "field"), [
    ("basic", {"user": "ada", "password": "s3cret"}, b"Basic " + base64.b64encode(b"ada:s3cret")),
    ("bearer", "s3cret", b"Bearer s3cret"),
])  # fmt: skip
def test_credentials_go_to_their_origins_only(line, using, kind, value, field):
    """[M5]"""
    with Capture() as one, Capture() as other:
        bound = using({kind: value, "origins": [one.url("/").rstrip("/"), "https://api.example.org"]})
        assert get(line, one.url(), **bound)["ok"] and get(line, other.url(), **bound)["ok"]
        assert one.take().first("Authorization") == field and other.take().first("Authorization") is None
        free = using({kind: value})
        assert get(line, one.url(), **free)["ok"] and get(line, other.url(), **free)["ok"]
        assert one.take().first("Authorization") == other.take().first("Authorization") == field


@pytest.mark.parametrize("origins", [True, False])
def test_an_adapter_that_leads_elsewhere_does_not_take_credentials_along(line, origins):
    """[J2]"""
    with Capture() as home, Capture() as away:
        credential = {"bearer": "s3cret", **({"origins": [home.url().rstrip("/")]} if origins else {})}
        params = {"url": home.url(), "interceptors": [credential, {"callback": "lead", "asks": ["adapt"]}]}
        response, _ = exchange(line, "request", params, {"adapt": lambda callback: {"url": away.url()}})
        assert response["ok"] and away.take().first("Authorization") is None
        own = {"url": away.url(), "headers": {"Authorization": "mine"}}
        response, _ = exchange(line, "request", params, {"adapt": lambda callback: own})
        assert response["ok"] and away.take().first("Authorization") == b"mine"


@pytest.mark.parametrize(("origins", "seen"), [(False, True), (True, False)])
def test_headers_that_go_along_do_not_lead_a_bound_credential_elsewhere(line, origins, seen):
    """`keepHeaders` is the caller's word for what is not bound to an origin."""
    home, away = Server(), Server()
    try:
        credential = {"bearer": "s3cret", **({"origins": [home.url("")]} if origins else {})}
        response = get(line, home.url("/to/302?" + away.url()), interceptors=[credential],
                     redirect={"keepHeaders": ["Authorization"]})
        assert response["ok"] and ("authorization" in away.seen[0]["headers"]) is seen
        assert "authorization" in home.seen[0]["headers"]
    finally:
        home.close()
        away.close()


def test_a_shared_session_binds_its_credentials(line, listening):
    """Any client could send them anywhere otherwise."""
    bound = {"bearer": "t", "origins": ["https://api.example.org"]}
    with contract.Wire(listening) as wire:
        handle = result(wire.call("interceptor.create", {"interceptor": {"bearer": "t"}}))["interceptor"]
        for interceptor in ({"bearer": "t"}, handle, {"chain": [{"headers": {"X": "1"}}, handle]}):
            params = {"name": "api", "shared": True, "interceptors": [interceptor]}
            error = wire.call("session.create", params)["error"]
            assert error["code"] == -32602 and "origins" in error["message"]
            assert error["data"]["pointer"] == "/interceptors"
        result(wire.call("session.create", {"name": "api", "shared": True, "interceptors": [bound]}))
        error = wire.call("session.update", {"session": "api", "interceptors": [handle]})["error"]
        assert error["code"] == -32602 and "origins" in error["message"]
        assert wire.call("session.get", {"session": "api"})["result"]["interceptors"] == ["bearer"]


# Compression


@pytest.mark.parametrize("coding", ["deflate", "gzip"])
def test_a_body_is_compressed_for_each_attempt(line, using, coding):
    """[Y1] [3.T.3]"""
    with Capture(response=BUSY) as capture:
        retry = {"scale": 0, "methods": ["POST"], "limit": 1}
        params = {"method": "POST", "body": {"json": {"a": ["b"] * 1000}}, "retry": retry}
        assert get(line, capture.url(), **params, **using({"compress": coding}))["attempts"] == 2
        first, second = capture.take(), capture.take()
    assert first.first("Content-Encoding") == coding.encode() and len(first.body) < 500
    assert UNPACK[coding.encode()](first.body).startswith(b'{"a":["b"') and first.body == second.body


def test_a_body_that_says_its_coding_already(line, using):
    """[Y2] [3.T.4] [3.T.5]"""
    params = {"method": "POST", "body": {"text": "x" * 100}, "headers": {"Content-Encoding": "br"}}
    with Capture() as capture:
        error = get(line, capture.url(), **params, **using({"compress": "gzip"}))["error"]
        assert error["code"] == 1300 and "Content-Encoding" in error["message"] and "pointer" not in error
        assert get(line, capture.url(), **params, **using({"compress": {"coding": "gzip", "duplicate": "skip"}}))["ok"]
        assert capture.take().body == b"x" * 100
        changed = using({"compress": {"coding": "gzip", "duplicate": "replace"}})
        assert get(line, capture.url(), **params, **changed)["ok"]
        request = capture.take()
        assert request.first("Content-Encoding") == b"gzip" and gzip.decompress(request.body) == b"x" * 100


def test_what_is_too_short_or_not_there_stays_as_it_is(line, using):
    """[Y3] [Y4]"""
    with Capture() as capture:
        for params in ({}, {"method": "POST", "body": {"text": "short"}}):
            assert get(line, capture.url(), **params, **using({"compress": {"coding": "gzip", "minimum": 6}}))["ok"]
            assert capture.take().first("Content-Encoding") is None


# Retries


def test_only_lost_connections_are_repeated(line, using):
    """[K7] [3.I.8]"""
    quickly = {"connectionLost": {"scale": 0.001}}
    with Capture(response=LOST) as capture:
        assert get(line, capture.url(), **using(quickly))["attempts"] == 3
        assert get(line, capture.url(), **using({"connectionLost": {"scale": 0, "limit": 1}}))["attempts"] == 2
        assert get(line, capture.url(), **using({"connectionLost": False}))["attempts"] == 1
        post = {"method": "POST", "body": {"text": "x"}}
        assert get(line, capture.url(), **post, **using(quickly))["attempts"] == 1
    with Capture(response=BUSY) as capture:
        assert get(line, capture.url(), validate=True, **using(quickly))["attempts"] == 1
    assert get(line, "http://127.0.0.1:1/", **using(quickly))["attempts"] == 1


def test_many_interceptors_do_what_they_do_one_by_one(line, using):
    """[J2] [J11]"""
    links = [{"headers": {"X-Last": str(number), f"X-{number}": "1"}} for number in range(10)]
    links[5:5] = [{"query": {"a": 1}}, {"query": {"b": 2}}, {"connectionLost": True}, {"query": {"c": 3}}]
    with Capture() as capture:
        assert get(line, capture.url("/?z=0"), headers={"x-last": "own"}, **using({"chain": links}))["ok"]
        request = capture.take()
    assert request.line.startswith(b"GET /?z=0&a=1&b=2&c=3 ")
    assert [value for name, value in request.fields if name.lower() == b"x-last"] == [b"9"]
    assert [name for name, _ in request.fields if name.startswith(b"X-") and name != b"X-Last"] == [
        b"X-%d" % number for number in range(10)
    ]
