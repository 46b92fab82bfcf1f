// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Shortens the names, values and paths in errors, so that every error stays far below 64 KiB. No function here reads
/// more of a text than the part that stays.
package enum Excerpt {
    /// Limit for a name or value, in characters.
    package static let characters = 200
    /// Limit for a whole message, in characters.
    static let sentenceCharacters = 4000

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
}

extension String {
    /// The text for use in a message: its first 200 characters.
    package var excerpt: String { Excerpt.of(self) }
}
