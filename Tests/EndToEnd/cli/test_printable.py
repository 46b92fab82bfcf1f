# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Text of servers is printable: no control of a terminal or of the direction of text reaches stderr or the log."""

import json
import os
import pty
import re
import socket
import subprocess
import threading

import contract
import pytest
from listeners import shut
from request_client import result
from shell import LONG, outrider

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

# C0, C1 as UTF-8 and as a byte, and controls of the direction of text
HOSTILE = "\x1b[2J\x1b]0;owned\x07 \u009b31m \u202egpj.exe \u2066 \u200f".encode() + b" \x9b31m"
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
TEXT = HOSTILE.decode(errors="replace")

HEADS = {
    "reason": b"HTTP/1.1 404 " + HOSTILE + b"\r\nContent-Length: 0\r\n\r\n",
    "etag": b"HTTP/1.1 404 x\r\nETag: \"" + HOSTILE + b"\"\r\nContent-Length: 0\r\n\r\n",
    "location": b"HTTP/1.1 302 x\r\nLocation: http://" + HOSTILE + b"/\r\nContent-Length: 0\r\n\r\n",
    "type": b"HTTP/1.1 200 x\r\nContent-Type: text/" + HOSTILE + b"\r\nContent-Length: 3\r\n\r\n{x]",
    "challenge": b"HTTP/1.1 401 x\r\nWWW-Authenticate: Basic realm=\"" + HOSTILE + b"\"\r\nContent-Length: 0\r\n\r\n",
    "length": b"HTTP/1.1 200 x\r\nContent-Length: " + HOSTILE + b"\r\n\r\n",
    "name": b"HTTP/1.1 200 x\r\nX-" + HOSTILE + b": 1\r\nContent-Length: 0\r\n\r\n",
    "status": b"HTTP/1.1 " + HOSTILE + b"\r\n\r\n",
    "file name": b"HTTP/1.1 200 x\r\nContent-Disposition: attachment; filename=\"" + HOSTILE.replace(b"\x07", b"")
    + b"\"\r\nContent-Length: 2\r\nRepr-Digest: sha-256=:AAAA:\r\n\r\nok",
}


@pytest.fixture
def origin():
    """Serves one head to every request: its address, and a way to choose the head."""
    listener = socket.create_server(("127.0.0.1", 0))
    chosen = {}

    def run():
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                if peer.recv(65536):
                    peer.sendall(chosen["head"])

    threading.Thread(target=run, daemon=True).start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/", lambda name: chosen.update(head=HEADS[name])
    shut(listener)


@pytest.mark.parametrize("name", HEADS)
def test_what_a_server_says_is_printable_on_standard_error_and_in_the_log(origin, name, tmp_path):
    url, choose = origin
    choose(name)
    for words in (["get", "--fail", "-o", str(tmp_path / "body"), url], ["download", "-o", str(tmp_path) + "/", url]):
        done = outrider(*words)
        assert not CONTROLS.search(done.stderr.decode()), done.stderr
    log = tmp_path / "log"
    arguments = ["--log-level", "trace", "--log-file", str(log)]
    with contract.Wire(arguments=arguments) as wire:
        for more in ({}, {"validate": True, "serialize": {"as": "json"}}):
            response = result(wire.call("data.send", {"url": url, **more}))
            message = (response.get("error") or {}).get("message", "")
            assert not CONTROLS.search(message), message
    assert not CONTROLS.search(log.read_text())


@pytest.fixture
def speaking(tmp_path):
    """A service that replies to every call with one error: the path of its socket."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "s"))
    listener.listen()

    def run():
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                line = json.loads(peer.recv(65536).split(b"\n")[0])
                error = {"code": -32000, "message": TEXT + "\nsecond line", "data": {}}
                peer.sendall(json.dumps({"jsonrpc": "2.0", "id": line["id"], "error": error}).encode() + b"\n")

    threading.Thread(target=run, daemon=True).start()
    yield str(tmp_path / "s")
    shut(listener)


@pytest.mark.parametrize(
    "words",
    [["get", "http://127.0.0.1:9/"], ["download", "http://127.0.0.1:9/"], ["token", "work"], ["login", "work"]],
)
def test_the_message_of_an_error_is_one_printable_line(speaking, words, tmp_path):
    done = outrider(words[0], "--socket", speaking, *words[1:], cwd=tmp_path)
    said = done.stderr.decode()
    assert done.returncode != 0 and not CONTROLS.search(said), said
    assert said.count("\n") == 1 and "\\u{1b}[2J" in said and "\\u{202e}gpj.exe" in said


def test_header_fields_on_a_terminal_are_printable_and_exact_in_a_pipe(origin):
    url, choose = origin
    HEADS["shown"] = b"HTTP/1.1 200 x\r\nX-Shown: \xc2\x9b31m \xe2\x80\xaegpj\r\nContent-Length: 2\r\n\r\nok"
    choose("shown")
    assert "X-Shown: \u009b31m \u202egpj\r\n".encode() in outrider("get", "-i", url).stdout
    ours, theirs = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OUTRIDER", "XDG_"))}
    with subprocess.Popen(
        [contract.binary(), "get", "-i", url], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while data := os.read(ours, 4096):
                shown += data
        except OSError:
            pass
        os.close(ours)
        assert process.wait(LONG) == 0
    assert b"X-Shown: \\u{9b}31m \\u{202e}gpj" in shown and shown.endswith(b"ok")
