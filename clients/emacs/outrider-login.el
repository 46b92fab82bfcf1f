;;; outrider-login.el --- OAuth 2 with outrider  -*- lexical-binding: t -*-

;; SPDX-License-Identifier: Apache-2.0
;; SPDX-FileCopyrightText: The Outrider authors

;;; Commentary:

;; Logs a person in by a browser or on another device.  The service keeps and refreshes the tokens; requests name the
;; credential with `:oauth'.

;;; Code:

(require 'browse-url)
(require 'outrider-run)

(defun outrider-open-browser (url)
  "Open URL: by `browse-url', or by $BROWSER where Emacs has no display."
  (let ((browser (getenv "BROWSER")))
    (if (and browser (not (equal browser "")) (not (display-graphic-p))
             (eq browse-url-browser-function (default-value 'browse-url-browser-function))
             (eq browse-url-browser-function #'browse-url-default-browser))
        (let ((default-directory temporary-file-directory))
          (make-process :name "outrider-browser" :command (list browser url) :noquery t :connection-type 'pipe))
      (browse-url url))))

(defun outrider--login-shown (begun args)
  "Show what a person has to do, which is in BEGUN, as ARGS want it."
  (let ((show (plist-get args :show)) (code (plist-get begun :userCode)))
    (cond (show (funcall show begun))
          (code (message "Open %s and enter %s" (plist-get begun :verificationUri) code))
          (t (message "Open %s" (plist-get begun :url))))))

(defun outrider--login-paste (name)
  "Ask for the address of the page on which the login of NAME ended."
  (let ((address (read-string "Address of the page on which the browser ended: ")))
    (unless (equal address "")
      (outrider--notify (outrider--connect) "oauth.callback" (list :credential name :url address)))))

(defun outrider--login-begin (call name info args)
  "Begin to log in to NAME, by CALL; INFO is how it stands, ARGS as given."
  (let ((params (list :credential name)) (device (equal (plist-get info :grant) "device"))
        (open (if (plist-member args :open) (plist-get args :open) #'outrider-open-browser)))
    (dolist (member (if device '(:scope) '(:scope :parameters :redirect :listen)))
      (when (plist-get args member) (setq params (append params (list member (plist-get args member))))))
    (funcall call (if device "oauth.device" "oauth.login") params
             (lambda (begun)
               (funcall call "oauth.wait" (list :credential name) nil)
               (outrider--later
                (lambda ()
                  (when (and (not device) open) (funcall open (plist-get begun :url)))
                  (outrider--login-shown begun args)
                  (when (plist-get args :redirect) (outrider--login-paste name))))))))

(defun outrider--login-start (request connection name create args)
  "Log in to NAME for REQUEST through CONNECTION; CREATE and ARGS as given."
  (let (running)
    (setf (outrider-request-give-up request)
          (lambda () (dolist (call running) (outrider--forget connection call))))
    (letrec ((call
              ;; each step ends the login where it fails; without DONE its result does
              (lambda (method params done)
                (push (outrider--call
                       connection method params
                       (lambda (failure result)
                         (cond ((outrider-request-done request))
                               (failure (outrider--finish request failure))
                               (done (funcall done result))
                               ((eq (plist-get result :ok) t)
                                (outrider--finish request nil (plist-get result :credential)))
                               (t (outrider--finish
                                   request (outrider--failure 'outrider-login-error (plist-get result :error)))))))
                      running)))
             (look
              (lambda (_)
                (funcall call "oauth.get" (list :credential name)
                         (lambda (info)
                           (if (and (not (plist-get args :force))
                                    (or (equal (plist-get info :state) "ready")
                                        (and (equal (plist-get info :state) "empty")
                                             (eq (plist-get info :refreshable) t))))
                               (outrider--finish request nil info)
                             (outrider--login-begin call name info args)))))))
      (if create (funcall call "oauth.create" create look) (funcall look nil)))))

;;;###autoload
(defun outrider-login (credential &rest args)
  "Log a person in to CREDENTIAL with OAuth 2, unless there is a token.
CREDENTIAL is a name, or a plist that makes the credential:
`oauth.create' in docs/reference/oauth.md, with `:name'.  ARGS are keywords.

`:then' is called with how the credential stands, a plist; or `sync'
\(the default) waits and returns that.  `:else' and `:finally' are as in
`outrider'.  A login that fails is an `outrider-login-error'.

The page opens by `outrider-open-browser'; `:open' is another function
of the address, or nil for none.  With the grant device a message shows
the code.  `:show' is a function that shows either: it gets the result
of oauth.login or oauth.device.  `:force' logs in although there is a
token.  `:scope', `:parameters', `:listen' and `:redirect' are those of
oauth.login; with `:redirect' the person is asked for the address of
the page on which the browser ended."
  (let* ((create (and (consp credential) credential))
         (name (if create (plist-get create :name) credential)))
    (outrider--run
     args
     (lambda ()
       (unless (stringp name) (error "The credential needs a `:name'"))
       nil)
     (lambda (request connection)
       (outrider--login-start request connection name create args)))))

(provide 'outrider-login)
;;; outrider-login.el ends here
