;;; live-log.el --- A live log: messages of a WebSocket at the end of a buffer  -*- lexical-binding: t -*-
;; SPDX-License-Identifier: Apache-2.0
;; SPDX-FileCopyrightText: The Outrider authors
;; (load-file "live-log.el")
;; (setq log (live-log "wss://example.org/log"))   (live-log-send log "verbose")   (live-log-close log)
(require 'jsonrpc)
(defconst live-log-window 262144 "Bytes of messages that may be on their way.")

(defun live-log--event (connection method params state)
  "Take the event METHOD with PARAMS from CONNECTION; STATE is (BUFFER STREAM . TAKEN)."
  (pcase method
    ('event.message
     (with-current-buffer (car state)
       (save-excursion (goto-char (point-max)) (insert (or (plist-get params :text) "") "\n")))
     ;; the service sends no more than the window ahead
     (when (>= (* 4 (cl-incf (cddr state) (plist-get params :bytes))) live-log-window)
       (jsonrpc-notify connection 'stream.credit (list :stream (cadr state) :bytes (cddr state)))
       (setf (cddr state) 0)))
    ('event.socket (message "live log: %s" (plist-get params :kind)))
    ('event.end (message "live log: %s" (or (plist-get (plist-get params :error) :message) "closed")))))

(defun live-log (url)
  "Insert the text messages of the WebSocket at URL at the end of this buffer; returns what the other functions take."
  (let* ((state (cons (current-buffer) (cons nil 0)))
         (service (make-process :name "outrider" :command '("outrider" "serve" "--stdio" "--framing" "header")
                                :connection-type 'pipe :coding 'utf-8-emacs-unix :noquery t))
         (take (lambda (it method params) (live-log--event it method params state)))
         (connection (make-instance 'jsonrpc-process-connection :process service :notification-dispatcher take))
         (options `(:url ,url :mode "push" :credit ,live-log-window :reconnect t)))
    (unwind-protect
        (let ((opened (jsonrpc-request connection 'websocket.open options :timeout 60)))
          (or (setf (cadr state) (plist-get opened :stream))
              (error "Live log: %s" (plist-get (plist-get (plist-get opened :response) :error) :message))))
      ;; the service ends with its log
      (unless (cadr state) (jsonrpc-shutdown connection)))
    (cons connection (cadr state))))

(defun live-log-send (log text) (jsonrpc-request (car log) 'websocket.send (list :stream (cdr log) :text text)))

(defun live-log-close (log)
  (unwind-protect (jsonrpc-request (car log) 'websocket.close (list :stream (cdr log)))
    (jsonrpc-shutdown (car log))))
