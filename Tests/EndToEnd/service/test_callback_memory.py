# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Long replies to callbacks count into the budget; a message without memory is refused alone."""

import contextlib
import hashlib
import json
import socket
import threading

import contract
import pytest
from budget import LEAST, MIB, letters, memory, origins, services, until

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

origin, service = origins(), services()


class Client:
    """A client that replies to each callback as soon as the callback comes: `reply`, or its value for the method."""

    def __init__(self, path, reply=None):
        self.reply, self.calls, self.replies = reply, 0, {}
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.settimeout(60)
        self.came, self.writing = threading.Condition(), threading.Lock()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def write(self, message):
        """Write the whole message: pieces of a long reply never stand around another thread's call."""
        with self.writing, contextlib.suppress(OSError):
            self.socket.sendall(message)

    def send(self, number, name, /, **params):
        self.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": name, "params": params}).encode() + b"\n")

    def read(self):
        with contextlib.suppress(OSError), self.socket.makefile("rb") as lines:
            for line in lines:
                message = json.loads(line)
                if message.get("method", "").startswith("callback."):
                    self.calls += 1
                    value = self.reply(message["method"]) if callable(self.reply) else self.reply
                    text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": value}).encode() + b"\n"
                    threading.Thread(target=self.write, args=(text,), daemon=True).start()
                    continue
                with self.came:
                    self.replies[message["id"]] = message
                    self.came.notify_all()
        with self.came:
            self.replies["end"] = None
            self.came.notify_all()

    def wait(self, number, seconds=60):
        with self.came:
            assert self.came.wait_for(lambda: number in self.replies or "end" in self.replies, seconds)
            return self.replies[number]

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.reader.join(10)


@pytest.fixture
def client(service):
    made = []

    def make(reply=None):
        made.append(Client(service, reply))
        return made[-1]

    yield make
    for one in made:
        one.close()


ADAPTER = {"callback": "mine", "asks": ["adapt"]}


def test_bodies_of_adapters_are_counted_or_go_to_files_and_arrive_whole(service, client, origin):
    bodies = [letters(2 * MIB + number) for number in range(12)]
    many = [client({"body": {"text": body.decode()}}) for body in bodies]
    for one in many:
        one.send(1, "data.send", url=origin.url + "/hold", method="POST", interceptors=[ADAPTER])
    found = until(service, lambda now: now["spilt"]["payloads"] >= 6)
    assert 0 < found["held"] <= LEAST + 8 * MIB
    origin.release.set()
    for one, body in zip(many, bodies, strict=True):
        assert one.wait(1)["result"]["body"]["text"] == hashlib.sha256(body).hexdigest()
    until(service, lambda now: now["held"] == 0 and now["shares"] == [])


def test_a_body_that_is_asked_for_once_serves_all_attempts(service, client, origin):
    body, again = letters(7 * MIB), [{"retry": True}, {"retry": False}]
    one = client(lambda method: {"body": {"text": body.decode()}} if method == "callback.adapt" else again.pop(0))
    code = [{**ADAPTER, "askPer": "request"}, {"callback": "again", "asks": ["retry"]}]
    one.send(1, "data.send", url=origin.url + "/", method="POST", interceptors=code, validate={"status": [500]})
    reply = one.wait(1)["result"]
    assert reply["attempts"] == 2 and one.calls == 3
    assert reply["body"]["text"] == hashlib.sha256(body).hexdigest()
    until(service, lambda now: now["held"] == 0)


def test_bodies_of_decisions_are_counted_too(service, client, origin):
    """Each is in memory or in a file: the short ones have room, unless a message before them still has its own."""
    sizes = [MIB // 2] * 2 + [2 * MIB] * 4
    many = [client() for _ in sizes]
    for number, (one, size) in enumerate(zip(many, sizes)):
        pulled = {**ADAPTER, "decide": "pull"}
        one.send(1, "data.send", url=origin.url + "/hold", method="POST", interceptors=[pulled])
        one.send(2, "events.next")
        event = one.wait(2)["result"]
        decision = next(item["params"]["decision"] for item in event["events"])
        one.send(3, "request.decide", decision=decision, answer={"body": {"text": chr(65 + number) * size}})
        assert "result" in one.wait(3)
    until(service, lambda now: now["spilt"]["payloads"] >= 1 and now["held"] >= MIB // 2
          and now["held"] + now["spilt"]["bytes"] == sum(sizes))
    origin.release.set()
    for number, (one, size) in enumerate(zip(many, sizes)):
        found = hashlib.sha256(bytes([65 + number]) * size).hexdigest()
        assert one.wait(1)["result"]["body"]["text"] == found
    until(service, lambda now: now["held"] == 0)


def test_values_of_serializers_are_counted_until_they_are_forgotten(service, client, origin):
    one = client({"value": "x" * (2 * MIB)})
    one.send(1, "data.start", url=origin.url + "/", serialize={"callback": "mine"})
    request = one.wait(1)["result"]["request"]
    one.send(2, "request.wait", request=request)
    assert one.wait(2)["result"]["body"]["json"] == "x" * (2 * MIB)
    until(service, lambda now: now["held"] >= 4 * MIB)
    one.send(3, "request.forget", request=request)
    one.wait(3)
    until(service, lambda now: now["held"] == 0)


@pytest.mark.parametrize(
    ("use", "reply", "words"),
    [
        ({"validate": {"callback": "mine"}}, {"valid": False, "reason": "x" * MIB}, "reason must not be longer"),
        ({"interceptors": [ADAPTER]}, {"headers": {"X": "x" * (2 * MIB)}}, "headers must not be longer than 1048576"),
        ({"interceptors": [ADAPTER]}, {"removeHeaders": ["x" * (2 * MIB)]}, "removeHeaders must not be longer"),
        ({"interceptors": [ADAPTER]}, {"query": {"x": "x" * (2 * MIB)}}, "query must not be longer"),
    ],
)
def test_members_of_replies_that_are_not_counted_have_limits(service, client, origin, use, reply, words):
    one = client(reply)
    one.send(1, "data.send", url=origin.url + "/", **use)
    outcome = one.wait(1)["result"]
    assert not outcome["ok"] and words in outcome["error"]["message"], outcome["error"]["message"]
    assert len(json.dumps(outcome)) < 10_000
    until(service, lambda now: now["held"] == 0)


def test_a_message_that_comes_too_slowly_for_the_budget_is_refused_alone(service, client, origin):
    one = client()
    one.send(1, "data.send", url=origin.url + "/hold")
    text = b"x" * (10 * MIB)
    one.write(b'{"jsonrpc":"2.0","id":2,"method":"data.send","params":{"body":{"text":"' + text)
    refused = one.wait(2)["error"]
    assert refused["code"] == -32011 and refused["data"]["what"] == "memory" and "--memory" in refused["message"]
    # the rest is skipped, and all else goes on
    one.write(text + b'"}}}\n')
    one.send(3, "diagnostics.echo", value=1)
    assert one.wait(3)["result"]["value"] == 1
    origin.release.set()
    assert one.wait(1)["result"]["ok"]
    found = until(service, lambda now: now["held"] == 0)
    assert found["refused"] >= 1 and memory(service)["held"] == 0
