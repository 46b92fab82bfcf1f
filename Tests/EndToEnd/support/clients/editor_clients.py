# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Runs the clients for Neovim and Emacs in the real editors, headless, each test with a service of its own.

    with Editors(tmp_path) as editors:
        editors.neovim("finish(outrider.sync('get', url).status)", url=url)      # the value given to `finish`
        editor = editors.start_neovim("…")                                       # one that runs meanwhile
        editors.service_pid()                                                    # of the shared service
        editor.result()
        editors.emacs("(finish (outrider 'get url :as 'response))", url=url)

A program gets each keyword as a variable, `wait(condition)` (in Emacs `wait-for`), which gives up after 60 seconds, and
`wait_for_go()` (`wait-for-go`), which waits for `editors.go()`.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

import contract
import pytest

CLIENTS = contract.ROOT / "clients"
# seconds for a whole program in an editor
LONG = 180.0

LUA = """
vim.opt.runtimepath:prepend([[{client}]])
outrider = require("outrider")
local given = vim.json.decode(io.open([[{given}]]):read("*a"))
for name, value in pairs(given) do _G[name] = value end
function finish(value)
  local file = io.open([[{result}]], "w")
  file:write(require("outrider.json").encode({{ value = value }}))
  file:close()
end
function wait(condition) return (vim.wait(60000, condition, 5)) end
function wait_for_go() return wait(function() return vim.loop.fs_stat("go") ~= nil end) end
function say(text) io.stdout:write(text .. "\\n") io.stdout:flush() end
local ok, why = xpcall(function()
{program}
end, debug.traceback)
if not ok then io.stderr:write(why .. "\\n") vim.cmd("cquit 3") end
vim.cmd("qa!")
"""
LISP = """;; -*- lexical-binding: t -*-
(setq load-prefer-newer t)
(add-to-list 'load-path "{client}")
(require 'outrider)
(let ((given (with-temp-buffer
               (insert-file-contents "{given}")
               (json-parse-buffer :object-type 'alist :array-type 'list))))
  (dolist (pair given) (set (car pair) (cdr pair))))
(defun finish (value)
  (let ((coding-system-for-write 'utf-8-unix))
    (with-temp-file "{result}" (insert (json-serialize (list :value value))))))
(defun wait-for (condition)
  (with-timeout (60 nil) (while (not (funcall condition)) (accept-process-output nil 0.02)) t))
(defun wait-for-go () (wait-for (lambda () (file-exists-p "go"))))
(defun say (text) (princ (concat text "\\n")))
{program}
"""


def await_end(pid):
    """Until the process has ended."""
    deadline = time.monotonic() + LONG
    while time.monotonic() < deadline:
        try:
            state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":
            return
        time.sleep(0.01)
    raise AssertionError(f"process {pid} did not end")


class Running:
    """An editor that runs a program."""

    def __init__(self, process, result):
        self.process, self.file = process, result

    def said(self, text):
        """Until the program has said a line with this text; gives the line."""
        end = threading.Timer(LONG, self.process.kill)
        end.start()
        try:
            for line in self.process.stdout:
                if text in line:
                    return line.rstrip("\n")
        finally:
            end.cancel()
        raise AssertionError(f"{text} was never said: {self.process.stderr.read()}")

    def result(self):
        out, err = self.process.communicate(timeout=LONG)
        assert self.file.exists(), f"the program did not finish (status {self.process.returncode}):\n{out}\n{err}"
        self.output = out + err
        return json.loads(self.file.read_text())["value"]


class Editors:
    """Editors that share a service on a socket in `place`."""

    def __init__(self, place, **environment):
        self.place, self.count, self.running = pathlib.Path(place), 0, []
        programs = self.place / "programs"
        programs.mkdir()
        (programs / "outrider").symlink_to(contract.binary())
        self.socket = str(self.place / "s")
        self.environment = {
            **os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "OUTRIDER_SOCKET": self.socket,
            "LC_ALL": "C.UTF-8", "HOME": str(self.place), "XDG_CONFIG_HOME": str(self.place), "TMPDIR": str(self.place),
            "OUTRIDER_CREDENTIALS": str(self.place / "credentials"), **environment,
        }

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.running:
            process.kill()
            process.communicate(timeout=LONG)
        subprocess.run(
            ["outrider", "call", "--socket", self.socket, "server.stop", "grace:=0"], env=self.environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LONG)

    def _start(self, words, template, client, suffix, program, values):
        if shutil.which(words[0]) is None:
            pytest.skip(f"{words[0]} is not here; scripts/setup --clients installs it")
        self.count += 1
        stem = self.place / f"program{self.count}"
        given, result, file = stem.with_suffix(".given"), stem.with_suffix(".result"), stem.with_suffix(suffix)
        given.write_text(json.dumps(values))
        file.write_text(template.format(client=CLIENTS / client, given=given, result=result, program=program))
        process = subprocess.Popen(
            [word.format(file) for word in words], env=self.environment, cwd=self.place, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.running.append(process)
        return Running(process, result)

    def start_neovim(self, program, **values):
        words = ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-c", "luafile {}"]
        return self._start(words, LUA, "neovim", ".lua", program, values)

    def neovim(self, program, **values):
        return self.start_neovim(program, **values).result()

    def start_emacs(self, program, **values):
        return self._start(["emacs", "-Q", "--batch", "-l", "{}"], LISP, "emacs", ".el", program, values)

    def emacs(self, program, **values):
        return self.start_emacs(program, **values).result()

    def go(self):
        """Lets the program go on."""
        (self.place / "go").touch()

    def service_pid(self):
        """Of the service that listens, None if there is none."""
        words = ["outrider", "get-socket", "--no-spawn"]
        said = subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=LONG)
        return json.loads(said.stdout)["pid"] if said.returncode == 0 else None

    def stop_service(self):
        """In good order: calls that run have time to end. Returns at once."""
        words = ["outrider", "call", "--socket", self.socket, "server.stop", "grace:=20"]
        subprocess.run(words, env=self.environment, stdout=subprocess.DEVNULL, check=True, timeout=LONG)

    def kill_service(self):
        """As a crash does; returns when the process is gone."""
        pid = self.service_pid()
        os.kill(pid, signal.SIGKILL)
        await_end(pid)
