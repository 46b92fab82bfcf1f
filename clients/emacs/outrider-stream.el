;;; outrider-stream.el --- Bodies and event streams as they come  -*- lexical-binding: t -*-

;; SPDX-License-Identifier: Apache-2.0
;; SPDX-FileCopyrightText: The Outrider authors

;;; Commentary:

;; A stream gives its items to a function, one after the other.  The service sends no more than a window ahead of what
;; the function has returned from; then it reads no more from the server.

;;; Code:

(require 'outrider-run)

(defconst outrider--window (* 256 1024) "Bytes of a body that may be on their way to Emacs.")

(cl-defstruct (outrider--feed (:copier nil))
  "Items that have come and were not taken: ITEMS, a queue.
TAKE is the user's function.  OWED bytes were taken and not granted anew."
  request connection stream take (items (list nil)) paused (owed 0) (window outrider--window) (buffer (current-buffer)))

(defun outrider--feed-push (feed &rest item)
  "Add ITEM to FEED, a plist, and let it be taken later."
  (outrider--enqueue (outrider--feed-items feed) item)
  (outrider--feed-later feed))

(defun outrider--feed-later (feed)
  "Let the next item of FEED be taken later, in the buffer of the user."
  (unless (outrider--feed-paused feed)
    (with-current-buffer (if (buffer-live-p (outrider--feed-buffer feed)) (outrider--feed-buffer feed) (current-buffer))
      (outrider--later #'outrider--feed-step feed))))

(defun outrider--feed-step (feed)
  "Let the next item of FEED be taken."
  (unless (or (outrider--feed-paused feed) (outrider-request-done (outrider--feed-request feed)))
    (let ((item (outrider--dequeue (outrider--feed-items feed))))
      (cond ((plist-get item :end) (funcall (plist-get item :end)))
            (item
             ;; the credit is granted also when the function fails, which must not hold the stream up
             (unwind-protect
                 (unless (plist-get item :empty) (funcall (outrider--feed-take feed) (plist-get item :value)))
               (outrider--feed-grant feed (or (plist-get item :bytes) 0))))))))

(defun outrider--feed-progress (feed progress params)
  "Call PROGRESS with PARAMS later, while the request of FEED lasts."
  (with-current-buffer (if (buffer-live-p (outrider--feed-buffer feed)) (outrider--feed-buffer feed) (current-buffer))
    (outrider--later (lambda ()
                       (unless (outrider-request-done (outrider--feed-request feed)) (funcall progress params))))))

(defun outrider--feed-grant (feed bytes)
  "Let the service send BYTES more for FEED, now or with the next."
  (cl-incf (outrider--feed-owed feed) bytes)
  (when (and (> (outrider--feed-owed feed) 0) (>= (* 4 (outrider--feed-owed feed)) (outrider--feed-window feed))
             (not (outrider-request-done (outrider--feed-request feed))))
    (outrider--notify (outrider--feed-connection feed) "stream.credit"
                      (list :stream (outrider--feed-stream feed) :bytes (outrider--feed-owed feed)))
    (setf (outrider--feed-owed feed) 0)))

(cl-defstruct (outrider-stream (:include outrider-request) (:constructor outrider--make-stream) (:copier nil))
  "A stream that is under way."
  feed)

(defun outrider-pause (stream)
  "Let no item of STREAM be taken until `outrider-resume'."
  (setf (outrider--feed-paused (outrider-stream-feed stream)) t))

(defun outrider-resume (stream)
  "Let the items of STREAM be taken again."
  (let ((feed (outrider-stream-feed stream)))
    (when (outrider--feed-paused feed)
      (setf (outrider--feed-paused feed) nil)
      (dolist (_ (car (outrider--feed-items feed))) (outrider--feed-later feed)))))

(defun outrider--bytes-item (base64 as)
  "The item for BASE64: bytes, or for AS text or lines a text.
A text that holds U+0000 comes in this form."
  (let ((bytes (base64-decode-string base64)))
    (if (member as '("text" "lines")) (decode-coding-string bytes 'utf-8-unix t) bytes)))

(defun outrider--value-item (value as)
  "The item for VALUE of a batch of AS: bytes come as base64."
  (if (and (consp value) (stringp (plist-get value :base64))) (outrider--bytes-item (plist-get value :base64) as)
    value))

(defun outrider--feed-event (feed as method params)
  "Bring the event METHOD with PARAMS to FEED, whose items are AS."
  (let ((failure (and (plist-get params :error) (outrider--failed (plist-get params :error))))
        (bytes (plist-get params :bytes)) (base64 (plist-get params :base64)))
    (cond (failure (outrider--feed-push feed :value failure :bytes bytes))
          ((equal method "event.values")
           (let* ((values (append (plist-get params :values) nil)) (last (1- (length values))) (index 0))
             (unless values (outrider--feed-push feed :empty t :bytes bytes))
             (dolist (value values)
               (outrider--feed-push feed
                                    :value (if (member as '("lines" "frames")) (outrider--value-item value as) value)
                                    :bytes (and (= index last) bytes))
               (cl-incf index))))
          (base64
           (outrider--feed-push feed :value (outrider--bytes-item base64 as)
                                :bytes (or bytes (length (base64-decode-string base64)))))
          ((plist-member params :text) (outrider--feed-push feed :value (plist-get params :text) :bytes bytes))
          ((equal method "event.sse") (outrider--feed-push feed :value params :bytes bytes))
          (t (outrider--feed-push feed :value (plist-get params :value) :bytes bytes)))))

(defun outrider--open-stream (method url args take rpc normal)
  "Open a stream by METHOD of URL with ARGS, through RPC of the service.
TAKE gets the items.  A failure whose code is NORMAL is a plain end."
  (let* ((stream (outrider--make-stream)) (as (plist-get args :as))
         (then (plist-get args :then)) (progress (plist-get args :progress))
         (feed (make-outrider--feed :request stream :take take)))
    (when (symbolp as) (setq as (and as (symbol-name as))))
    (setf (outrider-stream-feed stream) feed
          (outrider-request-ended stream)
          (lambda (failure value)
            (with-current-buffer
                (if (buffer-live-p (outrider--feed-buffer feed)) (outrider--feed-buffer feed) (current-buffer))
              (outrider--tell failure value args))))
    (when (eq then 'sync) (error "A stream cannot be waited for: `:then' must be a function"))
    (condition-case problem
        (let ((spec (outrider--spec method url args '(:credit))))
          (setf (outrider-request-spec stream) spec
                (outrider--feed-window feed) (or (plist-get args :credit) outrider--window))
          (dolist (pair `((:mode . "push") (:credit . ,(outrider--feed-window feed)) (:events . ,(if progress ["finish" "progress"] ["finish"]))))
            (outrider--put spec (car pair) (cdr pair)))
          (when as (outrider--put spec :as as))
          (when (or (equal rpc "sse.open") (not (member as '(nil "bytes" "text")))) (outrider--put spec :batch t))
          (when (equal rpc "stream.open") (outrider--validate spec args))
          (outrider--make stream
                          (lambda (_ connection)
                            (setf (outrider--feed-connection feed) connection)
                            (outrider--call connection rpc (outrider-spec-params spec)
                                            (lambda (failure result)
                                              (outrider--opened stream connection as normal progress
                                                                failure result))))))
      (error (outrider--finish stream (outrider--caught problem))))
    stream))

(defun outrider--opened (stream connection as normal progress failure result)
  "Go on with STREAM when CONNECTION brought FAILURE or RESULT.
AS and NORMAL are as in `outrider--open-stream', PROGRESS a function."
  (let ((handle (plist-get result :stream)) (request (plist-get result :request)) (feed (outrider-stream-feed stream)))
    (cond
     (failure (outrider--finish stream failure))
     ;; one that was cancelled before it was open is cancelled as soon as it has a name
     ((outrider-request-done stream) (outrider--notify connection "request.cancel" (list :request request)))
     (t
      (let ((event (lambda (method params)
                     (pcase method
                       ("lost" (outrider--finish stream params))
                       ("event.end" (outrider--route connection handle nil))
                       ("event.progress" (outrider--feed-progress feed progress params))
                       ("event.finish"
                        (outrider--route connection request nil)
                        (outrider--feed-push
                         feed :end (lambda () (outrider--stream-ended stream connection normal
                                                                      (plist-get params :response)))))
                       (_ (outrider--feed-event feed as method params))))))
        (setf (outrider--feed-stream feed) handle)
        (outrider--route connection handle event)
        (outrider--route connection request event)
        (setf (outrider-request-give-up stream)
              (lambda ()
                (outrider--route connection handle nil)
                (outrider--route connection request nil)
                (outrider--notify connection "request.cancel" (list :request request)))))))))

(defun outrider--stream-ended (stream connection normal result)
  "End STREAM with RESULT, which CONNECTION brought; NORMAL is no failure."
  (if (and normal (eql normal (plist-get (plist-get result :error) :code)))
      (outrider--finish stream nil (outrider--response result))
    (outrider--conclude stream connection result #'identity)))

;;;###autoload
(defun outrider-stream (url take &rest args)
  "Request URL, and call TAKE with each item of its body as it comes.
ARGS are keywords.  `:as' says what an item is: `bytes' (the default),
`text', `lines', `json', `ndjson' or `frames'.  An item that cannot be
that is an `outrider-failure' in its place.

`:then' is called with an `outrider-response' behind the last item, or
`:else' with an `outrider-failure', then `:finally'.  `:method' is
`get' unless it is given.  Other keywords are those of `outrider'.
TAKE runs in the buffer that is current now.

The service sends at most 256 KiB more than TAKE has returned from.
Returns a request for `outrider-cancel', `outrider-pause' and
`outrider-resume'."
  (outrider--open-stream (or (plist-get args :method) 'get) url args take "stream.open" nil))

;;;###autoload
(defun outrider-sse (url take &rest args)
  "Request URL, and call TAKE with each server-sent event as it comes.
ARGS are keywords.  An event is a plist of `:event', `:data', `:id' and
`:retry'; see also `outrider-event-json'.  With a body the request is a POST.

Lost connections are opened again, as `:reconnect' says.  `:then' is
called when there is no more: the server has answered 204.  Otherwise
this is as `outrider-stream'."
  (outrider--open-stream (plist-get args :method) url args take "sse.open" 2012))

(defvar outrider-json-object-type)

(defun outrider-event-json (event)
  "The data of EVENT, a server-sent event, as a value of JSON."
  (outrider--read (encode-coding-string (plist-get event :data) 'utf-8-unix) outrider-json-object-type))

(provide 'outrider-stream)
;;; outrider-stream.el ends here
