;;; outrider-download.el --- Downloads of outrider  -*- lexical-binding: t -*-

;; SPDX-License-Identifier: Apache-2.0
;; SPDX-FileCopyrightText: The Outrider authors

;;; Commentary:

;; A download appears under its name when it is complete.  One that was interrupted goes on at the next call.

;;; Code:

(require 'outrider-run)
(require 'url-util)

(defun outrider--reporter (url)
  "A function to show the progress of a download of URL.
It gets the members of `event.progress', or nil at the end."
  (let ((title (format "Downloading %s..." (url-file-nondirectory url))) reporter)
    (lambda (told)
      (cond ((null told) (when reporter (progress-reporter-done reporter)))
            ((plist-get told :total)
             (unless reporter (setq reporter (make-progress-reporter title 0 (plist-get told :total))))
             (progress-reporter-update reporter (plist-get told :completed)))
            (t
             (unless reporter (setq reporter (make-progress-reporter title)))
             (progress-reporter-update reporter))))))

;;;###autoload
(defun outrider-download (url file &rest args)
  "Download URL to FILE, or into FILE where that is a directory.
ARGS are keywords.  In a directory the server suggests the name.  The
file appears when it is complete.  A download that was interrupted
goes on at the next call, unless `:resume' is `:false'.  A status
other than 200 to 299 is an `outrider-http-error'.

`:then' is called with the file name, or `sync' (the default) waits
and returns it.  `:progress' nil shows no progress; a function gets
`:completed', `:total', `:rate' and `:remaining'.  `:replace' replaces
a file that is there, `:create-directories' makes what is missing,
`:checksum' is a plist such as (:sha-256 \"…\").  Other keywords are
those of `outrider'."
  (let* ((progress (if (plist-member args :progress) (plist-get args :progress) t))
         (show (cond ((functionp progress) progress) (progress (outrider--reporter url))))
         (place (if (or (directory-name-p file) (file-directory-p file))
                    (list :directory (directory-file-name (expand-file-name file)))
                  (list :path (expand-file-name file)))))
    (when (plist-get args :replace) (setq place (append place '(:replace t))))
    (when (plist-get args :create-directories) (setq place (append place '(:createDirectories t))))
    (outrider--run
     args
     (lambda ()
       (let ((spec (outrider--spec (or (plist-get args :method) 'get) url args
                                   '(:method :replace :create-directories))))
         (outrider--validate spec args)
         (outrider--put spec :destination place)
         (unless (plist-member args :resume) (outrider--put spec :resume t))
         (when show (outrider--put spec :events ["progress"]))
         spec))
     (lambda (request connection)
       (outrider--exchange request connection "download.send"
                           (lambda (response)
                             (when (and show (not (functionp progress))) (funcall show nil))
                             (outrider-response-path response))
                           (and show (lambda (_ params) (funcall show params))))))))

(provide 'outrider-download)
;;; outrider-download.el ends here
