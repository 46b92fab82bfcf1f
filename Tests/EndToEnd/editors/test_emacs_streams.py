# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The client for Emacs, in a real Emacs: streams, event streams, downloads, logins."""

import threading

import contract
import pytest
from editor_clients import CLIENTS
from event_server import CHUNKED, GONE, OPEN, STREAM, EventServer, chunk, status
from hostile_server import Hostile
from range_server import Ranging

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
# events of a model: without choices, with text, without a delta, and with the usage alone
TALK = b"".join(b"data: %s\n\n" % data for data in (
    b'{"choices":[]}', b'{"choices":[{"delta":{"content":"Hello"}}]}', b'{"choices":[{"delta":{}}]}',
    b'{"choices":[{"delta":null}]}', b'{"choices":null,"usage":{"n":1}}', b"[DONE]"))


def test_a_stream_brings_every_byte_and_then_its_response(editors, origin):
    seen = editors.emacs("""
      (let ((size 0) (right t) (lines nil) ended last)
        (outrider-stream (concat url "/bytes/3000000")
                         (lambda (bytes)
                           (unless (= (aref bytes 0) (% size 256)) (setq right :false))
                           (setq size (+ size (length bytes))))
                         :then (lambda (response) (setq ended (vector (outrider-response-status response) size))))
        (outrider-stream (concat url "/chunked") (lambda (line) (push line lines)) :as 'lines
                         :then #'ignore :finally (lambda () (setq last t)))
        (wait-for (lambda () (and ended last)))
        (finish (vector ended right (apply #'vector lines))))
    """, url=origin)
    assert seen == [[200, 3000000], True, ["one two three"]]


def test_a_stream_that_is_not_taken_holds_the_server_up(editors):
    with Hostile() as server:
        seen = editors.emacs("""
          (let* ((size 0) (calls 0) ended stream)
            (setq stream (outrider-stream (concat url "/bytes/6000000")
                                          (lambda (bytes)
                                            (setq size (+ size (length bytes)) calls (1+ calls))
                                            (when (= calls 1) (outrider-pause stream)))
                                          :then #'ignore :finally (lambda () (setq ended t))))
            (wait-for (lambda () (= calls 1)))
            (with-timeout (0.2) (while t (accept-process-output nil 0.05)))
            (let ((held calls) (received (plist-get (plist-get (outrider-call "server.stats" nil) :bytes) :received)))
              (outrider-resume stream)
              (wait-for (lambda () ended))
              (finish (vector held size received))))
        """, url=server.url(""))
    assert seen[:2] == [1, 6000000]
    assert seen[2] < 2_000_000


def test_cancelling_a_stream_ends_it_and_its_connection(editors):
    with Hostile() as server:
        editor = editors.start_emacs("""
          (let ((after 0) (ends nil) stream)
            (setq stream (outrider-stream (concat url "/endless")
                                          (lambda (_) (if ends (setq after (1+ after)) (outrider-cancel stream)))
                                          :as 'text :then #'ignore
                                          :else (lambda (failure) (push (outrider-failure-code failure) ends))))
            (wait-for (lambda () ends))
            (accept-process-output nil 0.1)
            (finish (vector after (apply #'vector ends))))
        """, url=server.url(""))
        server.wait_gone("/endless")
        assert editor.result() == [0, [1900]]


def test_a_stream_that_is_cancelled_before_it_is_open_is_cancelled_in_the_service(editors):
    with Hostile() as server:
        seen = editors.emacs("""
          (let ((ends 0))
            (outrider-cancel (outrider-stream (concat url "/endless") #'ignore :then #'ignore
                                              :else (lambda (_) (setq ends (1+ ends)))))
            (wait-for (lambda ()
                        (and (= ends 1)
                             (let ((requests (plist-get (outrider-call "server.stats" nil) :requests)))
                               (memq (plist-get requests :running) '(nil 0))))))
            (finish ends))
        """, url=server.url(""))
    assert seen == 1


def test_an_item_that_is_wrong_comes_as_a_failure_in_its_place(editors):
    with EventServer() as server:
        body = b'{"a":1}\n{oh}\nnull\nfalse\n123456789012345678901\n{"a":2}\n'
        url = server.at("/n", [status(200, body, "application/x-ndjson")])
        seen = editors.emacs("""
          (let ((items nil) ended)
            (outrider-stream url (lambda (item)
                                   (push (cond ((outrider-failure-p item) (outrider-failure-code item))
                                               ((integerp item) (number-to-string item))
                                               (t item))
                                         items))
                             :as 'ndjson :then #'ignore :finally (lambda () (setq ended t)))
            (wait-for (lambda () ended))
            (finish (apply #'vector (nreverse items))))
        """, url=url)
    assert seen == [{"a": 1}, 1704, None, False, "123456789012345678901", {"a": 2}]


def test_an_event_stream_goes_on_after_a_lost_connection_until_the_server_has_no_more(editors):
    with EventServer() as server:
        one, two = b'id: 1\nretry: 20\ndata: {"n":1}\n\n', b'id: 2\nevent: tick\ndata: {"n":2}\n\n'
        url = server.at("/e", [STREAM, one], [STREAM, two], [GONE])
        seen = editors.emacs("""
          (let ((events nil) ended)
            (outrider-sse url (lambda (event)
                                (push (vector (plist-get event :event) (plist-get (outrider-event-json event) :n)
                                              (plist-get event :id))
                                      events))
                          :then (lambda (response) (setq ended (outrider-response-status response))))
            (wait-for (lambda () ended))
            (finish (vector (apply #'vector (nreverse events)) ended)))
        """, url=url)
        assert seen == [[["message", 1, "1"], ["tick", 2, "2"]], 204]
        assert [one.headers.get("last-event-id") for one in server.seen["/e"]] == [None, "1", "2"]


def test_an_event_stream_that_is_refused_says_why_and_brings_the_page(editors):
    with EventServer() as server:
        url = server.at("/e", [status(403, b"members only")])
        seen = editors.emacs("""
          (let (ended)
            (outrider-sse url #'error :json '(:a 1) :then #'ignore
                          :else (lambda (failure)
                                  (setq ended (vector (symbol-name (outrider-failure-condition failure))
                                                      (outrider-response-body (outrider-failure-response failure))))))
            (wait-for (lambda () ended))
            (finish ended))
        """, url=url)
        assert seen == ["outrider-http-error", "members only"]
        assert server.seen["/e"][0].method == "POST" and server.seen["/e"][0].body == b'{"a":1}'


def test_an_error_in_the_function_for_items_does_not_hold_the_stream_up(editors):
    with EventServer() as server:
        events = b"".join(b"data: %d\n\n" % number for number in range(20))
        url = server.at("/e", [CHUNKED, chunk(events), OPEN])
        editor = editors.start_emacs("""
          (let* ((seen 0)
                 (stream (outrider-sse url (lambda (_) (when (cl-evenp (cl-incf seen)) (error "mine")))
                                       :credit 16 :then #'ignore)))
            (wait-for (lambda () (= seen 20)))
            (outrider-cancel stream)
            (finish seen))
        """, url=url)
        assert editor.result() == 20
        server.wait_gone("/e")


def test_every_step_of_requests_is_told_while_it_is_watched(editors, origin):
    """More events than the window holds; and a stream, whose request the events name, is left alone by them."""
    seen = editors.emacs("""
      (let* ((count 0) (size 0) (right t) (seqs -1) done codes
             (watch (outrider-watch '("request.finished" "stream.*")
                                    (lambda (event)
                                      (unless (= (plist-get event :seq) (cl-incf seqs)) (setq right :false))
                                      (when (equal (plist-get event :topic) "request.finished") (cl-incf count)))
                                    :else (lambda (failure) (push (outrider-failure-code failure) codes)))))
        (dotimes (_ 150) (outrider 'get (concat url "/json")))
        (outrider-stream (concat url "/bytes/100000") (lambda (bytes) (cl-incf size (length bytes)))
                         :then (lambda (_) (setq done t)))
        (wait-for (lambda () (and done (= count 151))))
        (outrider-cancel watch)
        (outrider 'get (concat url "/json"))
        (outrider-watch "no.such" #'error :else (lambda (failure) (push (outrider-failure-code failure) codes)))
        (wait-for (lambda () (= (length codes) 2)))
        (finish (vector right count size (apply #'vector codes))))
    """, url=origin)
    assert seen == [True, 151, 100_000, [-32602, 1900]]


def test_the_chat_example_writes_the_response_of_a_model_into_a_buffer(editors, origin):
    seen = editors.emacs("""
      (load-file example)
      (with-temp-buffer
        (let ((request (chat url '(:model "m" :messages []))))
          (wait-for (lambda () (outrider-request-done request)))
          (finish (buffer-string))))
    """, url=origin + "/chat", example=str(CLIENTS / "examples/chat.el"))
    assert seen == "You asked, and here are some words:\nnaïve “quotes” 🐺."


def test_a_download_shows_its_progress_and_goes_on_after_it_was_cancelled(editors):
    with Ranging(size=3_000_000) as server:
        server.stop = 1_000_000
        first = editors.start_emacs("""
          (let (told ended)
            (let ((request (outrider-download url "big" :then #'ignore
                                              :progress (lambda (progress) (setq told progress))
                                              :else (lambda (failure) (setq ended (outrider-failure-code failure))))))
              (wait-for (lambda () told))
              (run-at-time 0.15 nil #'outrider-cancel request)
              (wait-for (lambda () ended))
              (finish (vector ended (plist-get told :total)))))
        """, url=server.url("/fine"))
        assert first.result() == [1900, 3_000_000]
        server.wait_for("gone")
        server.go.set()
        # a download that is over at once shows no progress
        server.stop, server.go = 500_000, threading.Event()
        second = editors.start_emacs("(finish (outrider-download url \"big\"))", url=server.url("/fine"))
        assert "Downloading fine..." in next(iter(second.process.stderr), "")
        server.go.set()
        assert second.result() == str(editors.place / "big")
        assert (editors.place / "big").read_bytes() == server.data
        whole, rest = server.ranges()
        assert whole is None and rest.startswith("bytes=") and 0 < int(rest[6:-1]) <= 1_000_000


def test_a_download_into_a_directory_has_the_name_that_the_server_suggests(editors, origin):
    assert editors.emacs("""
      (let ((refused (condition-case nil (outrider-download (concat url "/status/500") "page" :progress nil)
                       (outrider-http-error "http"))))
        (finish (vector (outrider-download (concat url "/file/9") "./" :progress nil) refused)))
    """, url=origin) == [str(editors.place / "9"), "http"]
    assert not (editors.place / "page").exists()


def test_a_login_that_cannot_begin_says_why_once(editors):
    seen = editors.emacs("""
      (let ((ends nil))
        (cl-flet ((login (credential)
                    (outrider-login credential :then #'ignore
                                    :else (lambda (failure)
                                            (push (or (outrider-failure-code failure) (outrider-failure-kind failure))
                                                  ends)))))
          (login "nobody")
          (login '(:grant "device"))
          (login '(:name "x" :grant "device" :clientId "c" :tokenUrl "http://127.0.0.1:1/t"
                   :deviceUrl "http://127.0.0.1:1/d"))
          (outrider-cancel (login "nobody"))
          (wait-for (lambda () (= (length ends) 4)))
          (finish (apply #'vector ends))))
    """)
    assert sorted(map(str, seen)) == sorted(["-32012", "invalidOptions", "-32018", "1900"])


def test_text_that_holds_a_zero_byte_is_text(editors):
    """The service sends such a text as base64."""
    with EventServer() as server:
        url = server.at("/n", [status(200, "é\0x\nplain é\n".encode())])
        seen = editors.emacs("""
          (cl-flet ((items (as) (let (items ended)
                                  (outrider-stream url (lambda (item) (push (vector item (length item)) items)) :as as
                                                   :then (lambda (_) (setq ended t)))
                                  (wait-for (lambda () ended))
                                  (apply #'vector (nreverse items)))))
            (finish (vector (items 'lines) (items 'text))))
        """, url=url)
    assert seen == [[["é\0x", 3], ["plain é", 7]], [["é\0x\nplain é\n", 12]]]


def test_the_progress_of_a_stream_is_told(editors, origin):
    told = editors.emacs("""
      (let (told ended)
        (outrider-stream url #'ignore :progress (lambda (progress) (setq told progress))
                         :then (lambda (_) (setq ended t)))
        (wait-for (lambda () ended))
        (finish (plist-get told :completed)))
    """, url=origin + "/bytes/300000")
    assert told == 300_000


def test_the_chat_example_passes_over_events_without_text(editors):
    with EventServer() as server:
        url = server.at("/chat", [STREAM, TALK])
        editor = editors.start_emacs("""
          (load-file example)
          (with-temp-buffer
            (let ((request (chat url '(:model "m" :messages []))))
              (wait-for (lambda () (outrider-request-done request)))
              (wait-for (lambda () (not (car outrider--actions))))
              (finish (buffer-string))))
        """, url=url, example=str(CLIENTS / "examples/chat.el"))
        assert editor.result() == "Hello" and "a function of yours failed" not in editor.output, editor.output
