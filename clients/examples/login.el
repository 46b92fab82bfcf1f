;;; login.el --- Logs in with OAuth 2, and reads what needs it to the end of a buffer  -*- lexical-binding: t -*-
;; SPDX-License-Identifier: Apache-2.0
;; SPDX-FileCopyrightText: The Outrider authors
;;
;; Needs clients/emacs in `load-path'.
;; (load-file "login.el")
;; (login-fetch "https://api.example/me" '(:name "work" :grant "authorizationCode" :issuer "https://login.example"
;;                                         :clientId "abc" :origins ["https://api.example"] :persist "disk")) ; or "device"
;; A server that knows one redirect URI only: '(:port 8400 :path "/callback") for http://127.0.0.1:8400/callback, thirdly

(require 'outrider)

(defun login-fetch (url spec &optional listen)
  "Insert the page at URL at the end of this buffer, with a token of SPEC.
LISTEN is where the browser comes back to."
  (outrider-login spec :listen listen
                  :then (lambda (_)
                          (outrider 'get url :oauth (plist-get spec :name)
                                    :then (lambda (text)
                                            (goto-char (point-max))
                                            (insert text))))))
