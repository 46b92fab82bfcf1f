# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Editors that log in, by a browser or on another device, and make a request: the examples as they are."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from peers import ROOT

sys.path.insert(0, str(ROOT / "Tests/EndToEnd"))
from authorizing import Authorizing

LUA = """
vim.api.nvim_buf_set_lines(0, 0, -1, false, {{ "me:" }})
dofile("{example}")
local function read()
  local before = vim.api.nvim_buf_line_count(0)
  local spec = {{ name = "work", grant = "{grant}", issuer = "{url}", clientId = "cli", origins = {{ "{url}" }} }}
  Fetch("{url}/api", spec)
  vim.wait(40000, function() return vim.api.nvim_buf_line_count(0) > before end, 20)
end
read()
read()
io.stdout:write(table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\\n"))
vim.cmd("qa!")
"""
LISP = """
(load-file "{example}")
(defun read-it ()
  (let ((before (point-max)))
    (login-fetch "{url}/api" '(:name "work" :grant "{grant}" :issuer "{url}" :clientId "cli" :origins ["{url}"]))
    (with-timeout (40) (while (= (point-max) before) (accept-process-output nil 0.1)))))
(with-temp-buffer
  (insert "me:\\n")
  (read-it)
  (insert "\\n")
  (read-it)
  (princ (buffer-string)))
"""


@pytest.mark.parametrize("grant", ["authorizationCode", "device"])
@pytest.mark.parametrize(
    ("name", "program", "command"),
    [
        ("login.lua", LUA, ["nvim", "--headless", "-u", "NONE", "-c", "luafile {}"]),
        ("login.el", LISP, ["emacs", "-Q", "--batch", "-l", "{}"]),
    ],
)
def test_an_editor_logs_in_once_and_reads_twice(
    name: str, program: str, command: list[str], grant: str, binary: str, tmp_path: Path
) -> None:
    example = ROOT / "clients/examples" / name
    assert len(example.read_text().splitlines()) <= 48
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    (tmp_path / "outrider").symlink_to(binary)
    # somebody who says yes at once
    browser = tmp_path / "browser"
    browser.write_text("#!/bin/sh\nexec curl --noproxy '*' --silent --location --output /dev/null \"$1\"\n")
    browser.chmod(0o755)
    with Authorizing(interval=1) as server:
        file = tmp_path / f"program-{name}"
        file.write_text(program.format(example=example, url=server.issuer, grant=grant))
        environment = {
            **os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "LC_ALL": "C.UTF-8",
            "BROWSER": str(browser), "OUTRIDER_CREDENTIALS": str(tmp_path / "credentials"), "TMPDIR": str(tmp_path),
        }
        words = [word.format(file) for word in command]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=100)
        assert done.stdout == 'me:\n{"hello": "world"}\n{"hello": "world"}', done.stdout + done.stderr
        # what a person reads; the token is not among it
        assert ("WDJB-MJHT" if grant == "device" else server.url("/authorize")) in done.stderr
        assert "at-" not in done.stderr
        assert sum(one.outcome == "ok" for one in server.audit if one.path == "/token") == 1
        assert [one.outcome for one in server.audit if one.path == "/api"] == ["ok", "ok"]
