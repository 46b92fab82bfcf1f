# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The examples of clients/README.md for programs without a client of Outrider run as they stand there."""

import re
import shutil
import subprocess
import sys

import contract
import pytest
from editor_clients import CLIENTS, LONG, await_end

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
FENCE = re.compile(r"^```([a-z]+)\n(.*?)^```$", re.M | re.S)


def example(language, having, origin):
    """The one example of that language with these words, for the origin in place of the internet."""
    [text] = [text for found, text in FENCE.findall((CLIENTS / "README.md").read_text("utf-8"))
              if found == language and having in text]
    return text.replace("https://example.org/", origin + "/json")


def test_python_without_the_package(editors, origin):
    words = [sys.executable, "-c", example("python", "AF_UNIX", origin)]
    done = subprocess.run(words, env=editors.environment, capture_output=True, text=True, timeout=LONG)
    assert (done.stdout, done.stderr) == ("200\n", "")


def test_emacs_by_jsonrpc(editors, origin):
    """No variable names the socket, and no service runs yet."""
    seen = editors.emacs(f"""
      (setq inhibit-message t)
      {example("elisp", "jsonrpc-process-connection", origin)}
      (finish (if (wait-for (lambda ()
                              (with-current-buffer "*Messages*"
                                (save-excursion (goto-char (point-min)) (search-forward "later: 200" nil t)))))
                  t :false))
    """)
    assert seen is True


def test_neovim_by_vim_lsp(editors, origin):
    seen = editors.neovim(f"""
      local lines, show = {{}}, print
      function print(text) lines[#lines + 1] = text end
      local start = vim.lsp.rpc.start
      if vim.fn.has("nvim-0.10") == 1 then
        vim.lsp.rpc.start = function(program, words, handlers)
          return start(vim.list_extend({{ program }}, words), handlers)
        end
      end
      {example("lua", "vim.lsp.rpc.start", origin)}
      wait(function() return #lines > 0 end)
      print = show
      finish(lines)
    """)
    assert seen == ["200 16"]


@pytest.mark.skipif(shutil.which("vim") is None, reason="vim is not here; scripts/setup --clients installs it")
def test_vim_by_its_channels(editors, origin):
    """The service ends with Vim."""
    text = example("vim", "job_start", origin)
    text = text.replace("echo s:Text", "let g:first = s:Text")
    text = text.replace("popup_notification(s:Text(reply), {})", "add(g:later, s:Text(reply))")
    program, seen = editors.place / "example.vim", editors.place / "seen"
    program.write_text(f"""let g:later = []
{text}
let s:tries = 0
while empty(g:later) && s:tries < 1500
  sleep 20m
  let s:tries += 1
endwhile
let s:pid = job_info(s:service).process
call writefile([g:first, join(g:later), s:pid], '{seen}')
qa!
""")
    words = ["vim", "-u", "NONE", "-i", "NONE", "-n", "-es", "-c", "set nocp", "-S", str(program)]
    done = subprocess.run(
        words, env=editors.environment, cwd=editors.place, stdin=subprocess.DEVNULL, capture_output=True, timeout=LONG)
    assert seen.exists(), done
    first, later, pid = seen.read_text().split("\n")[:3]
    assert (first, later) == ("200", "200")
    await_end(int(pid))
