;;; outrider.el --- HTTP through the outrider service  -*- lexical-binding: t -*-

;; SPDX-License-Identifier: Apache-2.0
;; SPDX-FileCopyrightText: The Outrider authors

;; Author: The Outrider authors
;; Version: 0.1.0
;; Package-Requires: ((emacs "27.1"))
;; Keywords: comm, network, http

;;; Commentary:

;; An HTTP library in the shape of plz.  Requests go through the outrider service, over connections and with tokens that
;; all programs of the user share; no process is started for a request.
;;
;;   (outrider 'get "https://example.org/")                              ; waits, and returns the body
;;   (outrider 'post "https://example.org/x" :json '(:name "wolf") :as 'json
;;             :then (lambda (value) (message "%S" value))
;;             :else (lambda (failure) (message "%s" (outrider-failure-message failure))))
;;
;; `outrider-sse' and `outrider-stream' give a body as it comes, `outrider-download' writes a file, `outrider-login'
;; logs in with OAuth 2, `outrider-queue' bounds how many requests run at once, `outrider-watch' shows their steps.

;;; Code:

(require 'outrider-run)
(require 'outrider-stream)
(require 'outrider-events)
(require 'outrider-download)
(require 'outrider-login)
(require 'outrider-queue)
(require 'outrider-watch)

(defcustom outrider-json-object-type 'plist
  "What an object of JSON becomes with `:as' `json'."
  :group 'outrider
  :type '(choice (const plist) (const alist) (const hash-table)))

(defconst outrider--most-reply (* 1024 1024) "The longest body that comes within the reply.")

;;;###autoload
(defun outrider (method url &rest args)
  "Send a request by METHOD, a symbol such as `get', to URL.

ARGS are keywords:

`:then' is a function of the value, which is called later, once, in
the buffer that is current now; or `sync' (the default): wait, and
return the value.  \\[keyboard-quit] cancels a request that is waited for.

`:else' is a function of an `outrider-failure', called in its place.
Without it a failure is an error, or with a function in `:then' a
message, unless it was cancelled.  `:finally' is called without
arguments in the end.

`:as' says what the value is: `string' (the default), the body as
text; `binary', its bytes; `json', its value, with `:false' and
`:null'; `response', an `outrider-response'; `buffer', a new buffer
that holds the text; (file NAME), a file that is written; or a
function, which is called in a buffer with the text.

`:headers', `:query' (or `:params') and `:form' are alists, where a
list or a vector as the value repeats its name.  `:body' is a string
\(text, or bytes if it is unibyte), (file NAME), or a Body of
docs/reference/types.md.  `:json' is a value for `json-serialize'.
`:files' is an alist of names and files for a form; a file is its
name or a plist of `:path' or `:data', `:filename' and `:type'.

`:timeout' is seconds or a plist.  `:retry' is t, a number or a plist.
`:redirect' `:false' makes a redirect the response.  `:oauth' is the
name of a credential, `:bearer' a token, `:auth' (USER PASSWORD).
`:progress' is a function of a plist with `:completed' and `:total'.

A status other than 200 to 299 is an `outrider-http-error'; with
`:validate' nil every status is a response.

All other keywords are members of RequestSpec in docs/reference/types.md, such
as `:session', `:proxy' or `:interceptors'; `:max-body' is maxBody.
A function under `:callback' is called by the service, with the two
arguments that `outrider-register' describes.

Returns the value, or a request for `outrider-cancel'."
  (let ((as (plist-get args :as)) (progress (plist-get args :progress)))
    (outrider--run
     args
     (lambda ()
       (let ((spec (outrider--spec method url args)))
         (outrider--validate spec args)
         (when progress (outrider--put spec :events ["progress"]))
         (if (eq (car-safe as) 'file)
             (outrider--put spec :destination (list :path (expand-file-name (cadr as)) :replace t))
           (unless (plist-member args :serialize) (outrider--put spec :serialize '(:as "base64")))
           (unless (plist-member args :max-inline) (outrider--put spec :maxInline outrider--most-reply)))
         spec))
     (lambda (request connection)
       (outrider--exchange request connection (if (eq (car-safe as) 'file) "download.send" "data.send")
                           (lambda (response) (outrider--shaped response as))
                           (and progress (lambda (_ params) (funcall progress params))))))))

;;;###autoload
(cl-defun outrider-call (method params &key (then 'sync) else finally event)
  "Call METHOD of the service with PARAMS, a plist: see docs/reference.
THEN, ELSE and FINALLY are as in `outrider'; the value is the result,
a plist.

EVENT is a function of the name and the parameters of an event, such
as \"event.message\" and a plist.  It gets the events of the call, and of
the stream, the request or the subscription that the result names, in
the buffer that is current now.  The events of a stream end with
\"event.end\", which has an `:error' if the service ended before, or
`outrider-cancel' was called; without a stream \"lost\" says so.  With
the mode \"push\" the service sends at most 256 KiB more than EVENT has
returned from."
  (let* ((feed (and event (outrider--events event params)))
         (params (if feed (outrider--events-params feed params) params)))
    (outrider--run
     (list :then then :else else :finally finally) #'ignore
     (lambda (request connection)
       (let ((call (outrider--call
                    connection (outrider--name method) params
                    (lambda (failure result)
                      (cond
                       ;; what was opened before the call was cancelled
                       ((and feed (outrider-request-done request)) (outrider--events-close connection result))
                       (t
                        (when (and feed (not failure))
                          (outrider--events-open feed request connection params result))
                        (outrider--finish request failure result))))
                    (and feed (lambda (name told)
                                (unless (outrider-request-done request) (outrider--events-told feed name told)))))))
         (setf (outrider-request-give-up request) (lambda () (outrider--forget connection call (and feed t)))))))))

(provide 'outrider)
;;; outrider.el ends here
