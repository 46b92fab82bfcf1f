# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests that end badly: bad responses, stalls, bad URLs, wrong parameters."""

import base64
import time

import contract
import pytest
from capture_server import Capture
from request_client import get, memory, result
from tcp_server import Host

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


# What a bad response gets

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
    "/broken/gzip": (1408, "hello"),
}


@pytest.mark.parametrize("path", FAILURES)
def test_a_bad_response_is_a_failure_that_keeps_what_came(wire, server, path):
    """[AB3] [AB7] [G1]"""
    codes, text = FAILURES[path]
    response = get(wire, server.url(path), timeout=5)
    assert not response["ok"]
    assert response["error"]["code"] in (codes if isinstance(codes, tuple) else (codes,)), response["error"]
    assert ("status" in response) == (text is not None), response
    if text:
        assert response["body"]["text"] == text and response["body"]["complete"] is False
    else:
        assert response["body"]["kind"] == "none"
    # the next request finds a connection that works
    assert get(wire, server.url("/fine"))["body"]["text"] == "fine"


def test_a_head_that_drips_must_be_whole_in_time(wire):
    def drip(connection):
        connection.recv(65536)
        for byte in b"HTTP/1.1 200 OK\r\nX-Long: " + bytes(200):
            connection.sendall(bytes([byte or 0x78]))
            time.sleep(0.02)

    with Host(drip) as host:
        began = time.monotonic()
        response = get(wire, f"http://127.0.0.1:{host.port}/", timeout={"firstByte": 0.3, "idle": 5})
        assert time.monotonic() - began < 3
    assert response["error"]["code"] == 1405 and response["error"]["phase"] == "firstByte", response


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
    """[AB3] [AB4] [B2]"""
    began = time.monotonic()
    response = get(wire, server.url(path), timeout=limit)
    assert time.monotonic() - began < 3
    assert response["error"]["code"] == 1405 and response["error"]["retryable"] is True, response
    assert phase is None or response["error"]["phase"] == phase
    if path == "/stall/middle":
        assert response["body"]["text"] == "0123456789"


def test_a_server_that_never_shakes_hands(wire, server):
    response = get(wire, server.url("/tls", "https"), timeout={"tls": 0.3})
    assert response["error"]["code"] == 1405 and response["error"]["phase"] == "tls"
    server.wait_gone("/tls")


def test_a_server_that_does_not_read(wire, server):
    body = {"base64": base64.b64encode(bytes(8 << 20)).decode()}
    response = get(wire, server.url("/deaf/3"), method="POST", body=body, timeout={"idle": 0.4})
    assert response["error"]["code"] == 1405 and response["error"]["phase"] == "request"


def test_a_wait_for_a_connection_ends_too(wire, server):
    session = wire.call("session.create", {"connectionsPerHost": 6})["result"]["session"]
    stalled = {"url": server.url("/stall/"), "timeout": 6, "session": session}
    running = [wire.start("data.send", stalled) for _ in range(6)]
    server.wait_for("/stall/", 6)
    began = time.monotonic()
    response = get(wire, server.url("/fine"), timeout=0.3, session=session)
    assert response["error"]["code"] == 1405 and response["error"]["phase"] in ("queue", "total")
    assert time.monotonic() - began < 5
    assert all(not reply["result"]["ok"] for reply in wire.replies(running).values())


@pytest.mark.parametrize("path", ["/headers/100000000", "/line/100000000"])
def test_endless_headers_are_cut_off(wire, server, path):
    response = get(wire, server.url(path), timeout=10)
    assert response["error"]["code"] in (1408, 1411), response["error"]
    assert memory(wire) < 200 << 20


def test_a_bomb_does_not_go_off(wire, server):
    # a debug build takes a while for a gigabyte
    response = get(wire, server.url("/bomb/1000000000"), seconds=70, bodyTo="discard", timeout=60)
    assert response["error"]["code"] in (1408, 1411), response
    assert memory(wire) < 200 << 20


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


LATIN = "text/plain; charset=iso-8859-1"


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        ({"text": "caf\u00e9", "contentType": LATIN}, b"caf\xe9"),
        ({"text": "caf\u00e9", "contentType": 'text/plain; Charset="UTF-8"'}, b"caf\xc3\xa9"),
        ({"text": "caf\u00e9", "contentType": "text/plain"}, b"caf\xc3\xa9"),
        ({"text": "caf\u00e9", "contentType": LATIN, "charset": "utf-8"}, b"caf\xc3\xa9"),
        ({"text": "a", "contentType": "text/plain; charset=utf-16"}, b"\xff\xfea\0"),
        ({"text": "a", "contentType": "text/plain; charset=utf-16be"}, b"\0a"),
    ],
)
def test_text_is_sent_in_the_charset_that_its_content_type_declares(wire, body, sent):
    with Capture() as capture:
        assert get(wire, capture.url(), method="POST", body=body)["ok"]
        request = capture.take()
        assert (request.first("Content-Type"), request.body) == (body["contentType"].encode(), sent)


@pytest.mark.parametrize("url", BAD_URLS)
def test_a_bad_url_is_refused_unsent(wire, url):
    """[B8] [B9] [B15]"""
    response = get(wire, url)
    assert response["error"]["code"] == BAD_URLS[url] and response["error"]["pointer"] == "/url", response
    assert response["attempts"] == 0 and response["error"]["message"]
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
        ({"headers": [{"name": "X-A", "value": "b\0"}]}, 1101, "/headers/0"),
        ({"body": {"text": "x"}}, 1102, "/body"),
        ({"method": "POST", "body": {"file": "relative"}}, 1103, "/body/file"),
        ({"method": "POST", "body": {"file": "/nowhere/at/all"}}, 1103, "/body/file"),
        ({"method": "POST", "body": {"file": "/dev/zero"}}, 1103, "/body/file"),
        ({"method": "POST", "body": {"text": "\u20ac", "charset": "us-ascii"}}, 1211, "/body/text"),
        ({"method": "POST", "body": {"text": "\u20ac", "contentType": LATIN}}, 1211, "/body/text"),
        ({"method": "POST", "body": {"text": "x", "contentType": "text/x; charset=x-9"}}, 1211, "/body/contentType"),
    ],
)
def test_what_must_not_be_sent_is_not(wire, server, params, code, pointer):
    response = get(wire, server.url("/fine"), **params)
    assert (response["error"]["code"], response["error"]["pointer"]) == (code, pointer), response
    assert response["attempts"] == 0


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
        ({"bodyTo": "discard", "validate": [True, {"schema": {}}]}, "/validate"),
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


@pytest.mark.parametrize(
    ("method", "params", "pointer"),
    [
        ("data.send", {"retry": {"decide": "pull"}}, "/retry/callback"),
        ("data.send", {"retry": {"limit": 1, "timeout": 5}}, "/retry/callback"),
        ("data.send", {"redirect": {"timeout": 5}}, "/redirect/callback"),
        ("data.send", {"validate": {"status": [200], "decide": "pull"}}, "/validate/callback"),
        ("data.send", {"serialize": {"as": "json", "timeout": 5}}, "/serialize/callback"),
        ("data.send", {"serialize": {"preprocess": {"dropFirst": 1, "timeout": 5}}}, "/serialize/preprocess/timeout"),
        ("data.send", {"serialize": {"cases": [{"when": {}, "timeout": 5}]}}, "/serialize/cases/0/callback"),
        ("data.send", {"trust": {"all": ["default"], "timeout": 5}}, "/trust/timeout"),
        ("session.create", {"trust": {"hosts": {"a.example": "default"}, "decide": "pull"}}, "/trust/decide"),
        ("data.send", {"tls": {"identity": {"pkcs12": "/a", "passphraseFrom": {"credential": "c", "decide": "pull"}}}},
         "/tls/identity/passphraseFrom/decide"),
        ("download.send", {"destination": {"directory": "/a", "timeout": 5}}, "/destination/callback"),
        ("oauth.offerPassphrase", {"timeout": 5}, "/callback"),
        ("server.hello", {"maxInline": 5}, "/rawBodies"),
        ("server.setLog", {"level": "info", "to": "stderr", "path": "/a"}, "/to"),
    ],
)
def test_a_member_that_would_have_no_effect_is_refused(wire, method, params, pointer):
    """Its error names the member that is needed beside it, or must go."""
    url = {"url": "http://127.0.0.1:1/"} if method in ("data.send", "download.send", "stream.open") else {}
    error = wire.call(method, {**url, **params})["error"]
    assert (error["code"], error["data"]["pointer"]) == (-32602, pointer), error


def test_nobody_listens(wire):
    """[AB3] [AB4]"""
    response = get(wire, "http://127.0.0.1:1/")
    assert response["error"]["code"] == 1402 and response["error"]["retryable"] is True
    assert "127.0.0.1" in response["error"]["message"]
