# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Holds what the service says against the contract; for every test that talks to it.

    contract.check_message("data.send", message)    a reply to that method
    contract.check_event(message)                   an event, or a callback

Both return the message, and fail the test with the place and the rule that it breaks. `Wire` is a connection that
does this by itself with everything that arrives.
"""

import json
import os
import pathlib
import select
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "schema"))

import validator  # noqa: E402

TEXT = (ROOT / "schema/openrpc.json").read_text("ascii")
# The same value on one line, as the result of `rpc.discover`.
LINE = json.dumps(json.loads(TEXT), separators=(",", ":"))
CONTRACT = validator.Contract(json.loads(TEXT))
ERRORS = CONTRACT.document["components"]["errors"]
# a result longer than the client's maxMessageBytes is an error, with the code of a failure
TOO_LONG = 1411
DATA = {error["code"]: set(error["data"]) for error in ERRORS.values()} | {TOO_LONG: {"limit"}}
TOPICS = {topic["name"]: topic for topic in CONTRACT.document["x-outrider-topics"]}
FAILURES = {failure["code"]: failure for failure in CONTRACT.document["x-outrider-failures"]}
FIRST_CALLBACK = 1_000_000_001
# seconds for a reply: a busy machine, which runs forty programs at once, has needed more than ten
PATIENCE = 30.0


def check_message(method, message):
    """A reply: its envelope, its error code, and its result against the schema of the method."""
    members = [name for name in ("result", "error") if name in message]
    assert len(members) == 1 and list(message) == ["jsonrpc", "id", members[0]], f"envelope of {list(message)}"
    assert message["jsonrpc"] == "2.0"
    if "error" in message:
        check_error(method, message["error"])
        return message
    assert isinstance(message["result"], dict), "a result is an object"
    entry = CONTRACT.methods.get(method)
    assert entry, f"{method} has a reply but is not in the contract"
    _accept(method, message["result"], entry["result"]["schema"])
    _check_failures(message["result"], method)
    if method == "events.next":
        for event in message["result"]["events"]:
            _check_params(CONTRACT.events[event["method"]], event["params"])
    return message


def check_error(method, error):
    """The error object of a reply."""
    assert list(error) in (["code", "message"], ["code", "message", "data"]), f"error of {list(error)}"
    assert isinstance(error["message"], str) and error["message"], "an error has a message"
    assert isinstance(error.get("data", {}), dict), "data is an object"
    if method == "diagnostics.fail":
        return
    code, data = error["code"], error.get("data", {})
    assert code in DATA, f"{method}: code {code} is not in errors.json"
    entry = CONTRACT.methods.get(method)
    assert entry is None or code in codes(entry), f"{method}: its description does not list the error {code}"
    more = sorted(set(data) - DATA[code])
    assert not more, f"{method}: errors.json does not say that {code} has {more}"
    assert code != -32602 or "pointer" in data, f"{method}: no pointer: {error['message']}"
    _check_failure(data.get("failure"), method)


def codes(entry):
    """The codes of the errors that a method can give."""
    return {TOO_LONG, *(ERRORS[error["$ref"].rpartition("/")[2]]["code"] for error in entry["errors"])}


def check_event(message):
    """An event or a callback, against its schema; names that are not in the contract are the caller's own."""
    is_callback = "id" in message
    assert list(message) == ["jsonrpc", *(["id"] if is_callback else []), "method", "params"], (
        f"envelope of {list(message)}"
    )
    assert message["jsonrpc"] == "2.0" and isinstance(message["params"], dict)
    if is_callback:
        assert type(message["id"]) is int and message["id"] >= FIRST_CALLBACK, f"id of a callback: {message['id']!r}"
    name = message["method"]
    entry = (CONTRACT.callbacks if is_callback else CONTRACT.events).get(name)
    if entry is None:
        assert not name.startswith("event."), f"{name} is not in the contract"
        return message
    _check_params(entry, message["params"])
    return message


def _check_params(entry, params):
    """The params of an event or a callback; of `event.monitor`, the detail of the topic, too."""
    name = entry["name"]
    _accept(name, params, CONTRACT.params(entry))
    _check_failures(params, name)
    if name == "event.monitor":
        _accept(params["topic"], params.get("detail", {}), TOPICS[params["topic"]]["detail"])


def _accept(name, value, schema):
    problems = list(CONTRACT.problems(value, schema))
    assert not problems, f"{name}: {'; '.join(problems)}\n{json.dumps(value)[:2000]}"


def _check_failures(value, at):
    """Failures have the kind and the reason of their code; a Response has one exactly when it is not ok."""
    if isinstance(value, list):
        for item in value:
            _check_failures(item, at)
    if not isinstance(value, dict):
        return
    if isinstance(value.get("ok"), bool) and "attempts" in value and "body" in value:
        assert ("error" in value) != value["ok"], f"{at}: `error` stands exactly beside `ok: false`"
        _check_failure(value.get("error"), at)
        _check_failures(value.get("error"), at)
        return
    _check_failure(value.get("error"), at)
    for key in ("response", "requests"):
        _check_failures(value.get(key), at)


def _check_failure(failure, at):
    if not isinstance(failure, dict) or "kind" not in failure or "retryable" not in failure:
        return
    known = FAILURES.get(failure["code"])
    assert known, f"{at}: failure {failure['code']} is not in errors.json"
    assert failure["kind"] == known["kind"], f"{at}: {failure['code']} is {known['kind']}, not {failure['kind']}"
    assert failure.get("reason") == known.get("reason"), f"{at}: reason of {failure['code']} is {known.get('reason')}"
    data = failure.get("data", {})
    # any failure of a download can have resume data
    more = set(data) - set(known["data"]) - {"resumeData"}
    assert not more, f"{at}: errors.json does not say that {failure['code']} has {sorted(more)}"
    for name in ("cause", "originalError"):
        _check_failure(data.get(name), at)


def await_socket(path, process, seconds=60.0):
    """Until the process listens there, a moment after the file has come: asks the system, and does not connect."""
    deadline = time.monotonic() + seconds
    while not any(line.split()[3] == "00010000" and line.endswith(f" {path}") for line in _unix_sockets()):
        assert time.monotonic() < deadline and process.poll() is None, "the service does not listen"
        time.sleep(0.01)


def _unix_sockets():
    return pathlib.Path("/proc/net/unix").read_text().splitlines()[1:]


def binary():
    """The service to test: $OUTRIDER, or what was built last; None if there is none."""
    built = [ROOT / ".build/debug/outrider", ROOT / ".build/release/outrider"]
    found = [path for path in [os.environ.get("OUTRIDER"), *built] if path and pathlib.Path(path).exists()]
    return str(found[0]) if found else None


class Gone(Exception):
    """The service ended the connection."""


class Wire:
    """One line-framed connection: a service of its own on stdio, or a socket. Checks everything that arrives."""

    def __init__(self, path=None, arguments=(), under=()):
        self.process = self.socket = None
        self.buffer = b""
        self.methods = {}
        self.number = 0
        if path:
            self.socket = socket.socket(socket.AF_UNIX)
            self.connect(path)
            self.reader = self.writer = self.socket.fileno()
        else:
            self.process = subprocess.Popen(
                [*under, binary(), "serve", "--stdio", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            self.reader, self.writer = self.process.stdout.fileno(), self.process.stdin.fileno()

    def connect(self, path):
        """The file of a socket is there a moment before the service listens."""
        for left in reversed(range(200)):
            try:
                return self.socket.connect(path)
            except ConnectionRefusedError:
                if not left:
                    raise
                time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.socket:
            self.socket.close()
        if self.process:
            self.process.stdin.close()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()

    def send_text(self, text):
        data = memoryview(text.encode() + b"\n")
        while data:
            data = data[os.write(self.writer, data[:65536]) :]

    def send(self, message):
        if isinstance(message, dict) and "method" in message and "id" in message:
            self.methods[repr(message["id"])] = message["method"]
        self.send_text(json.dumps(message))

    def start(self, method, params=None):
        """Sends a call and gives its id."""
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params or {}})
        return self.number

    def receive_line(self, seconds=PATIENCE):
        end, pieces = time.monotonic() + seconds, [self.buffer]
        try:
            while b"\n" not in pieces[-1]:
                left = end - time.monotonic()
                if left <= 0 or not select.select([self.reader], [], [], left)[0]:
                    raise TimeoutError(f"nothing arrived within {seconds} s")
                pieces.append(os.read(self.reader, 1 << 20))
                if not pieces[-1]:
                    raise Gone("the service ended the connection")
        finally:
            # once: a line may have a hundred megabytes
            self.buffer = b"".join(pieces)
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line

    def receive(self, seconds=PATIENCE):
        """The next message, checked."""
        message = json.loads(self.receive_line(seconds))
        if "method" in message:
            return check_event(message)
        return check_message(self.methods.get(repr(message["id"])), message)

    def reply(self, number, seconds=PATIENCE):
        """The reply to one call; what else arrives is checked, callbacks get replies."""
        return self.replies([number], seconds)[number]

    def call(self, method, params=None, seconds=PATIENCE):
        return self.reply(self.start(method, params), seconds)

    def replies(self, numbers, seconds=PATIENCE):
        """The replies to several calls, by id."""
        found, end = {}, time.monotonic() + seconds
        while set(numbers) - set(found):
            message = self.receive(max(0.1, end - time.monotonic()))
            if "method" not in message:
                found[message["id"]] = message
            elif "id" in message:
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": {}})
        return found
