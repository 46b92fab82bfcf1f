# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Every piece of code in the READMEs of the clients does what it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from peers import ROOT

SOURCE = ROOT / "clients/python/src"
CALL = ROOT / "clients/shell/outrider-call"
PROGRAMS = {"js": "node", "perl": "perl", "php": "php", "ruby": "ruby"}


def _pieces() -> list[tuple[str, str, str]]:
    found = []
    for name in ("clients/README.md", "clients/python/README.md", "docs/guide/events.md", "docs/guide/drop-ins.md"):
        for number, (language, code) in enumerate(re.findall(r"```(\w+)\n(.*?)```", (ROOT / name).read_text(), re.S)):
            found.append((f"{name}-{number}-{language}", language, code))
    return found


PIECES = _pieces()


@pytest.fixture
def environment(binary: str, service: str, tmp_path: Path) -> dict[str, str]:
    """What a user has: the executable on the path, the socket, the package."""
    (tmp_path / "outrider").symlink_to(binary)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "OUTRIDER_SOCKET": service, "PYTHONPATH": str(SOURCE)}


def _command(language: str, code: str, place: Path) -> list[str]:
    file = place / f"piece.{language}"
    if language == "python":
        file.write_text(code)
        return [sys.executable, "-W", "error", str(file)]
    if language == "sh":
        file.write_text(code)
        return ["sh", "-eu", str(file)]
    if language in PROGRAMS:
        file.write_text(code)
        return [PROGRAMS[language], str(file)]
    if language == "elisp":
        # A message that arrives later is waited for as long as it takes.
        file.write_text(code + "\n(with-timeout (20) (while (accept-process-output nil 0.3)))")
        return ["emacs", "-Q", "--batch", "-L", str(ROOT / "clients/emacs"), "-l", "outrider", "-l", str(file)]
    if language == "vim":
        file.write_text(code)
        return ["vim", "-N", "-u", "NONE", "-i", "NONE", "-es", "-V1", "-S", str(file), "-c", "sleep 300m", "-c", "qa!"]
    file.write_text(code.replace("print(", "_G.printed = true; print("))
    wait = "lua vim.wait(20000, function() return _G.printed end, 10)"
    plugin = f"set runtimepath^={ROOT / 'clients/neovim'}"
    return ["nvim", "--headless", "-u", "NONE", "--cmd", plugin, "-c", f"luafile {file}", "-c", wait, "-c", "qa!"]


@pytest.mark.parametrize(("language", "code"), [piece[1:] for piece in PIECES], ids=[piece[0] for piece in PIECES])
def test_what_the_readme_shows_works(
    language: str, code: str, environment: dict[str, str], origin: str, tmp_path: Path
) -> None:
    command = _command(language, re.sub(r"https://example\.org(?:/\w*)?", f"{origin}/echo", code), tmp_path)
    if language not in ("python", "sh") and shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "200" in said and "rror" not in said, said


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["diagnostics.echo", '{"a":\n1}'], 0, '{"jsonrpc":"2.0","id":1,"result":{"a":1}}\n'),
        (["server.info"], 0, '"protocol":1'),
        (["no.such"], 1, "-32601"),
        (["diagnostics.sleep", '{"seconds":0.8}'], 0, '{"jsonrpc":"2.0","id":1,"result":{"seconds":0.8}}\n'),
        ([], 2, "usage"),
    ],
)
def test_the_shell_script_calls_a_method(environment: dict[str, str], words: list[str], status: int, says: str) -> None:
    done = subprocess.run([str(CALL), *words], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == status and says in done.stdout + done.stderr


def test_the_shell_script_says_when_there_is_no_service(tmp_path: Path) -> None:
    environment = {**os.environ, "OUTRIDER_SOCKET": str(tmp_path / "none")}
    done = subprocess.run([str(CALL), "server.info"], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3 and "outrider get-socket" in done.stderr
