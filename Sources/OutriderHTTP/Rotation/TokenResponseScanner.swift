// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Finds the members of a token endpoint's JSON in its bytes, without a library that would keep copies of them.
///
/// Nested values and unknown members are skipped, whatever their characters and however often they repeat. If a known
/// member repeats with another value, the response is refused, since two parsers could choose different values.
package struct TokenResponseScanner {
    package enum Outcome: Sendable, Equatable {
        case whole(TokenResponse)
        /// The bytes end too early; the members so far are complete. Or both tokens were complete, and malformed JSON
        /// followed.
        case cut(TokenResponse)
        case malformed
    }

    /// The longest response, in bytes.
    package static let mostBytes = 128 << 10
    /// Of the byte order, in UTF-8 (RFC 8259 section 8.1).
    static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    private static let mostDepth = 32
    private static let mostMembers = 256
    /// Members that decide about no token.
    private static let texts: Set = ["error_description", "message"]

    private enum Stop: Error {
        case cut, malformed
        /// Valid JSON that must not be trusted.
        case refused
    }

    private let bytes: [UInt8]
    private var position = 0

    package static func scan(_ bytes: [UInt8]) -> Outcome {
        if bytes.count > mostBytes { return .malformed }
        var scanner = TokenResponseScanner(bytes: bytes)
        var response = TokenResponse()
        do throws(Stop) {
            try scanner.object(into: &response)
            return .whole(response)
        } catch {
            let hasAll = response.accessToken != nil && response.refreshToken != nil
            return error == .cut || error == .malformed && hasAll ? .cut(response) : .malformed
        }
    }

    /// The same for a response that may be a form, whose end is only the end of the response.
    package static func scan(_ bytes: [UInt8], isComplete: Bool) -> Outcome {
        let outcome = scan(bytes)
        guard outcome == .malformed, isComplete, bytes.count < mostBytes else { return outcome }
        return TokenResponse(form: bytes).map { .whole($0) } ?? outcome
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
        if bytes.starts(with: Self.mark) { position = Self.mark.count }
    }

    private mutating func object(into response: inout TokenResponse) throws(Stop) {
        try expect(UInt8(ascii: "{"))
        var names: Set<String> = []
        var count = 0
        if try peek() == UInt8(ascii: "}") {
            position += 1
        } else {
            repeat {
                guard try peek() == UInt8(ascii: "\"") else { throw .malformed }
                let name = try text()
                count += 1
                guard count <= Self.mostMembers else { throw .malformed }
                try expect(UInt8(ascii: ":"))
                let value = try value(depth: 1)
                guard let name, TokenResponse.members.contains(name) else { continue }
                var next = response
                guard next.take(name, value) else { throw .refused }
                let isOther = next != response || value == .null
                if !names.insert(name).inserted, isOther, !Self.texts.contains(name) { throw .refused }
                response = next
            } while try goesOn(to: UInt8(ascii: "}"))
        }
        skipSpace()
        if position < bytes.count { throw .malformed }
    }

    private mutating func value(depth: Int) throws(Stop) -> TokenResponse.Value {
        guard depth < Self.mostDepth else { throw .malformed }
        switch try peek() {
        case UInt8(ascii: "\""): return try text().map { .text($0) } ?? .unreadable
        case UInt8(ascii: "{"), UInt8(ascii: "["): return try nested(depth: depth)
        case UInt8(ascii: "t"): return try literal("true", .other)
        case UInt8(ascii: "f"): return try literal("false", .other)
        case UInt8(ascii: "n"): return try literal("null", .null)
        default: return try number()
        }
    }

    private mutating func nested(depth: Int) throws(Stop) -> TokenResponse.Value {
        let isObject = try peek() == UInt8(ascii: "{")
        let end = isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
        position += 1
        if try peek() == end {
            position += 1
            return .other
        }
        repeat {
            if isObject {
                guard try peek() == UInt8(ascii: "\"") else { throw .malformed }
                _ = try text()
                try expect(UInt8(ascii: ":"))
            }
            _ = try value(depth: depth + 1)
        } while try goesOn(to: end)
        return .other
    }

    /// Skips a comma, or the end; returns whether a comma follows.
    private mutating func goesOn(to end: UInt8) throws(Stop) -> Bool {
        let byte = try peek()
        guard byte == end || byte == UInt8(ascii: ",") else { throw .malformed }
        position += 1
        return byte != end
    }

    private mutating func literal(_ word: StaticString, _ value: TokenResponse.Value) throws(Stop)
        -> TokenResponse.Value
    {
        let found = bytes[position...].prefix(word.utf8CodeUnitCount)
        let wanted = UnsafeBufferPointer(start: word.utf8Start, count: found.count)
        guard found.elementsEqual(wanted) else { throw .malformed }
        if found.count < word.utf8CodeUnitCount { throw .cut }
        position += found.count
        return value
    }

    private mutating func number() throws(Stop) -> TokenResponse.Value {
        let digits = bytes[position...].prefix { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."),
                UInt8(ascii: "e"), UInt8(ascii: "E"):
                true
            default: false
            }
        }
        guard !digits.isEmpty, digits.count <= 1024 else { throw .malformed }
        // the rest of the digits may have been cut off
        if digits.endIndex == bytes.count { throw .cut }
        position = digits.endIndex
        guard let number = Double(String(decoding: digits, as: UTF8.self)), !number.isNaN else { throw .malformed }
        return .number(number)
    }

    /// Nil for text with invalid characters.
    private mutating func text() throws(Stop) -> String? {
        position += 1
        var found: [UInt8] = []
        var isReadable = true
        while true {
            switch try next() {
            case UInt8(ascii: "\""): return isReadable ? String(validating: found, as: UTF8.self) : nil
            case UInt8(ascii: "\\"): if try !escape(into: &found) { isReadable = false }
            case 0..<0x20: isReadable = false
            case let byte: found.append(byte)
            }
        }
    }

    /// False for the half of a character.
    private mutating func escape(into found: inout [UInt8]) throws(Stop) -> Bool {
        switch try next() {
        case UInt8(ascii: "n"): found.append(0x0A)
        case UInt8(ascii: "t"): found.append(0x09)
        case UInt8(ascii: "r"): found.append(0x0D)
        case UInt8(ascii: "b"): found.append(0x08)
        case UInt8(ascii: "f"): found.append(0x0C)
        case UInt8(ascii: "u"): return try unicode(into: &found)
        case let byte where byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "/"):
            found.append(byte)
        default: throw .malformed
        }
        return true
    }

    private mutating func unicode(into found: inout [UInt8]) throws(Stop) -> Bool {
        var units = [try unit()]
        if UTF16.isLeadSurrogate(units[0]) {
            guard bytes[position...].starts(with: Array("\\u".utf8)) else {
                // the second half of the surrogate pair may be cut off
                if bytes.count - position < 2, bytes.last != UInt8(ascii: "\"") { throw .cut }
                return false
            }
            position += 2
            units.append(try unit())
        }
        guard let text = String(validating: units, as: UTF16.self) else { return false }
        found.append(contentsOf: text.utf8)
        return true
    }

    private mutating func unit() throws(Stop) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            let byte = try next()
            guard let digit = Character(UnicodeScalar(byte)).hexDigitValue else { throw .malformed }
            unit = unit << 4 | UInt16(truncatingIfNeeded: digit)
        }
        return unit
    }

    private mutating func next() throws(Stop) -> UInt8 {
        guard position < bytes.count else { throw .cut }
        defer { position += 1 }
        return bytes[position]
    }

    private mutating func peek() throws(Stop) -> UInt8 {
        skipSpace()
        guard position < bytes.count else { throw .cut }
        return bytes[position]
    }

    private mutating func expect(_ byte: UInt8) throws(Stop) {
        guard try peek() == byte else { throw .malformed }
        position += 1
    }

    private mutating func skipSpace() {
        while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
    }
}
