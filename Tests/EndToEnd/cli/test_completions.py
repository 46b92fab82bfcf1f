# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The words that bash and zsh offer behind `outrider help`, and the options and methods that shells offer."""

import os
import shutil
import subprocess
from pathlib import Path

import contract
import pytest
from shell import LONG, outrider

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
BASH = """
source "$0"
COMP_WORDS=(outrider "$@") COMP_CWORD=$# COMP_LINE="outrider $*" COMP_POINT=${#COMP_LINE}
_outrider outrider "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def script(tmp_path):
    def script(shell):
        file = tmp_path / f"completions.{shell}"
        done = outrider("--generate-completion-script", shell)
        assert done.returncode == 0, done.stderr
        file.write_bytes(done.stdout)
        return file

    return script


@pytest.fixture
def path(tmp_path):
    """An environment whose `outrider` is the binary: the scripts ask that for its methods."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/outrider").symlink_to(Path(contract.binary()).resolve())
    return {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}


@pytest.mark.parametrize(
    ("words", "offered"),
    [(["help", "coo"], ["cookies"]), (["help", "cookies", "ex"], ["explain", "export"]), (["help", "get", ""], []),
     (["call", "data.s"], ["data.send", "data.start"]), (["describe", "response.sa"], ["response.save"])],
    ids=str)
def test_bash_offers_commands_and_methods(script, path, words, offered):
    done = subprocess.run(
        ["bash", "-c", BASH, script("bash"), *words], env=path, capture_output=True, text=True, timeout=LONG,
        check=True)
    assert [word for word in done.stdout.split("\n") if word and not word.startswith("-")] == offered


def test_the_script_for_zsh_offers_the_commands_that_help_explains(script):
    file = script("zsh")
    text = file.read_text()
    body = text[text.index("_outrider_help() {"):]
    assert "doctor" in body and "compadd -- list explain" in body and "credential-helper" not in body
    if shutil.which("zsh"):
        subprocess.run(["zsh", "-n", file], timeout=LONG, check=True)


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(
    ("line", "offered"),
    [("get --out", ["--output", "--output-dir"]), ("get -o x http://a.example/ --no-lo", ["--no-location"]),
     ("cookies exp", ["explain", "export"]), ("call --st", ["--stdio"]), ("call data.se", ["data.send"])],
    ids=str)
def test_fish_offers_options_in_seconds_and_not_in_minutes(script, path, line, offered):
    """The script of the parser tries the unfinished word with every option of every command."""
    ask = f"source {script('fish')}; complete -C 'outrider {line}'"
    done = subprocess.run(["fish", "-c", ask], capture_output=True, text=True, timeout=LONG, check=True, env=path)
    assert [word.split("\t")[0] for word in done.stdout.splitlines()] == offered, done.stderr
