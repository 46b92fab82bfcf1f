#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Records one run, and plays it without any network: each played run must be the recorded one.

cassettes.py [--runs 100]

The run has redirects, challenges of Basic and Digest, a refreshed token, retries, failures, forms, an upload, a
download, an event stream and a WebSocket. The service that plays has a network namespace of its own, without as much as
a loopback device, if the system permits that. $OUTRIDER names the binary, as in the tests.
"""

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(place) for place in (ROOT / "Tests/EndToEnd/support").iterdir() if place.is_dir()]
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import contract  # noqa: E402
from digest_server import PASSWORD, USER, Guard  # noqa: E402
from frames import Server, echo  # noqa: E402
from tape_server import SECRET, TapeServer  # noqa: E402

RETRY = [{"retry": {"limit": 3, "scale": 0.001}}]
ADA = {"username": "ada", "password": SECRET, "schemes": ["basic"]}
# what differs from run to run
CHANGING = {"timings", "request", "stream", "response", "server", "metrics", "timestamp", "remote"}


def plain(value):
    """Without what changes; a secret plays as its mask."""
    if isinstance(value, str):
        return value.replace(SECRET, "***")
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items() if key not in CHANGING}
    return [plain(one) for one in value] if isinstance(value, list) else value


class Run:
    """One run of the program: everything that the service says about it, in order."""

    def __init__(self, wire, server, guard, socket, directory):
        self.wire, self.server, self.guard, self.socket, self.directory = wire, server, guard, socket, directory
        self.seen = []

    def call(self, name, /, **params):
        reply = self.wire.call(name, params, 30)
        assert "result" in reply, (name, params, reply)
        self.seen.append((name, plain(reply["result"])))
        return reply["result"]

    def all(self):
        url, digest = self.server.url, {"username": USER, "password": PASSWORD, "schemes": ["digest"]}
        upload = self.directory / "up.bin"
        upload.write_bytes(b"u" * 70_000)
        for params in (
            {"url": url + "/json?b=2&a=1"},
            {"url": url + "/json?a=1&b=2"},
            {"url": url + "/old"},
            {"url": url + "/locked", "auth": ADA},
            {"url": self.guard.url("/vault"), "auth": digest},
            {"url": self.guard.url("/vault"), "auth": digest},
            {"url": url + "/api", "auth": {"oauth": "work"}},
            {"url": url + "/flaky", "interceptors": RETRY},
            {"url": url + "/broken"},
            {"url": url + "/echo", "method": "POST", "body": {"json": {"a": 1, "b": [1.0, 2]}}},
            {"url": url + "/echo", "method": "POST", "body": {"form": {"x": "1", "y": "a b"}}},
            {"url": url + "/echo", "method": "PUT", "body": {"file": str(upload)}},
            {"url": "http://127.0.0.1:9/refused"},
        ):
            self.call("data.send", **params)
        target = self.directory / "down.bin"
        target.unlink(missing_ok=True)
        self.call("download.send", url=url + "/big", destination={"path": str(target)})
        self.seen.append(target.read_bytes() == bytes(range(256)) * 8192)
        self.events(url + "/sse")
        self.talk()
        return self.seen

    def events(self, url):
        """The values of the stream; how many come with one read depends on time."""
        stream, values = self.call("sse.open", url=url, reconnect=False)["stream"], []
        while True:
            piece = self.wire.call("stream.read", {"stream": stream, "wait": 5}, 30)["result"]
            values += [value.get("data") for value in piece["values"] if value]
            if piece["end"]:
                break
        assert len(values) == 3, values
        self.seen.append(plain(values))

    def talk(self):
        stream = self.call("websocket.open", url=self.socket)["stream"]
        for text in ('{"a": 1}', "two", "three"):
            self.call("websocket.send", stream=stream, text=text)
            result = self.call("stream.read", stream=stream, wait=5)
            assert len(result["values"]) == 1, result
        self.call("websocket.close", stream=stream)


def credential(server):
    return {
        "name": "work", "grant": "refresh", "clientId": "c", "tokenUrl": server.url + "/token", "persist": "memory",
        "origins": [server.url + "/"], "token": {"accessToken": "0ld-t0ken-value", "refreshToken": "r3fresh-t0ken"},
    }  # fmt: skip


def without_network():
    """A command that runs another without a network; nothing if the system forbids that."""
    for options in (["--net"], ["--user", "--map-root-user", "--net"]):
        if subprocess.run(["unshare", *options, "true"], capture_output=True, check=False).returncode == 0:
            return ["unshare", *options, "--"]
    return []


def once(servers, tape, mode, under=()):
    server, guard, socket, directory = servers
    with contract.Wire(under=under) as wire:
        made = wire.call("oauth.create", credential(server), 30)
        assert "result" in made, made
        told = wire.call("replay.start", {"path": str(tape), "mode": mode})
        assert "result" in told, told
        seen = Run(wire, server, guard, socket, directory).all()
        return seen, wire.call("replay.stop", {}, 30)["result"]


def differences(one, two):
    return [f"{a}\n  was recorded, and played was\n{b}" for a, b in zip(one, two) if a != b] or (
        [] if len(one) == len(two) else [f"{len(one)} steps recorded, {len(two)} played"]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    runs = parser.parse_args().runs
    with contextlib.ExitStack() as held:
        directory = pathlib.Path(held.enter_context(tempfile.TemporaryDirectory()))
        server, guard = held.enter_context(TapeServer()), held.enter_context(Guard("SHA-256"))
        socket = held.enter_context(Server(echo))
        servers, tape = (server, guard, socket.url, directory), directory / "run.har"
        recorded, info = once(servers, tape, "once")
        assert "failure" not in info, info
        count, under, began = server.count, without_network(), time.monotonic()
        text = tape.read_text()
        for secret in (SECRET, PASSWORD, "0ld-t0ken-value", "r3fresh-t0ken"):
            assert secret not in text, f"{secret} is in the cassette"
        for number in range(runs):
            played, info = once(servers, tape, "none", under)
            found = differences(recorded, played)
            assert not found, f"run {number + 1}: " + "\n".join(found)
            assert info["missed"] == 0 and not info["unused"], info
        assert server.count == count
    seconds = time.monotonic() - began
    where = "without a network" if under else "with a network at hand"
    print(f"{info['played']} attempts recorded; {runs} runs {where} alike ({seconds:.1f} s)")


if __name__ == "__main__":
    main()
