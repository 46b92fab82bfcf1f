;;; outrider-connection.el --- The connection of Emacs to the outrider service  -*- lexical-binding: t -*-

;; SPDX-License-Identifier: Apache-2.0
;; SPDX-FileCopyrightText: The Outrider authors

;;; Commentary:

;; One connection for all requests of this Emacs: opened by the first, opened again after its end.  A message is a line
;; of JSON.  Replies and events are handled in the process filter, in the order of arrival; functions of the user run
;; later, from a timer, one after the other.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'outrider-failure)
(require 'outrider-json)
(require 'outrider-later)

(defgroup outrider nil
  "HTTP through the outrider service."
  :group 'comm
  :prefix "outrider-")

(defcustom outrider-command '("outrider")
  "The program outrider, and words that go before its own arguments."
  :type '(repeat string))

(defcustom outrider-transport 'auto
  "How Emacs reaches the service.
`socket' is the service that all programs of the user share, `stdio'
a service of this Emacs's own.  `auto' takes the shared one where a
socket can be had, else its own."
  :type '(choice (const auto) (const socket) (const stdio)))

(defcustom outrider-start-timeout 30
  "Seconds in which the service must start."
  :type 'number)

(defconst outrider--most-running 200 "Calls at once; the service takes 256 of one connection.")

(defconst outrider--most-asking 56
  "Calls with functions at once; the service lets 64 callbacks wait.")

(cl-defstruct (outrider--connection (:copier nil))
  "A connection: its PROCESS, its PLACE, and what is under way.
PIECES are those of a line that is not complete, the last first.
LINES is a queue of messages that were not handled.
ASKING is how many calls have functions; HELD is a queue of others.
COMPLAINT is an error that belongs to no call: why the service is
about to close the connection.  ENDED says that nothing more comes."
  complaint ended process place (pieces nil) (lines (list nil)) (number 0) (running 0) (waiting (list nil))
  (asking 0) (held (list nil))
  (calls (make-hash-table)) (routes (make-hash-table :test #'equal)))

(cl-defstruct (outrider--call (:copier nil))
  "A call.  AGAIN makes a call that was not written on the next connection."
  id method text reply event forgotten asks again)

(defvar outrider--connection nil "The connection of this Emacs, or nil.")
(defvar outrider--retired nil "Connections to services that are stopping: their last replies still come.")
(defvar outrider--again nil "What AGAIN of the next call is.")
(defvar outrider--functions (make-hash-table :test #'equal) "Functions that the service may ask, by name.")
(defvar outrider--function-count 0)

;;; Opening

(defun outrider--socket ()
  "The socket of the shared service, which is started if none answers."
  (let ((default-directory temporary-file-directory) (said (make-temp-file "outrider")))
    (unwind-protect
        (with-temp-buffer
          (let ((status (apply #'call-process (car outrider-command) nil (list t said) nil
                               (append (cdr outrider-command)
                                       (list "get-socket" "--timeout" (number-to-string outrider-start-timeout))))))
            (unless (eq status 0)
              (erase-buffer)
              (insert-file-contents said)
              (error "%s" (string-trim (buffer-string))))
            (plist-get (outrider--read (encode-coding-string (buffer-string) 'utf-8-unix)) :socket)))
      (delete-file said))))

(defun outrider--shared-process ()
  "A process that is connected to the shared service, and where that is."
  (let ((socket (outrider--socket)))
    (cons (make-network-process :name "outrider" :family 'local :service socket :coding 'binary :noquery t
                                :filter #'outrider--filter :sentinel #'outrider--sentinel)
          socket)))

(defun outrider--own-process ()
  "A service of this Emacs's own, which ends with it."
  (let* ((default-directory temporary-file-directory)
         (said (make-pipe-process :name "outrider-stderr" :noquery t :coding 'utf-8-unix
                                  :buffer (generate-new-buffer " *outrider-stderr*")
                                  :filter #'outrider--say :sentinel #'outrider--said))
         (process (condition-case problem
                      (make-process :name "outrider" :connection-type 'pipe :coding 'binary :noquery t
                                    :command (append outrider-command '("serve" "--stdio")) :stderr said
                                    :filter #'outrider--filter :sentinel #'outrider--sentinel)
                    (error (delete-process said) (signal (car problem) (cdr problem))))))
    (process-put process 'outrider-stderr said)
    (cons process 'stdio)))

(defun outrider--say (process text)
  "Keep the end of TEXT, standard error of a service, in PROCESS."
  (let ((said (concat (process-get process 'outrider-said) text)))
    (process-put process 'outrider-said (substring said (max 0 (- (length said) 4096))))))

(defun outrider--said (process _event)
  "Kill the buffer of PROCESS, standard error of a service, at its end."
  (unless (process-live-p process)
    (when (buffer-live-p (process-buffer process)) (kill-buffer (process-buffer process)))))

(defun outrider--last-words (process)
  "What a service, PROCESS, said last on standard error, or nil."
  (let ((said (process-get process 'outrider-stderr)) (until (time-add nil 0.5)))
    (when said
      ;; the words may come behind the news of the end; no function of the user runs
      (while (and (process-live-p said) (time-less-p nil until)) (accept-process-output said 0.05 nil 0))
      (let ((lines (split-string (or (process-get said 'outrider-said) "") "\n" t "[ \t\r]+")))
        (and lines (string-join (last lines 3) "; "))))))

(defun outrider--open ()
  "Open a connection, or signal an error."
  (unless (fboundp 'json-parse-string)
    (outrider--signal (outrider--unavailable "This Emacs was built without JSON \
(install an Emacs that has `json-serialize')")))
  (condition-case problem
      ;; otherwise Emacs waits up to 20 ms for more to come before it reads a short reply
      (let ((process-adaptive-read-buffering nil))
        (pcase outrider-transport
          ('stdio (outrider--own-process))
          ('socket (outrider--shared-process))
          (_ (condition-case nil (outrider--shared-process) (error (outrider--own-process))))))
    (file-missing
     (outrider--signal (outrider--unavailable "cannot start `%s': there is no such program \
(install outrider and put it into `exec-path', or set `outrider-command')" (car outrider-command))))
    (error (outrider--signal (outrider--unavailable "no outrider service: %s (try `outrider get-socket' in a shell)"
                                                    (error-message-string problem))))))

(defun outrider--connect ()
  "The connection, which is opened if there is none."
  ;; the end of a service that Emacs has not noticed yet is noticed now; no function of the user runs
  (when outrider--connection (accept-process-output (outrider--connection-process outrider--connection) 0 nil 0))
  (unless (and outrider--connection (process-live-p (outrider--connection-process outrider--connection)))
    (when outrider--connection (outrider--ended outrider--connection "it ended"))
    (pcase-let ((`(,process . ,place) (outrider--open)))
      ;; threads of Emacs share the connection
      (set-process-thread process nil)
      (setq outrider--connection (make-outrider--connection :process process :place place))
      (process-put process 'outrider outrider--connection)))
  outrider--connection)

(defun outrider-stop ()
  "Close the connection of this Emacs; what is pending fails once.
The shared service goes on."
  (interactive)
  (dolist (connection (cons outrider--connection outrider--retired))
    (when connection (outrider--lose connection "it was closed by this Emacs" t))))

;;; Sending

(defun outrider--send (connection text)
  "Send TEXT, one message, through CONNECTION."
  (condition-case problem
      (process-send-string (outrider--connection-process connection) (concat text "\n"))
    (error (outrider--ended connection (error-message-string problem)))))

(defun outrider--notify (connection method params)
  "Tell CONNECTION METHOD with PARAMS, without a reply."
  (unless (outrider--connection-ended connection)
    (outrider--send connection (outrider--write (list :jsonrpc "2.0" :method method :params params)))))

(defun outrider--call (connection method params reply &optional event)
  "Call METHOD with PARAMS through CONNECTION.
REPLY is called once with a failure or nil, and the result.  EVENT is
called with the name and the parameters of each event of the call.
Returns the call, for `outrider--forget'."
  (let ((call (make-outrider--call :method method :reply reply :event event :again outrider--again))
        ;; what runs while the call is sent makes calls of its own
        (outrider--again nil))
    (setf (outrider--call-text call) (outrider--write params))
    (setf (outrider--call-asks call) (and (string-match-p "\"callback\":\"" (outrider--call-text call)) t))
    (if (and (outrider--call-asks call) (>= (outrider--connection-asking connection) outrider--most-asking))
        (outrider--enqueue (outrider--connection-held connection) call)
      (outrider--admit connection call))
    call))

(defun outrider--admit (connection call)
  "Send CALL through CONNECTION when there is room for it."
  (when (outrider--call-asks call) (cl-incf (outrider--connection-asking connection)))
  (if (< (outrider--connection-running connection) outrider--most-running)
      (outrider--start connection call)
    (outrider--enqueue (outrider--connection-waiting connection) call)))

(defun outrider--release-call (connection call)
  "Let the next call with functions begin in CONNECTION, since CALL has ended."
  (when (outrider--call-asks call) (cl-decf (outrider--connection-asking connection)))
  (while (and (car (outrider--connection-held connection))
              (< (outrider--connection-asking connection) outrider--most-asking))
    (let ((held (outrider--dequeue (outrider--connection-held connection))))
      (unless (outrider--call-forgotten held) (outrider--admit connection held)))))

(defun outrider--start (connection call)
  "Send CALL through CONNECTION."
  (let ((id (cl-incf (outrider--connection-number connection))))
    (setf (outrider--call-id call) id)
    (cl-incf (outrider--connection-running connection))
    (puthash id call (outrider--connection-calls connection))
    (outrider--send connection (concat (format "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":"
                                               id (outrider--call-method call))
                                       (outrider--call-text call) "}"))
    (setf (outrider--call-text call) nil)))

(defun outrider--forget (connection call &optional hears)
  "Let nothing of CALL come back through CONNECTION, and cancel it.
With HEARS the reply of a call that was sent still comes: it may name
what has to be closed."
  (setf (outrider--call-forgotten call) (not (and hears (outrider--call-id call))))
  (when (gethash (outrider--call-id call) (outrider--connection-calls connection))
    (outrider--notify connection "$/cancelRequest" (list :id (outrider--call-id call)))))

(defun outrider--start-waiting (connection)
  "Send what waits in CONNECTION, as far as it is its turn."
  (while (and (car (outrider--connection-waiting connection))
              (< (outrider--connection-running connection) outrider--most-running))
    (let ((call (outrider--dequeue (outrider--connection-waiting connection))))
      (if (outrider--call-forgotten call) (outrider--release-call connection call)
        (outrider--start connection call)))))

;;; Receiving

(defun outrider--route (connection handle event)
  "Let EVENT have the events that name HANDLE in CONNECTION; nil ends that."
  (if event (puthash handle event (outrider--connection-routes connection))
    (remhash handle (outrider--connection-routes connection))))

(defun outrider--filter (process text)
  "Handle the messages that TEXT from PROCESS completes.
A handler may send a message.  While the service does not take the
message, Emacs calls this function again, within the handler: so TEXT
is cut into lines first, and each call takes the oldest line."
  (let ((connection (process-get process 'outrider)) (from 0) stop line)
    (when connection
      (while (setq stop (string-match "\n" text from))
        (push (substring text from stop) (outrider--connection-pieces connection))
        (outrider--enqueue (outrider--connection-lines connection)
                           (apply #'concat (nreverse (outrider--connection-pieces connection))))
        (setf (outrider--connection-pieces connection) nil)
        (setq from (1+ stop)))
      (when (< from (length text)) (push (substring text from) (outrider--connection-pieces connection)))
      (while (setq line (outrider--dequeue (outrider--connection-lines connection)))
        (unless (outrider--connection-ended connection)
          ;; a fault of this client is shown, and the messages behind it are handled all the same
          (condition-case-unless-debug problem (outrider--receive connection line)
            (error (message "outrider: %s" (error-message-string problem)))))))))

(defun outrider--receive (connection line)
  "Handle LINE, a message from CONNECTION."
  (let ((message (condition-case nil (outrider--read line) (error nil))))
    (cond ((null message)
           (when (string-match "\\`{\"jsonrpc\":\"2.0\",\"id\":\\([0-9]+\\)" line)
             (outrider--replied connection (string-to-number (match-string 1 line))
                                (outrider--invalid "Emacs cannot read the JSON of the service's reply") nil)))
          ((and (plist-get message :method) (plist-get message :id)) (outrider--asked connection message))
          ((plist-get message :method)
           (outrider--told connection (plist-get message :method) (plist-get message :params)))
          ((eq (plist-get message :id) :null)
           (setf (outrider--connection-complaint connection) (plist-get (plist-get message :error) :message)))
          (t (outrider--replied connection (plist-get message :id)
                                (and (plist-get message :error) (outrider--refused (plist-get message :error)))
                                (plist-get message :result))))))

(defun outrider--replied (connection id failure result)
  "End the call ID of CONNECTION with FAILURE or RESULT."
  (let ((call (gethash id (outrider--connection-calls connection))))
    (when call
      (remhash id (outrider--connection-calls connection))
      (cl-decf (outrider--connection-running connection))
      (when (and failure (eql (outrider-failure-code failure) outrider--stopping)) (outrider--retire connection))
      (outrider--release-call connection call)
      (unless (outrider--call-forgotten call)
        (condition-case-unless-debug problem (funcall (outrider--call-reply call) failure result)
          ;; no call is left without an end
          (error (funcall (outrider--call-reply call) (outrider--invalid "%s" (error-message-string problem)) nil))))
      (outrider--start-waiting connection))))

(defun outrider--told (connection method params)
  "Bring the event METHOD with PARAMS to what waits for it in CONNECTION."
  (let* ((call (gethash (plist-get params :call) (outrider--connection-calls connection)))
         (routes (outrider--connection-routes connection))
         (subscription (plist-get params :subscription))
         ;; an event of a subscription names the request, too
         (event (if subscription (gethash subscription routes)
                  (or (and call (outrider--call-event call)) (gethash (plist-get params :stream) routes)
                      (gethash (plist-get params :request) routes)))))
    (when (and event (not (and call (outrider--call-forgotten call)))) (funcall event method params))))

(defun outrider--asked (connection message)
  "Let a function of the user answer MESSAGE, a callback of CONNECTION."
  (let* ((id (plist-get message :id)) (params (plist-get message :params)) (name (plist-get params :callback))
         (function (gethash name outrider--functions)) (responded nil))
    (cl-flet ((respond (member value)
                (unless (or responded (outrider--connection-ended connection))
                  (let ((text (condition-case problem (outrider--write (list :jsonrpc "2.0" :id id member value))
                                (error
                                 (outrider--write
                                  (list :jsonrpc "2.0" :id id :error
                                        (list :code -32603 :message
                                              (format "the answer of the function is no value of JSON: %s"
                                                      (error-message-string problem)))))))))
                    (setq responded t)
                    (outrider--send connection text)))))
      (if (not function)
          (respond :error (list :code -32601 :message (format "no function is known as %s" name)))
        (outrider--later
         (lambda ()
           (condition-case problem
               (let ((value (funcall function params (lambda (value) (respond :result value)))))
                 (when value (respond :result value)))
             ;; C-g at a question of the function is an answer, too: the service would wait for another
             ((error quit)
              (respond :error (list :code -32603 :message (error-message-string problem)))
              (signal (car problem) (cdr problem))))))))))

(defun outrider-register (function &optional name)
  "Let the service ask FUNCTION under NAME, and return NAME.
FUNCTION gets the members of a callback as a plist (they are in
docs/reference/callback.md), and a function for its answer.  It returns the
answer, a plist; or nil, and calls that function with the answer later."
  (let ((name (or name (format "emacs-%d-%d" (emacs-pid) (cl-incf outrider--function-count)))))
    (puthash name function outrider--functions)
    name))

(defun outrider-unregister (name)
  "Let the service ask the function NAME no more."
  (remhash name outrider--functions))

;;; The end

(defun outrider--sentinel (process event)
  "Fail what is pending when PROCESS ends, because of EVENT."
  (let ((connection (process-get process 'outrider)))
    (when (and connection (not (process-live-p process))) (outrider--ended connection (string-trim event)))))

(defun outrider--unwritten (connection)
  "Take what CONNECTION has not written out of its queues, and return it."
  (prog1 (append (car (outrider--connection-waiting connection)) (car (outrider--connection-held connection)))
    (setf (outrider--connection-waiting connection) (list nil)
          (outrider--connection-held connection) (list nil))))

(defun outrider--move (call failure)
  "Make CALL, which was not written, on the next connection.
The reply of a call that cannot be made again is FAILURE."
  (cond ((outrider--call-forgotten call))
        ((outrider--call-again call) (outrider--later (outrider--call-again call)))
        (t (funcall (outrider--call-reply call) failure nil))))

(defun outrider--retire (connection)
  "Leave CONNECTION to what was sent, since its service is stopping."
  (when (eq connection outrider--connection)
    (setq outrider--connection nil)
    (push connection outrider--retired)
    (let ((failure (outrider--lost "the service is stopping")))
      (dolist (call (outrider--unwritten connection)) (outrider--move call failure)))))

(defun outrider--ended (connection why)
  "End CONNECTION because of WHY, and tell what its service said last."
  (unless (outrider--connection-ended connection)
    (let ((said (outrider--last-words (outrider--connection-process connection))))
      (outrider--lose connection (if said (format "%s: %s" why said) why)))))

(defun outrider--lose (connection why &optional all)
  "End CONNECTION because of WHY: every call that was sent fails, once.
What was not written goes to the next connection; with ALL it fails, too."
  (unless (outrider--connection-ended connection)
    (setf (outrider--connection-ended connection) t)
    (when (eq connection outrider--connection) (setq outrider--connection nil))
    (setq outrider--retired (remq connection outrider--retired))
    (delete-process (outrider--connection-process connection))
    (let* ((complaint (outrider--connection-complaint connection))
           (failure (outrider--lost (if complaint (format "%s: %s" why complaint) why)))
           (unwritten (outrider--unwritten connection)) (calls nil) (events nil))
      (maphash (lambda (_ call) (push call calls)) (outrider--connection-calls connection))
      (maphash (lambda (_ event) (push event events)) (outrider--connection-routes connection))
      (dolist (call (sort calls (lambda (a b) (< (outrider--call-id a) (outrider--call-id b)))))
        (unless (outrider--call-forgotten call) (funcall (outrider--call-reply call) failure nil)))
      (dolist (call unwritten)
        (when all (setf (outrider--call-again call) nil))
        (outrider--move call failure))
      (dolist (event events) (funcall event "lost" failure)))))

(provide 'outrider-connection)
;;; outrider-connection.el ends here
