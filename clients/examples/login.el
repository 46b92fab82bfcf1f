;;; login.el --- Logs in with OAuth 2, and reads what needs it to the end of a buffer  -*- lexical-binding: t -*-
;; SPDX-License-Identifier: Apache-2.0
;; SPDX-FileCopyrightText: The Outrider authors
;;
;; (load-file "login.el")
;; (login-fetch "https://api.example/me" '(:name "work" :grant "authorizationCode" :issuer "https://login.example"
;;                                         :clientId "abc" :origins ["https://api.example"] :persist "disk")) ; or "device"
;; A server that knows one redirect URI only: '(:port 8400 :path "/callback") for http://127.0.0.1:8400/callback, thirdly

(require 'jsonrpc)
(defvar login-outrider nil "The connection to the service.")

(defun login-call (method params done)
  (jsonrpc-async-request login-outrider method params :timeout 1800 :success-fn done
                         :error-fn (lambda (problem) (message "%s" (plist-get problem :message)))))

(defun login-person (spec listen done)
  (let ((credential (list :credential (plist-get spec :name))) (device (equal (plist-get spec :grant) "device")))
    (login-call (if device 'oauth.device 'oauth.login)
                (if device credential (append credential '(:open t) (and listen (list :listen listen))))
                (lambda (begun)
                  (if device (message "Open %s and enter %s" (plist-get begun :verificationUri) (plist-get begun :userCode))
                    (message "Open %s" (plist-get begun :url)))
                  (login-call 'oauth.wait credential
                              (lambda (ended)
                                (if (eq (plist-get ended :ok) t) (funcall done)
                                  (message "%s" (plist-get (plist-get ended :error) :message)))))))))

(defun login-fetch (url spec &optional listen)
  (unless (and login-outrider (jsonrpc-running-p login-outrider))
    (setq login-outrider
          (make-instance 'jsonrpc-process-connection
                         :name "outrider" :process (make-process :name "outrider" :connection-type 'pipe :noquery t
                                                                 :coding 'utf-8-emacs-unix
                                                                 :command '("outrider" "serve" "--stdio")))))
  (let* ((buffer (current-buffer)) (name (plist-get spec :name))
         (show (lambda (response)
                 (with-current-buffer buffer
                   (goto-char (point-max))
                   (insert (or (plist-get (plist-get response :body) :text)
                               (plist-get (plist-get response :error) :message))))))
         (fetch (lambda () (login-call 'data.send (list :url url :auth (list :oauth name) :serialize '(:as "text")) show))))
    (login-call 'oauth.create spec
                (lambda (_) (login-call 'oauth.get (list :credential name)
                                        (lambda (info) ; "clientCredentials" needs nobody
                                          (if (member (plist-get info :state)
                                                      (if (eq (plist-get info :refreshable) t) '("ready" "empty") '("ready")))
                                              (funcall fetch) (login-person spec listen fetch))))))))
