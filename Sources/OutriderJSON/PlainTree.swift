// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Builds the tree of a short text, if it is of the kind that most messages are: strings without escapes, integers, few
/// members. Everything else is jansson's, which takes six times as long for them.
///
/// Nothing is judged here. JSONScanner has found the text to be JSON, with numbers that need no thought; a name that
/// stands in an object twice makes this give up, as does whatever else it does not know.
struct PlainTree {
    /// What is longer gains little.
    static let mostBytes = 4096
    /// Names are compared with all before them.
    static let mostMembers = 32

    private let start: UnsafePointer<UInt8>
    private let end: Int
    private var position = 0

    /// Nil if the text is not of that kind.
    ///
    /// - Parameter bytes: JSONScanner has passed them, and found nothing in them to be taken out.
    static func build(_ bytes: UnsafeBufferPointer<UInt8>) -> JSONValue? {
        guard bytes.count <= mostBytes, let start = bytes.baseAddress else { return nil }
        var tree = PlainTree(start: start, end: bytes.count)
        tree.skipSpace()
        guard let value = tree.value() else { return nil }
        tree.skipSpace()
        return tree.position == tree.end ? value : nil
    }

    private init(start: UnsafePointer<UInt8>, end: Int) {
        self.start = start
        self.end = end
    }

    /// The byte at the position; 0 at the end, with which nothing begins.
    private var byte: UInt8 { position < end ? start[position] : 0 }

    private mutating func skipSpace() {
        while byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func value() -> JSONValue? {
        switch byte {
        case UInt8(ascii: "{"): return object().map { .object($0) }
        case UInt8(ascii: "["): return array().map { .array($0) }
        case UInt8(ascii: "\""): return string().map { .string(text($0)) }
        case UInt8(ascii: "t"):
            position += 4
            return .bool(true)
        case UInt8(ascii: "f"):
            position += 5
            return .bool(false)
        case UInt8(ascii: "n"):
            position += 4
            return .null
        default: return integer()
        }
    }

    private mutating func object() -> JSONObject? {
        guard opens(UInt8(ascii: "}")) else { return JSONObject() }
        var members: [JSONObject.Member] = []
        members.reserveCapacity(4)
        var lengths: UInt64 = 0
        repeat {
            guard members.count < Self.mostMembers, let name = string() else { return nil }
            // names of different lengths are different
            let bit: UInt64 = 1 << UInt64(truncatingIfNeeded: name.count & 63)
            if lengths & bit != 0, members.contains(where: { same($0.name, name) }) { return nil }
            lengths |= bit
            skipSpace()
            guard byte == UInt8(ascii: ":") else { return nil }
            position += 1
            skipSpace()
            guard let value = value() else { return nil }
            members.append(JSONObject.Member(text(name), value))
        } while goesOn()
        guard closes(UInt8(ascii: "}")) else { return nil }
        return JSONObject(members: members)
    }

    private mutating func array() -> [JSONValue]? {
        guard opens(UInt8(ascii: "]")) else { return [] }
        var values: [JSONValue] = []
        repeat {
            guard let value = value() else { return nil }
            values.append(value)
        } while goesOn()
        return closes(UInt8(ascii: "]")) ? values : nil
    }

    /// Steps over the opening bracket. False if the closing one, also stepped over, comes next.
    private mutating func opens(_ closing: UInt8) -> Bool {
        position += 1
        skipSpace()
        return !closes(closing)
    }

    private mutating func goesOn() -> Bool {
        skipSpace()
        guard byte == UInt8(ascii: ",") else { return false }
        position += 1
        skipSpace()
        return true
    }

    private mutating func closes(_ closing: UInt8) -> Bool {
        guard byte == closing else { return false }
        position += 1
        return true
    }

    /// What stands between the quotes; nil if there is an escape, or no string.
    private mutating func string() -> UnsafeBufferPointer<UInt8>? {
        guard byte == UInt8(ascii: "\"") else { return nil }
        position += 1
        let first = start + position
        guard let quote = memchr(first, 0x22, end - position) else { return nil }
        let count = UnsafeRawPointer(quote) - UnsafeRawPointer(first)
        guard memchr(first, 0x5C, count) == nil else { return nil }
        position += count + 1
        return UnsafeBufferPointer(start: first, count: count)
    }

    private func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    private func same(_ text: String, _ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        text.utf8.count == bytes.count && text.utf8.elementsEqual(bytes)
    }

    /// Of up to 18 digits, which Int64 holds; nil for what else begins like a number.
    private mutating func integer() -> JSONValue? {
        let isNegative = closes(UInt8(ascii: "-"))
        let first = position
        var number: Int64 = 0
        while case UInt8(ascii: "0")...UInt8(ascii: "9") = byte, position - first < 18 {
            number = number * 10 + Int64(byte - UInt8(ascii: "0"))
            position += 1
        }
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"): return nil
        default: return position > first ? .integer(isNegative ? -number : number) : nil
        }
    }
}
