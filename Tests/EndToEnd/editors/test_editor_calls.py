# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Calls by name whose events reach a function of the user, in a real Neovim and a real Emacs: a WebSocket, a
connection, and their ends."""

import contextlib
import threading

import contract
import pytest
import websockets.exceptions
from editor_clients import LONG
from tcp_server import Host
from tcp_server import echo as tcp_echo
from websocket_server import echo, websockets_server

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
LINES = 3000


def many(connection):
    """Sends more than two windows of credit, then gives back what comes."""
    for number in range(LINES):
        connection.send(f"line {number} " + "x" * 200)
    echo(connection)


def test_neovim_gets_the_messages_of_a_websocket_until_its_end(editors):
    with websockets_server(many) as url:
        seen = editors.neovim("""
          local opened, order, count, last, ended, after = nil, true, 0, nil, nil, 0
          outrider.call("websocket.open", { url = url, mode = "push" }, function(err, result)
            opened = err or result
          end, function(name, params)
            order = order and opened ~= nil
            if ended then after = after + 1 end
            if name == "event.message" then count, last = count + 1, params.text end
            if name == "event.end" then ended = params end
          end)
          wait(function() return count == lines end)
          outrider.call("websocket.send", { stream = opened.stream, text = "hello" }, function() end)
          wait(function() return last == "hello" end)
          local closed
          outrider.call("websocket.close", { stream = opened.stream }, function(_, result) closed = result.code end)
          wait(function() return ended and closed end)
          finish({ order, count, closed, ended.close.code, ended.stream == opened.stream, after })
        """, url=url, lines=LINES)
    assert seen == [True, LINES + 1, 1000, 1000, True, 0]


def test_emacs_gets_the_messages_of_a_websocket_until_its_end(editors):
    with websockets_server(many) as url:
        seen = editors.emacs("""
          (let* ((count 0) (after 0) last ended
                 (buffer (generate-new-buffer "messages"))
                 (opened (with-current-buffer buffer
                           (outrider-call 'websocket.open (list :url url :mode "push")
                                          :event (lambda (name params)
                                                   (when ended (setq after (1+ after)))
                                                   (pcase name
                                                     ("event.message"
                                                      (setq count (1+ count) last (plist-get params :text))
                                                      (unless (eq (current-buffer) buffer) (setq count -1)))
                                                     ("event.end" (setq ended params)))))))
                 (stream (plist-get opened :stream)))
            (wait-for (lambda () (= count lines)))
            (outrider-call 'websocket.send (list :stream stream :text "hello"))
            (wait-for (lambda () (equal last "hello")))
            (kill-buffer buffer)
            (let ((closed (plist-get (outrider-call 'websocket.close (list :stream stream)) :code)))
              (wait-for (lambda () ended))
              (finish (vector count closed (plist-get (plist-get ended :close) :code)
                              (if (equal (plist-get ended :stream) stream) t :false) after))))
        """, url=url, lines=LINES)
    assert seen == [LINES + 1, 1000, 1000, True, 0]


def test_neovim_gets_the_bytes_of_a_connection_until_its_end(editors):
    with Host(tcp_echo) as host:
        seen = editors.neovim("""
          local opened, lines, names, ended = nil, {}, {}, nil
          local params = { host = "127.0.0.1", port = port, mode = "push", as = "lines" }
          outrider.call("tcp.open", params, function(_, result) opened = result end, function(name, event)
            if name == "event.text" then lines[#lines + 1] = event.text end
            ended = ended or name == "event.end"
          end)
          wait(function() return opened end)
          outrider.call("stream.write", { stream = opened.stream, text = "one\\ntwo\\n" }, function() end)
          outrider.call("stream.finish", { stream = opened.stream }, function() end)
          wait(function() return ended end)
          finish(lines)
        """, port=host.port)
    assert seen == ["one", "two"]


def test_emacs_gets_the_bytes_of_a_connection_until_its_end(editors):
    with Host(tcp_echo) as host:
        seen = editors.emacs("""
          (let* ((lines nil) ended
                 (opened (outrider-call 'tcp.open (list :host "127.0.0.1" :port port :mode "push" :as "lines")
                                        :event (lambda (name params)
                                                 (pcase name
                                                   ("event.text" (push (plist-get params :text) lines))
                                                   ("event.end" (setq ended t)))))))
            (outrider-call 'stream.write (list :stream (plist-get opened :stream) :text "one\\ntwo\\n"))
            (outrider-call 'stream.finish (list :stream (plist-get opened :stream)))
            (wait-for (lambda () ended))
            (finish (apply #'vector (nreverse lines))))
        """, port=host.port)
    assert seen == ["one", "two"]


def test_events_of_a_call_come_before_its_reply_in_both_editors(editors, origin):
    seen = editors.neovim("""
      local order = {}
      outrider.call("data.send", { url = url, events = { "response" } }, function(err, result)
        order[#order + 1] = err or result.status
      end, function(name) order[#order + 1] = name end)
      wait(function() return #order == 2 end)
      finish(order)
    """, url=origin + "/json")
    assert seen == ["event.response", 200]
    seen = editors.emacs("""
      (let ((order nil))
        (outrider-call 'data.send (list :url url :events ["response"])
                       :then (lambda (result) (push (plist-get result :status) order))
                       :event (lambda (name _) (push name order)))
        (wait-for (lambda () (= (length order) 2)))
        (finish (apply #'vector (nreverse order))))
    """, url=origin + "/json")
    assert seen == ["event.response", 200]


def test_the_end_of_the_service_ends_a_websocket_once(editors):
    """Both editors have sent a message when the service is killed."""
    greeted = threading.Semaphore(0)

    def act(connection):
        with contextlib.suppress(websockets.exceptions.ConnectionClosedError):
            for _ in connection:
                greeted.release()

    with websockets_server(act) as url:
        neovim = editors.start_neovim("""
          local ends = {}
          outrider.call("websocket.open", { url = url, mode = "push" }, function(_, opened)
            outrider.call("websocket.send", { stream = opened.stream, text = "hello" }, function() end)
          end, function(name, params)
            if name == "event.end" or name == "lost" then ends[#ends + 1] = { name, params.error.kind } end
          end)
          wait(function() return #ends > 0 end)
          vim.wait(100, function() return #ends > 1 end)
          finish(ends)
        """, url=url)
        assert greeted.acquire(timeout=LONG)
        emacs = editors.start_emacs("""
          (let* ((ends nil)
                 (opened (outrider-call 'websocket.open (list :url url :mode "push")
                                        :event (lambda (name params)
                                                 (when (member name '("event.end" "lost"))
                                                   (push (vector name (plist-get (plist-get params :error) :kind))
                                                         ends))))))
            (outrider-call 'websocket.send (list :stream (plist-get opened :stream) :text "hello"))
            (wait-for (lambda () ends))
            (accept-process-output nil 0.1)
            (finish (apply #'vector ends)))
        """, url=url)
        assert greeted.acquire(timeout=LONG)
        editors.kill_service()
        assert neovim.result() == [["event.end", "serviceLost"]]
        assert emacs.result() == [["event.end", "serviceLost"]]


def test_closing_the_handle_in_neovim_ends_the_websocket(editors):
    """Before the reply the call is cancelled; what the service opened nevertheless is closed."""
    with websockets_server(echo) as url:
        seen = editors.neovim("""
          local opened, ends, left = nil, {}, nil
          local function told(name, params)
            if name == "event.end" then ends[#ends + 1] = params.error.code end
          end
          local handle = outrider.call("websocket.open", { url = url, mode = "push" },
            function(_, result) opened = result end, told)
          wait(function() return opened end)
          handle.close()
          handle.close()
          wait(function() return #ends == 1 end)
          local second
          outrider.call("websocket.open", { url = url, mode = "push" },
            function(err) second = err.code end, told).close()
          wait(function() return second end)
          wait(function()
            outrider.call("server.stats", {}, function(_, stats) left = stats.requests.running or 0 end)
            vim.wait(50, function() return false end)
            return left == 0
          end)
          finish({ ends, second, left })
        """, url=url)
    assert seen == [[1900], 1900, 0]


def test_cancelling_a_call_in_emacs_after_its_reply_ends_the_websocket(editors):
    with websockets_server(echo) as url:
        seen = editors.emacs("""
          (let* ((ends nil) opened
                 (request (outrider-call 'websocket.open (list :url url :mode "push")
                                         :then (lambda (result) (setq opened result))
                                         :event (lambda (name params)
                                                  (when (equal name "event.end")
                                                    (push (plist-get (plist-get params :error) :code) ends))))))
            (wait-for (lambda () opened))
            (outrider-cancel request)
            (outrider-cancel request)
            (wait-for (lambda () ends))
            (wait-for (lambda ()
                        (memq (plist-get (plist-get (outrider-call "server.stats" nil) :requests) :running) '(nil 0))))
            (finish (apply #'vector ends)))
        """, url=url)
    assert seen == [1900]


def test_cancelling_a_call_in_emacs_after_its_reply_ends_the_subscription(editors):
    seen = editors.emacs("""
      (let* ((names nil) opened
             (request (outrider-call 'events.subscribe (list :topics ["session.created"])
                                     :then (lambda (result) (setq opened result))
                                     :event (lambda (name _) (push name names)))))
        (wait-for (lambda () opened))
        (outrider-call 'session.create nil)
        (wait-for (lambda () names))
        (outrider-cancel request)
        (outrider-call 'session.create nil)
        (wait-for (lambda () (member "lost" names)))
        (finish (vector (length names) (car names)
                        (outrider-call 'events.unsubscribe (list :subscription (plist-get opened :subscription))
                                       :else (lambda (_) "over")))))
    """)
    assert seen == [2, "lost", "over"]


def test_cancelling_a_call_in_emacs_leaves_no_websocket(editors):
    with websockets_server(echo) as url:
        seen = editors.emacs("""
          (let ((ends nil) (told 0))
            (outrider-cancel (outrider-call 'websocket.open (list :url url :mode "push") :then #'ignore
                                            :event (lambda (_ __) (setq told (1+ told)))
                                            :else (lambda (failure) (push (outrider-failure-code failure) ends))))
            (wait-for (lambda () ends))
            (wait-for (lambda ()
                        (memq (plist-get (plist-get (outrider-call "server.stats" nil) :requests) :running) '(nil 0))))
            (finish (vector (apply #'vector ends) told)))
        """, url=url)
    assert seen == [[1900], 0]


def test_a_crowd_of_requests_with_functions_waits_in_both_editors(editors, origin):
    """The service has 64 places for callbacks of a connection: fewer such requests run at once."""
    seen = editors.neovim("""
      local right, wrong, cancelled = 0, {}, 0
      local adapted = { callback = function() return { headers = { ["X-A"] = "1" } } end, asks = { "adapt" } }
      local handles = {}
      for number = 1, 300 do
        handles[number] = outrider.get(url, { interceptors = { adapted } }, function(err)
          if not err then right = right + 1
          elseif err.code == 1900 then cancelled = cancelled + 1
          else wrong[#wrong + 1] = tostring(err) end
        end)
      end
      for number = 30, 300, 10 do handles[number].close() end
      wait(function() return right + #wrong + cancelled == 300 end)
      finish({ right, cancelled, wrong[1] or "none" })
    """, url=origin + "/json")
    assert seen == [272, 28, "none"]
    seen = editors.emacs("""
      (let ((right 0) (wrong nil) (cancelled 0) (requests nil))
        (dotimes (_ 300)
          (push (outrider 'get url
                          :interceptors (vector (list :callback (lambda (&rest _) '(:headers (:X-A "1")))
                                                      :asks ["adapt"]))
                          :then (lambda (_) (cl-incf right))
                          :else (lambda (failure)
                                  (if (eq (outrider-failure-condition failure) 'outrider-cancelled)
                                      (cl-incf cancelled)
                                    (push (outrider-failure-message failure) wrong))))
                requests))
        (dotimes (number 20) (outrider-cancel (nth (* 5 number) requests)))
        (wait-for (lambda () (= 300 (+ right cancelled (length wrong)))))
        (finish (vector right cancelled (or (car wrong) "none"))))
    """, url=origin + "/json")
    assert seen == [280, 20, "none"]
