;;; emacs_calls.el --- 100 HTTPS calls from Emacs, through clients/emacs, or by spawning curl  -*- lexical-binding: t -*-
;; SPDX-License-Identifier: Apache-2.0
;; SPDX-FileCopyrightText: The Outrider authors

(require 'cl-lib)
(defvar bench-n (string-to-number (getenv "BENCH_N")))
(defvar bench-url (getenv "BENCH_URL"))

(defun bench-curl ()
  "The id in the body that curl brings."
  (with-temp-buffer
    (call-process "curl" nil t nil "-sS" "--cacert" (getenv "BENCH_CA") bench-url)
    (goto-char (point-min))
    (plist-get (json-parse-buffer :object-type 'plist) :id)))

(defun bench-outrider ()
  "The id in the body that outrider brings."
  (plist-get (outrider 'get bench-url :as 'json) :id))

(add-to-list 'load-path (concat (getenv "BENCH_CLIENTS") "/emacs"))
(require 'outrider)
(setq outrider-command (list (getenv "OUTRIDER")))

(let ((call (if (equal (getenv "BENCH_KIND") "curl") #'bench-curl #'bench-outrider)) (start (float-time)))
  (dotimes (_ bench-n) (cl-assert (eq (funcall call) 1)))
  (princ (format "{\"seconds\":%f,\"cpu\":0,\"n\":%d}\n" (- (float-time) start) bench-n)))
