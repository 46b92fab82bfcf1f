# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Streams of bytes both ways: TCP and Unix sockets."""

import base64
import os
import shutil
import socket
import threading
import time

import contract
import pytest
from listeners import free_port
from proxy_server import Proxy, microsocks, tinyproxy
from request_client import result
from tcp_server import LONG, Host, dial, echo, read, rest, write

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def needs(program):
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


@pytest.fixture
def echoing():
    with Host(echo) as host:
        yield host


def test_a_stream_opens_and_says_where(wire, echoing):
    """[S1] [3.U.1]"""
    made = dial(wire, echoing.port, tag="mail")
    assert made["remote"] == f"127.0.0.1:{echoing.port}" and made["timings"]["connect"] >= 0, made
    listed = result(wire.call("request.get", {"request": made["request"]}))
    assert listed["method"] == "CONNECT" and listed["url"] == f"tcp://127.0.0.1:{echoing.port}", listed
    assert listed["tag"] == "mail", listed


def test_bytes_go_both_ways_in_order(wire, echoing):
    """[S2] [S3] [3.U.2]"""
    stream = dial(wire, echoing.port)["stream"]
    write(wire, stream, b"abc")
    assert read(wire, stream, min=1, bytes=65536) == (b"abc", False)
    for number in range(20):
        wire.start("stream.write", {"stream": stream, "text": f"{number:02}"})
    for _ in range(20):
        wire.receive()
    data = b""
    while len(data) < 40:
        data += read(wire, stream)[0]
    assert data == b"".join(b"%02d" % number for number in range(20))


def test_a_read_that_times_out_loses_nothing(wire, echoing):
    """[S2] [3.U.3]"""
    stream = dial(wire, echoing.port)["stream"]
    write(wire, stream, b"ab")
    piece = result(wire.call("stream.read", {"stream": stream, "min": 3, "wait": 0.2}))
    assert piece["base64"] == "" and piece["timedOut"] and not piece["end"], piece
    write(wire, stream, b"cd")
    assert read(wire, stream, min=4) == (b"abcd", False)


def test_more_may_be_awaited_than_is_read_ahead(wire, echoing):
    """`min` bounds what is held, not the service's own reading ahead. [S2]"""
    stream = dial(wire, echoing.port)["stream"]
    sent = os.urandom(1 << 20)
    for start in range(0, len(sent), 1 << 16):
        write(wire, stream, sent[start : start + (1 << 16)])
    got, _ = read(wire, stream, min=1 << 20, bytes=1 << 20)
    assert got == sent


def test_reads_queue_in_order(wire, echoing):
    """[S2]"""
    stream = dial(wire, echoing.port)["stream"]
    numbers = [wire.start("stream.read", {"stream": stream, "min": 2, "bytes": 2}) for _ in range(3)]
    write_number = wire.start("stream.write", {"stream": stream, "text": "112233"})
    replies = {}
    while len(replies) < 4:
        message = wire.receive()
        replies[message["id"]] = message["result"]
    assert replies[write_number]["accepted"] == 6
    assert [base64.b64decode(replies[number]["base64"]) for number in numbers] == [b"11", b"22", b"33"]


def test_reads_that_wait_at_the_end_all_end(wire):
    """A read that waited behind the end has the end as its result, and no error of a closed stream. [S2]"""
    go = threading.Event()

    def serve(connection):
        go.wait(20)
        connection.sendall(b"last")

    with Host(serve) as host:
        stream = dial(wire, host.port)["stream"]
        numbers = [wire.start("stream.read", {"stream": stream, "min": 4, "bytes": 4}) for _ in range(4)]
        go.set()
        replies = wire.replies(numbers)
    found = [replies[number].get("result", replies[number]) for number in numbers]
    assert base64.b64decode(found[0]["base64"]) == b"last", found
    assert [(one["base64"], one["end"]) for one in found[1:]] == [("", True)] * 3, found


def test_too_many_waiting_reads_are_named(wire, echoing):
    stream = dial(wire, echoing.port)["stream"]
    for _ in range(66):
        wire.start("stream.read", {"stream": stream, "wait": 20})
    refused = wire.receive()
    assert "64 reads of this stream" in refused["error"]["message"], refused
    wire.call("stream.close", {"stream": stream})


def test_the_end_of_the_peer_is_told_and_writing_goes_on(wire):
    """[S4] [S8] [3.U.4]"""
    heard = []

    def act(connection):
        connection.sendall(b"bye")
        connection.shutdown(socket.SHUT_WR)
        while piece := connection.recv(100):
            heard.append(piece)

    with Host(act) as host:
        stream = dial(wire, host.port)["stream"]
        assert rest(wire, stream) == b"bye"
        write(wire, stream, b"still here")
        assert result(wire.call("stream.finish", {"stream": stream})) == {"size": 10}
    assert b"".join(heard) == b"still here"
    # both halves have ended
    for _ in range(100):
        if "error" in (reply := wire.call("stream.write", {"stream": stream, "text": "x"})):
            break
        time.sleep(0.02)
    assert reply["error"]["code"] == -32012


def test_finishing_ends_writing_alone(wire):
    """[S4] [3.U.5]"""
    with Host(echo) as host:
        made = dial(wire, host.port)
        stream = made["stream"]
        write(wire, stream, b"x" * 100_000)
        result(wire.call("stream.finish", {"stream": stream}))
        error = wire.call("stream.write", {"stream": stream, "text": "y"})["error"]
        assert error["data"]["failure"] == {"code": 2021, "kind": "tcpFailed", "reason": "writeAfterFinish"}, error
        assert rest(wire, stream) == b"x" * 100_000
        waited = result(wire.call("request.wait", {"request": made["request"]}))
        assert waited["ok"], waited


def test_events_tell_how_a_pushed_stream_stands(wire):
    """[S8] [3.U.4] [3.U.5]"""
    with Host(echo) as host:
        stream = dial(wire, host.port, mode="push", credit=1000, **{"as": "lines"})["stream"]
        wire.start("stream.write", {"stream": stream, "text": "one\r\ntwo\r\n"})
        wire.start("stream.finish", {"stream": stream})
        told = []
        while not told or told[-1][0] != "event.end":
            message = wire.receive()
            if "method" in message:
                told.append((message["method"], message["params"]))
    values = [params["text"] for name, params in told if name == "event.text"]
    kinds = [params["kind"] for name, params in told if name == "event.socket"]
    assert values == ["one", "two"] and sorted(kinds) == ["readClosed", "writeClosed"], told
    assert [params["seq"] for _, params in told] == list(range(len(told)))


def test_the_end_of_writing_is_told_behind_the_end_of_the_peer(wire):
    """[S8]"""

    def act(connection):
        connection.sendall(b"bye")
        connection.shutdown(socket.SHUT_WR)
        connection.recv(100)

    with Host(act) as host:
        stream = dial(wire, host.port, mode="push", credit=3)["stream"]
        told = [wire.receive() for _ in range(3)]
        wire.start("stream.finish", {"stream": stream})
        told += [message for message in (wire.receive(), wire.receive()) if "method" in message]
    params = [message["params"] for message in told]
    names = [each.get("kind", message["method"]) for each, message in zip(params, told, strict=True)]
    assert names == ["event.data", "readClosed", "event.end", "writeClosed"]
    assert [each["seq"] for each in params] == [0, 1, 2, 3]


def test_reading_can_be_ended_alone(wire):
    """[S4]"""
    got, ended = [], threading.Event()

    def act(connection):
        connection.sendall(b"unwanted" * 100)
        while piece := connection.recv(100):
            got.append(piece)
        ended.set()

    with Host(act) as host:
        stream = dial(wire, host.port)["stream"]
        result(wire.call("tcp.closeRead", {"stream": stream}))
        rest(wire, stream)
        write(wire, stream, b"said")
        result(wire.call("stream.finish", {"stream": stream}))
        assert ended.wait(LONG)
    assert b"".join(got) == b"said"


def test_a_suspended_stream_brings_nothing(wire):
    """[S9] [3.U.8]"""
    gate = threading.Event()

    def act(connection):
        connection.sendall(b"a")
        gate.wait(LONG)
        connection.sendall(b"b" * 1000)
        echo(connection)

    with Host(act) as host:
        made = dial(wire, host.port)
        assert read(wire, made["stream"], min=1) == (b"a", False)
        result(wire.call("request.suspend", {"request": made["request"]}))
        gate.set()
        piece = result(wire.call("stream.read", {"stream": made["stream"], "wait": 0.3}))
        assert piece["base64"] == "", piece
        result(wire.call("request.resume", {"request": made["request"]}))
        assert read(wire, made["stream"], min=1000) == (b"b" * 1000, False)
        result(wire.call("stream.close", {"stream": made["stream"]}))


def test_a_stream_that_ends_while_suspended_is_told_after_it(wire):
    """[S9]"""
    gate = threading.Event()
    with Host(lambda _: gate.wait(LONG)) as host:
        made = dial(wire, host.port)
        result(wire.call("stream.finish", {"stream": made["stream"]}))
        number = wire.start("stream.read", {"stream": made["stream"], "wait": 20})
        result(wire.call("request.suspend", {"request": made["request"]}))
        gate.set()
        time.sleep(0.2)
        resumed = wire.start("request.resume", {"request": made["request"]})
        replies = wire.replies([number, resumed], 20)
        assert replies[number]["result"]["end"], replies


def test_tls_on_a_unix_socket_needs_a_name(wire, tmp_path):
    """[S5]"""
    path = str(tmp_path / "s")
    with Host(echo, socket.AF_UNIX, path):
        stream = result(wire.call("tcp.open", {"path": path}))["stream"]
        error = wire.call("tcp.startTls", {"stream": stream})["error"]
        assert error["data"]["pointer"] == "/serverName" and "Unix socket" in error["message"], error
        # it is still in clear text
        write(wire, stream, b"abc")
        assert read(wire, stream, min=3) == (b"abc", False)


def test_beginning_tls_can_be_cancelled(wire):
    """The stream is closed: half a handshake cannot be taken back. [S5]"""
    with Host(lambda connection: connection.recv(100000) and connection.recv(100000)) as host:
        stream = dial(wire, host.port)["stream"]
        number = wire.start("tcp.startTls", {"stream": stream})
        time.sleep(0.2)
        wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
        assert wire.reply(number, 20)["error"]["code"] == -32800
        piece = result(wire.call("stream.read", {"stream": stream}))
        assert piece["end"] and piece["error"]["code"] == 1900, piece


def test_a_cancelled_stream_ends(wire, echoing):
    """[S9]"""
    made = dial(wire, echoing.port)
    number = wire.start("stream.read", {"stream": made["stream"]})
    result(wire.call("request.cancel", {"request": made["request"]}))
    message = wire.receive()
    assert message["id"] == number and message["result"]["error"]["code"] == 1900, message
    waited = result(wire.call("request.wait", {"request": made["request"]}))
    assert waited["error"]["code"] == 1900, waited


def test_what_goes_away_is_noticed(wire):
    """A reset is a failure; writing to what is closed says so. [S9] [AB3]"""

    def act(connection):
        connection.recv(1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    with Host(act) as host:
        made = dial(wire, host.port)
        write(wire, made["stream"], b"x")
        piece = result(wire.call("stream.read", {"stream": made["stream"]}))
        assert piece["end"] and piece["error"]["code"] == 1404, piece
        waited = result(wire.call("request.wait", {"request": made["request"]}))
        assert waited["error"]["code"] == 1404, waited


def test_what_cannot_be_opened_says_why(wire):
    """[S1]"""
    refused = result(wire.call("tcp.open", {"host": "127.0.0.1", "port": free_port()}))
    assert not refused["ok"] and refused["error"]["code"] == 1402 and "stream" not in refused, refused
    unknown = result(wire.call("tcp.open", {"host": "no-such.invalid", "port": 1}))
    assert "no-such.invalid" in unknown["error"]["message"], unknown


@pytest.mark.parametrize(
    ("params", "pointer", "words"),
    [
        ({}, "", "host and port"),
        ({"host": "h"}, "/port", "port is required"),
        ({"host": "h", "port": 0}, "/port", "1 to 65535"),
        ({"host": "http://h", "port": 1}, "/host", "without a scheme"),
        ({"host": "h:25", "port": 1}, "/host", "without a scheme, port"),
        ({"host": "h", "port": 1, "path": "/x"}, "/path", "exclude each other"),
        ({"path": "x"}, "/path", "absolute path"),
        ({"path": "/" + "x" * 107}, "/path", "107 bytes"),
        ({"path": "/x", "tls": True}, "/tls", "serverName"),
        ({"host": "h", "port": 1, "tls": 3}, "/tls", "true, false or an object"),
        ({"host": "h", "port": 1, "tls": {"alpn": ["imap", ""]}}, "/tls/alpn/1", "1 to 255 bytes"),
        ({"host": "h", "port": 1, "tls": {"serverName": "a/b"}}, "/tls/serverName", "host name"),
        ({"host": "h", "port": 1, "headers": {}}, "/headers", "unknown parameter headers"),
        ({"host": "h", "port": 1, "timeout": {"conect": 1}}, "/timeout/conect", "connect"),
        ({"host": "h", "port": 1, "timeout": 0}, "/timeout", "timeout must be from 0.001"),
    ],
)
def test_bad_parameters_are_named(wire, params, pointer, words):
    error = wire.call("tcp.open", params)["error"]
    assert error["data"]["pointer"] == pointer and words in error["message"], error


def test_a_silent_stream_lasts_and_idle_ends_it_when_given(wire, echoing):
    made = dial(wire, echoing.port, timeout={"idle": 0.3})
    piece = result(wire.call("stream.read", {"stream": made["stream"]}))
    assert piece["end"] and piece["error"]["code"] == 1405, piece


# Unix sockets


def test_a_unix_socket(wire, tmp_path):
    """[S1]"""
    path = str(tmp_path / "u")
    with Host(echo, socket.AF_UNIX, path):
        made = result(wire.call("tcp.open", {"path": path}))
        write(wire, made["stream"], b"abc")
        assert made["remote"] == path and read(wire, made["stream"], min=3) == (b"abc", False)
        result(wire.call("stream.close", {"stream": made["stream"]}))


def test_an_abstract_socket(wire):
    """[S1]"""
    name = f"outrider-test-{os.getpid()}"
    with Host(echo, socket.AF_UNIX, "\0" + name):
        made = result(wire.call("tcp.open", {"path": "@" + name}))
        write(wire, made["stream"], b"abc")
        assert made["remote"] == "@" + name and read(wire, made["stream"], min=3) == (b"abc", False)
        result(wire.call("stream.close", {"stream": made["stream"]}))


# Proxies


def test_through_an_http_proxy(wire, echoing):
    """[S1]"""
    with Proxy() as proxy:
        stream = dial(wire, echoing.port, proxy=proxy.address)["stream"]
        write(wire, stream, b"abc")
        assert read(wire, stream, min=3) == (b"abc", False)
        assert [one.path for one in proxy.connects] == [f"127.0.0.1:{echoing.port}"]
        result(wire.call("stream.close", {"stream": stream}))


@pytest.mark.parametrize("guard", [{"basic": True}, {"algorithm": "SHA-256"}])
def test_a_proxy_that_asks_who_it_is(wire, echoing, guard):
    with Proxy(**guard) as proxy:
        stream = dial(wire, echoing.port, proxy=proxy.named)["stream"]
        write(wire, stream, b"abc")
        assert read(wire, stream, min=3) == (b"abc", False)
        result(wire.call("stream.close", {"stream": stream}))


@needs("microsocks")
def test_through_a_socks_proxy(wire, echoing, tmp_path):
    with microsocks(tmp_path) as port:
        stream = dial(wire, echoing.port, proxy=f"socks5h://127.0.0.1:{port}")["stream"]
        write(wire, stream, b"abc")
        assert read(wire, stream, min=3) == (b"abc", False)
        result(wire.call("stream.close", {"stream": stream}))


@needs("tinyproxy")
def test_through_tinyproxy(wire, echoing, tmp_path):
    with tinyproxy(tmp_path) as proxy:
        opened = result(wire.call("tcp.open", {"host": "127.0.0.1", "port": echoing.port, "proxy": proxy}))
        # tinyproxy opens tunnels to the ports that its configuration names only
        if opened["ok"]:
            write(wire, opened["stream"], b"abc")
            assert read(wire, opened["stream"], min=3) == (b"abc", False)
        else:
            assert opened["error"]["code"] == 1415, opened
