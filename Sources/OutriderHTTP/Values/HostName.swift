// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The canonical form of host names, for comparison, lookup and sending (WHATWG URL section 3.5).
///
/// Names beyond ASCII: full-width ASCII and ideographic stops become ASCII, letters are lower-cased, a letter and its
/// marks are combined (systems such as macOS write them apart), labels become Punycode. Characters that the full mapping
/// of UTS #46 would change further are refused, so that different hosts never get the same name.
enum HostName {
    static func canonical(_ written: ArraySlice<UInt8>) throws(HTTPFailure) -> String {
        if isPlainName(written) || IPAddressText.isPlain(written) { return String(decoding: written, as: UTF8.self) }
        guard let decoded = String(validating: PercentEncoding.decode(written), as: UTF8.self) else {
            throw .invalidURL("the host is not UTF-8 text")
        }
        let mapped = decoded.utf8.allSatisfy { $0 < 0x80 } ? decoded.lowercased() : try map(decoded)
        // by scalars, since a dot and the mark behind the dot are a single character
        let labels = mapped.unicodeScalars.split(separator: ".", omittingEmptySubsequences: false)
        let ascii = try labels.map { label throws(HTTPFailure) in try asciiLabel(label) }
        let host = ascii.joined(separator: ".")
        try check(host)
        let parts = ascii.map { $0[...] }
        if IPAddressText.endsInNumber(parts) { return try IPAddressText.ipv4(parts) }
        try checkLengths(ascii, host)
        return host
    }

    /// Whether a name needs no work, as nearly all do; false where there is any doubt.
    @inline(__always)
    static func isPlainName(_ written: some Collection<UInt8>) -> Bool {
        guard written.count <= 253 else { return false }
        var label = 0
        var startsAsNumber = true
        for byte in written {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"):
                if label == 0 { startsAsNumber = false }
                label += 1
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                if label == 0 { startsAsNumber = true }
                label += 1
            case UInt8(ascii: "."):
                if label == 0 { return false }
                label = 0
            default: return false
            }
            if label > 63 { return false }
        }
        return label > 0 && !startsAsNumber
    }

    private static func asciiLabel(_ label: Substring.UnicodeScalarView) throws(HTTPFailure) -> String {
        if label.allSatisfy(\.isASCII) { return String(label) }
        // UTS #46 section 4.1
        if let first = label.first, isMark(first) {
            throw .invalidURL("the host has a label that begins with a combining mark")
        }
        guard let encoded = Punycode.encode(Array(label)) else {
            throw .invalidURL("the host has a label that is too long")
        }
        return "xn--" + encoded
    }

    private static func check(_ host: String) throws(HTTPFailure) {
        for byte in host.utf8 where isForbidden(byte) {
            let shown = FieldRules.shown(String(Unicode.Scalar(byte)))
            throw .invalidURL("the host contains \(shown), which no host name may")
        }
    }

    /// The forbidden domain code points of WHATWG URL section 3.1.
    private static func isForbidden(_ byte: UInt8) -> Bool {
        switch byte {
        case 0...0x20, 0x7F: true
        case UInt8(ascii: "#"), UInt8(ascii: "%"), UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "<"),
            UInt8(ascii: ">"), UInt8(ascii: "?"), UInt8(ascii: "@"), UInt8(ascii: "["), UInt8(ascii: "\\"),
            UInt8(ascii: "]"), UInt8(ascii: "^"), UInt8(ascii: "|"):
            true
        default: false
        }
    }

    /// RFC 1034 section 3.1. A single dot may stand at the end.
    private static func checkLengths(_ labels: [String], _ host: String) throws(HTTPFailure) {
        let rooted = labels.count > 1 && labels.last?.isEmpty == true
        if host.utf8.count - (rooted ? 1 : 0) > 253 { throw .invalidURL("the host is longer than 253 characters") }
        for label in rooted ? labels.dropLast() : labels[...] {
            if label.isEmpty { throw .invalidURL("the host has an empty label: two dots, or a dot in front") }
            if label.utf8.count > 63 { throw .invalidURL("the host has a label longer than 63 characters") }
        }
    }

    // MARK: beyond ASCII

    private static func map(_ text: String) throws(HTTPFailure) -> String {
        var folded = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0xAD, 0x200B, 0x2060, 0xFE00...0xFE0F, 0xFEFF: continue
            case 0x3002, 0xFF61: folded.append(".")
            case 0xFF01...0xFF5E: folded.append(Unicode.Scalar(UInt8(truncatingIfNeeded: scalar.value &- 0xFEE0)))
            // signs that stand for two marks, which the standard library does not put in order
            case 0xF73, 0xF75, 0xF81: throw refused(scalar)
            default: folded.append(scalar)
            }
        }
        let mapped = String(folded).lowercased().composed
        for scalar in mapped.unicodeScalars where scalar.value >= 0x80 && !isStable(scalar) { throw refused(scalar) }
        return mapped
    }

    private static func refused(_ scalar: Unicode.Scalar) -> HTTPFailure {
        .invalidURL(
            "the host contains U+\(String(scalar.value, radix: 16, uppercase: true)): write the name in ASCII (xn--…)")
    }

    /// Letters, digits and marks that no further mapping would change; ß and ς are kept as they are (UTS #46).
    private static func isStable(_ scalar: Unicode.Scalar) -> Bool {
        if scalar == "ß" || scalar == "ς" { return true }
        if scalar == "\u{FFFD}" || scalar.properties.changesWhenNFKCCaseFolded { return false }
        switch scalar.properties.generalCategory {
        case .control, .format, .unassigned, .privateUse, .surrogate, .lineSeparator, .paragraphSeparator,
            .spaceSeparator, .enclosingMark:
            return false
        default: return true
        }
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark: true
        default: false
        }
    }
}

extension String {
    /// The text in normalization form C of Unicode.
    ///
    /// The standard library keeps its normalizer, by which strings are compared, under this name only.
    var composed: String { String(decoding: _nfcCodeUnits, as: UTF8.self) }
}
