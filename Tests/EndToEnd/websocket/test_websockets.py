# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""WebSockets against servers that others wrote: websockets, aiohttp, and nginx with TLS before them."""

import asyncio
import base64
import json
import shutil
import subprocess
import threading
import time
import zlib

import aiohttp.web
import contract
import pytest
import tls_server
from listeners import free_port
from nginx_server import needs_nginx, nginx
from proxy_server import Proxy, microsocks, tinyproxy
from raw_client import Raw
from request_client import memory
from shell import outrider, refused
from websocket_server import Deaf, echo, last, opened, read, websockets_server

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def url():
    with websockets_server(echo) as url:
        yield url


@pytest.fixture
def chat():
    with websockets_server(echo, subprotocols=["chat", "more"]) as url:
        yield url


def test_messages_go_both_ways_compressed(wire, chat):
    """[Z1] [Z4] [Z5] [Z6] [Z8] [B6] [3.P.2] [3.P.5]"""
    result = opened(wire, chat, protocols=["other", "more"])
    assert result["protocol"] == "more"
    assert "permessage-deflate" in result["extensions"]
    assert result["response"]["status"] == 101
    stream = result["stream"]
    messages = [{"text": "a" * 1000}, {"base64": base64.b64encode(bytes(range(256)) * 300).decode()}, {"text": "é\0"}]
    assert wire.call("websocket.send", {"stream": stream, "messages": messages})["result"]["sent"] == 3
    text, binary, nul = read(wire, stream, 3)
    assert text == messages[0] and binary == messages[1]
    assert nul == {"base64": base64.b64encode("é\0".encode()).decode(), "isText": True}
    assert wire.call("websocket.ping", {"stream": stream})["result"]["rtt"] < 5
    close = wire.call("websocket.close", {"stream": stream, "code": 4001, "reason": "enough"})["result"]
    assert close["code"] == 4001 and close["clean"]
    assert last(wire, stream)["close"]["clean"]


@pytest.mark.parametrize("method, params", [("stream.write", {"text": "a"}), ("stream.finish", {})])
def test_a_websocket_takes_messages_and_no_bytes(wire, url, method, params):
    error = wire.call(method, {"stream": opened(wire, url)["stream"], **params})["error"]
    assert error["code"] == -32013 and "websocket.send" in error["message"], error


def test_events_within_credit(wire, url):
    """[Z2] [3.P.3]"""
    result = opened(wire, url, mode="push", credit=1, greeting=[{"text": "one"}, {"text": "two"}])
    stream = result["stream"]
    event = wire.receive()
    assert event["method"] == "event.socket" and event["params"]["kind"] == "open"
    event = wire.receive()
    assert event["method"] == "event.message" and event["params"]["text"] == "one"
    with pytest.raises(TimeoutError):
        wire.receive(0.5)
    wire.call("stream.credit", {"stream": stream, "bytes": 100})
    assert wire.receive()["params"]["text"] == "two"


def test_the_end_of_the_server_is_told(wire):
    """[Z3]"""
    def leave(connection):
        connection.send("bye")
        connection.close(4002, "later")

    with websockets_server(leave) as url:
        result = opened(wire, url, compact=True)
        end = last(wire, result["stream"])
        assert end["values"] in (["bye"], [])
        assert end["close"] == {"code": 4002, "reason": "later", "clean": True} and "error" not in end
        error = wire.call("websocket.send", {"stream": result["stream"], "text": "x"})["error"]
        assert error["code"] in (-32012, -32013)


def test_a_refused_handshake_keeps_its_response(wire):
    """[I16]"""
    def refuse(connection, request):
        return connection.respond(403, "not you\n")

    with websockets_server(echo, process_request=refuse) as url:
        result = wire.call("websocket.open", {"url": url})["result"]
        assert "stream" not in result
        response = result["response"]
        assert (response["ok"], response["status"], response["error"]["code"]) == (False, 403, 2000)
        assert response["body"]["text"] == "not you\n"


@pytest.mark.parametrize(
    ("params", "pointer"),
    [
        ({"method": "POST"}, "/method"),
        ({"headers": {"A": "x", "upgrade": "x"}}, "/headers/upgrade"),
        ({"headers": [{"name": "Sec-WebSocket-Protocol", "value": "x"}]}, "/headers/0"),
        ({"protocols": ["a", "a b"]}, "/protocols/1"),
        ({"protocols": ["a", "a"]}, "/protocols/1"),
        ({"maxMessage": 0}, "/maxMessage"),
        ({"compression": {"window": 8}}, "/compression/window"),
        ({"ping": {"interval": 0}}, "/ping/interval"),
        ({"reconnect": {"codes": [4000, 1]}}, "/reconnect/codes/1"),
        ({"greeting": [{"text": "a", "base64": ""}]}, "/greeting/0"),
        ({"httpVersion": "2"}, "/httpVersion"),
        ({"expectContinue": True}, "/expectContinue"),
        ({"parameters": {"a": 1}}, "/parameters"),
        ({"maxBody": 1}, "/maxBody"),
    ],
)
def test_bad_input_names_its_member(wire, params, pointer):
    error = wire.call("websocket.open", {"url": "ws://127.0.0.1:1/", **params})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == pointer, error


def test_a_lost_connection_is_replaced_and_announced(wire):
    greetings = []

    def lose(connection):
        greetings.append(connection.recv())
        connection.send(f"on {len(greetings)}")
        if len(greetings) < 3:
            connection.socket.shutdown(2)
            return
        connection.recv()

    with websockets_server(lose, compression=None) as url:
        result = opened(
            wire, url, reconnect={"delay": 0.05, "maxDelay": 0.05}, greeting=[{"text": "subscribe"}], compact=True)
        values = read(wire, result["stream"], 8)
        kinds = [value if isinstance(value, str) else value["socket"]["kind"] for value in values]
        assert kinds == ["open", "on 1", "reconnecting", "open", "on 2", "reconnecting", "open", "on 3"]
        assert greetings == ["subscribe"] * 3
        assert wire.call("websocket.close", {"stream": result["stream"]})["result"]["code"] == 1000


def test_a_server_that_is_silent_is_noticed(wire):
    """[Z7]"""
    with Deaf() as server:
        url = server.url("/").replace("http", "ws")
        result = opened(wire, url, ping={"interval": 0.2, "timeout": 0.2})
        end = last(wire, result["stream"])
        assert end["error"]["code"] == 2004 and not end["close"]["clean"]


def test_cancelling_ends_it_at_once(wire, url):
    """[Z9] [3.P.6]"""
    result = opened(wire, url)
    wire.call("request.cancel", {"request": result["request"]})
    assert last(wire, result["stream"])["error"]["code"] == 1900


def test_many_open_sockets_hold_up_no_request(wire, url, origin):
    for _ in range(12):
        opened(wire, url)
    assert wire.call("data.send", {"url": url.replace("ws", "http")})["result"]["status"] == 426


def test_aiohttp_as_the_server(wire):
    """[3.P.4]"""
    ready, stop = threading.Event(), threading.Event()
    found = {}

    async def handle(request):
        socket = aiohttp.web.WebSocketResponse(protocols=["json"])
        await socket.prepare(request)
        async for message in socket:
            await socket.send_str(json.dumps({"got": message.data}))
        return socket

    async def main():
        app = aiohttp.web.Application()
        app.router.add_get("/", handle)
        runner = aiohttp.web.AppRunner(app)
        await runner.setup()
        site = aiohttp.web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        found["port"] = site._server.sockets[0].getsockname()[1]
        ready.set()
        while not stop.is_set():
            await asyncio.sleep(0.05)
        await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    assert ready.wait(10)
    result = opened(wire, f"http://127.0.0.1:{found['port']}/", protocols=["json"], json=True)
    assert result["protocol"] == "json"
    wire.call("websocket.send", {"stream": result["stream"], "text": "x" * 5000})
    assert read(wire, result["stream"], 1) == [{"value": {"got": "x" * 5000}}]
    assert wire.call("websocket.close", {"stream": result["stream"]})["result"]["clean"]
    stop.set()
    thread.join(10)


def test_through_a_proxy_by_connect(wire, url):
    with Proxy(basic=True) as proxy:
        result = opened(wire, url, proxy=proxy.named)
        assert [one.method for one in proxy.requests][-1] == "CONNECT"
        wire.call("websocket.send", {"stream": result["stream"], "text": "through"})
        assert read(wire, result["stream"], 1) == [{"text": "through"}]


@pytest.mark.skipif(shutil.which("tinyproxy") is None, reason="tinyproxy is not installed")
def test_through_tinyproxy(wire, url, tmp_path):
    with tinyproxy(tmp_path) as proxy:
        conversed(opened(wire, url, proxy=proxy), wire)
        assert "CONNECT" in (tmp_path / "tiny.log").read_text()


@pytest.mark.skipif(shutil.which("microsocks") is None, reason="microsocks is not installed")
def test_through_microsocks(wire, url, tmp_path):
    with microsocks(tmp_path) as port:
        conversed(opened(wire, url, proxy=f"socks5h://127.0.0.1:{port}"), wire)


def conversed(result, wire):
    wire.call("websocket.send", {"stream": result["stream"], "text": "through"})
    assert read(wire, result["stream"], 1) == [{"text": "through"}]


@pytest.mark.parametrize("code", [1000, 1001])
def test_open_message_close_in_this_order(wire, code):
    """[Z2] [3.P.1] [3.P.10]"""

    def leave(connection):
        connection.send("one")
        connection.close(code)

    with websockets_server(leave) as url:
        result = opened(wire, url, mode="push", credit=100)
        events = [wire.receive() for _ in range(4)]
        assert all(event["params"]["stream"] == result["stream"] for event in events)
        told = [event["params"].get("kind", event["method"]) for event in events]
        assert told == ["open", "event.message", "closing", "event.end"]
        end = events[-1]["params"]
        assert end["close"] == {"code": code, "clean": True} and "error" not in end
        waited = wire.call("request.wait", {"request": result["request"]})["result"]
        assert waited["ok"] if "ok" in waited else waited["response"]["ok"]


def test_a_message_over_the_limit(wire):
    """[Z10] [3.P.9]"""
    with websockets_server(lambda connection: (connection.send("too long"), connection.recv())) as url:
        result = opened(wire, url, maxMessage=1)
        end = last(wire, result["stream"])
        assert end["error"]["code"] == 2002 and end["close"] == {"code": 1009, "clean": False}


def test_a_message_sent_before_it_is_open(wire, url):
    """[Z5] [3.P.13]"""
    result = wire.call("websocket.open", {"url": url, "wait": False})["result"]
    wire.call("websocket.send", {"stream": result["stream"], "text": "early"})
    assert read(wire, result["stream"], 1) == [{"text": "early"}]


def test_a_handshake_that_failed_is_tried_again(wire):
    """[Z11]"""
    tries = []

    def refuse_twice(connection, request):
        tries.append(request.path)
        return connection.respond(503, "later\n") if len(tries) < 3 else None

    with websockets_server(echo, process_request=refuse_twice) as url:
        opened(wire, url, reconnect={"delay": 0.05, "initial": True})
        assert len(tries) == 3


@needs_nginx
def test_nginx_with_tls_before_the_server(tmp_path, url):
    tls_server.vouch(tmp_path)
    port = free_port()
    more = f"""
      listen 127.0.0.1:{port} ssl; ssl_certificate {tmp_path}/good.pem; ssl_certificate_key {tmp_path}/good.key;
      location /ws {{ proxy_pass http://127.0.0.1:{url.split(":")[2]}; proxy_http_version 1.1;
        proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; }}"""
    options = ("--ca-file", str(tmp_path / "ca.pem"))
    with nginx(tmp_path, more), contract.Wire(arguments=options) as wire:
        result = opened(wire, f"wss://localhost:{port}/ws")
        assert wire.call("websocket.send", {"stream": result["stream"], "text": "over TLS"})["result"]["sent"] == 1
        assert read(wire, result["stream"], 1) == [{"text": "over TLS"}]
        assert wire.call("websocket.close", {"stream": result["stream"]})["result"]["clean"]


def test_lines_of_a_shell_are_messages(url):
    found = outrider("websocket", "--stdio", "--count", "2", url, stdin=b"one\ntwo\n")
    assert (found.returncode, found.stdout) == (0, b"one\ntwo\n"), found.stderr
    found = outrider("websocket", "--stdio", "--json", "--count", "1", url, stdin=b"one\n")
    assert found.returncode == 0 and b'"one"' in found.stdout, found
    refused(outrider("websocket", "--stdio", "-x", "http://127.0.0.1:1", url), 12)
    refused(outrider("websocket", "--stdio", url, stdin=b"\xff\n"), 2, "is not UTF-8", "--binary")


def test_notifications_beyond_the_room_end_the_socket(wire):
    """A notification has no response: the stream ends with 2005, and never lacks a message silently."""
    with Deaf() as server:
        server.full = threading.Event()
        stream = opened(wire, server.url("/", "ws"), compression=False)["stream"]
        for _ in range(12):
            params = {"stream": stream, "text": "x" * 4_000_000}
            wire.send({"jsonrpc": "2.0", "method": "websocket.send", "params": params})
        assert last(wire, stream)["error"]["code"] == 2005
        server.full.set()


def test_reconnection_gives_up_as_asked(wire):
    with Deaf() as server:
        reconnect = {"delay": 0.01, "maxDelay": 0.02, "max": 2}
        stream = opened(wire, server.url("/", "ws"), reconnect=reconnect)["stream"]
    error = last(wire, stream)["error"]
    assert error["code"] == 2006 and "2 attempts in a row failed" in error["message"], error


def test_messages_that_inflate_a_thousandfold_wait_within_the_backlog(wire):
    """256 messages of a mebibyte come in 256 KiB: what is not taken stays compressed."""
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = (deflater.compress(bytes(1 << 20)) + deflater.flush(zlib.Z_SYNC_FLUSH))[:-4]
    with Deaf() as server:
        server.fields = b"Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover\r\n"
        # a long message first: the service then reads large pieces
        long = b"\x82\x7f" + (900_000).to_bytes(8, "big") + bytes(900_000)
        server.frames = long + (b"\xc2\x7e" + len(packed).to_bytes(2, "big") + packed) * 256
        before = memory(wire)
        stream = opened(wire, server.url("/", "ws"), ping=False)["stream"]
        for _ in range(10):
            time.sleep(0.2)
            grown = memory(wire) - before
            assert grown < 40 << 20, f"{grown >> 20} MiB"
        assert len(read(wire, stream, 10)) >= 10


def test_a_shell_sends_again_what_met_a_lost_connection():
    got, again, sent = [], threading.Event(), threading.Event()

    def lose(connection):
        got.append(connection.recv())
        if len(got) == 1:
            connection.socket.shutdown(2)

    def hold(connection, request):
        """The next handshake shows that the service has noticed the loss."""
        if got:
            again.set()
            sent.wait(20)

    with websockets_server(lose, process_request=hold) as url:
        words = [contract.binary(), "websocket", "--stdio", "--reconnect", url]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdin.write(b"one\n")
            process.stdin.flush()
            assert again.wait(20)
            process.stdin.write(b"two\n")
            process.stdin.flush()
            time.sleep(0.1)
            sent.set()
            process.communicate(timeout=30)
        for _ in range(250):
            if len(got) > 1:
                break
            time.sleep(0.02)
    assert got == ["one", "two"]


def test_a_record_that_met_a_lost_connection_is_told(listening):
    """The second connection of the client has no replies: the state of the socket names the loss."""

    def lose(connection):
        connection.recv()
        connection.socket.shutdown(2)

    with websockets_server(lose) as url, contract.Wire(listening) as wire:
        result = opened(wire, url, reconnect={"delay": 2}, states=True)
        with Raw(listening, result["stream"], "both") as raw:
            raw.reply()
            raw.send(b"\1\0\0\0\3one")
            seen = raw.buffer
            while b'"reconnecting"' not in seen:
                seen += raw.socket.recv(65536)
            raw.send(b"\1\0\0\0\3two")
            while b'"dropped"' not in seen:
                seen += raw.socket.recv(65536)
            assert b'"kind":"dropped","dropped":1' in seen, seen
