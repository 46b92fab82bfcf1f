# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The examples of a live log over a WebSocket, in a real Neovim and a real Emacs."""

import threading

import contract
import pytest
import websockets.sync.server
from editor_clients import CLIENTS

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
LINES = 3000


@pytest.fixture
def log():
    """Sends many lines, more than one window of credit, and the rest when it is told to."""

    def act(connection):
        for number in range(LINES):
            connection.send(f"line {number} " + "x" * 200)
        assert connection.recv() == "more"
        connection.send("the last line")
        connection.recv()

    with websockets.sync.server.serve(act, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}/"
        server.shutdown()


def test_neovim(editors, log):
    seen = editors.neovim("""
      dofile(example)
      local log = LiveLog(url)
      local function count() return vim.api.nvim_buf_line_count(0) end
      wait(function() return count() > lines end)
      log.send("more")
      wait(function() return count() > lines + 1 end)
      local last = vim.api.nvim_buf_get_lines(0, -2, -1, false)[1]
      log.close()
      local ended = wait(function() return #vim.api.nvim_get_proc_children(vim.fn.getpid()) == 0 end)
      finish({ count() - lines, last, ended })
    """, url=log, lines=LINES, example=str(CLIENTS / "examples/live_log.lua"))
    assert seen == [2, "the last line", True]


def test_a_log_that_cannot_be_opened_leaves_no_service(editors):
    seen = editors.neovim("""
      dofile(example)
      local said
      vim.notify = function(text) said = text end
      LiveLog("ws://127.0.0.1:1/")
      wait(function() return said end)
      finish({ said, wait(function() return #vim.api.nvim_get_proc_children(vim.fn.getpid()) == 0 end) })
    """, example=str(CLIENTS / "examples/live_log.lua"))
    assert seen == ["live log: 127.0.0.1:1 refused the connection", True]
    seen = editors.emacs("""
      (load-file example)
      (finish (vector (condition-case problem (live-log "ws://127.0.0.1:1/") (error (cadr problem)))
                      (wait-for (lambda () (not (process-list))))))
    """, example=str(CLIENTS / "examples/live-log.el"))
    assert seen == ["Live log: 127.0.0.1:1 refused the connection", True]


def test_emacs(editors, log):
    seen = editors.emacs("""
      (load-file example)
      (with-temp-buffer
        (let ((log (live-log url)))
          (wait-for (lambda () (>= (count-lines (point-min) (point-max)) lines)))
          (live-log-send log "more")
          (wait-for (lambda () (> (count-lines (point-min) (point-max)) lines)))
          (live-log-close log)
          (finish (vector (- (count-lines (point-min) (point-max)) lines)
                          (progn (goto-char (point-max)) (forward-line -1)
                                 (buffer-substring (point) (line-end-position)))))))
    """, url=log, lines=LINES, example=str(CLIENTS / "examples/live-log.el"))
    assert seen == [1, "the last line"]
