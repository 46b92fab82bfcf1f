;;; outrider-events.el --- Events of a call of outrider by name  -*- lexical-binding: t -*-

;; SPDX-License-Identifier: Apache-2.0
;; SPDX-FileCopyrightText: The Outrider authors

;;; Commentary:

;; What `outrider-call' opens may live longer than the call: a WebSocket, a connection, a subscription.  Its events come
;; to a function of the user, one after the other, until its end.

;;; Code:

(require 'outrider-stream)

(defun outrider--events (event params)
  "A feed that gives EVENT, a function, the events of a call with PARAMS."
  (make-outrider--feed :request (outrider--make-request :ended #'ignore)
                       :take (lambda (told) (funcall event (car told) (cdr told)))
                       :window (or (plist-get params :credit) outrider--window)))

(defun outrider--events-params (feed params)
  "PARAMS of a call whose events FEED gets, with the credit."
  (if (equal (plist-get params :mode) "push")
      (plist-put (copy-sequence params) :credit (outrider--feed-window feed))
    params))

(defun outrider--event-bytes (params)
  "The bytes that an event with PARAMS takes of the credit."
  (let ((bytes (plist-get params :bytes)) (base64 (plist-get params :base64)))
    (cond ((integerp bytes) bytes)
          ((stringp base64)
           (- (* 3 (/ (length base64) 4))
              (cond ((string-suffix-p "==" base64) 2) ((string-suffix-p "=" base64) 1) (t 0))))
          (t 0))))

(defun outrider--events-told (feed name params)
  "Bring the event NAME with PARAMS to FEED."
  (outrider--feed-push feed :value (cons name params)
                       :bytes (if (and (outrider--feed-stream feed)
                                       (equal (plist-get params :stream) (outrider--feed-stream feed)))
                                  (outrider--event-bytes params)
                                0)))

(defun outrider--events-lost (feed failure ended)
  "Bring FAILURE, the end of the service, to FEED; ENDED if the stream had ended."
  (let ((problem `(,@(and (outrider-failure-code failure) (list :code (outrider-failure-code failure)))
                   :kind ,(outrider-failure-kind failure) :message ,(outrider-failure-message failure)
                   :retryable ,(if (outrider-failure-retryable failure) t :false))))
    (if (and (outrider--feed-stream feed) (not ended))
        (outrider--events-told feed "event.end" (list :stream (outrider--feed-stream feed) :error problem))
      (outrider--events-told feed "lost" problem))))

(defun outrider--events-open (feed call connection params result)
  "Let FEED have the events of what RESULT names, until CALL is cancelled.
CONNECTION brought RESULT for CALL, a request with PARAMS."
  (let* ((stream (plist-get result :stream)) (events (plist-get params :events))
         (request (and events (not (eq events :false)) (plist-get result :request)))
         (finishes (or (eq events t) (and (sequencep events) (seq-contains-p events "finish"))))
         (open (delq nil (list stream request (plist-get result :subscription)))) ended
         (forget (lambda (handle)
                   (outrider--route connection handle nil)
                   (unless (setq open (remove handle open)) (setf (outrider-request-opened call) nil))))
         (lose (lambda (failure)
                 (mapc forget open)
                 (outrider--events-lost feed failure ended))))
    (setf (outrider--feed-connection feed) connection (outrider--feed-stream feed) stream)
    (when open
      (setf (outrider-request-opened call)
            (lambda ()
              (funcall lose (outrider--cancelled))
              (outrider--events-close connection result))))
    (dolist (handle open)
      (outrider--route
       connection handle
       (lambda (name told)
         (cond ((equal name "lost") (when open (funcall lose told)))
               (t
                (when (and (equal name "event.end") (equal (plist-get told :stream) stream))
                  (setq ended t)
                  (funcall forget stream)
                  ;; without `finish' among the events, none says that the request is over
                  (when (and request (not finishes)) (funcall forget request)))
                (when (and request (equal name "event.finish")) (funcall forget request))
                (outrider--events-told feed name told))))))))

(defun outrider--events-close (connection result)
  "End in the service of CONNECTION what RESULT names."
  (pcase-let ((`(,method . ,member)
               (cond ((plist-get result :stream) '("stream.close" . :stream))
                     ((plist-get result :subscription) '("events.unsubscribe" . :subscription))
                     ((plist-get result :request) '("request.cancel" . :request)))))
    (when method (outrider--notify connection method (list member (plist-get result member))))))

(provide 'outrider-events)
;;; outrider-events.el ends here
