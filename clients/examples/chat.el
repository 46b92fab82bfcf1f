;;; chat.el --- The answer of a language model, streamed to the end of a buffer  -*- lexical-binding: t -*-
;; SPDX-License-Identifier: Apache-2.0
;; SPDX-FileCopyrightText: The Outrider authors
;;
;; Needs clients/emacs in `load-path'.
;; (load-file "chat.el")
;; (chat "http://127.0.0.1:8080/chat" '(:model "m" :messages [(:role "user" :content "Hi")]))

(require 'outrider)

(defun chat-insert (event)
  "Insert what EVENT adds to the answer at the end of the buffer."
  (unless (equal (plist-get event :data) "[DONE]")
    ;; an event without choices has no text: the first of some servers, and the one with the usage
    (let* ((choices (plist-get (outrider-event-json event) :choices))
           (choice (and (vectorp choices) (> (length choices) 0) (aref choices 0)))
           (content (plist-get (plist-get choice :delta) :content)))
      (save-excursion
        (goto-char (point-max))
        (when (stringp content) (insert content))))))

(defun chat (url body)
  "Stream the answer of the model at URL to BODY into this buffer.
Returns a request, for `outrider-cancel'."
  (outrider-sse url #'chat-insert :json (append body '(:stream t)) :then #'ignore))
