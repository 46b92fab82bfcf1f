;;; outrider-run.el --- A request of outrider from start to end  -*- lexical-binding: t -*-

;; SPDX-License-Identifier: Apache-2.0
;; SPDX-FileCopyrightText: The Outrider authors

;;; Commentary:

;; What all kinds of requests share: they end once, whatever happens, and say so to `:then' or `:else', then `:finally'.
;; With `:then' `sync' they are waited for; C-g cancels them.

;;; Code:

(require 'outrider-request)

(cl-defstruct (outrider-request (:constructor outrider--make-request) (:copier nil))
  "A request that is under way: DONE once it has ended.
GIVE-UP ends the request in the service.  ENDED is called with a failure or nil, and a value.
QUIET is non-nil if no event shall follow its end, as it was cancelled or is waited for.
OPENED closes what a call with events has opened, which lives longer than the call; nil without that.
CONNECTION is where the request was made; nil before."
  done give-up ended spec quiet opened connection)

(defun outrider--finish (request failure &optional value)
  "End REQUEST with FAILURE, or with VALUE, unless it has ended."
  (unless (outrider-request-done request)
    (setf (outrider-request-done request) t)
    (when (outrider-request-spec request) (outrider--release (outrider-request-spec request)))
    (funcall (outrider-request-ended request) failure value)))

(defun outrider-cancel (request)
  "Cancel REQUEST, which `outrider' and its like returned.
Its connection to the server is closed, and its `:else' gets an
`outrider-failure' of the condition `outrider-cancelled'.  A request
that has ended stays as it is.  What an `outrider-call' with `:event'
has opened is closed also after its reply: the function of `:event'
gets \"event.end\" with an `:error', or \"lost\" without a stream."
  (let ((opened (outrider-request-opened request)))
    (cond (opened (setf (outrider-request-opened request) nil) (funcall opened))
          ((not (outrider-request-done request))
           (setf (outrider-request-quiet request) t)
           (outrider--finish request (outrider--cancelled))
           (when (outrider-request-give-up request) (funcall (outrider-request-give-up request)))))))

(defun outrider--tell (failure value args)
  "Call `:then' of ARGS with VALUE, or `:else' with FAILURE, and `:finally'."
  (let ((then (plist-get args :then)) (else (plist-get args :else)) (finally (plist-get args :finally)))
    (cond ((and failure else) (outrider--later else failure))
          ;; `outrider-cancel' needs no message
          ((and failure (eq (outrider-failure-condition failure) 'outrider-cancelled)))
          (failure (outrider--later #'message "outrider: %s" (outrider-failure-message failure)))
          (then (outrider--later then value)))
    (when finally (outrider--later finally))))

(defconst outrider--waking 0.1 "Seconds between two looks at a request that is waited for.")

(defun outrider--wait (request)
  "Wait until REQUEST has ended; if that is interrupted, cancel it."
  (setf (outrider-request-quiet request) t)
  ;; large replies come in pieces of this size
  (let ((inhibit-quit nil) (read-process-output-max (max read-process-output-max 65536))
        ;; Emacs looks only when a timer is due whether output came within another timer, which may wait itself.
        (waker (run-with-timer outrider--waking outrider--waking #'ignore)))
    (unwind-protect
        (while (not (outrider-request-done request))
          (let* ((connection (outrider-request-connection request))
                 (process (and connection (outrider--connection-process connection))))
            ;; With a timeout Emacs would wait 10 ms more for further output after each reply.  A wait for a process that
            ;; has ended returns at once, and calls no sentinel while another process has output: so Emacs waits for all.
            (if (and process (process-live-p process) (not (memq connection outrider--retired)))
                (accept-process-output process)
              (accept-process-output nil 0.05))))
      (cancel-timer waker)
      ;; what the reply has opened stays open
      (unless (outrider-request-done request) (outrider-cancel request)))))

(defun outrider--run (args make start)
  "Run a request: MAKE its spec, connect, and START it.
MAKE gets nothing.  START gets the request and the connection.  ARGS
are the keywords of the user; without `:then', or with `sync', wait
and return the value, else return the request."
  (let ((buffer (current-buffer)))
    (if (memq (plist-get args :then) '(nil sync))
        (let (failure value finished)
          (unwind-protect
              (let ((request (outrider--begin make start (lambda (problem result)
                                                           (setq failure problem value result finished t)))))
                (outrider--wait request))
            (when (plist-get args :finally) (funcall (plist-get args :finally))))
          (cond ((not failure) (and finished value))
                ((functionp (plist-get args :else)) (funcall (plist-get args :else) failure))
                (t (outrider--signal failure))))
      (outrider--begin make start (lambda (failure value)
                                    (with-current-buffer (if (buffer-live-p buffer) buffer (current-buffer))
                                      (outrider--tell failure value args)))))))

(defun outrider--begin (make start ended)
  "MAKE and START a request, and return it.  ENDED is called once."
  (let ((request (outrider--make-request :ended ended)))
    (condition-case problem
        (progn
          (setf (outrider-request-spec request) (funcall make))
          (outrider--make request start))
      (error (outrider--finish request (outrider--caught problem))))
    request))

(defun outrider--make (request start)
  "START REQUEST with the connection of this Emacs.
If the service ends before it gets the first call of START, START is
called once more, with the connection to the next service."
  (let* ((buffer (current-buffer))
         (make (lambda (again)
                 (let* ((connection (outrider--connect)) (outrider--again again))
                   (setf (outrider-request-connection request) connection)
                   (funcall start request connection)))))
    (funcall make (lambda ()
                    (unless (outrider-request-done request)
                      (with-current-buffer (if (buffer-live-p buffer) buffer (current-buffer))
                        (condition-case problem (funcall make nil)
                          ((error quit) (outrider--finish request (outrider--caught problem))))))))))

;;; A response in its shape

(defun outrider--shaped (response as)
  "The value of RESPONSE for AS, see `outrider'."
  (pcase as
    ((or 'nil 'string) (outrider--decoded response))
    ('binary (outrider-response-body response))
    ('json (outrider--json response))
    ('response
     (setf (outrider-response-body response) (and (outrider-response-body response) (outrider--decoded response)))
     response)
    ('buffer
     (with-current-buffer (generate-new-buffer " *outrider-response*")
       (insert (outrider--decoded response))
       (goto-char (point-min))
       (current-buffer)))
    (`(file . ,_) (outrider-response-path response))
    ((pred functionp)
     (with-temp-buffer
       (insert (outrider--decoded response))
       (goto-char (point-min))
       (funcall as)))
    (_ (error "The keyword `:as' cannot be %S" as))))

(defvar outrider-json-object-type)

(defun outrider--json (response)
  "The body of RESPONSE as a value, or an error of the kind of 1704.
Where there can be no body the value is nil."
  (condition-case problem
      (unless (or (memq (outrider-response-status response) '(204 205 304))
                  (equal (outrider-response-method response) "HEAD"))
        (outrider--read (outrider-response-body response) outrider-json-object-type))
    (error
     (outrider--signal
      (outrider--failed
       (list :code 1704 :kind "responseSerializationFailed" :reason "jsonSerializationFailed"
             :message (format "the body of %s is not JSON: %s" (outrider-response-url response)
                              (error-message-string problem)))
       response)))))

(defun outrider--conclude (request connection result shape)
  "End REQUEST with RESULT, which CONNECTION brought.
SHAPE makes the value of an `outrider-response'."
  (let* ((response (outrider--response result))
         (end (lambda (problem)
                (let ((failure problem) value)
                  (cond (failure)
                        ((not (eq (plist-get result :ok) t))
                         (when (outrider-response-body response)
                           (setf (outrider-response-body response) (outrider--decoded response)))
                         (setq failure (outrider--failed (plist-get result :error) response)))
                        (t (condition-case caught (setq value (funcall shape response))
                             (error (setq failure (outrider--caught caught))))))
                  (outrider--finish request failure value)))))
    (if (equal (plist-get (plist-get result :body) :kind) "stored") (outrider--load request connection response end)
      (funcall end nil))))

(defun outrider--exchange (request connection method shape &optional event)
  "Send REQUEST through CONNECTION by METHOD, and end it with what comes.
SHAPE makes the value; EVENT gets the events of the call."
  (let* (replied
         (call (outrider--call
                connection method (outrider-spec-params (outrider-request-spec request))
                (lambda (failure result)
                  (setq replied t)
                  (unless (outrider-request-done request)
                    (setf (outrider-request-give-up request) nil)
                    (if failure (outrider--finish request failure)
                      (outrider--conclude request connection result shape))))
                (and event
                     (let ((buffer (current-buffer)))
                       (lambda (name params)
                         (with-current-buffer (if (buffer-live-p buffer) buffer (current-buffer))
                           ;; the last events come with the reply, and are told before its value
                           (outrider--later (lambda ()
                                              (unless (and (outrider-request-done request)
                                                           (outrider-request-quiet request))
                                                (funcall event name params)))))))))))
    ;; the reply to a long message may come while the message is sent
    (unless replied
      (setf (outrider-request-give-up request) (lambda () (outrider--forget connection call))))))

(provide 'outrider-run)
;;; outrider-run.el ends here
