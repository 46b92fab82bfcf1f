// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// Replaces known values wherever they occur: as they are, percent-encoded, in JSON escapes of usual writers, in hex, and
/// in base64 at each of the three offsets within a longer text.
package struct SecretValues: Sendable {
    private static let most = 4096
    /// Bytes of all values: each is held in some twenty forms.
    private static let mostBytes = 4 << 20

    private struct Pattern {
        var bytes: [UInt8]
    }

    private var known: Set<String> = []
    private var held = 0
    /// More values came than are held, so that a text may hold a secret that is not replaced.
    package private(set) var isFull = false
    /// By the first four bytes.
    private var patterns: [UInt32: [Pattern]] = [:]
    /// Which pairs of first bytes occur: most places of a text are passed over by a look here.
    private var pairs = [UInt64](repeating: 0, count: 1024)

    package init() {}

    package var isEmpty: Bool { known.isEmpty }

    /// Whether some of the secrets are not known yet.
    package func lacks(_ found: FoundSecrets) -> Bool { found.list.contains { !known.contains($0) } }

    package mutating func add(_ found: FoundSecrets) { for value in found.list { insert(value) } }

    /// Adds a value, unless it is short or a mask.
    package mutating func add(_ value: String) {
        var found = FoundSecrets()
        found.add(value)
        add(found)
    }

    private mutating func insert(_ value: String) {
        if known.contains(value) { return }
        guard known.count < Self.most, held + value.utf8.count <= Self.mostBytes else {
            isFull = true
            return
        }
        held += value.utf8.count
        known.insert(value)
        let plain = Array(value.utf8)
        var forms: Set<[UInt8]> = [plain]
        for escape in [PercentEncoding.segment, .form, .query, .path, .writtenQuery] {
            let escaped = Array(escape.escape(value).utf8)
            forms.insert(escaped)
            forms.insert(Self.lowered(escaped))
        }
        let quoted = Array(JSONWriter.bytes(of: value).dropFirst().dropLast())
        forms.insert(quoted)
        // some writers of JSON escape slashes, too
        forms.insert(Self.slashed(quoted))
        for isEscaped in Self.escapes {
            guard let escaped = Self.escaped(value, "0123456789abcdef", isEscaped) else { continue }
            forms.insert(escaped)
            forms.insert(Self.slashed(escaped))
        }
        if let escaped = Self.escaped(value, "0123456789ABCDEF", Self.isEscapedByNET) { forms.insert(escaped) }
        forms.insert(Self.hex(plain, "0123456789abcdef"))
        forms.insert(Self.hex(plain, "0123456789ABCDEF"))
        for offset in 0..<3 {
            let text = Self.base64(plain, offset)
            forms.insert(text)
            forms.insert(text.map(Self.forURL))
        }
        for form in forms where form.count >= 4 { insert(form) }
    }

    private mutating func insert(_ form: [UInt8]) {
        patterns[Self.start(form, 0), default: []].append(Pattern(bytes: form))
        let pair = Int(form[0]) << 8 | Int(form[1])
        pairs[pair >> 6] |= 1 << UInt64(pair & 63)
    }

    private static func start(_ bytes: [UInt8], _ index: Int) -> UInt32 {
        UInt32(bytes[index]) << 24 | UInt32(bytes[index + 1]) << 16 | UInt32(bytes[index + 2]) << 8
            | UInt32(bytes[index + 3])
    }

    private static func hex(_ bytes: [UInt8], _ digits: String) -> [UInt8] {
        let digits = Array(digits.utf8)
        return bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }

    /// A sign of the alphabet of RFC 4648 section 5.
    private static func forURL(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: byte
        }
    }

    private static func slashed(_ quoted: [UInt8]) -> [UInt8] {
        quoted.flatMap { $0 == UInt8(ascii: "/") ? [UInt8(ascii: "\\"), $0] : [$0] }
    }

    /// What writers of JSON escape with lower-case digits: those for web pages, such as Go's and Gson, and those that
    /// write ASCII.
    private static let escapes: [@Sendable (Unicode.Scalar) -> Bool] = [
        { "&<>\u{2028}\u{2029}".unicodeScalars.contains($0) },
        { "&<>='\u{2028}\u{2029}".unicodeScalars.contains($0) },
        { !$0.isASCII },
        { !$0.isASCII || "&<>".unicodeScalars.contains($0) },
    ]

    private static func isEscapedByNET(_ scalar: Unicode.Scalar) -> Bool {
        !scalar.isASCII || "&<>+'\"`".unicodeScalars.contains(scalar)
    }

    /// The text of a JSON string with `\u` and four digits in place of some characters; nil if the value has none.
    private static func escaped(
        _ value: String, _ digits: String, _ isEscaped: (Unicode.Scalar) -> Bool
    ) -> [UInt8]? {
        guard value.unicodeScalars.contains(where: isEscaped) else { return nil }
        var result: [UInt8] = []
        for scalar in value.unicodeScalars {
            guard isEscaped(scalar) else {
                result += JSONWriter.bytes(of: String(scalar)).dropFirst().dropLast()
                continue
            }
            for unit in String(scalar).utf16 {
                result += "\\u".utf8
                result += hex([UInt8(truncatingIfNeeded: unit >> 8), UInt8(truncatingIfNeeded: unit)], digits)
            }
        }
        return result
    }

    private static func lowered(_ escaped: [UInt8]) -> [UInt8] {
        var result = escaped
        for index in escaped.indices where escaped[index] == UInt8(ascii: "%") {
            for digit in index + 1..<min(index + 3, escaped.count) where (0x41...0x46).contains(escaped[digit]) {
                result[digit] |= 0x20
            }
        }
        return result
    }

    /// The part of the base64 text that depends on the value alone, where the value stands at that offset of a group.
    private static func base64(_ bytes: [UInt8], _ offset: Int) -> [UInt8] {
        let text = Array(Base64.encode([UInt8](repeating: 0, count: offset) + bytes).utf8)
        let first = offset == 0 ? 0 : offset + 1
        // each group of three bytes has four signs; the last sign of a group that is cut depends on what follows
        let whole = (offset + bytes.count) * 8 / 6
        return whole > first ? Array(text[first..<whole]) : []
    }

    /// The text with a mask in place of each value; nil if there is none.
    package func replaced(_ bytes: [UInt8]) -> [UInt8]? {
        guard !patterns.isEmpty, bytes.count >= 4 else { return nil }
        var result: [UInt8]?
        var copied = 0
        var index = 0
        let last = bytes.count - 4
        while index <= last {
            let pair = Int(bytes[index]) << 8 | Int(bytes[index + 1])
            guard pairs[pair >> 6] & (1 << UInt64(pair & 63)) != 0,
                let length = match(bytes, at: index)
            else {
                index += 1
                continue
            }
            var built = result ?? []
            built += bytes[copied..<index]
            built += SecretFields.mask.utf8
            result = built
            index += length
            copied = index
        }
        guard var result else { return nil }
        result += bytes[copied...]
        return result
    }

    package func replaced(_ text: String) -> String {
        if patterns.isEmpty { return text }
        return replaced(Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    /// The length of the longest value that begins there.
    private func match(_ bytes: [UInt8], at index: Int) -> Int? {
        guard let candidates = patterns[Self.start(bytes, index)] else { return nil }
        var longest: Int?
        for pattern in candidates where bytes[index...].starts(with: pattern.bytes) {
            longest = max(longest ?? 0, pattern.bytes.count)
        }
        return longest
    }
}

/// Secrets that a request or a response has.
package struct FoundSecrets: Sendable {
    /// Shorter values are words that occur by chance.
    package static let shortest = 6

    fileprivate private(set) var list: [String] = []

    package init() {}

    /// Adds a value, unless it is short or a mask.
    package mutating func add(_ value: String, shortest: Int = shortest) {
        guard value.utf8.count >= max(4, shortest), !value.contains(SecretFields.mask) else { return }
        list.append(value)
    }

    /// The two parts of a login.
    package mutating func add(username: String, password: String) {
        add(password)
        add("\(username):\(password)")
    }
}
