// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Finds the challenges in WWW-Authenticate and Proxy-Authenticate (RFC 9110 section 11.6.1) as real servers write
/// them: several in a field or in many, opaque tokens, commas in quoted strings, missing quotes and commas, empty
/// elements.
///
/// Malformed parts are skipped, never an error; input beyond the limits is ignored.
package struct ChallengeScanner {
    /// Bytes of all fields together; the rest is not read.
    package static let mostBytes = 64 << 10
    /// Challenges in a response; further challenges are not read.
    package static let mostChallenges = 32
    /// Parameters of a challenge; further parameters are skipped.
    package static let mostParameters = 64

    private let bytes: [UInt8]
    private var position = 0
    private var found: [Challenge]

    /// In the order in which they were written.
    package static func challenges(in fields: [FieldText]) -> [Challenge] {
        var found: [Challenge] = []
        var left = mostBytes
        for field in fields where left > 0 {
            let first = found.count
            var scanner = ChallengeScanner(field.text.utf8.prefix(left), found)
            scanner.scan()
            found = scanner.found
            for index in first..<max(first, found.count) { found[index].isLatin1 = field.isLatin1 }
            left -= field.text.utf8.count
        }
        return found
    }

    package static func challenges(in fields: [String]) -> [Challenge] {
        challenges(in: fields.map { FieldText($0) })
    }

    /// The parameters of a field without a scheme, such as Authentication-Info, as a challenge without one.
    package static func parameters(in fields: [FieldText]) -> Challenge {
        var found = [Challenge("")]
        let isLatin1 = fields.contains(where: \.isLatin1)
        for field in fields.prefix(mostChallenges) {
            let text = isLatin1 ? field.asLatin1.text : field.text
            var scanner = ChallengeScanner(text.utf8.prefix(mostBytes), found)
            scanner.scan()
            found = Array(scanner.found.prefix(1))
        }
        var challenge = found.first ?? Challenge("")
        challenge.isLatin1 = isLatin1
        return challenge
    }

    private init(_ bytes: some Sequence<UInt8>, _ found: [Challenge]) {
        self.bytes = Array(bytes)
        self.found = found
    }

    private mutating func scan() {
        while true {
            skip { Self.isSpace($0) || $0 == UInt8(ascii: ",") }
            guard position < bytes.count else { return }
            let word = take(FieldRules.isTokenByte)
            let end = position
            skip(Self.isSpace)
            if word.isEmpty {
                passOver()
            } else if current == UInt8(ascii: "=") {
                position += 1
                skip(Self.isSpace)
                add(Challenge.Parameter(word.lowercased(), value()))
            } else {
                guard found.count < Self.mostChallenges else { return }
                found.append(Challenge(word))
                if position > end { found[found.count - 1].token = token(of: word) }
            }
        }
    }

    private mutating func add(_ parameter: Challenge.Parameter) {
        guard let last = found.indices.last, found[last].parameters.count < Self.mostParameters else { return }
        found[last].parameters.append(parameter)
    }

    /// A token68 up to the next comma; nil if there is none, or if the scheme never has one.
    private mutating func token(of scheme: String) -> String? {
        let named = ["basic", "digest", "bearer"]
        if named.contains(where: { HTTPFields.same($0, scheme) }) { return nil }
        let start = position
        skip { FieldRules.isTokenByte($0) || $0 == UInt8(ascii: "/") }
        let hasBegun = position > start
        skip { $0 == UInt8(ascii: "=") }
        let end = position
        skip(Self.isSpace)
        guard hasBegun, position == bytes.count || current == UInt8(ascii: ",") else {
            position = start
            return nil
        }
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }

    /// The value behind the equals sign: a quoted string, or all text up to the next parameter.
    private mutating func value() -> String {
        if current == UInt8(ascii: "\"") { return quoted() }
        let start = position
        var end = position
        while let byte = current, byte != UInt8(ascii: ",") {
            if Self.isSpace(byte) {
                skip(Self.isSpace)
                if beginsParameter { break }
            } else {
                position += 1
                end = position
            }
        }
        // a value without its first quote still has its last
        if end > start, bytes[end - 1] == UInt8(ascii: "\"") { end -= 1 }
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }

    /// A backslash escapes only a quote or another backslash, as some servers write paths in quotes. An unclosed string
    /// extends to the end.
    private mutating func quoted() -> String {
        position += 1
        var text: [UInt8] = []
        while let byte = current, byte != UInt8(ascii: "\"") {
            position += 1
            if byte == UInt8(ascii: "\\"), let next = current, next == UInt8(ascii: "\"") || next == byte {
                position += 1
                text.append(next)
            } else {
                text.append(byte)
            }
        }
        position += 1
        return String(decoding: text, as: UTF8.self)
    }

    private var beginsParameter: Bool {
        var place = position
        while place < bytes.count, FieldRules.isTokenByte(bytes[place]) { place += 1 }
        guard place > position else { return false }
        while place < bytes.count, Self.isSpace(bytes[place]) { place += 1 }
        return place < bytes.count && bytes[place] == UInt8(ascii: "=")
    }

    /// Skips malformed bytes up to the next comma.
    private mutating func passOver() {
        while let byte = current, byte != UInt8(ascii: ",") {
            if byte == UInt8(ascii: "\"") { _ = quoted() } else { position += 1 }
        }
    }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skip(_ isSkipped: (UInt8) -> Bool) {
        while position < bytes.count, isSkipped(bytes[position]) { position += 1 }
    }

    private mutating func take(_ isTaken: (UInt8) -> Bool) -> String {
        let start = position
        skip(isTaken)
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
