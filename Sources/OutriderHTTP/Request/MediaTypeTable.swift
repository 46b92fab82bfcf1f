// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Media types, each with its file name extensions. No extension occurs twice.
enum MediaTypeTable {
    static let lines = """
        application/atom+xml atom
        application/dicom dcm
        application/epub+zip epub
        application/geo+json geojson
        application/gpx+xml gpx
        application/graphql graphql gql
        application/gzip gz tgz
        application/java-archive jar war ear
        application/json json map
        application/json5 json5
        application/jsonl jsonl ndjson
        application/ld+json jsonld
        application/mac-binhex40 hqx
        application/manifest+json webmanifest
        application/mathml+xml mathml
        application/mbox mbox
        application/msword doc dot
        application/octet-stream bin dat deb dmg img iso msi o obj pkg so a lib dll exe com dump elc
        application/oebps-package+xml opf
        application/ogg ogx
        application/owl+xml owl
        application/pdf pdf
        application/pgp-encrypted pgp gpg
        application/pgp-signature sig
        application/pkcs10 p10
        application/pkcs7-mime p7m p7c
        application/pkcs7-signature p7s
        application/pkcs8 p8
        application/pkix-cert cer crt
        application/pkix-crl crl
        application/postscript ps ai eps
        application/rdf+xml rdf
        application/rss+xml rss
        application/rtf rtf
        application/schema+json schema
        application/smil+xml smi smil
        application/sql sql
        application/toml toml
        application/vnd.android.package-archive apk
        application/vnd.apple.installer+xml mpkg
        application/vnd.apple.keynote key
        application/vnd.apple.mpegurl m3u8
        application/vnd.apple.numbers numbers
        application/vnd.apple.pages pages
        application/vnd.apple.pkpass pkpass
        application/vnd.debian.binary-package udeb
        application/vnd.google-earth.kml+xml kml
        application/vnd.google-earth.kmz kmz
        application/vnd.mozilla.xul+xml xul
        application/vnd.ms-cab-compressed cab
        application/vnd.ms-excel xls xlt xla
        application/vnd.ms-excel.sheet.macroenabled.12 xlsm
        application/vnd.ms-fontobject eot
        application/vnd.ms-outlook msg
        application/vnd.ms-powerpoint ppt pps pot
        application/vnd.ms-project mpp
        application/vnd.oasis.opendocument.graphics odg
        application/vnd.oasis.opendocument.presentation odp
        application/vnd.oasis.opendocument.spreadsheet ods
        application/vnd.oasis.opendocument.text odt
        application/vnd.openxmlformats-officedocument.presentationml.presentation pptx
        application/vnd.openxmlformats-officedocument.presentationml.slideshow ppsx
        application/vnd.openxmlformats-officedocument.spreadsheetml.sheet xlsx
        application/vnd.openxmlformats-officedocument.spreadsheetml.template xltx
        application/vnd.openxmlformats-officedocument.wordprocessingml.document docx
        application/vnd.openxmlformats-officedocument.wordprocessingml.template dotx
        application/vnd.rar rar
        application/vnd.sqlite3 sqlite sqlite3 db
        application/vnd.tcpdump.pcap pcap cap
        application/vnd.visio vsd
        application/wasm wasm
        application/x-7z-compressed 7z
        application/x-bittorrent torrent
        application/x-bzip2 bz2
        application/x-cpio cpio
        application/x-csh csh
        application/x-debian-source dsc
        application/x-dvi dvi
        application/x-font-bdf bdf
        application/x-font-pcf pcf
        application/x-hdf hdf h5
        application/x-httpd-php php
        application/x-lzip lz
        application/x-lzma lzma
        application/x-pem-file pem
        application/x-perl pl pm
        application/x-pkcs12 p12 pfx
        application/x-redhat-package-manager rpm
        application/x-research-info-systems ris
        application/x-sh sh
        application/x-shockwave-flash swf
        application/x-subrip srt
        application/x-tar tar
        application/x-tcl tcl tk
        application/x-tex tex
        application/x-texinfo texi texinfo
        application/x-x509-ca-cert der
        application/x-xz xz
        application/xhtml+xml xhtml xht
        application/xml xml xsl xsd rng
        application/xml-dtd dtd
        application/xslt+xml xslt
        application/xspf+xml xspf
        application/yaml yaml yml
        application/zip zip
        application/zstd zst
        audio/aac aac
        audio/ac3 ac3
        audio/aiff aif aiff aifc
        audio/amr amr
        audio/basic au snd
        audio/flac flac
        audio/matroska mka
        audio/midi mid midi kar rmi
        audio/mp4 m4a m4b
        audio/mpeg mp3 mp2 mpga
        audio/ogg oga ogg opus spx
        audio/wav wav
        audio/webm weba
        audio/x-mpegurl m3u
        audio/x-ms-wma wma
        font/collection ttc
        font/otf otf
        font/ttf ttf
        font/woff woff
        font/woff2 woff2
        image/apng apng
        image/avif avif
        image/bmp bmp dib
        image/cgm cgm
        image/emf emf
        image/gif gif
        image/heic heic
        image/heif heif
        image/jp2 jp2
        image/jpeg jpeg jpg jpe jfif
        image/jxl jxl
        image/ktx ktx
        image/png png
        image/svg+xml svg svgz
        image/tiff tif tiff
        image/vnd.adobe.photoshop psd
        image/vnd.djvu djvu djv
        image/vnd.dxf dxf
        image/vnd.microsoft.icon ico cur
        image/webp webp
        image/wmf wmf
        image/x-adobe-dng dng
        image/x-canon-cr2 cr2
        image/x-exr exr
        image/x-nikon-nef nef
        image/x-portable-anymap pnm
        image/x-portable-bitmap pbm
        image/x-portable-graymap pgm
        image/x-portable-pixmap ppm
        image/x-rgb rgb
        image/x-sony-arw arw
        image/x-tga tga
        image/x-xbitmap xbm
        image/x-xcf xcf
        image/x-xpixmap xpm
        image/x-xwindowdump xwd
        message/rfc822 eml mht mhtml
        model/3mf 3mf
        model/gltf+json gltf
        model/gltf-binary glb
        model/iges igs iges
        model/mesh msh
        model/stl stl
        model/vrml wrl vrml
        text/cache-manifest appcache
        text/calendar ics ifb
        text/css css
        text/csv csv
        text/html html htm shtml
        text/javascript js mjs cjs
        text/jsx jsx
        text/markdown md markdown mkd
        text/n3 n3
        text/plain txt text log conf cfg ini def list in diff patch properties env
        text/prs.lines.tag dsl
        text/richtext rtx
        text/sgml sgml sgm
        text/tab-separated-values tsv tab
        text/troff t tr roff man me ms
        text/turtle ttl
        text/uri-list uri uris urls
        text/vcard vcf vcard
        text/vtt vtt
        text/x-asm s asm
        text/x-c c h
        text/x-c++ cc cpp cxx hh hpp hxx
        text/x-csharp cs
        text/x-fortran f for f77 f90
        text/x-go go
        text/x-haskell hs
        text/x-java-source java
        text/x-kotlin kt kts
        text/x-lua lua
        text/x-nfo nfo
        text/x-opml opml
        text/x-pascal p pas
        text/x-python py pyw
        text/x-ruby rb
        text/x-rust rs
        text/x-scala scala
        text/x-scss scss
        text/x-sass sass
        text/x-setext etx
        text/x-sfv sfv
        text/x-swift swift
        text/x-typescript tsx
        text/x-vcalendar vcs
        text/x-uuencode uu
        video/3gpp 3gp
        video/3gpp2 3g2
        video/h261 h261
        video/h263 h263
        video/h264 h264
        video/iso.segment m4s
        video/jpm jpm
        video/matroska mkv
        video/mp2t ts mts m2ts
        video/mp4 mp4 m4v mpg4
        video/mpeg mpeg mpg mpe m1v m2v
        video/ogg ogv
        video/quicktime mov qt
        video/webm webm
        video/x-f4v f4v
        video/x-flv flv
        video/x-ms-asf asf asx
        video/x-ms-wmv wmv
        video/x-msvideo avi
        """
}
