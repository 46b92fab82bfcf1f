# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""HAR files of other programs, in the form in which these write them."""

import base64
import json

import contract
import pytest
from request_client import get, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
URL = "https://app.example/api/users?page=2"


def request(method="GET", url=URL, headers=(), post=None):
    value = {
        "method": method, "url": url, "httpVersion": "http/2.0", "cookies": [], "headersSize": -1, "bodySize": 0,
        "headers": [{"name": name, "value": value} for name, value in headers], "queryString": [],
    }  # fmt: skip
    return {**value, "postData": post} if post else value


def response(status=200, content=None, headers=None, version="http/2.0"):
    if headers is None:
        headers = [("content-type", content["mimeType"])] if content else []
    return {
        "status": status, "statusText": "", "httpVersion": version, "cookies": [], "redirectURL": "",
        "headers": [{"name": name, "value": value} for name, value in headers], "headersSize": -1, "bodySize": -1,
        "content": content or {"size": 0, "mimeType": "x-unknown"},
    }  # fmt: skip


def entry(request, response, **more):
    return {
        "startedDateTime": "2026-01-01T00:00:00.000Z", "time": 12.5, "cache": {}, "request": request,
        "response": response,
        "timings": {"blocked": 1, "dns": -1, "ssl": -1, "connect": -1, "send": 0.1, "wait": 10, "receive": 1}, **more,
    }  # fmt: skip


JSON = {"size": 14, "mimeType": "application/json", "text": '{"n": [1, 2]}\n'}


def chrome():
    """Pseudo-header fields, fields joined by line breaks, an error, WebSocket messages."""
    ws = request(url="wss://app.example/live", headers=[("Upgrade", "websocket")])
    upgraded = response(101, headers=[("Upgrade", "websocket"), ("Connection", "Upgrade")], version="HTTP/1.1")
    messages = [
        {"type": "receive", "time": 1767225600.1, "opcode": 1, "data": "welcome"},
        {"type": "send", "time": 1767225600.2, "opcode": 1, "data": '{"ask":1}'},
        {"type": "receive", "time": 1767225600.3, "opcode": 2, "data": "AAEC"},
    ]
    failed = {**response(0), "_error": "net::ERR_NAME_NOT_RESOLVED"}
    headers = [("content-type", "application/json"), ("set-cookie", "a=1\nb=2"), ("content-encoding", "br")]
    pseudo = [(":authority", "app.example"), (":method", "GET"), ("accept", "*/*")]
    return [
        entry(request(headers=pseudo), response(content=JSON, headers=headers), _initiator={"type": "script"},
              _resourceType="fetch"),
        entry(request(url="https://gone.example/"), failed),
        entry(ws, upgraded, _webSocketMessages=messages),
    ]  # fmt: skip


def firefox():
    """Bodies of images in base64, posted parameters, a request that was blocked."""
    picture = {"size": 3, "mimeType": "image/png", "text": base64.b64encode(b"\x00\x01\x02").decode(),
               "encoding": "base64"}  # fmt: skip
    form = {"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "q", "value": "a b"}], "text": "q=a+b"}
    return [
        entry(request(), response(content=JSON), pageref="page_1", _securityState="secure"),
        entry(request(url="https://app.example/a.png"), response(content=picture, version="HTTP/2")),
        entry(request("POST", "https://app.example/find", post=form), response(201)),
        entry(request(url="https://blocked.example/"), response(0)),
    ]


def playwright(directory):
    """Bodies in files beside the archive, status -1 for failures."""
    (directory / "0a1b.json").write_text(JSON["text"])
    attached = {"size": 14, "mimeType": "application/json", "_file": "0a1b.json"}
    failed = {**response(-1), "_failureText": "net::ERR_CONNECTION_REFUSED"}
    return [
        entry(request(), response(content=attached), _frameref="f"),
        entry(request(url="https://gone.example/"), failed),
    ]


def mitmproxy():
    """Bodies as text, even those of images, connection details, a flow without a response."""
    picture = {"size": 4, "compression": 0, "mimeType": "image/png", "text": "\x89PN\xff"}
    return [
        entry(request(url="https://app.example/a.png"), response(content=picture, version="HTTP/1.1")),
        entry(request(), response(content={**JSON, "compression": 0}, version="HTTP/1.1"), serverIPAddress="10.0.0.1"),
        entry(request(url="https://gone.example/"), {**response(0), "_error": "Connection refused"}),
    ]


@pytest.fixture
def play(wire, tmp_path):
    def play(entries, creator, mark=""):
        log = {"version": "1.2", "creator": {"name": creator, "version": "1"}, "pages": [], "entries": entries}
        path = tmp_path / "a.har"
        path.write_text(mark + json.dumps({"log": log}, indent=2), "utf-8")
        return result(wire.call("replay.start", {"path": str(path), "mode": "none"}))

    return play


@pytest.mark.parametrize("program", ["Chrome", "Firefox", "Playwright", "mitmproxy"])
def test_archives_play(wire, play, tmp_path, program):
    entries = playwright(tmp_path) if program == "Playwright" else globals()[program.lower()]()
    info = play(entries, program, "\ufeff" if program == "Firefox" else "")
    first = get(wire, URL)
    assert first["status"] == 200 and first["body"]["json"] == {"n": [1, 2]}, (info, first)
    if program == "Chrome":
        assert [field["value"] for field in first["headers"] if field["name"] == "set-cookie"] == ["a=1", "b=2"]
        assert get(wire, "https://gone.example/")["error"]["code"] == 1401
        opened = result(wire.call("websocket.open", {"url": "wss://app.example/live"}))
        assert "stream" in opened, opened
        stream = opened["stream"]
        wire.call("websocket.send", {"stream": stream, "text": '{"ask": 1}'})
        got = []
        while len(got) < 2:
            got += result(wire.call("stream.read", {"stream": stream, "wait": 5}))["values"]
        assert len(got) == 2
    elif program == "Firefox":
        assert base64.b64decode(get(wire, "https://app.example/a.png")["body"]["base64"]) == b"\x00\x01\x02"
        request = {"method": "POST", "body": {"form": {"q": "a b"}}}
        assert get(wire, "https://app.example/find", **request)["status"] == 201
        assert info["entries"] == 3 and info["unusable"][0]["entry"] == 4, info
    elif program == "Playwright":
        assert get(wire, "https://gone.example/")["error"]["code"] == 1402
    else:
        assert base64.b64decode(get(wire, "https://app.example/a.png")["body"]["base64"]) == b"\x89PN\xff"
        assert get(wire, "https://gone.example/")["error"]["code"] == 1404


def test_an_archive_without_bodies_says_so(wire, play):
    without = {"size": 14, "mimeType": "application/json"}
    info = play([entry(request(), response(content=without))], "Chrome")
    assert info["entries"] == 0 and "export with contents" in info["unusable"][0]["reason"], info


SECRET = "S3CRETabc123"


def secret_requests():
    """Ways in which a request has a secret: the URL and the parameters of `data.send`."""
    form = {"mimeType": "application/x-www-form-urlencoded", "text": f"user=u&password={SECRET}"}
    yield request(url=f"{URL}&token={SECRET}"), {"url": f"{URL}&token={SECRET}"}
    yield request("POST", post=form), {"method": "POST", "body": {"form": {"user": "u", "password": SECRET}}}
    sent = {"mimeType": "application/json", "text": json.dumps({"password": SECRET})}
    yield request("PUT", post=sent), {"method": "PUT", "body": {"json": {"password": SECRET}}}
    # the secret stands in a path, too, of an entry before the one that tells that it is a secret
    yield request(url=f"https://app.example/{SECRET}"), {"url": f"https://app.example/{SECRET}"}
    bearer = {"Authorization": f"Bearer {SECRET}"}
    yield request(url="https://app.example/me", headers=bearer.items()), {"url": "https://app.example/me",
                                                                          "headers": bearer}  # fmt: skip


def test_requests_with_secrets_play(wire, play):
    pairs = list(secret_requests())
    info = play([entry(one, response(200 + index)) for index, (one, _) in enumerate(pairs)], "Chrome")
    assert info["entries"] == 5 and SECRET not in json.dumps(wire.call("replay.get", {})), info
    for index, (_, params) in enumerate(pairs):
        reply = get(wire, **{"url": URL, **params})
        assert reply.get("status") == 200 + index, (params, reply)
    missed = get(wire, "https://app.example/me/7?token=another-secret")
    assert missed["error"]["code"] == 2200
    assert SECRET not in missed["error"]["message"] and "another-secret" not in missed["error"]["message"]


def test_a_miss_shows_no_secret_that_only_the_request_tells(wire, play):
    play([entry(request(url=f"https://app.example/{SECRET}"), response())], "Chrome")
    missed = get(wire, f"https://app.example/{SECRET}/7", headers={"Authorization": f"Bearer {SECRET}"})
    assert missed["error"]["code"] == 2200 and SECRET not in missed["error"]["message"], missed


def test_messages_with_secrets_play(wire, play):
    ask = json.dumps({"op": "auth", "token": SECRET})
    fields = [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", "x")]
    messages = [
        {"type": "send", "time": 1.0, "opcode": 1, "data": ask},
        {"type": "receive", "time": 1.1, "opcode": 1, "data": "welcome"},
    ]
    opening = request(url="wss://app.example:443/live")
    play([entry(opening, response(101, headers=fields), _webSocketMessages=messages)], "Chrome")
    stream = result(wire.call("websocket.open", {"url": "wss://app.example/live"}))["stream"]
    wire.call("websocket.send", {"stream": stream, "text": ask})
    assert "welcome" in json.dumps(result(wire.call("stream.read", {"stream": stream, "wait": 5}))["values"])


@pytest.mark.parametrize("written, asked", [
    ("https://app.example:443/a", "https://app.example/a"), ("https://bücher.example/a", "https://bücher.example/a"),
    ("https://app.example/ä b", "https://app.example/%C3%A4%20b"),
    ("https://app.example/a/../b", "https://app.example/b"),
])  # fmt: skip
def test_urls_are_read_as_those_of_requests(wire, play, written, asked):
    play([entry(request(url=written), response(content=JSON))], "mitmproxy")
    assert get(wire, asked)["status"] == 200


def test_a_websocket_without_messages_says_so(wire, play):
    opening = request(url="wss://app.example/live", headers=[("Upgrade", "websocket")])
    info = play([entry(opening, response(101))], "Firefox")
    assert info["entries"] == 0 and "messages were not exported" in info["unusable"][0]["reason"], info
