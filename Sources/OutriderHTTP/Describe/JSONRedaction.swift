// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// Masks strings and numbers in JSON if their name, or the name of an enclosing array or object, is secret, and the
/// secrets of URLs in other strings.
///
/// Malformed or truncated JSON is masked as far as it can be read.
struct JSONRedaction {
    private let bytes: [UInt8]
    private let names: SecretNames
    private var position = 0
    private var masked: [UInt8] = []
    private var isChanged = false
    private var depth = 0
    /// The depth outside of the array or object whose values are masked.
    private var secretDepth: Int?
    /// The name of the member whose value follows.
    private var name: String?

    /// Whether a body is masked as JSON: its type names JSON; or the body has no type, or is `text/…` or `application/…`,
    /// and begins as JSON does. Programs label JSON in many ways: `curl -d` as a form.
    static func applies(to bytes: [UInt8], _ type: MediaType?) -> Bool {
        if type?.isJSON == true { return true }
        guard type == nil || type?.type == "text" || type?.type == "application" else { return false }
        let first = bytes.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    /// Nil if the text holds no secret.
    static func masked(_ bytes: [UInt8], _ names: SecretNames) -> [UInt8]? {
        var redaction = JSONRedaction(bytes, names)
        redaction.run()
        return redaction.isChanged ? redaction.masked : nil
    }

    private init(_ bytes: [UInt8], _ names: SecretNames) {
        self.bytes = bytes
        self.names = names
    }

    private mutating func run() {
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                if secretDepth == nil, let name, names.isSecret(parameter: name) {
                    // quantities may be grouped under such a name: {"tokens": {"used": 5}}
                    secretDepth = SecretFields.countsTokens(name) ? nil : depth
                }
                depth += 1
                name = nil
                keep(1)
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if let outer = secretDepth, depth <= outer { secretDepth = nil }
                name = nil
                keep(1)
            case UInt8(ascii: "\""): string()
            case UInt8(ascii: ":"), 0x20, 0x09, 0x0A, 0x0D: keep(1)
            case UInt8(ascii: ","):
                name = nil
                keep(1)
            default: word()
            }
        }
    }

    private mutating func string() {
        let end = endOfString()
        if isBeforeColon(end) {
            name = text(position + 1..<max(position + 1, end - 1))
            keep(end - position)
        } else {
            let isSecret = name.map { names.isSecret(parameter: $0) } ?? false
            guard !isSecret, secretDepth == nil, let urls = maskedURLs(to: end) else {
                return value(to: end, isSecret: isSecret)
            }
            masked += urls
            isChanged = true
            name = nil
            position = end
        }
    }

    /// The string at the position without the secrets of its URLs; nil if it has none.
    private func maskedURLs(to end: Int) -> [UInt8]? {
        guard bytes[position..<end].contains(UInt8(ascii: ":")) else { return nil }
        // a body may have been cut off within the string
        let isClosed = end - position > 1 && bytes[end - 1] == UInt8(ascii: "\"")
        let text = text(position + 1..<(isClosed ? end - 1 : end))
        let shown = Redaction.masked(urlsIn: text, names)
        guard shown != text else { return nil }
        let written = JSONWriter.bytes(of: JSONValue.string(shown))
        return isClosed ? written : Array(written.dropLast())
    }

    /// Skips true, false or null, or masks a number.
    private mutating func word() {
        let end = bytes[position...].firstIndex { ",:\"{}[] \t\r\n".utf8.contains($0) } ?? bytes.endIndex
        guard UInt8(ascii: "-") == bytes[position] || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position])
        else { return keep(end - position) }
        let isSecret = name.map { names.isSecret(parameter: $0) && !SecretFields.countsTokens($0) } ?? false
        value(to: end, isSecret: isSecret)
    }

    private mutating func value(to end: Int, isSecret: Bool) {
        guard isSecret || secretDepth != nil else { return keep(end - position) }
        masked += "\"\(SecretFields.mask)\"".utf8
        isChanged = true
        name = nil
        position = end
    }

    private mutating func keep(_ count: Int) {
        masked += bytes[position..<position + count]
        position += count
    }

    private func isBeforeColon(_ end: Int) -> Bool {
        let next = bytes[end...].first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }
        return next == UInt8(ascii: ":")
    }

    /// Behind the quote that ends the string at the position, or the end of the text.
    private func endOfString() -> Int {
        var position = position + 1
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""): return position + 1
            case UInt8(ascii: "\\"): position += 2
            default: position += 1
            }
        }
        return bytes.count
    }

    private func text(_ range: Range<Int>) -> String {
        bytes.withUnsafeBufferPointer { JSONCursor($0).text(range) }
    }
}
