# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The short way of reading the words of a start says the same as the parser of all flags.

`--framing auto` changes nothing, and no start with it goes the short way. Each list is tried with and without.
"""

import os
import random
import stat
import subprocess
import time

import contract
import pytest

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

READY = "77"
WORDS = ["--stdio", "--socket", "--ready-file", "{}/a", "{}/b", READY, "+77", "077", "-1", "99999999999", "x", "", "-"]
# what programs say when they start a service, and the mistakes next to that
STARTS = [
    [], ["--stdio"], ["--socket", "{}/a"], ["--socket", "{}/a", "--ready-file", READY], ["--ready-file", READY],
    ["--ready-file", READY, "--socket", "{}/b"], ["--stdio", "--socket", "{}/a"], ["--stdio", "--stdio"],
    ["--socket", "{}/a", "--socket", "{}/b"], ["--socket"], ["--socket", "--stdio"], ["--socket", ""],
    ["--socket", "-"], ["--socket={}/a"], ["--ready-file", "x"], ["--ready-file", "+77"], ["--ready-file", "077"],
    ["--ready-file", "99999999999"], ["--stdio", "x"], ["--stdio", "--ready-file", READY], ["--", "--stdio"],
    ["--starter-socket", READY], ["--stdio", "--starter-socket", "x"], ["--stdio", "--starter-socket", READY],
]


def lists():
    dice = random.Random(20)
    return STARTS + [dice.choices(WORDS, k=dice.randint(1, 4)) for _ in range(15)]


def listening(folder):
    """The socket that a service made there."""
    found = [path for path in folder.rglob("*") if stat.S_ISSOCK(path.lstat().st_mode)]
    return found[0] if found else None


def outcome(folder, words):
    """What becomes of a start: status and complaint, or where the service listens and what it says of itself."""
    folder.mkdir()
    reader, writer = os.pipe()
    os.dup2(writer, int(READY), inheritable=True)
    command = [contract.binary(), "serve", *(word.format(folder) for word in words)]
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder), "TMPDIR": str(folder)}
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
        cwd=folder, pass_fds=[int(READY)])
    os.close(int(READY))
    os.close(writer)
    try:
        while process.poll() is None and not listening(folder):
            time.sleep(0.005)
        said = None
        if process.poll() is None:
            path = listening(folder)
            with contract.Wire(str(path)) as wire:
                limits = wire.call("server.info")["result"]["limits"]
            said = (str(path.relative_to(folder)), limits)
            process.terminate()
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    with os.fdopen(reader, "rb") as ready:
        told = ready.read()
    place = str(folder).encode()
    return process.returncode, said, out, err.replace(place, b""), told.replace(place, b"")


@pytest.mark.parametrize("words", lists(), ids=lambda words: " ".join(words).replace("{}/", "") or "nothing")
def test_a_start_is_the_same_with_and_without_the_parser(tmp_path, words):
    plain = outcome(tmp_path / "p", words)
    parsed = outcome(tmp_path / "q", ["--framing", "auto", *words])
    assert plain == parsed
