;;; outrider-json.el --- JSON between Emacs and the outrider service  -*- lexical-binding: t -*-

;; SPDX-License-Identifier: Apache-2.0
;; SPDX-FileCopyrightText: The Outrider authors

;;; Commentary:

;; Texts are UTF-8, as bytes.

;;; Code:

(require 'json)
(require 'subr-x)

(defun outrider--write (value)
  "VALUE as JSON in UTF-8: plists and alists are objects, vectors lists."
  (let ((text (json-serialize value :null-object :null :false-object :false)))
    (if (multibyte-string-p text) (encode-coding-string text 'utf-8-unix t) text)))

(defun outrider--read (text &optional object-type)
  "The value of TEXT, JSON in UTF-8; OBJECT-TYPE is `plist' if nil.
Where Emacs's own parser gives up, at long integers or at U+0000, the
slower one in Lisp reads it."
  (let ((object-type (or object-type 'plist)) (text (string-remove-prefix "\357\273\277" text)))
    (condition-case nil
        (json-parse-string text :object-type object-type :null-object :null :false-object :false)
      (error
       (let ((json-object-type object-type) (json-array-type 'vector) (json-false :false) (json-null :null)
             (json-key-type nil))
         (with-temp-buffer
           (insert (decode-coding-string text 'utf-8-unix t))
           (goto-char (point-min))
           (prog1 (json-read)
             (skip-chars-forward " \t\r\n")
             (unless (eobp) (error "Text follows the value")))))))))

(provide 'outrider-json)
;;; outrider-json.el ends here
