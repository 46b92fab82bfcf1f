// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Shortens the data of an error, so that its text has at most 12 KiB.
package enum ErrorData {
    /// Limit for the data of an error, in bytes of JSON text.
    static let maximumBytes = 12 << 10

    /// The data of an error: unchanged if its text has at most 12 KiB, else shortened, with long texts cut.
    package static func shortened(_ data: JSONObject) -> JSONObject {
        var room = maximumBytes
        if fits(.object(data), &room) { return data }
        room = maximumBytes
        return shortened(.object(data), &room).object ?? JSONObject()
    }

    /// Subtracts the length of a value's text from the room; false as soon as the room is too small.
    private static func fits(_ value: JSONValue, _ room: inout Int) -> Bool {
        switch value {
        case .string(let text): return take(text, &room)
        case .array(let values):
            room -= 2
            for value in values where !fits(value, &room) { return false }
        case .object(let object):
            room -= 2
            for member in object.members {
                guard take(member.name, &room), fits(member.value, &room) else { return false }
            }
        case .written(let text): return take(text, &room)
        default: room -= 24
        }
        return room >= 0
    }

    @discardableResult
    private static func take(_ text: String, _ room: inout Int) -> Bool {
        room -= 4
        guard text.utf8.count <= room else {
            room = -1
            return false
        }
        for byte in text.utf8 { room -= written(byte) }
        return room >= 0
    }

    /// The length of a byte in the output: control characters and non-ASCII characters become `\u` escapes.
    private static func written(_ byte: UInt8) -> Int {
        switch byte {
        case ..<0x20, 0x7F: 6
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): 2
        case 0x80...: 3
        default: 1
        }
    }

    private static func shortened(_ value: JSONValue, _ room: inout Int) -> JSONValue {
        switch value {
        case .string(let text):
            let text = Excerpt.of(text)
            take(text, &room)
            return .string(text)
        case .written(let text): return text.utf8.count <= Excerpt.characters ? value : .string(Excerpt.of(text))
        case .array(let values):
            var kept: [JSONValue] = []
            room -= 2
            for value in values where room > 0 { kept.append(shortened(value, &room)) }
            return .array(kept)
        case .object(let object):
            var kept = JSONObject()
            room -= 2
            for member in object.members where room > 0 {
                let name = Excerpt.of(member.name)
                take(name, &room)
                kept[name] = shortened(member.value, &room)
            }
            return .object(kept)
        default:
            room -= 24
            return value
        }
    }
}
