// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Reads small texts of the usual form into values without jansson and its tree.
///
/// The text must have passed `JSONQuickScan` with `refusesCuts`, so that every number reads back as written; this
/// reader omits exactly the checks made there. Nil for strings with escapes, objects of more than 16 members, repeated
/// names, and texts that are long or deep: jansson reads those.
struct JSONPlainReader {
    private var place: UnsafePointer<UInt8>

    /// Longest text, in bytes.
    private static let longest = 4096
    private static let deepest = 8
    private static let mostMembers = 16

    static func value(_ bytes: UnsafeBufferPointer<UInt8>) -> JSONValue? {
        guard bytes.count <= longest, let start = bytes.baseAddress else { return nil }
        var reader = JSONPlainReader(place: start)
        reader.skipSpace()
        return reader.value(depth: deepest)
    }

    /// Moves to the next byte other than white space, which must exist.
    @inline(__always)
    private mutating func skipSpace() { while place.pointee <= 0x20 { place += 1 } }

    private mutating func value(depth: Int) -> JSONValue? {
        switch place.pointee {
        case UInt8(ascii: "\""): return string().map { .string($0) }
        case UInt8(ascii: "{"): return depth > 0 ? object(depth: depth - 1) : nil
        case UInt8(ascii: "["): return depth > 0 ? array(depth: depth - 1) : nil
        case UInt8(ascii: "t"):
            place += 4
            return .bool(true)
        case UInt8(ascii: "f"):
            place += 5
            return .bool(false)
        case UInt8(ascii: "n"):
            place += 4
            return .null
        default: return number()
        }
    }

    private mutating func object(depth: Int) -> JSONValue? {
        var members: [JSONObject.Member] = []
        place += 1
        skipSpace()
        while place.pointee != UInt8(ascii: "}") {
            guard members.count < Self.mostMembers, let name = string() else { return nil }
            for member in members where member.name.utf8.elementsEqual(name.utf8) { return nil }
            skipSpace()
            place += 1
            skipSpace()
            guard let value = value(depth: depth) else { return nil }
            if members.isEmpty { members.reserveCapacity(4) }
            members.append(JSONObject.Member(name, value))
            skipComma()
        }
        place += 1
        return .object(JSONObject(members: members))
    }

    private mutating func array(depth: Int) -> JSONValue? {
        var values: [JSONValue] = []
        place += 1
        skipSpace()
        while place.pointee != UInt8(ascii: "]") {
            guard let value = value(depth: depth) else { return nil }
            values.append(value)
            skipComma()
        }
        place += 1
        return .array(values)
    }

    @inline(__always)
    private mutating func skipComma() {
        skipSpace()
        if place.pointee == UInt8(ascii: ",") {
            place += 1
            skipSpace()
        }
    }

    private mutating func string() -> String? {
        place += 1
        let first = place
        while place.pointee != UInt8(ascii: "\"") {
            if place.pointee == UInt8(ascii: "\\") { return nil }
            place += 1
        }
        let text = String(decoding: UnsafeBufferPointer(start: first, count: place - first), as: UTF8.self)
        place += 1
        return text
    }

    /// Whole numbers of up to 18 digits; nil for fractions, which jansson converts.
    private mutating func number() -> JSONValue? {
        let isNegative = place.pointee == UInt8(ascii: "-")
        if isNegative { place += 1 }
        var number: Int64 = 0
        while place.pointee &- UInt8(ascii: "0") <= 9 {
            // safe: an Int64 holds every number of 18 digits
            number = number &* 10 &+ Int64(place.pointee &- UInt8(ascii: "0"))
            place += 1
        }
        if place.pointee == UInt8(ascii: ".") { return nil }
        return .integer(isNegative ? -number : number)
    }
}
