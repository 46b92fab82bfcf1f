;;; outrider-later.el --- Functions of the user, one after the other  -*- lexical-binding: t -*-

;; SPDX-License-Identifier: Apache-2.0
;; SPDX-FileCopyrightText: The Outrider authors

;;; Commentary:

;; Functions of the user run from a timer, in their order, and never within the handling of a message.

;;; Code:

;; A queue is a cons: its items, and the last cell of them.

(defun outrider--enqueue (queue item)
  "Add ITEM at the end of QUEUE."
  (let ((cell (list item)))
    (if (car queue) (setcdr (cdr queue) cell) (setcar queue cell))
    (setcdr queue cell)))

(defun outrider--dequeue (queue)
  "Take the first item of QUEUE, nil if there is none."
  (pop (car queue)))

(defvar outrider--actions (list nil) "A queue of what is to run.")
(defvar outrider--timer nil)

(defun outrider--run-actions ()
  "Run the actions that wait, for 50 ms at most.
A timer is set before each that is followed by others, so that these
run also while an action waits for something."
  (setq outrider--timer nil)
  (let ((until (time-add nil 0.05)) action)
    (while (and (time-less-p nil until) (setq action (outrider--dequeue outrider--actions)))
      (when (and (car outrider--actions) (not outrider--timer))
        (setq outrider--timer (run-at-time 0 nil #'outrider--run-actions)))
      (funcall action))))

(defun outrider--later (function &rest arguments)
  "Call FUNCTION with ARGUMENTS later, in the buffer that is current now.
If that buffer is dead by then, in a temporary one.  An error is
shown as a message, and does not touch what runs after it."
  (let ((buffer (current-buffer)))
    (outrider--enqueue
     outrider--actions
     (lambda ()
       (condition-case-unless-debug problem
           (if (buffer-live-p buffer)
               (with-current-buffer buffer (apply function arguments))
             (with-temp-buffer (apply function arguments)))
         ((error quit)
          (message "outrider: a function of yours failed: %s" (error-message-string problem)))))))
  (unless outrider--timer (setq outrider--timer (run-at-time 0 nil #'outrider--run-actions))))

(provide 'outrider-later)
;;; outrider-later.el ends here
