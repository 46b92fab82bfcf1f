// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Shortens the names, values and paths in errors, so that every error stays far below 64 KiB. No function here reads
/// more of a text than the part that stays.
package enum Excerpt {
    /// Limit for a name or value, in characters.
    package static let characters = 200
    /// Limit for a whole message, in characters.
    static let sentenceCharacters = 4000
    /// Limit for the data of an error, in bytes of JSON text.
    static let dataBytes = 12 << 10

    /// A name or value: its first 200 characters, and "…" if more follow.
    package static func of(_ text: String) -> String { cut(text, to: characters) }

    /// A message: every word of at most 200 characters, 4,000 characters in total.
    package static func sentence(_ text: String) -> String {
        if text.utf8.count <= characters { return text }
        let text = cut(text, to: sentenceCharacters)
        guard hasLongWord(text) else { return text }
        return text.split(separator: " ", omittingEmptySubsequences: false).map { of(String($0)) }
            .joined(separator: " ")
    }

    /// A JSON pointer: every member's name is cut like a value, the whole pointer like a message.
    package static func pointer(_ text: String) -> String {
        if text.utf8.count <= characters { return text }
        return cut(text, to: sentenceCharacters).split(separator: "/", omittingEmptySubsequences: false)
            .map { of(String($0)) }.joined(separator: "/")
    }

    /// The data of an error: unchanged if its text has at most 12 KiB, else shortened, with long texts cut.
    package static func data(_ data: JSONObject) -> JSONObject {
        var room = dataBytes
        if fits(.object(data), &room) { return data }
        room = dataBytes
        return shortened(.object(data), &room).object ?? JSONObject()
    }

    /// Limits both characters and bytes, because a character can have any number of bytes.
    private static func cut(_ text: String, to characters: Int) -> String {
        if text.utf8.count <= characters { return text }
        // 1.5 bytes a character for a message, which then has at most 36 KiB as JSON; four for all of 200 characters
        let bytes = max(4 * Self.characters, characters * 3 / 2)
        var end = text.utf8.index(text.startIndex, offsetBy: bytes, limitedBy: text.endIndex) ?? text.endIndex
        while end > text.startIndex, end.samePosition(in: text.unicodeScalars) == nil {
            end = text.utf8.index(before: end)
        }
        let beginning = text[..<end].prefix(characters)
        return beginning.endIndex == text.endIndex ? text : beginning + "…"
    }

    private static func hasLongWord(_ text: String) -> Bool {
        var length = 0
        for byte in text.utf8 {
            length = byte == UInt8(ascii: " ") ? 0 : length + 1
            if length > characters { return true }
        }
        return false
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
            let text = of(text)
            take(text, &room)
            return .string(text)
        case .written(let text): return text.utf8.count <= characters ? value : .string(of(text))
        case .array(let values):
            var kept: [JSONValue] = []
            room -= 2
            for value in values where room > 0 { kept.append(shortened(value, &room)) }
            return .array(kept)
        case .object(let object):
            var kept = JSONObject()
            room -= 2
            for member in object.members where room > 0 {
                let name = of(member.name)
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

extension String {
    /// The text for use in a message: its first 200 characters.
    package var excerpt: String { Excerpt.of(self) }
}
