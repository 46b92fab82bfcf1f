# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The examples of clients/README.md for programs without a client of Outrider run as they stand there."""

import json
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


def vim(editors, text):
    """What the Vim script gives to `s:Finish`; `s:Wait` gives up after 30 seconds."""
    program, seen = editors.place / "example.vim", editors.place / "seen"
    program.write_text(f"""func s:Wait(condition)
  let tries = 0
  while !a:condition() && tries < 1500
    sleep 20m
    let tries += 1
  endwhile
endfunc
func s:Finish(value)
  call writefile([json_encode(a:value)], '{seen}')
  qa!
endfunc
{text}""")
    words = ["vim", "-u", "NONE", "-i", "NONE", "-n", "-es", "-c", "set nocp", "-S", str(program)]
    done = subprocess.run(
        words, env=editors.environment, cwd=editors.place, stdin=subprocess.DEVNULL, capture_output=True, timeout=LONG)
    assert seen.exists(), done
    return json.loads(seen.read_text())


def test_python_without_the_package(editors, origin):
    words = [sys.executable, "-c", example("python", "AF_UNIX", origin)]
    done = subprocess.run(words, env=editors.environment, capture_output=True, text=True, timeout=LONG)
    assert (done.stdout, done.stderr) == ("200\n", "")


@pytest.mark.parametrize("language", ["js", "ruby", "php", "perl"])
def test_languages_without_a_package(editors, origin, language):
    """The page's call shows the status; a failed exchange and a refused call show their messages."""
    program = shutil.which({"js": "node"}.get(language, language))
    if program is None:
        pytest.skip(f"{language} is not here")
    text = example(language, "data.send", origin)
    cases = ((text, "200"), (text.replace("/json", "/a b"), "write %20"),
             (text.replace("data.send", "data.sent"), "did you mean data.send?"))
    for source, said in cases:
        file = editors.place / f"example.{language}"
        file.write_text(source)
        words = [program, str(file)]
        done = subprocess.run(words, env=editors.environment, capture_output=True, text=True, timeout=LONG)
        assert done.returncode == 0 and said in done.stdout + done.stderr, done
        assert said != "200" or (done.stdout, done.stderr) == ("200\n", ""), done


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


def test_emacs_by_jsonrpc_with_a_service_of_its_own(editors):
    [process] = re.findall(r"`(\(make-process [^`]*)`", (CLIENTS / "README.md").read_text("utf-8"))
    seen = editors.emacs(f"""
      (require 'jsonrpc)
      (let ((connection (make-instance 'jsonrpc-process-connection :name "outrider" :events-buffer-scrollback-size 0
                                       :process (lambda () {process})))
            (long (concat (make-string 5000 ?ä) (make-string 5000 ?\n))))
        (cl-flet ((echo (text)
                    (plist-get (jsonrpc-request connection 'diagnostics.echo (list :text text) :timeout 60) :text)))
          (finish (vector (equal (echo long) long) (echo "short")))))
    """)
    assert seen == [True, "short"]


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
    first, later, pid = vim(editors, f"""let g:later = []
{text}
call s:Wait({{-> !empty(g:later)}})
call s:Finish([g:first, join(g:later), job_info(s:service).process])
""")
    assert (first, later) == ("200", "200")
    await_end(pid)


@pytest.mark.skipif(shutil.which("vim") is None, reason="vim is not here; scripts/setup --clients installs it")
@pytest.mark.parametrize("kind", ["job", "socket"])
def test_vim_hears_events_and_replies_to_callbacks(editors, origin, kind):
    page = (CLIENTS / "README.md").read_text("utf-8")
    [reply] = re.findall(r"`(ch_sendexpr\(channel, #{id: message.id, [^`]*)`", page)
    [shared] = re.findall(r"`(ch_open\('unix:'[^`]*)`", page)
    own = "job_start(['outrider', 'serve', '--stdio'], #{in_mode: 'lsp', out_mode: 'lsp', noblock: 1})"
    opened = {"job": own, "socket": shared}[kind].replace("noblock: 1", "noblock: 1, callback: function('Hear')")
    heard, answer = vim(editors, f"""let g:heard = []
func Hear(channel, message)
  let [channel, message] = [a:channel, a:message]
  call add(g:heard, message.method)
  if has_key(message, 'id') | call {reply} | endif
endfunc
let s:service = {opened}
let s:asked = #{{callback: 'key', asks: ['adapt']}}
let s:request = #{{url: '{origin}/echo', events: ['response'], interceptors: [s:asked]}}
let s:answer = ch_evalexpr(s:service, #{{method: 'data.send', params: s:request}}, #{{timeout: 60000}})
call s:Wait({{-> len(g:heard) == 2}})
call s:Finish([g:heard, s:answer])
""")
    assert heard == ["callback.adapt", "event.response"]
    assert ["X-Key", "abc"] in answer["result"]["body"]["json"]["headers"]
