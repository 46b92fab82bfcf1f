;;; outrider-watch.el --- Every step of the requests of this Emacs  -*- lexical-binding: t -*-

;; SPDX-License-Identifier: Apache-2.0
;; SPDX-FileCopyrightText: The Outrider authors

;;; Commentary:

;; Subscriptions, as docs/guide/events.md describes them.

;;; Code:

(require 'outrider-run)

(defconst outrider--watch-window 100
  "Events on their way to the user's function; each quarter is acknowledged.")

(defun outrider--watched (request connection take event)
  "Call TAKE with EVENT of CONNECTION, and acknowledge events of REQUEST."
  (unless (outrider-request-done request)
    (unwind-protect (funcall take event)
      (when (zerop (% (1+ (plist-get event :seq)) (/ outrider--watch-window 4)))
        (outrider--notify connection "events.ack"
                          (list :subscription (plist-get event :subscription) :seq (plist-get event :seq)))))))

;;;###autoload
(defun outrider-watch (topics take &rest args)
  "Call TAKE with every step of this Emacs's requests that TOPICS name.
TOPICS is a pattern such as \"request.*\", or a list of patterns.  TAKE
gets a plist of `:topic', `:detail', `:request', `:tag' and `:seq', in
the buffer that is current now.  ARGS are `:request' and `:session',
which narrow the events, and `:else' and `:finally' as in `outrider'.
Returns a request for `outrider-cancel'."
  (let ((buffer (current-buffer))
        (params (list :topics (if (listp topics) (apply #'vector topics) (vector topics))
                      :window outrider--watch-window)))
    (dolist (name '(:request :session))
      (when (plist-get args name) (setq params (append params (list name (plist-get args name))))))
    (outrider--run
     (append '(:then ignore) args) #'ignore
     (lambda (request connection)
       (outrider--call
        connection "events.subscribe" params
        (lambda (failure result)
          (let* ((handle (plist-get result :subscription)) (ending (list :subscription handle)))
            (cond
             (failure (outrider--finish request failure))
             ((outrider-request-done request) (outrider--notify connection "events.unsubscribe" ending))
             (t
              (outrider--route connection handle
                               (lambda (method event)
                                 (pcase method
                                   ("lost" (outrider--finish request event))
                                   ("event.monitor"
                                    (with-current-buffer (if (buffer-live-p buffer) buffer (current-buffer))
                                      (outrider--later #'outrider--watched request connection take event))))))
              (setf (outrider-request-give-up request)
                    (lambda ()
                      (outrider--route connection handle nil)
                      (outrider--notify connection "events.unsubscribe" ending))))))))))))

(provide 'outrider-watch)
;;; outrider-watch.el ends here
