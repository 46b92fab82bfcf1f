# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The budget for large payloads: what goes to files comes back whole, what is given up is counted no more."""

import base64
import contextlib
import hashlib
import json
import os
import socket
import subprocess
import threading
import time

import contract
import pytest
from budget import LEAST, MIB, letters, memory, origins, services, until
from digest_server import ADA, Guard

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

origin, service = origins(), services()


class Client:
    """A connection that sends on a thread of its own: the service may stop to read."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.settimeout(60)
        self.file = self.socket.makefile("rb")

    def send(self, method, params, number=1):
        message = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"
        thread = threading.Thread(target=self.write, args=(message,), daemon=True)
        thread.start()
        return thread

    def write(self, message):
        with contextlib.suppress(OSError):
            self.socket.sendall(message)

    def reply(self):
        return json.loads(self.file.readline())

    def call(self, method, **params):
        self.send(method, params)
        return self.reply()

    def close(self):
        self.file.close()
        self.socket.close()


@pytest.fixture
def clients(service):
    made = []

    def make(count):
        made.extend(Client(service) for _ in range(count))
        return made[-count:]

    yield make
    for client in made:
        client.close()


def test_bodies_that_wait_go_to_files_and_arrive_whole(service, clients, origin):
    bodies = [letters(2 * MIB + number) for number in range(12)]
    many = clients(len(bodies))
    for client, body in zip(many, bodies, strict=True):
        client.send("data.send", {"method": "POST", "url": origin.url + "/hold", "body": {"text": body.decode()}})
    found = until(service, lambda now: now["spilt"]["payloads"] >= 6)
    assert 0 < found["held"] <= LEAST + 8 * MIB and found["limit"] == LEAST
    origin.release.set()
    for client, body in zip(many, bodies, strict=True):
        assert client.reply()["result"]["body"]["text"] == hashlib.sha256(body).hexdigest()
    until(service, lambda now: now["held"] == 0 and now["shares"] == [])


def private_files(service):
    """How many files without a name the service has open."""
    with contract.Wire(service) as wire:
        process = wire.call("server.info")["result"]["pid"]
    found = 0
    for number in os.listdir(f"/proc/{process}/fd"):
        with contextlib.suppress(OSError):
            found += os.readlink(f"/proc/{process}/fd/{number}").endswith(" (deleted)")
    return found


def test_many_short_bodies_that_wait_share_files(service, clients, origin):
    many, bodies = clients(2), [letters(70_000 + number) for number in range(200)]
    for client in many:
        for number, body in enumerate(bodies):
            params = {"method": "POST", "url": origin.url + "/hold", "body": {"text": body.decode()}}
            client.send("data.send", params, number).join()
    until(service, lambda now: now["spilt"]["payloads"] >= 200)
    assert private_files(service) <= 4
    origin.release.set()
    for client in many:
        found = {reply["id"]: reply["result"] for reply in (client.reply() for _ in bodies)}
        for number, body in enumerate(bodies):
            assert found[number]["body"]["text"] == hashlib.sha256(body).hexdigest()
    until(service, lambda now: now["held"] == 0)


def test_a_body_in_a_private_file_is_proven_and_sent_twice(service):
    body = letters(9 * MIB)
    with Guard("SHA-256", "auth-int") as guard, contract.Wire(service) as wire:
        params = {"url": guard.url("/vault"), "method": "PUT", "body": {"text": body.decode()}, "auth": {"digest": ADA}}
        response = wire.call("data.send", params)["result"]
        assert response["status"] == 200 and guard.statuses == [401, 200] and guard.last().body == body
    assert memory(service)["spilt"]["bytes"] >= len(body)


def test_forms_and_calls_with_events_spill_too(service, clients, origin):
    many = clients(8)
    for number, client in enumerate(many):
        body = {"multipart": {"parts": [{"name": "a", "text": "x" * (3 * MIB)}, {"name": "b", "text": str(number)}]}}
        client.send("upload.send", {"url": origin.url + "/hold", "body": body})
    until(service, lambda now: now["spilt"]["payloads"] >= 4)
    origin.release.set()
    for client in many:
        assert client.reply()["result"]["ok"]
    until(service, lambda now: now["held"] == 0)


def test_replies_that_the_client_does_not_read_go_to_files_and_come_whole(service, clients, origin):
    size = 3 * MIB
    many = clients(10)
    for client in many:
        client.send("data.send", {"url": f"{origin.url}/size/{size}", "maxInline": 8 * MIB})
    until(service, lambda now: now["spilt"]["payloads"] >= 3)
    time.sleep(0.2)
    for client in many:
        body = client.reply()["result"]["body"]
        assert body["text"].encode() == letters(size)
    until(service, lambda now: now["held"] == 0)


def test_many_replies_on_one_connection_keep_their_order(service, clients, origin):
    (client,) = clients(1)
    for number in range(3):
        client.send("diagnostics.echo", {"value": chr(97 + number) * (2 * MIB)}, number).join()
    time.sleep(0.2)
    for number in range(3):
        reply = client.reply()
        assert reply["id"] == number and reply["result"]["value"] == chr(97 + number) * (2 * MIB)
    until(service, lambda now: now["held"] == 0)


def arrive_whole(fed, origin):
    """Uploads the fed streams: clients, streams and the bytes that were written."""
    for client, stream, body in fed:
        client.send("upload.send", {"url": origin.url + "/", "body": {"stream": stream}}, 8).join()
        client.send("stream.finish", {"stream": stream}, 9).join()
        replies = {reply["id"]: reply["result"] for reply in (client.reply(), client.reply())}
        assert replies[8]["body"]["text"] == hashlib.sha256(body).hexdigest()


def test_fed_bytes_go_to_files_and_arrive_whole(service, clients, origin):
    many, fed = clients(6), []
    for number, client in enumerate(many):
        stream = client.call("upload.open")["result"]["stream"]
        pieces = [bytes([65 + number]) * MIB + b"|%d" % index for index in range(4)]
        for index, piece in enumerate(pieces):
            data = {"stream": stream, "base64": base64.b64encode(piece).decode(), "wait": 0}
            client.send("stream.write", data, index).join()
            assert client.reply()["result"]["accepted"] == len(piece)
        fed.append((client, stream, b"".join(pieces)))
    assert until(service, lambda now: now["spilt"]["payloads"] >= 6)["held"] <= LEAST
    arrive_whole(fed, origin)
    until(service, lambda now: now["held"] == 0)


def test_short_fed_pieces_go_to_files_and_arrive_whole(service, clients, origin):
    many, fed = clients(6), []
    for number, client in enumerate(many):
        stream = client.call("upload.open")["result"]["stream"]
        pieces = [bytes([65 + number]) * 40_000 + b"|%d" % index for index in range(100)]
        for piece in pieces:
            data = {"stream": stream, "base64": base64.b64encode(piece).decode(), "wait": 0}
            assert client.call("stream.write", **data)["result"]["accepted"] == len(piece)
        fed.append((client, stream, b"".join(pieces)))
    assert until(service, lambda now: now["spilt"]["payloads"] >= 6)["held"] <= LEAST
    arrive_whole(fed, origin)
    until(service, lambda now: now["held"] == 0)


def test_replies_of_an_unfinished_batch_go_to_files_and_come_whole(service, clients, origin):
    many, params = clients(4), {"url": origin.url + "/size/2000000", "maxInline": 4 * MIB}
    calls = [
        {"jsonrpc": "2.0", "id": number, "method": "data.send", "params": params}
        for number in range(4)
    ]
    held = {"jsonrpc": "2.0", "id": 9, "method": "data.send", "params": {"url": origin.url + "/hold"}}
    for client in many:
        client.write(json.dumps([*calls, held]).encode() + b"\n")
    end = time.monotonic() + 30
    with contract.Wire(service) as wire:
        # until only the held calls run, beside this call: what counts then are the replies
        while (calls := wire.call("server.stats")["result"]["calls"])["total"] < 20 or calls["running"] > 5:
            assert time.monotonic() < end, calls
            time.sleep(0.02)
    assert 0 < memory(service)["held"] <= LEAST
    origin.release.set()
    for client in many:
        replies = client.reply()
        assert [reply["id"] for reply in replies] == [0, 1, 2, 3, 9] and all(reply["result"]["ok"] for reply in replies)
        for reply in replies[:4]:
            body = reply["result"]["body"]
            assert body["text"].encode() == letters(2_000_000)
    for client in many:
        client.close()
    until(service, lambda now: now["held"] == 0)


def test_routers_of_many_small_endpoints_are_counted(service, clients, origin):
    endpoints = {f"e{index}": {"path": f"/{index}"} for index in range(8000)}
    replies = [
        client.call("router.define", name=f"r{number}", baseUrl=origin.url, endpoints=endpoints)
        for number, client in enumerate(clients(8))
    ]
    refused = [reply["error"] for reply in replies if "error" in reply]
    assert refused and all("--memory" in error["message"] for error in refused)
    assert "result" in replies[0]


def test_what_would_stay_is_refused_with_the_remedy(service, clients, origin):
    refused = 0
    for number, client in enumerate(clients(8)):
        endpoints = {f"e{index}": {"path": "/" + "x" * 1400} for index in range(1500)}
        reply = client.call("router.define", name=f"r{number}", baseUrl=origin.url, endpoints=endpoints)
        if "error" in reply:
            refused += 1
            assert reply["error"]["code"] == -32011 and reply["error"]["data"]["what"] == "memory"
            assert "--memory" in reply["error"]["message"]
    assert refused and memory(service)["refused"] >= refused
    # small calls go on beside
    (client,) = clients(1)
    assert client.call("data.send", url=origin.url + "/")["result"]["ok"]


@pytest.mark.parametrize("kind", ["partial", "waiting", "unread", "fed", "stored"])
def test_nothing_stays_counted_when_clients_die(service, clients, origin, kind):
    text = "x" * (3 * MIB)
    many = clients(8)
    for client in many:
        if kind == "partial":
            threading.Thread(target=client.write, args=(b'{"a": "' + text.encode(),), daemon=True).start()
        elif kind == "waiting":
            client.send("data.send", {"method": "POST", "url": origin.url + "/hold", "body": {"text": text}})
        elif kind == "unread":
            client.send("data.send", {"url": f"{origin.url}/size/{3 * MIB}", "maxInline": 8 * MIB})
        elif kind == "stored":
            client.send("data.send", {"url": f"{origin.url}/size/{3 * MIB}", "bodyTo": "stored"})
        else:
            stream = client.call("upload.open")["result"]["stream"]
            client.send("stream.write", {"stream": stream, "text": text, "wait": 600})
    # bodies may all be in files by now
    until(service, lambda now: now["highest"] > 4 * MIB)
    for number, client in enumerate(many):
        # at different stages
        time.sleep(0.02 * number)
        client.socket.shutdown(socket.SHUT_RDWR)
        client.close()
    found = until(service, lambda now: now["held"] == 0)
    assert found["shares"] == []


def test_raw_bytes_after_a_call_are_not_counted(service, clients, origin):
    client, raw = clients(2)
    stream = client.call("upload.open")["result"]["stream"]
    body = letters(300 << 10)
    # in one piece: the bytes arrive before the reply
    call = {"jsonrpc": "2.0", "id": 1, "method": "stream.attach", "params": {"stream": stream, "direction": "write"}}
    writer = threading.Thread(target=raw.write, args=(json.dumps(call).encode() + b"\n" + body,), daemon=True)
    writer.start()
    assert "result" in raw.reply()
    until(service, lambda now: now["held"] == 0)
    client.send("upload.send", {"url": origin.url + "/", "body": {"stream": stream}})
    writer.join(10)
    raw.socket.shutdown(socket.SHUT_WR)
    assert client.reply()["result"]["body"]["text"] == hashlib.sha256(body).hexdigest()
    until(service, lambda now: now["held"] == 0)


def test_bad_values_are_refused_with_a_sentence():
    for value, text in [("1000", "must be from 16777216"), ("many", "--memory"), ("-5", "--memory")]:
        run = subprocess.run(
            [contract.binary(), "serve", f"--memory={value}"], capture_output=True, text=True, timeout=20, check=False
        )
        assert run.returncode != 0 and text in run.stderr
    environment = {**os.environ, "OUTRIDER_MEMORY": "much"}
    run = subprocess.run(
        [contract.binary(), "serve", "--stdio"],
        capture_output=True, text=True, timeout=20, check=False, env=environment, stdin=subprocess.DEVNULL,
    )
    assert run.returncode != 0 and "OUTRIDER_MEMORY is much, and must be a number of bytes" in run.stderr
