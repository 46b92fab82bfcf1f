# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""`outrider record`, `outrider replay` and `outrider serve --replay`."""

import json
import os
import subprocess
import sys

import contract
import pytest
from tape_client import entries

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
PROGRAM = """
import sys
import outrider
with outrider.Client(spawn=False) as client:
    for path in sys.argv[2:]:
        print(client.get(sys.argv[1] + path).json()["path"])
sys.exit(7 if len(sys.argv) > 4 else 0)
"""


def run(word, tape, *words, origin, environment=None):
    command = [contract.binary(), word, tape, *words, "--", sys.executable, "-c", PROGRAM, origin]
    path = {"PYTHONPATH": str(contract.ROOT / "clients/python/src")}
    given = {**os.environ, **path, **(environment or {})}
    return lambda *paths: subprocess.run([*command, *paths], env=given, capture_output=True, text=True, timeout=60)


def test_a_program_is_recorded_and_played(server, tape):
    done = run("record", tape, origin=server.url)("/json?a", "/json?b")
    assert (done.returncode, done.stdout) == (0, "/json?a\n/json?b\n"), done
    assert f"2 attempts recorded to {tape}" in done.stderr and len(entries(tape)) == 2
    more = run("record", tape, "--mode", "newEpisodes", origin=server.url)("/json?b", "/json?c", "/json?d")
    assert more.returncode == 7 and len(entries(tape)) == 4, more
    count = server.count
    server.close()
    again = run("replay", tape, origin=server.url)("/json?c", "/json?a")
    assert (again.returncode, again.stdout) == (0, "/json?c\n/json?a\n"), again
    missed = run("replay", tape, origin=server.url)("/json?nothing")
    assert missed.returncode == 1 and "1 request was not in" in missed.stderr and "has no response" in missed.stderr
    assert server.count == count


def test_the_cassette_of_a_service_counts_as_memory(server, tape):
    def memory(*words):
        with contract.Wire(arguments=("--memory", str(16 << 20), *words)) as wire:
            return wire.call("server.stats")["result"]["memory"]["held"]

    with contract.Wire(arguments=("--replay", f"{tape}:all")) as wire:
        for number in range(3):
            body = {"text": "x" * 300_000}
            wire.call("data.send", {"url": f"{server.url}/json?{number}", "method": "POST", "body": body})
        wire.call("replay.stop", {"session": "*"})
    size = os.path.getsize(tape)
    assert size > 900_000 and memory() < size / 2
    assert size <= memory("--replay", f"{tape}:none") < 2 * size
    # a cassette that is longer than its share leaves room for clients
    with open(tape, "a") as file:
        file.write(" " * (20 << 20))
    assert memory("--replay", f"{tape}:none") < 5 << 20


def test_a_long_path_of_temporary_files_is_no_hindrance(server, tape, tmp_path):
    long = tmp_path / ("d" * 110)
    long.mkdir()
    done = run("record", tape, origin=server.url, environment={"TMPDIR": str(long)})("/json?a")
    assert (done.returncode, done.stdout) == (0, "/json?a\n"), done
    missing = run("record", tape, origin=server.url, environment={"TMPDIR": "/nonexistent"})("/json?a")
    assert missing.returncode == 3 and "/nonexistent" in missing.stderr and "set TMPDIR" in missing.stderr, missing


def test_what_cannot_be_played_or_recorded(tape):
    absent = run("replay", tape, origin="http://127.0.0.1:9")("/a")
    assert absent.returncode == 3 and f"the cassette {tape} cannot be read: " in absent.stderr, absent
    assert "--replay" not in absent.stderr and f"outrider record {tape}" in absent.stderr, absent
    nowhere = run("record", f"{tape}/x.har", origin="http://127.0.0.1:9")("/a")
    assert nowhere.returncode == 3 and f"{tape}/" in nowhere.stderr and "--replay" not in nowhere.stderr, nowhere
    with open(tape, "w") as file:
        file.write("no cassette")
    broken = run("replay", tape, origin="http://127.0.0.1:9")("/a")
    assert broken.returncode == 3 and "line 1, byte 0" in broken.stderr and "--replay" not in broken.stderr, broken
    nothing = subprocess.run([contract.binary(), "record", tape], capture_output=True, text=True)
    assert nothing.returncode == 2 and "command" in nothing.stderr, nothing


def test_a_recording_replaces_no_file_that_is_no_cassette(server, tmp_path):
    """A program in place of the cassette was replaced by an empty archive."""
    program = tmp_path / "program.py"
    program.write_text("print()\n")
    done = run("record", str(program), origin=server.url)("/json?a")
    assert done.returncode == 2 and f"{program} is no cassette" in done.stderr and done.stdout == "", done
    assert program.read_text() == "print()\n" and server.count == 0
    program.write_text("")
    again = run("record", str(program), origin=server.url)("/json?a")
    assert again.returncode == 0 and len(entries(program)) == 1, again
    assert run("record", str(program), origin=server.url)("/json?b").returncode == 0


@pytest.mark.parametrize("program", ["no-such-program", "./no-such-program", "."])
def test_a_program_that_is_absent_leaves_the_cassette_as_it_is(server, tape, program):
    first = run("record", tape, origin=server.url)("/json?a")
    assert f"1 attempt recorded to {tape}" in first.stderr, first
    command = [contract.binary(), "record", tape, "--", program]
    absent = subprocess.run(command, capture_output=True, text=True)
    assert absent.returncode == 2 and f"cannot start {program}" in absent.stderr, absent
    assert len(entries(tape)) == 1


def test_a_service_takes_its_cassette_from_the_environment(server, tape):
    assert run("record", tape, origin=server.url)("/json?a").returncode == 0
    server.close()
    ask = {"jsonrpc": "2.0", "id": 1, "method": "data.send", "params": {"url": server.url + "/json?a"}}
    for replay in (tape, json.dumps({"path": tape, "mode": "none", "repeat": "last"})):
        done = subprocess.run(
            [contract.binary(), "serve", "--stdio", "--no-config"], input=json.dumps(ask) + "\n", text=True,
            env={**os.environ, "OUTRIDER_REPLAY": replay}, capture_output=True, timeout=30,
        )  # fmt: skip
        assert json.loads(done.stdout)["result"]["status"] == 200, done
    words = [contract.binary(), "serve", "--stdio", "--replay", '{"mode": "none"}']
    refused = subprocess.run(words, input="", text=True, capture_output=True)
    assert refused.returncode == 2 and "--replay" in refused.stderr and "path" in refused.stderr, refused
