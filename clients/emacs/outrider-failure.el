;;; outrider-failure.el --- Why a request of outrider failed  -*- lexical-binding: t -*-

;; SPDX-License-Identifier: Apache-2.0
;; SPDX-FileCopyrightText: The Outrider authors

;;; Commentary:

;; Conditions that `condition-case' can tell apart, and the object that they carry.

;;; Code:

(require 'cl-lib)

(define-error 'outrider-error "Outrider")
(define-error 'outrider-failure "Request failed" 'outrider-error)
(define-error 'outrider-http-error "HTTP error" 'outrider-failure)
(define-error 'outrider-timeout "Request timed out" 'outrider-failure)
(define-error 'outrider-cancelled "Request cancelled" 'outrider-failure)
(define-error 'outrider-call-error "Call refused" 'outrider-error)
(define-error 'outrider-login-error "Login failed" 'outrider-error)
(define-error 'outrider-service-error "No outrider service" 'outrider-error)

(cl-defstruct (outrider-failure (:constructor outrider-failure--make) (:copier nil))
  "Why a request failed.
KIND, CODE, REASON, RETRYABLE and POINTER are those of docs/reference/errors.md;
MESSAGE is a sentence for people.  CONDITION is the error symbol.
CELL is a symbol whose value is the response: a symbol is printed as
its name, so that error messages do not show whole bodies."
  kind code reason message retryable pointer condition cell)

(defun outrider-failure-response (failure)
  "What arrived before FAILURE, an `outrider-response' or nil.
FAILURE is what `:else' gets, or an error that `condition-case' caught."
  (let ((failure (if (outrider-failure-p failure) failure (nth 2 failure))))
    (and (outrider-failure-cell failure) (symbol-value (outrider-failure-cell failure)))))

(defun outrider--failure (condition members &optional response)
  "A failure of CONDITION with MEMBERS, a plist of the service, and RESPONSE."
  (let ((cell (and response (make-symbol "response"))))
    (when cell (set cell response))
    (outrider-failure--make
     :condition condition :kind (plist-get members :kind) :code (plist-get members :code)
     :reason (plist-get members :reason) :message (plist-get members :message)
     :retryable (eq (plist-get members :retryable) t) :pointer (plist-get members :pointer) :cell cell)))

(defun outrider--failed (members &optional response)
  "The failure of an exchange: MEMBERS of Failure, and RESPONSE."
  (outrider--failure
   (pcase (plist-get members :code)
     (1600 'outrider-http-error)
     (1900 'outrider-cancelled)
     (_ (if (equal (plist-get members :reason) "timedOut") 'outrider-timeout 'outrider-failure)))
   members response))

(defconst outrider--stopping -32017 "The code of a service that takes no more calls, since it is about to end.")

(defun outrider--refused (problem)
  "The failure of a call that the service refused with PROBLEM."
  (let ((data (plist-get problem :data)) (code (plist-get problem :code)) (message (plist-get problem :message)))
    (if (eql code outrider--stopping)
        ;; no fault of the call
        (outrider--failure 'outrider-service-error
                           (list :kind "serviceLost" :code code :retryable t
                                 :message (concat message " (the next request starts the service again)")))
      (outrider--failure 'outrider-call-error
                         (list :kind "callFailed" :code code :message message
                               ;; the service takes no more calls of this connection for now
                               :retryable (eq code -32011)
                               :pointer (and (consp data) (plist-get data :pointer)))))))

(defun outrider--invalid (format &rest arguments)
  "The failure of a request that was not sent, for FORMAT with ARGUMENTS."
  (outrider--failure 'outrider-call-error
                     (list :kind "invalidOptions" :message (apply #'format-message format arguments))))

(defun outrider--unavailable (format &rest arguments)
  "The failure for no service, for FORMAT with ARGUMENTS."
  (outrider--failure 'outrider-service-error
                     (list :kind "serviceUnavailable" :retryable t :message (apply #'format-message format arguments))))

(defun outrider--lost (why)
  "The failure of what was pending when the service ended: WHY."
  (outrider--failure 'outrider-service-error
                     (list :kind "serviceLost" :retryable t
                           :message (format "the connection to the outrider service was lost: %s \
(the next request starts the service again)" why))))

(defun outrider--cancelled ()
  "The failure of a request that was cancelled."
  (outrider--failed '(:kind "explicitlyCancelled" :code 1900 :message "the request was cancelled")))

(defun outrider--signal (failure)
  "Signal the condition of FAILURE, with its message and FAILURE as data."
  (signal (outrider-failure-condition failure) (list (outrider-failure-message failure) failure)))

(defun outrider--caught (problem)
  "The failure for PROBLEM, an error that was caught while a request was made."
  (if (outrider-failure-p (nth 2 problem)) (nth 2 problem)
    (outrider--invalid "%s" (error-message-string problem))))

(provide 'outrider-failure)
;;; outrider-failure.el ends here
