;;; outrider-request.el --- What a request of outrider says  -*- lexical-binding: t -*-

;; SPDX-License-Identifier: Apache-2.0
;; SPDX-FileCopyrightText: The Outrider authors

;;; Commentary:

;; Brings the keywords of `outrider' into the parameters of the service, and its results into responses.

;;; Code:

(require 'outrider-connection)

(defconst outrider--most-inline (* 4 1024 1024)
  "A longer body goes through a private file: one message has at most 16 MiB.")

(defconst outrider--piece (* 512 1024)
  "Bytes of a long body that come at once.
Emacs does nothing else while it reads them.")

(defconst outrider--own-keywords
  '(:body :json :form :files :params :query :headers :auth :oauth :bearer :retry :redirect :as :then :else :finally
    :progress :noquery :decode)
  "Keywords of this client; all others are parameters of the service.")

(cl-defstruct (outrider-spec (:constructor outrider--make-spec) (:copier nil))
  "PARAMS of the service for a request, and what ends with it: NAMES of functions, FILES.
INLINE bytes of its body stand in the message."
  params names files (inline 0))

(cl-defstruct (outrider-response (:constructor outrider--make-response) (:copier nil))
  "A response.
HEADERS is an alist of symbols and strings.  BODY is a string, bytes
or a value, as `:as' says.  PATH is the file of a download.  RAW is
the plist of the service: Response in docs/reference/types.md."
  version status headers body url method path raw)

(defun outrider-response-header (response name)
  "The value of the field NAME, a string, in RESPONSE, or nil."
  (alist-get (intern (downcase name)) (outrider-response-headers response)))

;;; Parameters

(defun outrider--release (spec)
  "Take back what SPEC has registered and written."
  (mapc #'outrider-unregister (outrider-spec-names spec))
  (dolist (file (outrider-spec-files spec)) (ignore-errors (delete-file file)))
  (setf (outrider-spec-names spec) nil (outrider-spec-files spec) nil))

(defun outrider--camel-case (keyword)
  "KEYWORD as the service spells it: `:max-body' is `:maxBody'."
  (let ((words (split-string (symbol-name keyword) "-")))
    (intern (concat (car words) (mapconcat #'capitalize (cdr words) "")))))

(defun outrider--registered (spec value)
  "VALUE with a name in place of each function under `:callback', for SPEC."
  (if (not (and (consp value) (keywordp (car value)) (proper-list-p value)))
      (cond ((vectorp value) (apply #'vector (mapcar (lambda (one) (outrider--registered spec one)) value)))
            (t value))
    (let (out)
      (while value
        (let ((name (pop value)) (one (pop value)))
          (when (and (eq name :callback) (functionp one))
            (setq one (outrider-register one))
            (push one (outrider-spec-names spec)))
          (setq out (plist-put out name (outrider--registered spec one)))))
      out)))

(defun outrider--name (name)
  "NAME, a string or a symbol, as text."
  (cond ((stringp name) name)
        ((keywordp name) (substring (symbol-name name) 1))
        (t (symbol-name name))))

(defun outrider--text (value)
  "VALUE, a string, number, symbol or boolean, as the text of a field."
  (cond ((stringp value) value)
        ((numberp value) (number-to-string value))
        ((eq value t) "true")
        ((eq value :false) "false")
        (t (outrider--name value))))

(defun outrider--check-alist (keyword value)
  "Signal an error unless VALUE of KEYWORD is an alist."
  (unless (and (proper-list-p value) (cl-every #'consp value))
    (error "The value of `%s' must be an alist of names and values: %S" keyword value)))

(defun outrider--pairs (keyword fields &optional text)
  "FIELDS of KEYWORD, an alist, as a vector of names and values in this order.
A value that is a list or a vector repeats its name.  With TEXT all
values are made strings."
  (outrider--check-alist keyword fields)
  (let (out)
    (dolist (field fields)
      (dolist (value (if (or (consp (cdr field)) (vectorp (cdr field))) (append (cdr field) nil) (list (cdr field))))
        (unless (or (stringp value) (integerp value) (memq value '(nil t :false :null))
                    ;; neither NaN nor an infinity, whose difference is NaN
                    (and (floatp value) (= 0 (- value value))))
          (error "A value of `%s' in `%s' must be a string, a number, t, :false or a list of these: %S"
                 (outrider--name (car field)) keyword value))
        (unless (memq value '(nil :null))
          ;; `json-serialize' writes 17 digits of a float
          (let ((value (if (or text (floatp value)) (outrider--text value) value)))
            (push (list :name (outrider--name (car field)) :value value) out)))))
    (apply #'vector (nreverse out))))

(defun outrider--spool (spec bytes)
  "The name of a private file with BYTES, which is deleted with SPEC."
  (let ((file (make-temp-file "outrider-body")) (coding-system-for-write 'no-conversion))
    (push file (outrider-spec-files spec))
    (write-region bytes nil file nil 'silent)
    file))

(defun outrider--content (spec string)
  "The body or part for STRING, for SPEC: a unibyte string is bytes."
  (let* ((bytes (if (multibyte-string-p string) (encode-coding-string string 'utf-8-unix) string))
         (text (outrider--text-p string))
         ;; a control character takes six bytes of JSON
         (size (* (length bytes) (if (and text (string-match-p "[\0-\7\13\16-\37\177]" string)) 6 1))))
    (cond ((> (+ (outrider-spec-inline spec) size) outrider--most-inline) (list :file (outrider--spool spec bytes)))
          (t (cl-incf (outrider-spec-inline spec) size)
             (if text (list :text string) (list :base64 (base64-encode-string bytes t)))))))

(defun outrider--text-p (string)
  "Whether STRING is sent as text: a unibyte string is so only if it is ASCII."
  (or (multibyte-string-p string) (not (string-match-p "[^\0-\177]" string))))

(defun outrider--string-body (spec string args)
  "The body with STRING, for SPEC; its type does not depend on its length.
ARGS are those of the request."
  (let ((body (outrider--content spec string)))
    (if (and (plist-get body :file) (outrider--text-p string) (not (eq (plist-get args :default-headers) :false)))
        (append body '(:contentType "text/plain; charset=utf-8"))
      body)))

(defun outrider--file-part (spec name file)
  "The part NAME of a form with FILE, for SPEC.
FILE is a file name, or a plist of `:path' or `:data', `:filename' and `:type'."
  (let* ((plist (if (stringp file) (list :path file) file))
         (data (plist-get plist :data)) (path (plist-get plist :path)))
    (unless (or data path) (error "The file `%s' of a form needs `:path' or `:data'" name))
    (append (list :name (outrider--name name))
            (if data (outrider--content spec data) (list :file (expand-file-name path)))
            (and (plist-get plist :filename) (list :filename (plist-get plist :filename)))
            (and (plist-get plist :type) (list :mimeType (plist-get plist :type))))))

(defun outrider--multipart (spec form files)
  "The body with the fields FORM and the FILES, for SPEC."
  (outrider--check-alist :files files)
  (list :multipart
        (vconcat (mapcar (lambda (pair)
                           ;; as in a form without files
                           (let ((value (pcase (plist-get pair :value) ('t 1) (:false 0) (value value))))
                             (list :name (plist-get pair :name) :text (outrider--text value))))
                         (outrider--pairs :form form))
                 (mapcar (lambda (file) (outrider--file-part spec (car file) (cdr file))) files))))

(defun outrider--bytes (problem)
  "What is wrong with the bytes that PROBLEM of `json-serialize' is about, or nil."
  (and (eq (cadr problem) 'utf-8-string-p)
       (format-message "%S is bytes, and no text (`decode-coding-string' makes text of them)" (caddr problem))))

(defun outrider--json-body (spec value)
  "The body with VALUE as JSON, for SPEC."
  (let ((text (condition-case problem (outrider--write value)
                (error (error "The value of `:json' has no form in JSON: %s"
                              (or (outrider--bytes problem)
                                  (format "%s (objects are plists, alists with symbols or hash tables; lists are vectors)"
                                          (error-message-string problem))))))))
    (cond ((> (length text) outrider--most-inline)
           (list :file (outrider--spool spec text) :contentType "application/json"))
          ;; `json' of the service takes any value but null
          ((equal text "null") (list :text text :contentType "application/json"))
          (t (list :json value)))))

(defun outrider--body (spec args)
  "The body that ARGS ask for, or nil; for SPEC."
  (let ((body (plist-get args :body)) (form (plist-get args :form)) (files (plist-get args :files))
        (json (plist-member args :json)))
    (when (> (cl-count-if #'identity (list body (or form files) json)) 1)
      (error "A request has one body: `:body', `:json', or `:form' and `:files'"))
    (cond (files (outrider--multipart spec form files))
          (form (list :form (outrider--pairs :form form)))
          (json (outrider--json-body spec (cadr json)))
          ((stringp body) (and (> (length body) 0) (outrider--string-body spec body args)))
          ((eq (car-safe body) 'file) (list :file (expand-file-name (cadr body))))
          (t body))))

(defun outrider--auth (args)
  "Who asks, as ARGS say."
  (let ((auth (plist-get args :auth)))
    (cond ((plist-get args :oauth) (list :oauth (plist-get args :oauth)))
          ((plist-get args :bearer) (list :bearer (plist-get args :bearer)))
          ((and (consp auth) (stringp (car auth)))
           (list :basic (list :username (car auth) :password (if (consp (cdr auth)) (cadr auth) (cdr auth)))))
          (t auth))))

(defun outrider--check-params (params)
  "Signal an error if JSON cannot hold PARAMS, which names the member."
  (condition-case nil (outrider--write params)
    (error
     (while params
       (let ((name (pop params)) (value (pop params)))
         (condition-case problem (outrider--write (list name value))
           (error
            (let ((bytes (outrider--bytes problem)))
              (if bytes (error "The value of `%s' has no form in JSON: %s" name bytes)
                (error "The value of `%s' must be a plist, an alist with symbols or a vector: %S" name value))))))))))

(defun outrider--spec (method url args &optional own)
  "What METHOD, URL and the keywords ARGS ask for, as an `outrider-spec'.
OWN are further keywords that are not passed on."
  (unless (and (stringp url) (not (equal url ""))) (error "The URL must be a string that is not empty"))
  (unless (and (proper-list-p args) (cl-evenp (length args))) (error "The keywords need a value each"))
  (let* ((spec (outrider--make-spec))
         (params (list :url url))
         (query (or (plist-get args :query) (plist-get args :params)))
         (retry (plist-get args :retry)) (redirect (plist-get args :redirect))
         (rest args))
    (condition-case problem
        (cl-flet ((add (name value) (when value (setq params (plist-put params name value)))))
          (add :method (and method (upcase (outrider--name method))))
          (while rest
            (let ((name (pop rest)) (value (pop rest)))
              (unless (keywordp name) (error "`%S' is not a keyword" name))
              (unless (or (memq name outrider--own-keywords) (memq name own))
                (add (outrider--camel-case name) (outrider--registered spec value)))))
          (add :headers (and (plist-get args :headers) (outrider--pairs :headers (plist-get args :headers) t)))
          (add :query (and query (outrider--pairs (if (plist-get args :query) :query :params) query)))
          (add :body (outrider--body spec args))
          (add :auth (outrider--auth args))
          (add :retry (if (integerp retry) (list :limit retry) (outrider--registered spec retry)))
          (add :redirect (if (eq redirect :false) "none" (outrider--registered spec redirect)))
          (setf (outrider-spec-params spec) params)
          (outrider--check-params params)
          spec)
      (error (outrider--release spec) (signal (car problem) (cdr problem))))))

(defun outrider--put (spec name value)
  "Set the parameter NAME of SPEC to VALUE."
  (setf (outrider-spec-params spec) (plist-put (outrider-spec-params spec) name value)))

(defun outrider--validate (spec args)
  "Let SPEC refuse every status but 200 to 299, unless ARGS have `:validate'."
  (unless (plist-member args :validate) (outrider--put spec :validate '(:status ["200..299"]))))

;;; Responses

(defun outrider--decoded (response)
  "The body of RESPONSE, bytes, as text: by its charset, else UTF-8."
  (let* ((type (outrider-response-header response "content-type"))
         (charset (and type (string-match "charset=\"?\\([^\";, ]+\\)" type) (intern (downcase (match-string 1 type)))))
         (coding (if (and charset (coding-system-p charset)) charset 'utf-8)))
    (decode-coding-string (outrider-response-body response) (coding-system-change-eol-conversion coding 'unix) t)))

(defun outrider--response (result)
  "RESULT of the service as an `outrider-response'."
  (let ((body (plist-get result :body)))
    (outrider--make-response
     :version (plist-get result :httpVersion) :status (plist-get result :status) :url (plist-get result :url)
     :method (plist-get result :method) :raw result :path (plist-get body :path)
     :headers (mapcar (lambda (field) (cons (intern (downcase (plist-get field :name))) (plist-get field :value)))
                      (plist-get result :headers))
     :body (pcase (plist-get body :kind)
             ("base64" (base64-decode-string (plist-get body :base64)))
             ("text" (encode-coding-string (plist-get body :text) 'utf-8-unix))
             ("json" (outrider--write (plist-get body :json)))
             ("file" nil)
             (_ "")))))

(declare-function outrider-request-done "outrider-run")

(defun outrider--load (request connection response done)
  "Bring the stored body of RESPONSE, in pieces, through CONNECTION.
Then call DONE with a failure or nil; not once REQUEST has ended."
  (let ((handle (plist-get (plist-get (outrider-response-raw response) :body) :response)) (pieces nil) (offset 0))
    (letrec ((release (lambda () (outrider--notify connection "response.release" (list :response handle))))
             (read-next
              (lambda ()
                (outrider--call
                 connection "response.read" (list :response handle :offset offset :bytes outrider--piece)
                 (lambda (failure piece)
                   (cond
                    ((outrider-request-done request) (unless failure (funcall release)))
                    (failure (funcall done failure))
                    (t
                     (let ((bytes (base64-decode-string (plist-get piece :base64))))
                       (push bytes pieces)
                       (cl-incf offset (length bytes))
                       (if (and (not (eq (plist-get piece :end) t)) (> (length bytes) 0)) (funcall read-next)
                         (funcall release)
                         (setf (outrider-response-body response) (apply #'concat (nreverse pieces)))
                         (funcall done nil))))))))))
      (funcall read-next))))

(provide 'outrider-request)
;;; outrider-request.el ends here
