// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// Replaces known values wherever they occur: as they are, percent-encoded, in JSON escapes of usual writers, in hex, and
/// in base64 at each of the three offsets within a longer text.
package struct SecretValues: Sendable {
    private static let most = 4096
    /// Bytes of all values: each is held in some twenty forms.
    private static let mostBytes = 4 << 20
    /// What a form takes beside its bytes.
    private static let formBytes = 64

    private var known: Set<ByteText> = []
    private var held = 0
    /// About what all forms take, in bytes.
    package private(set) var bytes = 0
    /// More values came than are held, so that a text may hold a secret that is not replaced.
    package private(set) var isFull = false
    /// The forms by their first four bytes, each list in the order of the bytes.
    private var patterns: [UInt32: [[UInt8]]] = [:]
    /// Which pairs of first bytes occur: most places of a text are passed over by a look here.
    private var pairs = [UInt64](repeating: 0, count: 1024)

    package init() {}

    package var isEmpty: Bool { known.isEmpty }

    /// Whether some of the secrets are not known yet.
    package func lacks(_ found: FoundSecrets) -> Bool { found.list.contains { !known.contains(ByteText($0)) } }

    package mutating func add(_ found: FoundSecrets) { for value in found.list { insert(value) } }

    /// Adds a value, unless it is short or a mask.
    package mutating func add(_ value: String) {
        var found = FoundSecrets()
        found.add(value)
        add(found)
    }

    private mutating func insert(_ value: String) {
        if known.contains(ByteText(value)) { return }
        guard known.count < Self.most, held + value.utf8.count <= Self.mostBytes else {
            isFull = true
            return
        }
        held += value.utf8.count
        known.insert(ByteText(value))
        for form in Self.forms(of: value) where form.count >= 4 { insert(form) }
    }

    /// As a text may show the value; some forms may be short.
    static func forms(of value: String) -> Set<[UInt8]> {
        let plain = Array(value.utf8)
        var forms: Set<[UInt8]> = [plain]
        for escape in [PercentEncoding.segment, .form, .query, .path, .writtenQuery] {
            let escaped = Array(escape.escape(value).utf8)
            forms.insert(escaped)
            forms.insert(lowered(escaped))
        }
        let quoted = Array(JSONWriter.bytes(of: value).dropFirst().dropLast())
        forms.insert(quoted)
        // some writers of JSON escape slashes, too
        forms.insert(slashed(quoted))
        for isEscaped in escapes {
            guard let escaped = escaped(value, lowerDigits, isEscaped) else { continue }
            forms.insert(escaped)
            forms.insert(slashed(escaped))
        }
        if let escaped = escaped(value, upperDigits, isEscapedByNET) { forms.insert(escaped) }
        let hex = HexText.encode(plain)
        forms.insert(Array(hex.utf8))
        forms.insert(Array(hex.uppercased().utf8))
        for offset in 0..<3 {
            let text = base64(plain, offset)
            forms.insert(text)
            forms.insert(text.map(forURL))
        }
        return forms
    }

    private mutating func insert(_ form: [UInt8]) {
        let start = Self.start(form, 0)
        let place = patterns[start].map { Self.place(of: form[...], in: $0) } ?? 0
        // another value may have the same form
        if place > 0, patterns[start]?[place - 1] == form { return }
        patterns[start, default: []].insert(form, at: place)
        bytes &+= form.count &+ Self.formBytes
        let pair = Int(form[0]) << 8 | Int(form[1])  // safe: bytes
        pairs[pair >> 6] |= 1 << UInt64(pair & 63)  // safe: below 64
    }

    private static func start(_ bytes: [UInt8], _ index: Int) -> UInt32 {
        UInt32(bytes[index]) << 24 | UInt32(bytes[index + 1]) << 16 | UInt32(bytes[index + 2]) << 8
            | UInt32(bytes[index + 3])
    }

    private static let lowerDigits = Array("0123456789abcdef".utf8)
    private static let upperDigits = Array("0123456789ABCDEF".utf8)

    /// A sign of the alphabet of RFC 4648 section 5.
    private static func forURL(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: byte
        }
    }

    private static func slashed(_ quoted: [UInt8]) -> [UInt8] {
        guard quoted.contains(UInt8(ascii: "/")) else { return quoted }
        var result: [UInt8] = []
        for byte in quoted {
            if byte == UInt8(ascii: "/") { result.append(UInt8(ascii: "\\")) }
            result.append(byte)
        }
        return result
    }

    /// What writers of JSON escape with lower-case digits: those for web pages, such as Go's and Gson, and those that
    /// write ASCII.
    private static let escapes: [@Sendable (Unicode.Scalar) -> Bool] = [
        { SecretValues.isMarkup($0) || SecretValues.isSeparator($0) },
        { SecretValues.isMarkup($0) || SecretValues.isSeparator($0) || $0 == "=" || $0 == "'" },
        { !$0.isASCII },
        { !$0.isASCII || SecretValues.isMarkup($0) },
    ]

    private static func isMarkup(_ scalar: Unicode.Scalar) -> Bool { scalar == "&" || scalar == "<" || scalar == ">" }

    private static func isSeparator(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "\u{2028}" || scalar == "\u{2029}"
    }

    private static func isEscapedByNET(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "&", "<", ">", "+", "'", "\"", "`": true
        default: !scalar.isASCII
        }
    }

    /// The text of a JSON string with `\u` and four digits in place of some characters; nil if the value has none.
    private static func escaped(
        _ value: String, _ digits: [UInt8], _ isEscaped: (Unicode.Scalar) -> Bool
    ) -> [UInt8]? {
        guard value.unicodeScalars.contains(where: isEscaped) else { return nil }
        var result: [UInt8] = []
        for scalar in value.unicodeScalars {
            if isEscaped(scalar) {
                for unit in scalar.utf16 { escape(unit, digits, to: &result) }
            } else if scalar == "\"" || scalar == "\\" {
                result.append(UInt8(ascii: "\\"))
                result.append(UInt8(truncatingIfNeeded: scalar.value))
            } else if (0x20..<0x7F).contains(scalar.value) {
                result.append(UInt8(truncatingIfNeeded: scalar.value))
            } else {
                result += JSONWriter.bytes(of: String(scalar)).dropFirst().dropLast()
            }
        }
        return result
    }

    private static func escape(_ unit: UInt16, _ digits: [UInt8], to result: inout [UInt8]) {
        result.append(UInt8(ascii: "\\"))
        result.append(UInt8(ascii: "u"))
        for shift: UInt16 in [12, 8, 4, 0] { result.append(digits[Int(unit >> shift & 15)]) }  // safe: below 16
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
            guard pairs[pair >> 6] & (1 << UInt64(pair & 63)) != 0,  // safe: below 64
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
    ///
    /// Forms that begin the text are all beginnings of the last form that is not behind the text, in the order of the
    /// bytes: so each look needs few comparisons, however many values begin with the same bytes.
    private func match(_ bytes: [UInt8], at index: Int) -> Int? {
        guard let forms = patterns[Self.start(bytes, index)] else { return nil }
        var text = bytes[index...]
        while true {
            let place = Self.place(of: text, in: forms)
            guard place > 0 else { return nil }
            let form = forms[place - 1]
            let common = Self.common(form, text)
            if common == form.count { return common }
            text = bytes[index..<index + common]
        }
    }

    /// How many bytes at the beginning are the same.
    private static func common(_ form: [UInt8], _ text: ArraySlice<UInt8>) -> Int {
        let most = min(form.count, text.count)
        var count = 0
        while count < most, form[count] == text[text.startIndex + count] { count += 1 }
        return count
    }

    /// How many of the ordered forms are not behind the text.
    private static func place(of text: ArraySlice<UInt8>, in forms: [[UInt8]]) -> Int {
        var (low, high) = (0, forms.count)
        while low < high {
            let middle = low + (high - low) / 2
            if text.lexicographicallyPrecedes(forms[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
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
