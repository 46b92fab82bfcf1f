;;; outrider-queue.el --- Bounds how many requests of outrider run at once  -*- lexical-binding: t -*-

;; SPDX-License-Identifier: Apache-2.0
;; SPDX-FileCopyrightText: The Outrider authors

;;; Commentary:

;; A queue starts its requests in the order in which they were added, a limited number at a time.

;;; Code:

(require 'outrider-run)

(declare-function outrider "outrider")

(cl-defstruct (outrider-queue (:constructor make-outrider-queue) (:copier nil))
  "Requests of which at most LIMIT run at once.
FINALLY is called without arguments each time the queue has become
empty.  WAITING and ACTIVE are the requests; STARTED once
`outrider-run' was called."
  (limit 4) finally waiting active started)

(defun outrider-queue (queue &rest args)
  "Add a request with ARGS, those of `outrider', to QUEUE; return QUEUE.
`:then' must be a function.  The request starts after `outrider-run',
when it is its turn."
  (unless (functionp (plist-get (cddr args) :then)) (error "A request in a queue needs a function in `:then'"))
  (setf (outrider-queue-waiting queue) (nconc (outrider-queue-waiting queue) (list args)))
  (when (outrider-queue-started queue) (outrider-run queue))
  queue)

(defun outrider-run (queue)
  "Start the requests in QUEUE, as many as its limit permits; return QUEUE."
  (setf (outrider-queue-started queue) t)
  (while (and (outrider-queue-waiting queue) (< (length (outrider-queue-active queue)) (outrider-queue-limit queue)))
    (let* ((args (pop (outrider-queue-waiting queue)))
           (finally (plist-get (cddr args) :finally))
           (entry (list nil)))
      (push entry (outrider-queue-active queue))
      (setcar entry
              (apply #'outrider (car args) (cadr args)
                     (append (list :finally (lambda ()
                                              (unwind-protect (when finally (funcall finally))
                                                (outrider--queue-ended queue entry))))
                             (cddr args))))))
  queue)

(defun outrider--queue-ended (queue entry)
  "Let the next request of QUEUE begin, since ENTRY has ended."
  (when (memq entry (outrider-queue-active queue))
    (setf (outrider-queue-active queue) (delq entry (outrider-queue-active queue)))
    (outrider-run queue)
    (when (and (not (outrider-queue-active queue)) (outrider-queue-finally queue))
      (funcall (outrider-queue-finally queue)))))

(defun outrider-clear (queue)
  "Cancel the requests of QUEUE, those that run and those that wait."
  (dolist (args (prog1 (outrider-queue-waiting queue) (setf (outrider-queue-waiting queue) nil)))
    (outrider--tell (outrider--cancelled) nil (cddr args)))
  (dolist (entry (outrider-queue-active queue)) (when (car entry) (outrider-cancel (car entry)))))

(defun outrider-length (queue)
  "How many requests of QUEUE wait or run."
  (+ (length (outrider-queue-waiting queue)) (length (outrider-queue-active queue))))

(provide 'outrider-queue)
;;; outrider-queue.el ends here
