// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Safe file names from a server's suggestion: the suggestion is never a path, and never hides or disguises the file
/// (RFC 6266 section 4.3).
package enum FileName {
    /// The longest name, in UTF-8 bytes: file systems allow 255, and the hidden files of a download need longer names.
    package static let mostBytes = 200
    /// The name of a download without any other name.
    package static let fallback = "download"

    /// The suggested name: from Content-Disposition, else from the last segment of the URL's path.
    package static func suggested(_ fields: HTTPFields, url: HTTPURL?) -> String {
        for value in fields.all("Content-Disposition") {
            if let name = ContentDisposition(parsing: value).filename.flatMap(safe) { return name }
        }
        guard let url else { return fallback }
        let path = url.target.utf8.prefix { $0 != UInt8(ascii: "?") }
        guard let last = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last else {
            return fallback
        }
        return safe(String(decoding: PercentEncoding.decode(last), as: UTF8.self)) ?? fallback
    }

    /// A safe name from untrusted text: the last path component, without control characters and those that change the
    /// direction of writing, not hidden, not an option of a command, no device of Windows, not too long. Nil if nothing
    /// is left.
    package static func safe(_ text: String) -> String? {
        let scalars = text.unicodeScalars
        guard let last = scalars.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last else { return nil }
        var name = String.UnicodeScalarView()
        for scalar in last where !isInvisible(scalar) { name.append(isReserved(scalar) ? "_" : scalar) }
        var trimmed = name[...]
        while let first = trimmed.first, first == "." || isBlank(first) { trimmed.removeFirst() }
        trimmed = withoutEnd(trimmed)
        guard let first = trimmed.first else { return nil }
        var safe = String(trimmed)
        if first == "-" || first == "~" || isDevice(safe) { safe = "_" + safe }
        return shortened(safe)
    }

    /// Why the client's file name is invalid; nil if valid.
    package static func fault(_ name: String) -> String? {
        if name.isEmpty || name == "." || name == ".." { return "must name a file" }
        if name.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == 0 }) {
            return "must be a plain name: a directory goes into directory"
        }
        return name.utf8.count > 255 ? "must be at most 255 bytes long" : nil
    }

    /// Without the full stops and blanks at the end, which Windows forgets.
    private static func withoutEnd(_ name: Substring.UnicodeScalarView) -> Substring.UnicodeScalarView {
        var name = name
        while let last = name.last, last == "." || isBlank(last) { name.removeLast() }
        return name
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.isWhitespace }

    /// Control and format characters: invisible, and some turn "gpj.exe" around.
    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: true
        default: false
        }
    }

    /// Characters that other systems forbid, or that look like a slash.
    private static func isReserved(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "<", ">", ":", "\"", "|", "?", "*", "\u{2044}", "\u{2215}", "\u{29F8}", "\u{FF0F}", "\u{FF3C}": true
        default: false
        }
    }

    private static func isDevice(_ name: String) -> Bool {
        let stem = name.prefix { $0 != "." }.lowercased()
        switch stem {
        case "con", "prn", "aux", "nul", "conin$", "conout$": return true
        default: break
        }
        guard stem.utf8.count == 4, stem.hasPrefix("com") || stem.hasPrefix("lpt") else { return false }
        return stem.utf8.last.map { $0 >= 0x30 && $0 <= 0x39 } ?? false
    }

    /// Cut between characters, with its extension kept.
    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > mostBytes else { return name }
        var ending = ""
        if let dot = name.lastIndex(of: "."), name[dot...].utf8.count <= 20 { ending = String(name[dot...]) }
        var stem = ""
        for scalar in name.unicodeScalars {
            guard stem.utf8.count &+ UTF8.width(scalar) &+ ending.utf8.count <= mostBytes else { break }
            stem.unicodeScalars.append(scalar)
        }
        guard ending.isEmpty else { return stem + ending }
        return String(withoutEnd(stem.unicodeScalars[...]))
    }
}
