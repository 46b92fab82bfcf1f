# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The client for Emacs, in a real Emacs: package, requests, failures, cancelling, queues, the end of the service."""

import fcntl
import json
import os
import pathlib
import pty
import select
import shutil
import struct
import subprocess
import termios
import time

import contract
import pytest
from editor_clients import CLIENTS, LONG, Editors, await_end
from event_server import EventServer, status
from hostile_server import Hostile

pytestmark = [
    pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it"),
    pytest.mark.skipif(shutil.which("emacs") is None, reason="emacs is not here; scripts/setup --clients installs it"),
]
EMACS = ["emacs", "-Q", "--batch"]


def batch(*words, cwd):
    environment = {**os.environ, "HOME": str(cwd), "LC_ALL": "C.UTF-8"}
    done = subprocess.run([*EMACS, *words], cwd=cwd, env=environment, capture_output=True, text=True, timeout=LONG)
    return done.returncode, done.stdout + done.stderr


def test_the_package_compiles_without_warnings_and_its_documentation_is_in_order(tmp_path):
    for file in (CLIENTS / "emacs").glob("*.el"):
        shutil.copy(file, tmp_path)
    files = sorted(file.name for file in tmp_path.glob("*.el"))
    assert batch("-L", ".", "-f", "batch-byte-compile", *files, cwd=tmp_path) == (0, "")
    names = " ".join(f'"{name}"' for name in files)
    checks = f"(dolist (file '({names})) (checkdoc-file file))"
    assert batch("-l", "checkdoc", "--eval", checks, cwd=tmp_path) == (0, "")


def test_the_package_installs_from_the_checkout(tmp_path):
    start = "(progn (require 'package) (package-initialize) "
    status, said = batch("--eval", f"{start} (package-install-file \"{CLIENTS / 'emacs'}\"))", cwd=tmp_path)
    assert status == 0 and "Warning" not in said, said
    program = """(princ (format "%s %S" (package-desc-version (cadr (assq 'outrider package-alist)))
      (mapcar #'autoloadp (mapcar #'symbol-function
                                  '(outrider outrider-sse outrider-stream outrider-download outrider-login))))))"""
    assert batch("--eval", start + program, cwd=tmp_path) == (0, "(0 1 0) (t t t t t)")


def test_what_needs_no_service_holds(tmp_path):
    status, said = batch(
        "-L", str(CLIENTS / "emacs"), "-l", str(CLIENTS / "emacs/test/outrider-tests.el"),
        "-f", "ert-run-tests-batch-and-exit", cwd=tmp_path)
    assert status == 0, said


def test_every_kind_of_body_arrives_as_it_was_given(editors, bin):
    (editors.place / "wolf.txt").write_text("howl")
    seen = editors.emacs("""
      (cl-flet ((send (&rest args) (apply #'outrider 'post (concat url "/post") :as 'json args)))
        (finish
         (list :json (plist-get (send :json '(:list [] :object nil :null :null :no :false :number 0.1)) :data)
               :null (plist-get (send :json :null) :data)
               :form (plist-get (send :form '((a . "b c") (d 1 2))) :form)
               :files (send :form '((a . "1")) :files `((f . "wolf.txt") (g :data "x\\377" :filename "g.bin")))
               :text (plist-get (send :body "naïve" :headers '(("Content-Type" . "text/plain"))) :data)
               :bytes (plist-get (send :body "\\377\\0") :data)
               :query (send :params '((x 1 2) (y . "ä")) :headers '(("X-Wolf" . "grey")))
               :auth (outrider 'get (concat url "/basic-auth/u/p") :auth '("u" "p") :as 'json)
               :bearer (outrider 'get (concat url "/bearer") :bearer "t" :as 'json))))
    """, url=bin)
    assert json.loads(seen["json"]) == {"list": [], "object": {}, "null": None, "no": False, "number": 0.1}
    assert seen["null"] == "null"
    assert seen["form"] == {"a": "b c", "d": ["1", "2"]}
    assert seen["files"]["form"] == {"a": "1"} and seen["files"]["files"]["f"] == "howl"
    assert seen["files"]["files"]["g"].startswith("data:")
    assert seen["text"] == "naïve" and seen["bytes"].startswith("data:application/octet-stream;base64,/wA=")
    assert seen["query"]["args"] == {"x": ["1", "2"], "y": "ä"} and seen["query"]["headers"]["X-Wolf"] == "grey"
    assert seen["auth"]["authenticated"] is True and seen["bearer"]["token"] == "t"


def test_a_response_comes_in_the_shape_that_was_asked_for(editors, origin):
    seen = editors.emacs("""
      (let* ((page (concat url "/headers")) (whole (outrider 'get page :as 'response))
             (buffer (outrider 'get page :as 'buffer))
             (bytes (outrider 'get (concat url "/bytes/9000000") :as 'binary)))
        (finish
         (list :string (outrider 'get page) :status (outrider-response-status whole)
               :first (outrider-response-header whole "X-Twice")
               :twice (length (seq-filter (lambda (field) (eq (car field) 'x-twice)) (outrider-response-headers whole)))
               :buffer (with-current-buffer buffer (buffer-string))
               :function (outrider 'get (concat url "/json") :as (lambda () (search-forward "id") (point)))
               :size (length bytes) :unibyte (if (multibyte-string-p bytes) :false t) :byte (aref bytes 8999999)
               :alist (let ((outrider-json-object-type 'alist))
                        (alist-get 'id (outrider 'get (concat url "/json") :as 'json)))
               :file (outrider 'get (concat url "/bytes/10") :as '(file "ten")))))
    """, url=origin)
    text = "the same field twice\n"
    assert seen == {
        "string": text, "status": 200, "first": "one", "twice": 2, "buffer": text, "function": 5, "size": 9_000_000,
        "unibyte": True, "byte": (9_000_000 - 1) % 256, "alist": 1, "file": str(editors.place / "ten"),
    }
    assert (editors.place / "ten").read_bytes() == bytes(range(10))


def test_a_body_is_text_by_its_charset_and_an_empty_one_has_no_json(editors, origin):
    with EventServer() as server:
        url = server.at("/long", [status(200, b"\xe9" * 9_000_000, "text/plain; charset=iso-8859-1")])
        seen = editors.emacs("""
          (finish (vector (if (equal (outrider 'get url) (make-string 9000000 ?é)) t :false)
                          (null (outrider 'get (concat origin "/status/204") :as 'json))
                          (condition-case problem (outrider 'get (concat origin "/bytes/0") :as 'json)
                            (outrider-failure (outrider-failure-code (nth 2 problem))))))
        """, url=url, origin=origin)
    assert seen == [True, True, 1704]


def test_a_long_body_is_sent_whole(editors, origin):
    seen = editors.emacs("""
      (let* ((long (concat "ä" (make-string (* 17 1024 1024) ?x)))
             (got (outrider 'post (concat url "/echo") :body long :as 'json)))
        (finish (if (equal (plist-get got :body) long) t :false)))
    """, url=origin)
    assert seen is True
    assert not list(editors.place.glob("outrider-body*"))


def test_a_value_that_json_cannot_hold_is_named(editors, origin):
    said = editors.emacs("""
      (finish (condition-case problem (outrider 'get url :tag '(("a" . "b"))) (error (cadr problem))))
    """, url=origin)
    assert ":tag" in said and "plist" in said


def test_failures_are_conditions_that_can_be_told_apart(editors, origin):
    with Hostile() as server:
        seen = editors.emacs("""
          (cl-flet ((why (url &rest args)
                      (condition-case problem (progn (apply #'outrider 'get url args) "none")
                        (outrider-http-error
                         (format "http %s" (outrider-response-body (outrider-failure-response problem))))
                        (outrider-timeout "timeout")
                        (outrider-failure (outrider-failure-reason (nth 2 problem)))
                        (outrider-call-error "call")
                        (outrider-service-error "service"))))
            (finish (vector (why (concat url "/status/404")) (why "http://127.0.0.1:1/")
                            (why (concat stalled "/reset")) (why (concat stalled "/stall") :timeout 0.2)
                            (why (concat url "/headers") :as 'json) (why url :outpth 1) (why url :json 1 :body "x")
                            (why 7) (why (concat url "/status/404") :validate nil)
                            (let ((outrider-command '("no-such-outrider")))
                              (outrider-stop)
                              (why url)))))
        """, url=origin, stalled=server.url(""))
    assert seen == [
        "http 404 Not Found\n", "refused", "connectionLost", "timeout", "jsonSerializationFailed",
        "call", "call", "call", "none", "service",
    ]


def test_each_request_calls_then_or_else_once_and_finally_once(editors):
    with Hostile() as server:
        seen = editors.emacs("""
          (let ((calls (make-hash-table :test #'equal)) (finals 0) (buffer (generate-new-buffer "mine")) (right t))
            (cl-flet ((send (name method url &rest args)
                        (with-current-buffer buffer
                          (cl-flet ((note (text)
                                      (unless (eq (current-buffer) buffer) (setq right :false))
                                      (puthash name (vconcat (gethash name calls) (list text)) calls)))
                            (apply #'outrider method url
                                   :then (lambda (_) (note "then"))
                                   :else (lambda (failure) (note (symbol-name (outrider-failure-condition failure))))
                                   :finally (lambda () (setq finals (1+ finals))) args)))))
              (send "success" 'get (concat url "/fine"))
              (send "refused" 'get "http://127.0.0.1:1/")
              (send "timeout" 'get (concat url "/stall") :timeout 0.2)
              (send "option" 'get url :outpth 1)
              (send "bodies" 'get url :json 1 :body "x")
              (send "unwritable" 'get url :json (current-buffer))
              (let ((closed (send "cancelled" 'get (concat url "/stall"))))
                (outrider-cancel closed)
                (outrider-cancel closed))
              (wait-for (lambda () (= finals 7)))
              (accept-process-output nil 0.15)
              (puthash "finals" finals calls)
              (puthash "right" right calls)
              (finish calls)))
        """, url=server.url(""))
    assert seen == {
        "success": ["then"], "refused": ["outrider-failure"], "timeout": ["outrider-timeout"],
        "option": ["outrider-call-error"], "bodies": ["outrider-call-error"], "unwritable": ["outrider-call-error"],
        "cancelled": ["outrider-cancelled"], "finals": 7, "right": True,
    }


def test_cancelling_closes_the_connection_to_the_server(editors):
    with Hostile() as server:
        editor = editors.start_emacs("""
          (let ((request (outrider 'get (concat url "/stall") :then #'ignore :else #'ignore)))
            (wait-for-go)
            (outrider-cancel request)
            (say "cancelled")
            (finish (if (outrider-request-done request) t :false)))
        """, url=server.url(""))
        server.wait_for("/stall")
        editors.go()
        editor.said("cancelled")
        server.wait_gone("/stall")
        assert editor.result() is True


def test_control_g_cancels_a_request_that_is_waited_for(editors):
    """In an Emacs on a terminal, as a person has it: C-g ends the wait, and the server sees the connection closed."""
    with Hostile() as server:
        program = editors.place / "wait.el"
        result = editors.place / "result"
        program.write_text(f"""
          (add-to-list 'load-path "{CLIENTS / 'emacs'}") (require 'outrider)
          (run-at-time 0.1 nil (lambda ()
            (condition-case problem (outrider 'get "{server.url('/stall')}")
              ((quit error) (write-region (format "%s" (car problem)) nil "{result}")))
            (kill-emacs)))
        """)
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        process = subprocess.Popen(
            ["emacs", "-Q", "-nw", "-l", str(program)], env={**editors.environment, "TERM": "xterm"}, cwd=editors.place,
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        editors.running.append(process)
        os.close(slave)
        try:
            server.wait_for("/stall", seconds=30)
            os.write(master, b"\x07")
            server.wait_gone("/stall", seconds=10)
            deadline = time.monotonic() + 10
            while process.poll() is None and time.monotonic() < deadline:
                if select.select([master], [], [], 0.1)[0]:
                    try:
                        os.read(master, 65536)
                    except OSError:
                        break
            process.wait(10)
        finally:
            os.close(master)
        assert result.read_text() == "quit"


def test_a_function_of_the_user_may_wait_while_another_request_is_waited_for(editors, origin):
    """The reply to the outer request comes while the inner one is waited for; a timer may end a wait."""
    seen = editors.emacs("""
      (let (inner)
        (outrider 'get (concat url "/json")
                  :then (lambda (_) (setq inner (outrider 'get (concat url "/delay/0.3")))))
        (let ((outer (outrider 'get (concat url "/delay/0.1"))) began request)
          (wait-for (lambda () inner))
          (run-at-time 0.2 nil #'outrider-stop)
          (setq began (float-time)
                request (condition-case problem (outrider 'get (concat url "/delay/5"))
                          (outrider-service-error "stopped")))
          (finish (vector outer inner request (if (< (- (float-time) began) 3) t :false)))))
    """, url=origin)
    assert seen == ["waited 0.1 s\n", "waited 0.3 s\n", "stopped", True]


def test_an_error_in_a_function_of_the_user_leaves_the_connection_alone(editors, origin):
    editor = editors.start_emacs("""
      (let (seen)
        (outrider 'get url :then (lambda (_) (error "mine")))
        (outrider 'get url :as 'json :then (lambda (value) (setq seen (plist-get value :id))))
        (wait-for (lambda () seen))
        (finish (vector seen (plist-get (outrider 'get url :as 'json) :id))))
    """, url=origin + "/json")
    assert editor.result() == [1, 1]
    assert "mine" in editor.output


def test_the_end_of_the_service_fails_what_is_pending_once_and_the_next_request_starts_another(editors, origin):
    with Hostile() as server:
        editor = editors.start_emacs("""
          (let ((calls nil))
            (dotimes (_ 3)
              (outrider 'get stalled :then #'ignore
                        :else (lambda (failure) (push (outrider-failure-kind failure) calls))))
            (outrider-stream stalled #'ignore :else (lambda (failure) (push (outrider-failure-kind failure) calls)))
            (wait-for (lambda () (= (length calls) 4)))
            (say "lost")
            (let ((next (outrider 'get url)))
              (finish (vector (apply #'vector calls) next))))
        """, url=origin + "/json", stalled=server.url("/stall"))
        server.wait_for("/stall", 4)
        first = editors.service_pid()
        editors.kill_service()
        assert editor.result() == [["serviceLost"] * 4, '{"id":1,"x":0.1}']
    assert editors.service_pid() not in (None, first)


def test_a_service_that_ended_unnoticed_does_not_fail_the_next_request(editors, origin):
    assert editors.emacs("""
      (outrider 'get url)
      (let ((pid (plist-get (outrider-call "server.info" nil) :pid)))
        (call-process "sh" nil nil nil "-c" (format "kill -9 %d; sleep 0.15" pid))
        (finish (plist-get (outrider 'get url :as 'json) :id)))
    """, url=origin + "/json") == 1


def test_where_no_socket_can_be_had_emacs_has_a_service_of_its_own(tmp_path, origin):
    with Editors(tmp_path, OUTRIDER_SOCKET="/proc/no/socket") as editors:
        seen = editors.emacs("""
          (let ((id (plist-get (outrider 'get url :as 'json) :id)))
            (finish (vector id (symbol-name (outrider--connection-place outrider--connection)))))
        """, url=origin + "/json")
    assert seen == [1, "stdio"]


def test_a_service_of_its_own_is_started_again_and_ends_with_emacs(editors, origin):
    with Hostile() as server:
        editor = editors.start_emacs("""
          (let* ((outrider-transport 'stdio) (kinds nil) (first (plist-get (outrider-call "server.info" nil) :pid)))
            (outrider 'get stalled :then #'ignore :else (lambda (failure) (push (outrider-failure-kind failure) kinds)))
            (wait-for-go)
            (signal-process first 9)
            (wait-for (lambda () kinds))
            (finish (vector (apply #'vector kinds) (outrider 'get url) first
                            (plist-get (outrider-call "server.info" nil) :pid))))
        """, url=origin + "/json", stalled=server.url("/stall"))
        server.wait_for("/stall")
        editors.go()
        kinds, body, first, second = editor.result()
    assert (kinds, body) == (["serviceLost"], '{"id":1,"x":0.1}') and first != second
    await_end(second)
    assert editors.service_pid() is None


def test_a_queue_bounds_how_many_requests_run_at_once(editors):
    with Hostile() as server:
        seen = editors.emacs("""
          (let* ((most 0) (bodies nil) (ended nil)
                 (queue (make-outrider-queue :limit 2 :finally (lambda () (setq ended t)))))
            (dotimes (number 6)
              (outrider-queue queue 'get (format "%s/fine/%d" url number)
                              :then (lambda (body)
                                      (setq most (max most (length (outrider-queue-active queue))))
                                      (push (string-to-number body) bodies))))
            (let ((length (outrider-length queue)))
              (outrider-run queue)
              (wait-for (lambda () ended))
              (let ((stalled (make-outrider-queue :limit 1)) (failed 0))
                (dotimes (_ 3) (outrider-queue stalled 'get (concat url "/stall") :then #'ignore
                                               :else (lambda (_) (setq failed (1+ failed)))))
                (outrider-run stalled)
                (outrider-clear stalled)
                (wait-for (lambda () (and (= failed 3) (= (outrider-length stalled) 0))))
                (finish (vector length most (apply #'vector (sort bodies #'<)) failed (outrider-length stalled))))))
        """, url=server.url(""))
    assert seen == [6, 2, [0, 1, 2, 3, 4, 5], 3, 0]


def test_a_thousand_requests_at_once_leave_no_process_behind(editors, origin):
    seen = editors.emacs("""
      (let ((right 0) (wrong 0))
        (dotimes (_ 1000)
          (outrider 'get url :as 'json
                    :then (lambda (value) (if (eq (plist-get value :id) 1) (cl-incf right) (cl-incf wrong)))
                    :else (lambda (_) (cl-incf wrong))))
        (wait-for (lambda () (= (+ right wrong) 1000)))
        (finish (vector right wrong (length (process-list)))))
    """, url=origin + "/json")
    assert seen == [1000, 0, 1]


def test_emacs_and_neovim_share_one_service(editors, origin):
    first = editors.start_emacs("(finish (outrider 'get url))", url=origin + "/json")
    second = editors.start_neovim("finish(outrider.sync('get', url).body)", url=origin + "/json")
    assert first.result() == second.result() == '{"id":1,"x":0.1}'
    logs = [path for path in pathlib.Path(editors.place).iterdir() if path.name.endswith(".log")]
    assert len(logs) <= 1 and editors.service_pid()


def test_functions_of_the_user_judge_responses(editors, origin):
    seen = editors.emacs("""
      (cl-flet ((why (function)
                  (condition-case problem (outrider 'get url :validate (list :callback function))
                    (outrider-failure (outrider-failure-code (nth 2 problem))))))
        (finish (vector (why (lambda (asked &rest _) (list :valid (if (plist-get asked :response) t :false))))
                        (why (lambda (_ respond) (run-at-time 0.05 nil respond '(:valid :false :reason "no")) nil))
                        (why (lambda (&rest _) (error "oh"))))))
    """, url=origin + "/json")
    assert seen == ['{"id":1,"x":0.1}', 1605, 1605]
