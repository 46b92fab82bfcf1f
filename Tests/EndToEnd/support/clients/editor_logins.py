# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Editors that run the examples that log in, as they are: once for the login, and as often as asked to read.

with editing(EDITORS[0], binary, place, url, spec) as editor:   # spec: what `oauth.create` takes
    editor.shown(r"enter (\\S+)")      # what a person reads, as soon as it is there
    editor.ended()                    # what stands in the buffer in the end
"""

import contextlib
import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import time
from typing import NamedTuple

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[4] / "clients/examples"
# seconds for a login and what is read after it
LONG = 100.0

LUA = """
vim.opt.runtimepath:prepend("{clients}/neovim")
vim.api.nvim_buf_set_lines(0, 0, -1, false, {{ "me:" }})
dofile("{example}")
local spec, listen = vim.json.decode({spec}), vim.json.decode({listen})
if listen == vim.NIL then listen = nil end
for _ = 1, {times} do
  local before = vim.api.nvim_buf_line_count(0)
  Fetch("{url}", spec, listen)
  vim.wait(40000, function() return vim.api.nvim_buf_line_count(0) > before end, 20)
end
io.stdout:write(table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\\n"))
vim.cmd("qa!")
"""
LISP = """
(add-to-list 'load-path "{clients}/emacs")
(load-file "{example}")
(defun read-json (text) (json-parse-string text :object-type 'plist :null-object nil))
(with-temp-buffer
  (insert "me:")
  (dotimes (_ {times})
    (insert "\\n")
    (let ((before (point-max)))
      (login-fetch "{url}" (read-json {spec}) (read-json {listen}))
      (with-timeout (40) (while (= (point-max) before) (accept-process-output nil 0.1)))))
  (princ (buffer-string)))
"""


class Kind(NamedTuple):
    example: str
    program: str
    command: "list[str]"


EDITORS = [
    Kind("login.lua", LUA, ["nvim", "--headless", "-u", "NONE", "-c", "luafile {}"]),
    Kind("login.el", LISP, ["emacs", "-Q", "--batch", "-l", "{}"]),
]
BOTH = pytest.mark.parametrize("kind", EDITORS, ids=[kind.command[0] for kind in EDITORS])


class Editor:
    """One that runs."""

    def __init__(self, process):
        self.process, self.said = process, ""
        self.deadline = time.monotonic() + LONG

    def shown(self, pattern):
        """The match in what it has said on standard error."""
        while not (found := re.search(pattern, self.said)):
            rest = self.deadline - time.monotonic()
            ready, _, _ = select.select([self.process.stderr], [], [], max(0, rest))
            piece = os.read(self.process.stderr.fileno(), 65536) if ready else b""
            assert piece, f"{pattern} was never shown: {self.said}"
            self.said += piece.decode()
        return found

    def ended(self):
        """Its buffer."""
        written, said = self.process.communicate(timeout=max(1, self.deadline - time.monotonic()))
        self.said += said.decode()
        return written.decode()


@contextlib.contextmanager
def editing(kind, binary, place, url, spec, *, listen=None, times=2, browser="exit 1"):
    """Until it has ended, or is ended. `browser` is a line of shell for the address in $1."""
    if shutil.which(kind.command[0]) is None:
        pytest.skip(f"{kind.command[0]} is not here; scripts/setup --clients installs it")
    (place / "outrider").symlink_to(binary)
    program = place / "browser"
    program.write_text(f"#!/bin/sh\n{browser}\n")
    program.chmod(0o755)
    file = place / f"program-{kind.example}"
    # a JSON text within a text of either language
    texts = {name: json.dumps(json.dumps(value)) for name, value in (("spec", spec), ("listen", listen))}
    file.write_text(kind.program.format(
        example=EXAMPLES / kind.example, clients=EXAMPLES.parent, url=url, times=times, **texts))
    environment = {
        **os.environ, "PATH": f"{place}{os.pathsep}{os.environ['PATH']}", "LC_ALL": "C.UTF-8",
        "BROWSER": str(program), "OUTRIDER_CREDENTIALS": str(place / "credentials"), "TMPDIR": str(place),
        "OUTRIDER_SOCKET": str(place / "s"),
    }
    words = [word.format(file) for word in kind.command]
    process = subprocess.Popen(
        words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        yield Editor(process)
    finally:
        process.kill()
        process.communicate()
        # the service that the editor has started outlives it
        subprocess.run(
            [binary, "call", "--socket", str(place / "s"), "server.stop", "grace:=0"], env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LONG)
