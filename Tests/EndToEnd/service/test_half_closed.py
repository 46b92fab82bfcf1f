# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Clients that say all at once, end their input, and read on: pipes."""

import json
import re
import shutil
import socket
import subprocess
import time

import contract
import pytest
from chunk_server import Feeder
from upload_server import Taker

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def said(path, *calls, seconds=20):
    """What a client hears that sends the calls and then ends its input, up to the end of the connection."""
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(calls, 1)
    ]
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(seconds)
        client.connect(path)
        client.sendall("".join(line + "\n" for line in lines).encode())
        client.shutdown(socket.SHUT_WR)
        data = b""
        while piece := client.recv(1 << 16):
            data += piece
    return [json.loads(line) for line in data.decode().splitlines() if line.strip()]


def events(messages, name):
    return [message["params"] for message in messages if message.get("method") == name]


def test_a_pushed_stream_comes_to_its_end(listening, origin):
    messages = said(listening, ("stream.open", {"url": origin + "/json", "mode": "push", "credit": 65536}))
    [data] = events(messages, "event.data")
    [end] = events(messages, "event.end")
    assert data["base64"] and end["size"] == 16 and "error" not in end, messages


def test_a_pushed_stream_without_credit_comes_whole(listening):
    """There is no other sense in it: its client can never give any."""
    with Feeder() as feeder:
        messages = said(listening, ("stream.open", {"url": feeder.url("/length/300000"), "mode": "push"}))
    [end] = events(messages, "event.end")
    assert end["size"] == 300000 and "error" not in end, end


def test_a_pushed_stream_ends_with_its_credit(listening):
    """Nothing hangs: there will be no more of it."""
    with Feeder() as feeder:
        messages = said(
            listening, ("stream.open", {"url": feeder.url("/length/100000"), "mode": "push", "credit": 1000})
        )
    assert sum(len(one["base64"]) for one in events(messages, "event.data")) >= 1000
    [end] = events(messages, "event.end")
    assert end["error"]["code"] == 1900 and "credit" in end["error"]["message"], end


def test_a_started_request_tells_its_end(listening, origin):
    messages = said(listening, ("data.start", {"url": origin + "/json", "events": ["finish"]}))
    [end] = events(messages, "event.finish")
    assert end["response"]["ok"] and end["response"]["status"] == 200, messages


def test_a_request_that_nobody_can_start_any_more_ends(listening, origin):
    messages = said(
        listening, ("data.start", {"url": origin + "/json", "startImmediately": False, "events": ["finish"]})
    )
    [end] = events(messages, "event.finish")
    assert end["response"]["error"]["code"] == 1900, messages


@pytest.mark.parametrize("waits", [False, True])
def test_a_request_that_nobody_can_resume_any_more_ends(listening, waits):
    with Feeder() as feeder, contract.Wire(listening) as wire:
        call = {"url": feeder.url("/endless"), "events": ["finish"]}
        handle = wire.call("data.start", call)["result"]["request"]
        assert wire.call("request.suspend", {"request": handle})["result"]["state"] == "suspended"
        number = wire.start("request.wait", {"request": handle}) if waits else None
        wire.socket.shutdown(socket.SHUT_WR)
        messages = [json.loads(line) for line in wire.socket.makefile() if line.strip()]
    [end] = events(messages, "event.finish")
    assert end["response"]["error"]["code"] == 1900, messages
    replies = [message["result"]["error"]["code"] for message in messages if message.get("id") == number and waits]
    assert replies == [1900] * waits, messages


def test_a_detached_request_waits_for_another_client(listening, origin):
    call = {"url": origin + "/json", "startImmediately": False, "detach": True, "events": ["finish"]}
    with contract.Wire(listening) as client, contract.Wire(listening) as other:
        handle = client.call("data.start", call)["result"]["request"]
        client.socket.shutdown(socket.SHUT_WR)
        assert other.call("request.resume", {"request": handle})["result"]
        assert other.call("request.wait", {"request": handle})["result"]["ok"]


def test_what_nobody_would_hear_of_ends(listening):
    """A stream that waits for reads, and a request without events, hold no connection open."""
    with Feeder() as feeder:
        url = feeder.url("/endless")
        messages = said(listening, ("stream.open", {"url": url}), ("data.start", {"url": url}), seconds=10)
    assert [message["id"] for message in messages if "id" in message] == [1, 2]


@pytest.mark.parametrize("batch", [False, True])
def test_exit_discards_no_reply(listening, batch):
    """What is said after it is not heard."""
    echo = {"jsonrpc": "2.0", "method": "diagnostics.echo", "params": {"x": 1}}
    calls = [{**echo, "id": 1}, {"jsonrpc": "2.0", "id": 2, "method": "shutdown"}, {"jsonrpc": "2.0", "method": "exit"}]
    lines = [calls] if batch else calls
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(listening)
        client.sendall("".join(json.dumps(line) + "\n" for line in [*lines, {**echo, "id": 3}]).encode())
        messages = [json.loads(line) for line in client.makefile()]
    replies = messages[0] if batch else messages
    assert sorted((reply["id"], reply["result"] == {"x": 1}) for reply in replies) == [(1, True), (2, False)], messages


@pytest.mark.parametrize("header", [False, True])
def test_exit_on_stdio_discards_no_reply(header):
    """The replies are longer than a pipe holds, and the client reads late."""
    text = "x" * 30_000
    calls = [{"id": id, "method": "diagnostics.echo", "params": {"x": text}} for id in range(40)]
    calls.append({"id": 40, "method": "shutdown"})
    data = b""
    for call in [*calls, {"method": "exit"}]:
        line = json.dumps({"jsonrpc": "2.0", **call}).encode()
        data += b"Content-Length: %d\r\n\r\n%s" % (len(line), line) if header else line + b"\n"
    process = subprocess.Popen(
        [contract.binary(), "serve", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        process.stdin.write(data)
        process.stdin.flush()
        time.sleep(0.2)
        said = re.sub(rb"Content-Length: \d+\r\n\r\n", b"\n", process.stdout.read()).decode().split()
        assert process.wait(20) == 0
    assert [json.loads(line)["id"] for line in said] == list(range(41))


def test_exit_on_stdio_ends_a_service_whose_replies_are_not_read():
    call = {"jsonrpc": "2.0", "id": 1, "method": "diagnostics.echo", "params": {"x": "x" * 30_000}}
    process = subprocess.Popen(
        [contract.binary(), "serve", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        process.stdin.write((json.dumps(call).encode() + b"\n") * 40 + b'{"jsonrpc":"2.0","method":"exit"}\n')
        process.stdin.flush()
        assert process.wait(20) == 1


def test_calls_in_one_pipe_see_each_other_in_order(listening, origin):
    messages = said(listening, ("data.send", {"url": origin + "/json"}), ("har.export", {}))
    replies = {message["id"]: message["result"] for message in messages}
    assert replies[1]["ok"] and replies[2]["entries"] == 1, messages
    assert replies[2]["har"]["log"]["entries"][0]["response"]["status"] == 200, replies[2]


@pytest.mark.skipif(shutil.which("socat") is None, reason="socat is not installed")
def test_socat_hears_all_of_it(listening, origin):
    call = {"jsonrpc": "2.0", "id": 1, "method": "stream.open"}
    call["params"] = {"url": origin + "/json", "mode": "push", "credit": 1000, "events": ["finish"]}
    script = "printf '%s\\n' \"$CALL\" | socat - UNIX-CONNECT:\"$SOCKET\""
    ran = subprocess.run(
        ["bash", "-c", script], env={"CALL": json.dumps(call), "SOCKET": listening, "PATH": "/usr/bin:/bin"},
        capture_output=True, timeout=20,
    )
    messages = [json.loads(line) for line in ran.stdout.decode().splitlines() if line.strip()]
    assert len(events(messages, "event.end")) == 1 and len(events(messages, "event.finish")) == 1, ran.stdout


def test_clients_that_leave_with_replies_unread_do_no_harm(listening):
    """The service reads bytes and the end together, and its replies find no reader."""
    calls = "".join(json.dumps({"jsonrpc": "2.0", "id": id, "method": "server.info"}) + "\n" for id in range(30))
    for count in range(200):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(listening)
            client.sendall(calls[: len(calls) if count % 2 else 4096].encode())
            if count % 5 == 0:
                client.shutdown(socket.SHUT_WR)
    # without a timeout, connecting waits for the crowd in front
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(listening)
        client.sendall(calls[: calls.index("\n") + 1].encode())
        assert json.loads(client.makefile().readline())["result"]


def test_a_decision_after_the_end_of_input_is_lost_at_once(listening, origin):
    """The client can make no more calls, and so cannot decide."""
    validate = {"callback": "mine", "decide": "pull", "timeout": 60}
    [reply] = said(listening, ("data.send", {"url": origin + "/delay/1", "validate": validate}))
    failure = reply["result"]["error"]
    assert (failure["code"], failure["underlying"]["code"]) == (1605, -32022), failure


def test_no_decisions_come_after_the_end_of_input(listening):
    [reply] = said(listening, ("events.next", {"wait": 60}))
    assert reply["result"] == {"events": [], "dropped": 0, "end": True}


def test_the_end_of_input_on_stdio_ends_an_unfinished_upload():
    """The body can never be finished: the request fails at once, and not by its time limit."""
    with Taker() as taker, contract.Wire() as wire:
        finished, cut = (wire.call("upload.open")["result"]["stream"] for _ in range(2))
        numbers = [
            wire.start("upload.send", {"url": taker.url("/keep"), "body": {"stream": one}, "timeout": {"idle": 600}})
            for one in (finished, cut)
        ]
        for stream in (finished, cut):
            wire.start("stream.write", {"stream": stream, "text": "wolf"})
        wire.start("stream.finish", {"stream": finished})
        wire.process.stdin.close()
        replies = wire.replies(numbers)
        assert replies[numbers[0]]["result"]["status"] == 200
        assert replies[numbers[1]]["result"]["error"]["code"] == 1232
        assert wire.process.wait(20) == 0
