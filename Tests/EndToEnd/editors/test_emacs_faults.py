# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The client for Emacs, in a real Emacs: wrong arguments, long bodies, a service that cannot start or that ends."""

import base64

import contract
import pytest
from editor_clients import Editors
from hostile_server import Hostile

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def test_a_service_that_cannot_start_says_why(tmp_path):
    """Its own service, which Emacs takes where no socket can be had, reads the same configuration."""
    (tmp_path / "config.yaml").write_text("no-such-setting: 1\n")
    with Editors(tmp_path, OUTRIDER_CONFIG=str(tmp_path / "config.yaml")) as editors:
        seen = editors.emacs("""
          (cl-flet ((why () (condition-case problem (outrider 'get "http://127.0.0.1:1/")
                              (outrider-service-error (cadr problem)))))
            (finish (vector (why) (let ((outrider-transport 'stdio)) (why))
                            (wait-for (lambda () (not (get-buffer " *outrider-stderr*")))))))
        """)
    assert all("no-such-setting" in why and "config.yaml, line 1" in why for why in seen[:2]), seen
    assert seen[2] is True


def test_a_connection_that_the_service_ends_tells_the_error_of_the_service(editors):
    """An error that belongs to no call, such as that of a client that reads nothing."""
    program = editors.place / "service"
    program.write_text("""#!/bin/sh
read line
echo '{"jsonrpc":"2.0","id":null,"error":{"code":-32016,"message":"the client reads nothing"}}'
""")
    program.chmod(0o700)
    said = editors.emacs("""
      (setq outrider-transport 'stdio outrider-command (list service))
      (finish (condition-case problem (outrider 'get "http://127.0.0.1:1/") (outrider-service-error (cadr problem))))
    """, service=str(program))
    assert "the client reads nothing" in said


def test_an_answer_of_a_function_that_is_no_json_fails_the_callback_at_once(editors, origin):
    seen = editors.emacs("""
      (cl-flet ((why (function)
                  (condition-case problem (outrider 'get url :validate (list :callback function))
                    (error (cadr problem)))))
        (finish (vector (why (lambda (_ _respond) (list :valid (current-buffer))))
                        (why (lambda (_ respond) (funcall respond (list :valid (current-buffer))) nil)))))
    """, url=origin + "/json")
    assert all("no value of JSON" in why for why in seen), seen


@pytest.mark.parametrize("wait", ["(sleep-for 0.6)", "(outrider 'get (concat url \"/delay/0.6\"))"])
def test_a_timer_of_the_user_may_read_the_reply_that_is_waited_for(editors, origin, wait):
    """Emacs does not notice by itself that output came within a timer, and would wait for more for ever."""
    seen = editors.emacs(f"""
      (outrider 'get (concat url "/json"))
      (run-at-time 0.05 nil (lambda () {wait}))
      (finish (outrider 'get (concat url "/delay/0.3")))
    """, url=origin)
    assert seen == "waited 0.3 s\n"


def test_a_question_of_a_function_that_is_quit_fails_the_callback_at_once(editors, origin):
    """As by C-g at `y-or-n-p'; the service waits for an answer otherwise."""
    seen = editors.emacs("""
      (finish (condition-case problem
                  (outrider 'get url :timeout 20 :validate (list :callback (lambda (_ _respond) (signal 'quit nil))))
                (error (cadr problem))))
    """, url=origin + "/json")
    assert "Quit" in seen, seen


def test_a_long_body_that_is_cancelled_is_not_read_to_its_end(editors, origin):
    seen = editors.emacs("""
      (let ((pieces 0) (released nil) ended)
        (advice-add 'outrider--notify :before
                    (lambda (_connection method _params)
                      (when (equal method "response.release") (setq released pieces))))
        (let ((request (outrider 'get url :as 'binary :then #'ignore
                                 :else (lambda (failure) (setq ended (outrider-failure-code failure))))))
          (advice-add 'outrider--call :before
                      (lambda (_connection method &rest _) (when (equal method "response.read") (cl-incf pieces))))
          (wait-for (lambda () (> pieces 1)))
          (outrider-cancel request)
          (wait-for (lambda () released))
          (finish (vector ended (< released 4)))))
    """, url=origin + "/bytes/20000000")
    assert seen == [1900, True]


def test_the_type_of_a_body_does_not_depend_on_its_length(editors, origin):
    """A body of zeros takes six times its length as JSON, and the parts of a form stand in one message."""
    seen = editors.emacs("""
      (cl-flet ((type (&rest args)
                  (let ((echo (outrider 'post url :body (car args) :headers (cadr args))))
                    (and (string-match "\\"Content-Type\\", \\"\\\\([^\\"]*\\\\)\\"" echo) (match-string 1 echo))))
                (part (name) (cons name (list :data (make-string 4000000 ?x) :filename "x"))))
        (finish (vector (type "x") (type (make-string 5000000 ?x)) (type (make-string 3000000 0))
                        (type "\\377") (type (make-string 5000000 ?\\377))
                        (type (make-string 5000000 ?x) '(("Content-Type" . "text/csv")))
                        (outrider-response-status
                         (outrider 'post url :as 'response :files (mapcar #'part '(a b c d e)))))))
    """, url=origin + "/echo")
    text = "text/plain; charset=utf-8"
    assert seen == [text, text, text, "application/octet-stream", text, "text/csv", 200]
    assert not list(editors.place.glob("outrider-body*"))


def test_an_error_names_the_keyword_and_the_form_that_it_takes(editors):
    seen = editors.emacs("""
      (cl-flet ((why (&rest args) (condition-case problem (apply #'outrider 'post "http://127.0.0.1:1/" args)
                                    (outrider-call-error (cadr problem)))))
        (finish (vector (why :headers "a: b") (why :query '(:a 1)) (why :form "a=b") (why :files "wolf.png")
                        (why :json '("a" "b")) (why :tag (unibyte-string 228))
                        (why :json (vector (unibyte-string 228))))))
    """)
    for keyword, said in zip((":headers", ":query", ":form", ":files"), seen):
        assert keyword in said and "alist" in said
    assert ":json" in seen[4] and "vectors" in seen[4]
    assert ":tag" in seen[5] and ":json" in seen[6]
    assert all("is bytes" in said and "decode-coding-string" in said for said in seen[5:])


def test_json_that_emacs_reads_in_lisp_keeps_its_text(editors, bin):
    """Emacs's own parser gives up at integers beyond 64 bits, and at U+0000."""
    long = '{"n":123456789012345678901234567890,"s":"é😀"}'
    bodies = [long, '{"z":"\\u0000","s":"é"}', '\ufeff{"s":"é"}', '{"n":1} x']
    paths = ["/base64/" + base64.urlsafe_b64encode(body.encode()).decode() for body in bodies]
    seen = editors.emacs("""
      (cl-flet ((text-of (path)
                  (condition-case problem
                      (let ((text (plist-get (outrider 'get (concat url path) :as 'json) :s)))
                        (format "%s, of length %d" text (length text)))
                    (outrider-failure (nth 1 problem)))))
        (finish (vconcat (mapcar #'text-of paths))))
    """, url=bin, paths=paths)
    assert seen[:3] == ["é😀, of length 2", "é, of length 1", "é, of length 1"]
    assert "is not JSON: Text follows the value" in seen[3]


def test_a_form_is_the_same_with_files_and_without(editors, bin):
    seen = editors.emacs("""
      (cl-flet ((send (&rest args) (plist-get (apply #'outrider 'post (concat url "/post") :as 'json args) :form))
                (why (&rest args) (condition-case problem (progn (apply #'outrider 'post url args) "sent")
                                    (outrider-call-error (nth 1 problem)))))
        (let ((form '((a . [1 2]) (b . t) (c . :false) (d . 0.1) (e . nil) (f 1732950000123456)))
              (files '((g :data "x" :filename "g"))))
          (finish (vector (send :form form) (send :form form :files files)
                          (why :form '((a (b . 1)))) (why :form '((a (b . 1))) :files files)
                          (why :form '((a . (:b 1))) :files files)
                          (why :form '((a . 0.0e+NaN))) (why :form '((a . (1 -1.0e+INF))))
                          (why :form '((a . wolf)))))))
    """, url=bin)
    assert seen[0] == seen[1] == {"a": ["1", "2"], "b": "1", "c": "0", "d": "0.1", "f": "1732950000123456"}
    assert all("must be a string, a number, t" in why for why in seen[2:]), seen


def test_the_end_of_its_own_service_ends_a_request_that_is_waited_for(editors):
    """Emacs once waited for the dead process, while the end of its standard error was due."""
    with Hostile() as server:
        seen = editors.emacs("""
          (setq outrider-transport 'stdio)
          (let (seen)
            (dotimes (_ 5)
              (let ((pid (plist-get (outrider-call "server.info" nil) :pid)))
                (run-at-time 0.1 nil (lambda () (signal-process pid 'SIGKILL)))
                (push (condition-case problem (outrider 'get url) (outrider-service-error (cadr problem))) seen)))
            (finish (apply #'vector seen)))
        """, url=server.url("/stall"))
    assert len(seen) == 5 and all("was lost: killed" in said for said in seen), seen


def test_a_request_that_was_cancelled_shows_no_message(editors):
    """Without `:else` other failures are messages."""
    with Hostile() as server:
        editor = editors.start_emacs("""
          (let ((ended 0))
            (outrider-cancel (outrider 'get url :then #'ignore :finally (lambda () (cl-incf ended))))
            (outrider 'get "http://127.0.0.1:1/" :then #'ignore :finally (lambda () (cl-incf ended)))
            (wait-for (lambda () (= ended 2)))
            (finish ended))
        """, url=server.url("/stall"))
        assert editor.result() == 2
    assert "refused the connection" in editor.output and "cancelled" not in editor.output


def test_a_service_that_is_stopping_is_no_fault_of_a_call(editors):
    """While a request runs, the service refuses others for some seconds before it ends."""
    with Hostile() as server:
        editor = editors.start_emacs("""
          (let ((stalled (outrider 'get stalled :then #'ignore :else #'ignore)) refused)
            (while (not refused)
              (condition-case problem (progn (outrider-call 'server.info nil) (sleep-for 0.01))
                (outrider-error
                 (let ((failure (nth 2 problem)))
                   (setq refused (vector (symbol-name (car problem)) (outrider-failure-kind failure)
                                         (outrider-failure-code failure)))))))
            (outrider-cancel stalled)
            (finish refused))
        """, stalled=server.url("/stall"))
        server.wait_for("/stall")
        editors.stop_service()
        assert editor.result() == ["outrider-service-error", "serviceLost", -32017]


def test_threads_of_emacs_share_the_connection(editors, origin):
    assert editors.emacs("""
      (require 'cl-lib)
      (outrider 'get url)
      (let* ((bodies nil)
             (work (lambda () (dotimes (_ 5) (push (outrider 'get url) bodies))))
             (threads (list (make-thread work) (make-thread work))))
        (funcall work)
        (while (cl-some #'thread-live-p threads) (thread-yield) (sleep-for 0.01))
        (finish (vector (length bodies) (length (delete-dups bodies)))))
    """, url=origin + "/json") == [15, 1]


def test_calls_that_wait_while_the_service_stops_are_for_the_next_service(editors, origin):
    """At most 200 calls of a connection run; the others have not been written."""
    with Hostile() as server:
        seen = editors.emacs("""
          (setq outrider--most-running 1)
          (let* ((ends nil) (items nil)
                 (note (lambda (name) (lambda (value) (push (cons name (if (outrider-failure-p value)
                                                                           (outrider-failure-kind value)
                                                                         "done")) ends)))))
            (outrider 'get stalled :then (funcall note 'sent) :else (funcall note 'sent))
            (outrider 'get url :then (funcall note 'waited) :else (funcall note 'waited))
            (outrider-stream url (lambda (item) (push item items)) :as 'text
                             :then (funcall note 'stream) :else (funcall note 'stream))
            (let ((connection outrider--connection))
              (run-at-time 0 nil (lambda ()
                                   (outrider--receive connection "{\\"jsonrpc\\":\\"2.0\\",\\"id\\":1,\\"error\\":\
{\\"code\\":-32017,\\"message\\":\\"the service is stopping\\"}}")))
              ;; the last that waits is waited for
              (push (cons 'sync (if (outrider 'get url) "done")) ends)
              (while (< (length ends) 4) (accept-process-output nil 0.05))
              (outrider-stop)
              (finish (list :ends (vconcat (mapcar (lambda (name) (cdr (assq name ends))) '(sent waited stream sync)))
                            :items (length items) :left (length outrider--retired)
                            :ended (outrider--connection-ended connection)))))
        """, url=origin + "/json", stalled=server.url("/stall"))
    assert seen["ends"] == ["serviceLost", "done", "done", "done"]
    assert seen["items"] > 0 and seen["left"] == 0 and seen["ended"] is True


def test_calls_that_wait_as_the_service_dies_are_for_the_next_service(editors, origin):
    with Hostile() as server:
        editor = editors.start_emacs("""
          (setq outrider--most-running 1)
          (let (ends)
            (outrider 'get stalled :then #'ignore :else (lambda (failure) (push (outrider-failure-kind failure) ends)))
            (dotimes (_ 2) (outrider 'get url :then (lambda (_) (push "done" ends))
                                     :else (lambda (failure) (push (outrider-failure-message failure) ends))))
            (while (< (length ends) 3) (accept-process-output nil 0.05))
            (finish (vconcat (nreverse ends))))
        """, url=origin + "/json", stalled=server.url("/stall"))
        server.wait_for("/stall")
        editors.kill_service()
        assert editor.result() == ["serviceLost", "done", "done"]


def test_calls_that_wait_end_with_a_connection_that_emacs_closes(editors, origin):
    with Hostile() as server:
        seen = editors.emacs("""
          (setq outrider--most-running 1)
          (let (ends)
            (dolist (url (list stalled url))
              (outrider 'get url :then #'ignore :else (lambda (failure) (push (outrider-failure-kind failure) ends))))
            (outrider-stop)
            (while (< (length ends) 2) (accept-process-output nil 0.05))
            (finish (vconcat ends)))
        """, url=origin + "/json", stalled=server.url("/stall"))
    assert seen == ["serviceLost", "serviceLost"]
