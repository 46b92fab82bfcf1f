// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// The syntax of methods, field names and field values (RFC 9110 sections 5.1, 5.5, 9.1).
package enum FieldRules {
    /// Why a string cannot be a method, or nil.
    package static func fault(inMethod method: String) -> String? {
        // the usual method needs no look at its bytes
        if method == "GET" { return nil }
        if method.isEmpty { return "the method is empty" }
        if method.utf8.count > 64 { return "the method is longer than 64 characters" }
        if !isToken(method) { return "the method may only hold letters, digits and !#$%&'*+-.^_`|~" }
        if method == "CONNECT" { return "CONNECT asks for a tunnel, not for a response, and cannot be sent" }
        return nil
    }

    private static let usualMethods = [
        "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE",
    ]

    /// Why a method that requests are compared with cannot be meant, or nil: methods are case-sensitive (RFC 9110
    /// section 9.1), so that `get` is the method of hardly any request.
    package static func fault(inComparedMethod method: String) -> String? {
        if !isToken(method) { return "must be a token, such as GET" }
        let upper = method.uppercased()
        guard upper != method, usualMethods.contains(upper) else { return nil }
        return "must be \(upper), not \(method): methods are case-sensitive"
    }

    /// Why a field may not be sent, or nil. The message names the field and never shows the value.
    package static func fault(inField name: String, _ value: String) -> String? {
        if name.isEmpty { return "a header needs a name" }
        if !isToken(name) {
            return "the header name \(shown(name)) may only hold letters, digits and !#$%&'*+-.^_`|~"
        }
        if let reason = reserved(name) { return "\(name) cannot be set: \(reason)" }
        var position = 0
        for byte in value.utf8 {
            switch byte {
            case 0x0A, 0x0D: return "the value of \(name) contains a line break at byte \(position)"
            case 0x09, 0x20...0x7E, 0x80...0xFF: position &+= 1
            default: return "the value of \(name) contains a control character at byte \(position)"
            }
        }
        return nil
    }

    /// Why a name belongs to the connection and not to the caller, or nil.
    private static func reserved(_ name: String) -> String? {
        for (other, reason) in reservedNames where HTTPFields.same(name, other) { return reason }
        if name.utf8.count > 6, HTTPFields.same(String(name.prefix(6)), "Proxy-") {
            return "it belongs to the connection to a proxy"
        }
        return nil
    }

    private static let reservedNames: [(String, String)] = [
        ("Host", "it follows from the url; only headers of a request to a local or private address may name another"),
        ("Content-Length", "it follows from the body"),
        ("Transfer-Encoding", "it follows from the body"),
        ("Connection", "connections are kept by the service"),
        ("Keep-Alive", "connections are kept by the service"),
        ("Upgrade", "the protocol of a request cannot be changed"),
        ("TE", "trailers and transfer codings are the service's business"),
        ("Trailer", "trailers are not sent"),
        ("HTTP2-Settings", "the protocol of a request cannot be changed"),
    ]

    /// A token of RFC 9110 section 5.6.2.
    package static func isToken(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(isTokenByte)
    }

    /// Letters, digits and !#$%&'*+-.^_`|~: a bit for each byte.
    @inlinable
    package static func isTokenByte(_ byte: UInt8) -> Bool {
        let word: UInt64 = byte < 64 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return byte < 128 && word >> UInt64(byte & 63) & 1 == 1
    }

    /// Whether a byte of a value cannot end its line or the head: the last check before the wire.
    @inlinable
    @inline(__always)
    package static func isHarmless(_ byte: UInt8) -> Bool { byte != 0x0A && byte != 0x0D && byte != 0 }

    /// The items of a comma-separated list without empty ones (RFC 9110 section 5.6.1). For lists of tokens: quoted
    /// strings are not recognized.
    package static func listed(_ value: String) -> [String] {
        value.utf8.split(separator: UInt8(ascii: ",")).compactMap { item in
            let item = trimmed(Substring(item))
            return item.isEmpty ? nil : String(item)
        }
    }

    /// Without surrounding spaces and tabs.
    package static func trimmed(_ text: Substring) -> Substring {
        var bytes = text.utf8
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        return Substring(bytes)
    }

    /// The text of a field value or a reason phrase: UTF-8, or else ISO 8859-1, which HTTP allowed before (RFC 9110
    /// section 5.5). Of a Location the bytes that are not ASCII are percent-encoded instead, so that they are requested
    /// as they are.
    static func text(_ bytes: some Collection<UInt8>, of name: String = "") -> FieldText {
        if let text = String(validating: bytes, as: UTF8.self) { return FieldText(text) }
        let isLocation = HTTPFields.same(name, "Location")
        var text = ""
        for byte in bytes {
            if isLocation, byte >= 0x80 {
                text += "%" + String(byte, radix: 16, uppercase: true)
            } else {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
        return FieldText(text, isLatin1: !isLocation)
    }

    /// Parses digits alone, up to the largest Int64.
    package static func decimal(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty else { return nil }
        var number: Int64 = 0
        for byte in text.utf8 {
            guard byte >= 0x30, byte <= 0x39 else { return nil }
            let (product, isLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isLarger) = product.addingReportingOverflow(Int64(byte &- 0x30))
            if isLarge || isLarger { return nil }
            number = sum
        }
        return number
    }

    /// Untrusted text for a message: printable, quoted, short.
    package static func shown(_ text: String) -> String {
        var shown = "\""
        for scalar in text.unicodeScalars.prefix(40) {
            shown += !scalar.isControl ? String(scalar) : "\\u{\(String(scalar.value, radix: 16))}"
        }
        if !text.unicodeScalars.dropFirst(40).isEmpty { shown += "…" }
        return shown + "\""
    }
}

extension String {
    /// Whether all bytes satisfy the condition.
    @inline(__always)
    package func allBytes(_ isFine: (UInt8) -> Bool) -> Bool {
        let isEach = utf8.withContiguousStorageIfAvailable { bytes in
            for byte in bytes where !isFine(byte) { return false }
            return true
        }
        return isEach ?? utf8.allSatisfy(isFine)
    }
}

extension HTTPFields.Field {
    /// Parses "Name: value"; nil without a colon.
    package init?(line: String) {
        guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        name = String(line[..<colon])
        value = String(FieldRules.trimmed(line[line.utf8.index(after: colon)...]))
    }
}
