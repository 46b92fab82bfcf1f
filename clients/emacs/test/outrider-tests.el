;;; outrider-tests.el --- Tests of what needs no service  -*- lexical-binding: t -*-

;; SPDX-License-Identifier: Apache-2.0
;; SPDX-FileCopyrightText: The Outrider authors

;;; Commentary:

;; emacs -Q --batch -L clients/emacs -l clients/emacs/test/outrider-tests.el -f ert-run-tests-batch-and-exit

;;; Code:

(require 'ert)
(require 'outrider)

(defun outrider-tests-params (&rest args)
  "The parameters that ARGS of `outrider' become, without the URL."
  (cddr (outrider-spec-params (outrider--spec nil "http://x/" args))))

(ert-deftest outrider-null-false-and-nil-are-three-things ()
  (should (equal (outrider--read "{\"a\":null,\"b\":false,\"c\":{},\"d\":[]}") '(:a :null :b :false :c nil :d [])))
  (should (equal (outrider--write '(:a :null :b :false :c nil :d [])) "{\"a\":null,\"b\":false,\"c\":{},\"d\":[]}")))

(ert-deftest outrider-json-that-the-fast-parser-refuses-is-read ()
  (should (equal (outrider--read "{\"n\":123456789012345678901}") '(:n 123456789012345678901)))
  (should (equal (outrider--read "{\"t\":\"a\\u0000b\"}") '(:t "a\0b")))
  (should (equal (outrider--read "{\"a\":1}" 'alist) '((a . 1))))
  (should-error (outrider--read "{oh}")))

(ert-deftest outrider-keywords-become-parameters-of-the-service ()
  (should (equal (outrider-tests-params :max-body 10 :tag "t") '(:maxBody 10 :tag "t")))
  (should (equal (outrider-tests-params :retry 3) '(:retry (:limit 3))))
  (should (equal (outrider-tests-params :redirect :false) '(:redirect "none")))
  (should (equal (outrider-tests-params :oauth "work") '(:auth (:oauth "work"))))
  (should (equal (outrider-tests-params :auth '("u" "p")) '(:auth (:basic (:username "u" :password "p")))))
  (should (equal (outrider-tests-params :headers '(("A" . "1") (b . 2)) :query '((x 1 2) ("y" . "z")))
                 '(:headers [(:name "A" :value "1") (:name "b" :value "2")]
                   :query [(:name "x" :value 1) (:name "x" :value 2) (:name "y" :value "z")]))))

(ert-deftest outrider-bodies-are-text-bytes-json-or-forms ()
  (should (equal (outrider-tests-params :body "naïve") '(:body (:text "naïve"))))
  (should (equal (outrider-tests-params :body "\377\0") '(:body (:base64 "/wA="))))
  (should (equal (outrider-tests-params :json '(:a 1)) '(:body (:json (:a 1)))))
  (should (equal (outrider-tests-params :json :null) '(:body (:text "null" :contentType "application/json"))))
  (should (equal (outrider-tests-params :form '((a . "1"))) '(:body (:form [(:name "a" :value "1")]))))
  (should (equal (outrider-tests-params :files '((f :data "x" :filename "x.txt")))
                 '(:body (:multipart [(:name "f" :text "x" :filename "x.txt")]))))
  (should-error (outrider-tests-params :json 1 :body "x")))

(ert-deftest outrider-functions-of-a-request-are-known-while-it-lasts ()
  (let* ((spec (outrider--spec 'get "http://x/" (list :validate (list :callback #'ignore))))
         (name (plist-get (plist-get (outrider-spec-params spec) :validate) :callback)))
    (should (stringp name))
    (should (eq (gethash name outrider--functions) #'ignore))
    (outrider--release spec)
    (should-not (gethash name outrider--functions))))

(ert-deftest outrider-conditions-are-a-tree ()
  (dolist (pair '((1600 . outrider-http-error) (1900 . outrider-cancelled) (1402 . outrider-failure)))
    (let ((failure (outrider--failed (list :code (car pair) :message "why") 'arrived)))
      (should (eq (outrider-failure-condition failure) (cdr pair)))
      (should (eq (outrider-failure-response failure) 'arrived))
      (should (equal (cadr (should-error (outrider--signal failure) :type 'outrider-failure)) "why"))
      (should-error (outrider--signal failure) :type 'outrider-error))))

(ert-deftest outrider-an-error-message-does-not-show-the-body ()
  (let ((failure (outrider--failed '(:code 1600 :message "why") (outrider--make-response :body "the body"))))
    (should-not (string-match-p "the body" (condition-case problem (outrider--signal failure)
                                             (error (error-message-string problem)))))))

(ert-deftest outrider-messages-that-come-while-one-is-handled-keep-their-order ()
  "Emacs calls the filter again while a handler waits to write."
  (let* ((process (make-pipe-process :name "outrider-tests" :noquery t :buffer (generate-new-buffer " *outrider-tests*")))
         (outrider--connection (make-outrider--connection :process process)) (received nil))
    (unwind-protect
        (cl-letf (((symbol-function 'outrider--receive)
                   (lambda (_connection line)
                     (push line received)
                     (when (equal line "one") (outrider--filter process "ree\nfour\nfi")))))
          (process-put process 'outrider outrider--connection)
          (outrider--filter process "one\ntwo\nth")
          (outrider--filter process "ve\n")
          (should (equal (nreverse received) '("one" "two" "three" "four" "five"))))
      (kill-buffer (process-buffer process)))))

(ert-deftest outrider-a-queue-keeps-its-order ()
  (let ((queue (list nil)))
    (outrider--enqueue queue 1)
    (outrider--enqueue queue 2)
    (should (eq (outrider--dequeue queue) 1))
    (outrider--enqueue queue 3)
    (should (equal (list (outrider--dequeue queue) (outrider--dequeue queue) (outrider--dequeue queue)) '(2 3 nil)))
    (outrider--enqueue queue 4)
    (should (eq (outrider--dequeue queue) 4))))

(provide 'outrider-tests)
;;; outrider-tests.el ends here
