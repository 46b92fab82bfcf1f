// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Accepts most JSON texts in a single pass over a pointer; the checks are those of `JSONScanner`.
///
/// A refusal does not mean that the text is invalid: the caller then uses `JSONScanner`, which accepts the rest, and
/// describes faults.
///
/// The quick scan takes arrays and objects only, whose last byte is a bracket. A byte other than a bracket is never the
/// last, so a step past that byte stays inside the text, and only closing brackets, words and strings compare with the
/// end.
package struct JSONQuickScan {
    /// The byte to be read next.
    private var place: UnsafePointer<UInt8>
    /// The place after the last bracket.
    private let end: UnsafePointer<UInt8>
    /// The last place with sixteen bytes up to the end; the first place in a shorter text.
    private let lastSixteen: UnsafePointer<UInt8>
    /// A bit for each open container, the innermost lowest; 1 is an object.
    private var kinds: UInt64 = 0
    private var depth = 0
    private var tokens = 0
    private let limits: JSONLimits
    /// Whether strings and numbers are refused that `JSONScanner.scan` would cut out.
    private let refusesCuts: Bool
    /// Members of all objects.
    package private(set) var members = 0
    /// Whether the whole text is printable ASCII.
    package private(set) var isPrintable = true

    /// Nil if the text is refused.
    @inline(__always)
    package init?(_ bytes: UnsafeBufferPointer<UInt8>, limits: JSONLimits, refusesCuts: Bool) {
        guard var first = bytes.baseAddress else { return nil }
        var last = first + bytes.count
        self.limits = limits
        self.refusesCuts = refusesCuts
        while first < last, Self.isSpace(last[-1]) {
            last -= 1
            isPrintable = isPrintable && last.pointee == 0x20
        }
        while first < last, Self.isSpace(first.pointee) {
            isPrintable = isPrintable && first.pointee == 0x20
            first += 1
        }
        guard last - first >= 2, first.pointee | 0x20 == 0x7B, last[-1] | 0x20 == 0x7D else { return nil }
        place = first
        end = last
        lastSixteen = last - min(16, last - first)
        guard text(), tokens <= limits.tokens, tokens <= limits.members else { return nil }
    }

    @inline(__always)
    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

    /// Moves to the next byte other than white space, which must exist.
    @inline(__always)
    private mutating func skipSpace() {
        guard place.pointee <= 0x20 else { return }
        // most writers put a single space, or none
        if place.pointee == 0x20 { place += 1 }
        while place.pointee <= 0x20 {
            if place.pointee != 0x20 {
                guard Self.isSpace(place.pointee) else { return }
                isPrintable = false
            }
            place += 1
        }
    }

    /// Works on a copy, whose members can stay in registers: no function that is called, rather than inlined, takes it.
    private mutating func text() -> Bool {
        var scan = self
        defer { self = scan }
        return scan.values()
    }

    @inline(__always)
    private mutating func values() -> Bool {
        while true {
            switch open() {
            case .refused: return false
            case .value: if !scalar() { return false }
            case .closed: break
            }
            switch separate() {
            case .refused: return false
            case .next: continue
            case .end: return true
            }
        }
    }

    private enum Opening { case value, closed, refused }

    /// Opens containers up to the first scalar, or up to a container that is empty.
    @inline(__always)
    private mutating func open() -> Opening {
        while true {
            tokens &+= 1
            let byte = place.pointee
            guard byte | 0x20 == 0x7B else { return .value }
            guard depth < 64, depth < limits.depth else { return .refused }
            depth &+= 1
            kinds = kinds &<< 1 | (byte == UInt8(ascii: "{") ? 1 : 0)
            place += 1
            skipSpace()
            // a closing bracket is two above its opening bracket
            if place.pointee == byte &+ 2 { return close() ? .closed : .refused }
            if byte == UInt8(ascii: "{"), !name() { return .refused }
        }
    }

    /// Leaves the innermost container; false if the text ends before the outermost is closed.
    @inline(__always)
    private mutating func close() -> Bool {
        place += 1
        depth &-= 1
        kinds &>>= 1
        return depth == 0 || place < end
    }

    private enum Separation { case next, end, refused }

    /// Everything between two values: brackets, comma, name.
    @inline(__always)
    private mutating func separate() -> Separation {
        while depth > 0 {
            skipSpace()
            let isObject = kinds & 1 == 1
            switch place.pointee {
            case UInt8(ascii: ","):
                place += 1
                skipSpace()
                return !isObject || name() ? .next : .refused
            case UInt8(ascii: "}"): guard isObject, close() else { return .refused }
            case UInt8(ascii: "]"): guard !isObject, close() else { return .refused }
            default: return .refused
            }
        }
        return place == end ? .end : .refused
    }

    @inline(__always)
    private mutating func name() -> Bool {
        guard place.pointee == UInt8(ascii: "\""), string() else { return false }
        tokens &+= 1
        members &+= 1
        skipSpace()
        guard place.pointee == UInt8(ascii: ":") else { return false }
        place += 1
        skipSpace()
        return true
    }

    @inline(__always)
    private mutating func scalar() -> Bool {
        let byte = place.pointee
        if byte == UInt8(ascii: "\"") {
            let first = place
            guard string() else { return false }
            // the length includes the quotes, so strings just below the limit go to JSONScanner, too
            return !refusesCuts || place - first < JSONLimits.longString
        }
        if Self.isDigit(byte) || byte == UInt8(ascii: "-") { return number() }
        switch byte {
        case UInt8(ascii: "t"): return word(0x6575_7274, 4)
        case UInt8(ascii: "n"): return word(0x6C6C_756E, 4)
        case UInt8(ascii: "f"):
            place += 1
            return word(0x6573_6C61, 4)
        default: return false
        }
    }

    /// A word of four letters, as a little-endian number.
    @inline(__always)
    private mutating func word(_ letters: UInt32, _ length: Int) -> Bool {
        guard end - place > length,
            UInt32(littleEndian: UnsafeRawPointer(place).loadUnaligned(as: UInt32.self)) == letters
        else { return false }
        place += length
        return true
    }
}

// MARK: - Numbers and strings

extension JSONQuickScan {
    @inline(__always)
    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") <= 9 }

    /// Moves over the first digit, which must exist, and those that follow; returns how many.
    @inline(__always)
    private mutating func digits() -> Int {
        let first = place
        repeat { place += 1 } while Self.isDigit(place.pointee)
        return place - first
    }

    @inline(__always)
    private mutating func number() -> Bool {
        let isNegative = place.pointee == UInt8(ascii: "-")
        if isNegative {
            place += 1
            guard Self.isDigit(place.pointee) else { return false }
        }
        let isZero = place.pointee == UInt8(ascii: "0")
        let whole = digits()
        if isZero, whole > 1 { return false }
        guard place.pointee == UInt8(ascii: ".") || place.pointee | 0x20 == UInt8(ascii: "e") else {
            return !refusesCuts || (whole <= 18 && !(isZero && isNegative))
        }
        return fraction(whole, isZero: isZero)
    }

    /// The fraction and exponent of a number. Whether a number is cut out is the rule of `JSONScanner.isPlain`.
    @inline(__always)
    private mutating func fraction(_ whole: Int, isZero: Bool) -> Bool {
        if place.pointee == UInt8(ascii: ".") {
            place += 1
            guard Self.isDigit(place.pointee) else { return false }
            let fraction = digits()
            if refusesCuts, whole + fraction > 15 { return false }
            if refusesCuts, fraction > 1, place[-1] == UInt8(ascii: "0") || (isZero && fraction > 4) { return false }
        }
        guard place.pointee | 0x20 == UInt8(ascii: "e") else { return true }
        guard !refusesCuts else { return false }
        place += 1
        if place.pointee == UInt8(ascii: "+") || place.pointee == UInt8(ascii: "-") { place += 1 }
        guard Self.isDigit(place.pointee) else { return false }
        _ = digits()
        return true
    }

    /// From quote to quote, sixteen bytes at a time.
    @inline(__always)
    private mutating func string() -> Bool {
        place += 1
        while true {
            guard skipPlain() else { return false }
            if place.pointee == UInt8(ascii: "\"") {
                place += 1
                return true
            }
            guard let next = unusual() else { return false }
            place = next
        }
    }

    /// Moves to the next quote, backslash, or byte that is no printable ASCII; false if there is none.
    @inline(__always)
    private mutating func skipPlain() -> Bool {
        while place <= lastSixteen {
            let plain = UnsafeRawPointer(place).loadUnaligned(as: SIMD16<Int8>.self).printableBytes
            place += plain
            if plain < 16 { return true }
        }
        while place < end {
            switch place.pointee {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0...0x1F, 0x7F...: return true
            default: place += 1
            }
        }
        return false
    }

    /// The place after a byte, scalar or escape of a string, of any kind; nil if refused.
    @inline(__always)
    private mutating func unusual() -> UnsafePointer<UInt8>? {
        let byte = place.pointee
        if byte >= 0x7F { isPrintable = false }
        return Self.unusual(byte, at: place)
    }

    @inline(never)
    private static func unusual(_ byte: UInt8, at place: UnsafePointer<UInt8>) -> UnsafePointer<UInt8>? {
        switch byte {
        case UInt8(ascii: "\\"): escape(after: place + 1)
        case 0x20...0x7F: place + 1
        case 0x80...: multibyte(byte, at: place)
        default: nil
        }
    }

    private static func escape(after place: UnsafePointer<UInt8>) -> UnsafePointer<UInt8>? {
        switch place.pointee {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return place + 1
        case UInt8(ascii: "u"):
            guard let unit = unit(after: place + 1) else { return nil }
            let next = place + 5
            guard unit &- 0xD800 < 0x800 else { return next }
            guard unit < 0xDC00, next.pointee == UInt8(ascii: "\\"), next[1] == UInt8(ascii: "u"),
                let low = Self.unit(after: next + 2), low &- 0xDC00 < 0x400
            else { return nil }
            return next + 6
        default: return nil
        }
    }

    /// The four digits after a `u`.
    private static func unit(after place: UnsafePointer<UInt8>) -> UInt16? {
        var unit: UInt16 = 0
        for index in 0..<4 {
            let byte = place[index]
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): unit = unit << 4 | UInt16(byte &- 0x30)
            case UInt8(ascii: "a")...UInt8(ascii: "f"): unit = unit << 4 | UInt16(byte &- 0x57)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): unit = unit << 4 | UInt16(byte &- 0x37)
            default: return nil
            }
        }
        return unit
    }

    /// A scalar of two to four bytes, by the table of RFC 3629 section 4. Any byte other than a continuation ends the
    /// scalar, so the bracket at the end of the text is never passed.
    private static func multibyte(_ first: UInt8, at place: UnsafePointer<UInt8>) -> UnsafePointer<UInt8>? {
        let second = place[1]
        guard second & 0xC0 == 0x80 else { return nil }
        let length: Int
        switch first {
        case 0xC2...0xDF: length = 2
        case 0xE0: if second >= 0xA0 { length = 3 } else { return nil }
        case 0xED: if second < 0xA0 { length = 3 } else { return nil }
        case 0xE1...0xEF: length = 3
        case 0xF0: if second >= 0x90 { length = 4 } else { return nil }
        case 0xF1...0xF3: length = 4
        case 0xF4: if second < 0x90 { length = 4 } else { return nil }
        default: return nil
        }
        for index in 2..<length where place[index] & 0xC0 != 0x80 { return nil }
        return place + length
    }
}
