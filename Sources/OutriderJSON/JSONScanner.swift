// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

#if canImport(Glibc)
    import Glibc
#endif

/// Reads a JSON text (RFC 8259) from end to end without building values: grammar, UTF-8, surrogates and limits.
///
/// Responsible for: everything that must be refused before jansson may allocate. Not responsible for: duplicate names,
/// which only matter if a tree is built.
package struct JSONScanner {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let start: UnsafePointer<UInt8>
    private let limits: JSONLimits
    private var position = 0
    private var tokens = 0
    /// Of all objects.
    private var members = 0
    /// Ranges that need not pass through jansson, or would be changed there; collected if a tree is built.
    private var cuts: [Range<Int>] = []
    private let collects: Bool
    /// An entry for each open container: members so far, or -1 for an array.
    private var open: [Int] = []

    private init(
        _ bytes: UnsafeBufferPointer<UInt8>, _ start: UnsafePointer<UInt8>, _ limits: JSONLimits, collects: Bool
    ) {
        self.bytes = bytes
        self.start = start
        self.limits = limits
        self.collects = collects
    }

    /// Throws at the first fault; returns when the bytes are exactly one JSON text.
    package static func check(
        _ bytes: UnsafeBufferPointer<UInt8>, limits: JSONLimits = JSONLimits()
    ) throws(JSONFailure) {
        if JSONQuickScan(bytes, limits: limits, refusesCuts: false) != nil { return }
        _ = try scanWhole(bytes, limits: limits, collects: false)
    }

    /// The check without `JSONQuickScan` before.
    ///
    /// - Parameter collects: refuse numbers beyond the range of a Double, and collect, in order, the ranges for
    ///   `JSONPlaceholders`: the inside of long string values without escapes, and numbers whose written form would be lost.
    /// - Returns: those ranges, and the number of members of all objects.
    package static func scanWhole(
        _ bytes: UnsafeBufferPointer<UInt8>, limits: JSONLimits, collects: Bool
    ) throws(JSONFailure) -> (cuts: [Range<Int>], members: Int) {
        guard let start = bytes.baseAddress else { throw JSONFailure(reason: "the text is empty", offset: 0) }
        var scanner = JSONScanner(bytes, start, limits, collects: collects)
        do {
            try scanner.text()
            return (scanner.cuts, scanner.members)
        } catch {
            var failure = error
            failure.pointer = JSONLocator.pointer(at: failure.offset, in: bytes)
            throw failure
        }
    }

    private func fault(_ reason: String, at offset: Int? = nil) -> JSONFailure {
        let offset = offset ?? position
        guard offset < bytes.count else {
            return JSONFailure(reason: "the text ends too early, at byte \(bytes.count)", offset: bytes.count)
        }
        return JSONFailure(reason: "\(reason) at byte \(offset)", offset: offset)
    }

    private mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    private mutating func text() throws(JSONFailure) {
        skipSpace()
        try value()
        while let members = open.last {
            skipSpace()
            if members < 0 { try afterElement() } else { try afterMember() }
        }
        skipSpace()
        if position < bytes.count { throw fault(JSONFailure.trailing) }
    }

    private mutating func afterElement() throws(JSONFailure) {
        switch peek() {
        case UInt8(ascii: ","):
            position += 1
            skipSpace()
            try value()
        case UInt8(ascii: "]"):
            position += 1
            open.removeLast()
        default:
            throw fault("expected a comma or the end of the array")
        }
    }

    private mutating func afterMember() throws(JSONFailure) {
        switch peek() {
        case UInt8(ascii: ","):
            position += 1
            skipSpace()
            try member()
        case UInt8(ascii: "}"):
            position += 1
            open.removeLast()
        default:
            throw fault("expected a comma or the end of the object")
        }
    }

    /// The byte at the position; 0 at the end, which no rule accepts.
    private func peek() -> UInt8 {
        position < bytes.count ? bytes[position] : 0
    }

    private mutating func count() throws(JSONFailure) {
        tokens += 1
        if tokens > limits.tokens { throw fault("more than \(limits.tokens) values") }
    }

    private mutating func enter(_ members: Int) throws(JSONFailure) {
        if open.count >= limits.depth { throw fault("nested deeper than \(limits.depth) levels") }
        open.append(members)
        position += 1
        skipSpace()
    }

    /// Reads a value; a container that is not empty stays open after its first element or member.
    private mutating func value() throws(JSONFailure) {
        while true {
            try count()
            switch peek() {
            case UInt8(ascii: "{"):
                try enter(0)
                if peek() == UInt8(ascii: "}") {
                    position += 1
                    open.removeLast()
                    return
                }
                try memberName()
            case UInt8(ascii: "["):
                try enter(-1)
                if peek() == UInt8(ascii: "]") {
                    position += 1
                    open.removeLast()
                    return
                }
            case UInt8(ascii: "\""): return try stringValue()
            case UInt8(ascii: "t"): return try word("true")
            case UInt8(ascii: "f"): return try word("false")
            case UInt8(ascii: "n"): return try word("null")
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
            default: throw fault("expected a value")
            }
        }
    }

    private mutating func member() throws(JSONFailure) {
        try memberName()
        try value()
    }

    private mutating func memberName() throws(JSONFailure) {
        guard peek() == UInt8(ascii: "\"") else { throw fault("expected a member name in double quotes") }
        let last = open.count - 1
        members += 1
        open[last] += 1
        if open[last] > limits.members { throw fault("more than \(limits.members) members in one object") }
        try count()
        try string()
        skipSpace()
        guard peek() == UInt8(ascii: ":") else { throw fault("expected a colon after the member name") }
        position += 1
        skipSpace()
    }

    private mutating func word(_ word: StaticString) throws(JSONFailure) {
        let length = word.utf8CodeUnitCount
        guard bytes.count - position >= length, memcmp(start + position, word.utf8Start, length) == 0
        else { throw fault("expected true, false or null") }
        position += length
    }

    private mutating func digits() throws(JSONFailure) {
        guard case UInt8(ascii: "0")...UInt8(ascii: "9") = peek() else { throw fault("expected a digit") }
        while case UInt8(ascii: "0")...UInt8(ascii: "9") = peek() { position += 1 }
    }

    private mutating func number() throws(JSONFailure) {
        let first = position
        if peek() == UInt8(ascii: "-") { position += 1 }
        let whole = position
        if peek() == UInt8(ascii: "0") { position += 1 } else { try digits() }
        let point = position
        if peek() == UInt8(ascii: ".") {
            position += 1
            try digits()
        }
        let end = position
        if peek() | 0x20 == UInt8(ascii: "e") {
            position += 1
            if peek() == UInt8(ascii: "+") || peek() == UInt8(ascii: "-") { position += 1 }
            try digits()
        }
        guard collects, end < position || !isPlain(first, whole, point) else { return }
        try cutNumber(first, isInteger: point == position)
    }

    /// Whether a number without exponent certainly reads back as written: Int64 holds every integer of 18 digits,
    /// Double every decimal of 15, and all but very small numbers are written without exponent.
    private func isPlain(_ first: Int, _ whole: Int, _ point: Int) -> Bool {
        let isZero = bytes[whole] == UInt8(ascii: "0")
        if point == position { return point - whole <= 18 && !(isZero && first < whole) }
        let fraction = position - point - 1
        guard point - whole + fraction <= 15 else { return false }
        if fraction == 1 { return true }
        return bytes[position - 1] != UInt8(ascii: "0") && (!isZero || fraction <= 4)
    }

    /// Cuts out the number that begins at `first`, unless the number reads back as written after all.
    private mutating func cutNumber(_ first: Int, isInteger: Bool) throws(JSONFailure) {
        let text = String(decoding: bytes[first..<position], as: UTF8.self)
        let integer = Int64(text)
        if text == integer?.description { return }
        if isInteger, integer == nil, !limits.hasLongIntegers {
            throw fault("the integer has more than 64 bits: send it as text, or as {\"$decimal\": \"…\"}", at: first)
        }
        guard let number = Double(text), number.isFinite else {
            throw fault("the number is beyond the range of a double", at: first)
        }
        if text != number.description { cuts.append(first..<position) }
    }

    private mutating func stringValue() throws(JSONFailure) {
        let first = position + 1
        try string()
        if collects, position - first > JSONLimits.longString { cuts.append(first..<position - 1) }
    }

    private mutating func string() throws(JSONFailure) {
        position += 1
        while true {
            skipPlain()
            let byte = peek()
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return
            case UInt8(ascii: "\\"):
                position += 1
                try escape()
            case 0x80...: try multibyte(byte)
            default: throw fault("a control character must be escaped")
            }
        }
    }

    /// Moves over plain bytes, eight at a time, because bodies in base64 are long.
    private mutating func skipPlain() {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        while bytes.count - position >= 8 {
            let word = UnsafeRawPointer(start + position).loadUnaligned(as: UInt64.self)
            let quote = word ^ (ones &* 0x22)
            let slash = word ^ (ones &* 0x5C)
            let special =
                (quote &- ones) & ~quote | (slash &- ones) & ~slash | (word &- ones &* 0x20) & ~word | word
            if special & highs != 0 { break }
            position += 8
        }
        while position < bytes.count {
            let byte = bytes[position]
            if byte < 0x20 || byte >= 0x80 || byte == 0x22 || byte == 0x5C { return }
            position += 1
        }
    }

    private mutating func escape() throws(JSONFailure) {
        let start = position - 1
        switch peek() {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 1
        case UInt8(ascii: "u"):
            position += 1
            let unit = try hex()
            if unit >= 0xDC00 && unit < 0xE000 { throw fault("lone surrogate", at: start) }
            guard unit >= 0xD800 && unit < 0xDC00 else { return }
            guard peek() == UInt8(ascii: "\\"), position + 1 < bytes.count, bytes[position + 1] == UInt8(ascii: "u")
            else { throw fault("lone surrogate", at: start) }
            position += 2
            let low = try hex()
            if low < 0xDC00 || low >= 0xE000 { throw fault("lone surrogate", at: start) }
        default:
            throw fault("unknown escape")
        }
    }

    private mutating func hex() throws(JSONFailure) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            let byte = peek()
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): unit = unit << 4 | UInt16(byte &- 0x30)
            case UInt8(ascii: "a")...UInt8(ascii: "f"): unit = unit << 4 | UInt16(byte &- 0x57)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): unit = unit << 4 | UInt16(byte &- 0x37)
            default: throw fault("expected four hexadecimal digits")
            }
            position += 1
        }
        return unit
    }

    /// A scalar of two to four bytes, by the table of RFC 3629 section 4.
    private mutating func multibyte(_ first: UInt8) throws(JSONFailure) {
        let length: Int
        let second: ClosedRange<UInt8>
        switch first {
        case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xE1...0xEC, 0xEE...0xEF: (length, second) = (3, 0x80...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: throw notUTF8(first)
        }
        guard bytes.count - position >= length, second.contains(bytes[position + 1]) else { throw notUTF8(first) }
        for index in 2..<max(length, 2) where bytes[position + index] & 0xC0 != 0x80 { throw notUTF8(first) }
        position += length
    }

    private func notUTF8(_ byte: UInt8) -> JSONFailure {
        JSONFailure(
            reason: "the text is not UTF-8: byte 0x\(String(byte, radix: 16)) in position \(position)", offset: position
        )
    }
}
