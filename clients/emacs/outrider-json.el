;;; outrider-json.el --- JSON between Emacs and the outrider service  -*- lexical-binding: t -*-

;; SPDX-License-Identifier: Apache-2.0
;; SPDX-FileCopyrightText: The Outrider authors

;;; Commentary:

;; Texts are UTF-8, as bytes.

;;; Code:

(require 'json)

(defun outrider--write (value)
  "VALUE as JSON in UTF-8: plists and alists are objects, vectors lists."
  (let ((text (json-serialize value :null-object :null :false-object :false)))
    (if (multibyte-string-p text) (encode-coding-string text 'utf-8-unix t) text)))

(defun outrider--read (text &optional object-type)
  "The value of TEXT, JSON in UTF-8; OBJECT-TYPE is `plist' if nil.
Where Emacs's own parser gives up, at long integers or at U+0000, the
slower one in Lisp reads it."
  (let ((object-type (or object-type 'plist)))
    (condition-case nil
        (json-parse-string text :object-type object-type :null-object :null :false-object :false)
      (error
       (let ((json-object-type object-type) (json-array-type 'vector) (json-false :false) (json-null :null)
             (json-key-type nil))
         (json-read-from-string text))))))

(provide 'outrider-json)
;;; outrider-json.el ends here
