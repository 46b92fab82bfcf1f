# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Gives orders to the process that keeps credentials, as the service does, and reads what it says.

store = Store(tmp_path)                      # a directory and a key of its own
store.put(server, tokens)                    # the credential `work` for an Authorizing server
store.obtain(newer=1)                        # one refresh; a Snapshot, or a Failure
store.read()                                 # what is known
"""

import contextlib
import json
import os
import pathlib
import struct
import subprocess
import time
from typing import NamedTuple, Optional

import contract
from socket_service import TERMINATED, running

LONG = 60.0


def lasting(action):
    """Seconds that it takes, the middle of five times: what is to be struck at any moment of it needs to know."""
    taken = []
    for _ in range(5):
        began = time.monotonic()
        action()
        taken.append(time.monotonic() - began)
    return sorted(taken)[2]


def rounds(trials, struck, least):
    """So many rounds, and more, ten times as many at most, until the list `struck` has more than `least` members.

    What is to be struck takes less time than `lasting` found where the machine was busy at first.
    """
    for number in range(10 * trials):
        if number >= trials and len(struck) > least:
            return
        yield number


class Snapshot(NamedTuple):
    name: str
    # "empty", "ready", "unsaved" or "needsLogin"
    state: str
    generation: int
    access: Optional[str]
    has_refresh_token: bool
    # of the failure that makes a login necessary
    reason: Optional[str] = None


class Failure(NamedTuple):
    kind: str
    reason: str
    message: str


def packed(*members):
    """Pairs of a number and a value: text, bytes, a whole number, a flag, a real one, or None for nothing."""
    whole = b""
    for tag, value in members:
        if value is None:
            continue
        if isinstance(value, bool):
            value = bytes([value])
        elif isinstance(value, int):
            value = struct.pack(">Q", value)
        elif isinstance(value, float):
            value = struct.pack(">d", value)
        elif isinstance(value, str):
            value = value.encode()
        whole += struct.pack(">BI", tag, len(value)) + value
    return whole


def unpacked(data):
    """A list for each number."""
    found = {}
    while data:
        tag, size = struct.unpack(">BI", data[:5])
        found.setdefault(tag, []).append(data[5:5 + size])
        data = data[5 + size:]
    return found


def text(fields, tag):
    return fields[tag][0].decode() if tag in fields else None


def snapshot(data):
    fields = unpacked(data)
    access = unpacked(fields[5][0]) if 5 in fields else {}
    failure = unpacked(fields[3][0]) if 3 in fields else {}
    return Snapshot(
        text(unpacked(fields[1][0]), 1), text(fields, 2) or "needsLogin", struct.unpack(">Q", fields[4][0])[0],
        text(access, 1), fields[6][0] == b"\1", text(failure, 2))


class Store:
    def __init__(self, place, key=None, name="work"):
        self.directory, self.name = str(place / "credentials"), name
        self.runtime = place / "runtime"
        self.runtime.mkdir(exist_ok=True)
        keyfile = place / "key"
        if not keyfile.exists():
            keyfile.write_bytes(os.urandom(32))
            keyfile.chmod(0o600)
        self.key = key or ["file", str(keyfile)]
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": str(self.runtime), "SWIFT_BACKTRACE": "enable=no"}

    @property
    def folder(self):
        """The directory of the only credential."""
        (found,) = [path for path in pathlib.Path(self.directory).iterdir() if path.is_dir()]
        return found

    @property
    def service_environment(self):
        """What a service, or a command, is to know of it."""
        return {**self.environment, "OUTRIDER_CREDENTIALS": self.directory,
                "OUTRIDER_CREDENTIAL_KEY": ":".join([self.key[0], " ".join(self.key[1:])])}

    def order(self, *members):
        key = packed(*((2, line) for line in self.key))
        return packed((1, self.directory), (2, key), *members)

    def spec(self, server, **more):
        kind = "body" if server.secret else "none"
        endpoints = packed((1, server.url("/token")), (3, server.url("/device")), (4, server.url("/revoke")),
                           (5, server.url("/introspect")))
        return packed(
            (1, self.name), (2, more.get("issuer", server.issuer)), (3, server.client), (4, packed((1, kind))),
            (5, endpoints), (6, "read"), (8, more.get("grant", "refresh")), (11, 300.0), (12, "401"), (13, False),
            (14, "keep"), (15, "disk"))

    def start(self, order, *, before=(), **more):
        """The process, which has its order."""
        command = [*before, contract.binary(), "credential-helper"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**self.environment, **more})
        try:
            process.stdin.write(order)
            process.stdin.close()
        except BrokenPipeError:
            pass
        process.stdin = None
        return process

    def heard(self, process, seconds=LONG):
        """What it said: Snapshots, bytes, a Failure, or None if it was stopped."""
        output, _ = process.communicate(timeout=seconds)
        fields = unpacked(output)
        if 4 not in fields:
            return None
        if 3 in fields:
            failure = unpacked(fields[3][0])
            return Failure(*(text(failure, tag) for tag in (1, 2, 3)))
        if 2 in fields:
            return fields[2][0]
        return [snapshot(data) for data in fields.get(1, [])]

    def run(self, *members, **more):
        return self.heard(self.start(self.order(*members), **more))

    @staticmethod
    def one(found):
        """The only snapshot, None if there is none, or the failure."""
        return (found[0] if found else None) if isinstance(found, list) else found

    def secrets(self, tokens, secret=None):
        return packed((1, secret), (2, (tokens or {}).get("refresh_token")))

    def put(self, server, tokens=None, **more):
        secrets = self.secrets(tokens, server.secret)
        return self.one(self.run((4, "store"), (6, self.spec(server, **more)), (7, secrets)))

    def obtaining(self, newer=None, request="refresh", code=None):
        return self.order((4, "obtain"), (5, self.name), (9, packed((1, request), (2, code))), (10, newer))

    def obtain(self, newer=None, **more):
        return self.one(self.heard(self.start(self.obtaining(newer), **more)))

    def read(self, **more):
        return self.one(self.run((4, "read"), (5, self.name), **more))

    def list(self):
        return self.run((4, "list"))

    def erase(self, spec=False, revoke=True):
        return self.run((4, "erase"), (5, self.name), (13, spec), (14, revoke))

    def introspect(self):
        return self.run((4, "introspect"), (5, self.name))


@contextlib.contextmanager
def serving(environment, path, seconds=LONG):
    """A service on a socket; it must be alive at the end."""
    with running(path, status=TERMINATED, start=seconds, end=seconds, env=environment, stderr=subprocess.DEVNULL):
        yield path


class Service:
    """Speaks with a service of its own, and keeps every byte that it says."""

    def __init__(self, store, log, directory, *, level="trace", before=(), **environment):
        command = [contract.binary(), "serve", "--stdio", "--log-level", level, "--log-file", str(log)]
        self.process = subprocess.Popen(
            [*before, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**store.service_environment, "TMPDIR": str(directory), **environment})
        self.said, self.number = b"", 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def start(self, method, **params):
        """Calls, and does not wait for the reply; its number."""
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        return self.number

    def tell(self, method, **params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def heard(self):
        """What it says next; None if it ends."""
        line = self.process.stdout.readline()
        self.said += line
        return json.loads(line) if line else None

    def reply(self, number):
        """None if it ends before that."""
        while (message := self.heard()) and message.get("id") != number:
            pass
        return message

    def call(self, method, **params):
        found = self.reply(self.start(method, **params))
        assert found, "the service ended"
        return found

    def adopt(self, store, server, **more):
        """Says once more where the tokens of the store may go."""
        found = self.call(
            "oauth.create", name=store.name, grant="refresh", clientId=server.client, tokenUrl=server.url("/token"),
            issuer=server.issuer, scope="read", persist="disk", origins=[server.url("/")], **more)
        assert "result" in found, found

    def helpers(self):
        """The processes that it has started and that live."""
        found = []
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += [int(child) for child in task.read_text().split()]
        return found

    def remembers(self, texts):
        """Those that stand anywhere in its memory."""
        found = set()
        process = f"/proc/{self.process.pid}"
        with open(f"{process}/maps") as maps, open(f"{process}/mem", "rb", 0) as memory:
            for line in maps:
                place, rights = line.split()[:2]
                # the code of files, half of all, is never written to
                is_code = "x" in rights and "w" not in rights and "/" in line
                if "r" not in rights or is_code or line.rstrip().endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")):
                    continue
                start, end = (int(number, 16) for number in place.split("-"))
                memory.seek(start)
                try:
                    data = memory.read(end - start)
                except OSError:
                    continue
                found |= {text for text in texts if text.encode() in data}
        return found
