// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Moves over a JSON text value by value, without building values.
///
/// Finds the places of values in a text that JSONScanner accepts. In any other text the cursor sets `isLost`, and never
/// leaves the bytes.
package struct JSONCursor {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    /// Whether the text is certainly no JSON.
    package private(set) var isLost = false

    package init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    /// The first byte of the next token; 0 at the end.
    package mutating func peek() -> UInt8 {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return bytes[position]
            }
        }
        return 0
    }

    /// Whether only white space is left.
    package mutating func isAtEnd() -> Bool { peek() == 0 && position >= bytes.count }

    /// Moves over the object that begins here; `visit` gets the range of each name between its quotes, and must move
    /// over the value.
    package mutating func eachMember(_ visit: (inout JSONCursor, Range<Int>) -> Void) {
        each(until: UInt8(ascii: "}")) { cursor in
            guard let name = cursor.string(), cursor.peek() == UInt8(ascii: ":") else { return cursor.isLost = true }
            cursor.position += 1
            visit(&cursor, name)
        }
    }

    /// Moves over the array that begins here; `visit` must move over each element.
    package mutating func eachElement(_ visit: (inout JSONCursor) -> Void) {
        each(until: UInt8(ascii: "]"), visit)
    }

    private mutating func each(until end: UInt8, _ visit: (inout JSONCursor) -> Void) {
        position += 1
        if peek() == end {
            position += 1
            return
        }
        while !isLost {
            let before = position
            visit(&self)
            switch peek() {
            case UInt8(ascii: ",") where position > before: position += 1
            case end:
                position += 1
                return
            default: isLost = true
            }
        }
    }

    /// Moves over the string that begins here: the range between its quotes. Nil, and lost, if there is none.
    package mutating func string() -> Range<Int>? {
        guard peek() == UInt8(ascii: "\"") else {
            isLost = true
            return nil
        }
        position += 1
        let first = position
        while position < bytes.count, let start = bytes.baseAddress {
            guard let quote = memchr(start + position, 0x22, bytes.count - position) else { break }
            let end = UnsafeRawPointer(quote) - UnsafeRawPointer(start)
            position = end + 1
            // a quote behind an odd number of backslashes belongs to the string
            let slashes = bytes[first..<end].reversed().prefix { $0 == UInt8(ascii: "\\") }.count
            if slashes % 2 == 0 { return first..<end }
        }
        position = bytes.count
        isLost = true
        return nil
    }

    /// Moves over the next value: its range, without white space around it.
    package mutating func value() -> Range<Int> {
        _ = peek()
        let start = position
        skip()
        // `skip` looks for a colon behind a string
        var end = position
        while end > start, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[end - 1]) { end -= 1 }
        return start..<end
    }

    /// Moves over the value that begins here, and reports every string value, including the value itself.
    package mutating func skip(_ string: (Range<Int>) -> Void = { _ in }) {
        var depth = 0
        repeat {
            switch peek() {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                position += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"):
                if depth == 0 { isLost = true }
                position += 1
            case UInt8(ascii: "\""):
                guard let range = self.string() else { return }
                // a name is followed by a colon
                if peek() != UInt8(ascii: ":") { string(range) }
            case 0:
                isLost = true
                return
            default: word()
            }
        } while depth > 0
        if depth < 0 { isLost = true }
    }

    /// A number, or true, false or null.
    private mutating func word() {
        position += 1
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D, UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "]"), UInt8(ascii: "}"):
                return
            default: position += 1
            }
        }
    }

    /// The text of a name, or of another string that is no secret.
    package func text(_ range: Range<Int>) -> String {
        let bytes = UnsafeBufferPointer(rebasing: bytes[range])
        guard let start = bytes.baseAddress, memchr(start, 0x5C, bytes.count) != nil else {
            return String(decoding: bytes, as: UTF8.self)
        }
        var text: [UInt8] = []
        JSONEscapes.decode(bytes) { text.append(contentsOf: $0) }
        return String(decoding: text, as: UTF8.self)
    }
}
