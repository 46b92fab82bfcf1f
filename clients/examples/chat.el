;;; chat.el --- The answer of a language model, streamed to the end of a buffer  -*- lexical-binding: t -*-
;; SPDX-License-Identifier: Apache-2.0
;; SPDX-FileCopyrightText: The Outrider authors
;;
;; (load-file "chat.el")
;; (chat "http://127.0.0.1:8080/chat" '(:model "m" :messages [(:role "user" :content "Hi")]))

(require 'jsonrpc)
(defvar chat-outrider nil "The connection to the service.")
(defvar chat-buffers (make-hash-table :test #'equal) "Streams and their buffers.")

(defun chat-notified (outrider method params)
  (let ((buffer (gethash (plist-get params :stream) chat-buffers))
        (choices (plist-get (plist-get params :value) :choices)))
    (when (and choices (buffer-live-p buffer))
      (with-current-buffer buffer
        (save-excursion
          (goto-char (point-max))
          (insert (or (plist-get (plist-get (aref choices 0) :delta) :content) "")))))
    (pcase method
      ('event.sse (jsonrpc-notify outrider 'stream.credit (list :stream (plist-get params :stream)
                                                                :bytes (plist-get params :bytes))))
      ('event.end (remhash (plist-get params :stream) chat-buffers)
                  (when (plist-get params :error) (message "%s" (plist-get (plist-get params :error) :message)))))))

(defun chat (url body)
  (unless (and chat-outrider (jsonrpc-running-p chat-outrider))
    (setq chat-outrider
          (make-instance 'jsonrpc-process-connection
                         :name "outrider" :notification-dispatcher #'chat-notified
                         :process (make-process :name "outrider" :connection-type 'pipe :noquery t
                                                :coding 'utf-8-emacs-unix :command '("outrider" "serve" "--stdio")))))
  (let ((buffer (current-buffer)))
    (jsonrpc-async-request
     chat-outrider 'sse.open (list :url url :body (list :json (append body '(:stream t))) :json t
                                   :mode "push" :credit 65536)
     :success-fn (lambda (result) (puthash (plist-get result :stream) buffer chat-buffers))
     :error-fn (lambda (problem) (message "%s" (plist-get problem :message))))))
