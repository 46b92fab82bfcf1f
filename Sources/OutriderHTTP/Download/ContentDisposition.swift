// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A Content-Disposition field (RFC 6266), parsed leniently.
package struct ContentDisposition: Sendable, Equatable {
    /// In lower case: `attachment`, `inline`; empty if absent.
    package private(set) var type = ""
    /// The decoded name, untrusted: `FileName` must make it safe before use in a path. `filename*` wins over `filename`
    /// (section 4.3); of duplicates the first wins.
    package private(set) var filename: String?

    package init(parsing text: String) {
        var scanner = DispositionScanner(text)
        var plain: String?
        var extended: String?
        if !scanner.beginsWithParameter { type = scanner.word().lowercased() }
        while let (name, value, isQuoted) = scanner.parameter() {
            switch name.lowercased() {
            case "filename" where plain == nil: plain = String(decoding: value, as: UTF8.self)
            case "filename*" where extended == nil && !isQuoted: extended = Self.extended(value)
            default: continue
            }
        }
        filename = extended ?? plain
    }

    /// Decodes an extended value: charset, quote, language, quote, percent-encoded bytes (RFC 8187 section 3.2.1). Nil
    /// if malformed or in an unknown charset; ISO-8859-1 is known from RFC 5987.
    private static func extended(_ value: [UInt8]) -> String? {
        let quote = UInt8(ascii: "'")
        let parts = value.split(separator: quote, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let bytes = PercentEncoding.decode(parts[2])
        switch String(decoding: parts[0], as: UTF8.self).lowercased() {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1": return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        default: return nil
        }
    }
}

/// Walks over `type; name=value; name="quoted"`, and skips malformed parts up to the next semicolon outside of quotes.
private struct DispositionScanner {
    private let bytes: [UInt8]
    private var index = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    /// Some servers leave the type out.
    var beginsWithParameter: Bool {
        let first = bytes.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: "\"") }
        return first.contains(UInt8(ascii: "="))
    }

    /// The text up to a space, a semicolon, an equals sign or a quote.
    mutating func word() -> String {
        skipSpace()
        let start = index
        while index < bytes.count, !Self.ends(bytes[index]) { index += 1 }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    /// The next parameter; nil at the end.
    mutating func parameter() -> (name: String, value: [UInt8], isQuoted: Bool)? {
        while index < bytes.count {
            while index < bytes.count, Self.isSpace(bytes[index]) || bytes[index] == UInt8(ascii: ";") { index += 1 }
            let name = word()
            skipSpace()
            guard index < bytes.count, bytes[index] == UInt8(ascii: "=") else {
                skipUnknown()
                continue
            }
            index += 1
            skipSpace()
            if index < bytes.count, bytes[index] == UInt8(ascii: "\"") { return (name, quoted(), true) }
            return (name, bare(), false)
        }
        return nil
    }

    /// A quoted string (RFC 9110 section 5.6.4); an unclosed string extends to the end of the text.
    private mutating func quoted() -> [UInt8] {
        var value: [UInt8] = []
        index += 1
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            // a quoted pair is the character after its backslash, whatever that is
            if bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count { index += 1 }
            value.append(bytes[index])
            index += 1
        }
        index += 1
        return value
    }

    /// Up to the semicolon: servers forget the quotes around spaces.
    private mutating func bare() -> [UInt8] {
        let start = index
        skipToSemicolon()
        var end = index
        while end > start, Self.isSpace(bytes[end - 1]) { end -= 1 }
        return Array(bytes[start..<end])
    }

    private mutating func skipSpace() {
        while index < bytes.count, Self.isSpace(bytes[index]) { index += 1 }
    }

    private mutating func skipToSemicolon() {
        while index < bytes.count, bytes[index] != UInt8(ascii: ";") { index += 1 }
    }

    /// Skips a malformed parameter; a semicolon in a quoted string does not end the parameter.
    private mutating func skipUnknown() {
        while index < bytes.count, bytes[index] != UInt8(ascii: ";") {
            if bytes[index] == UInt8(ascii: "\"") { _ = quoted() } else { index += 1 }
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func ends(_ byte: UInt8) -> Bool {
        isSpace(byte) || byte == UInt8(ascii: ";") || byte == UInt8(ascii: "=") || byte == UInt8(ascii: "\"")
    }
}
