// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Bodies in UTF-16 and UTF-32, whose secrets are looked for in UTF-8.
enum WideText {
    /// The text in UTF-8; nil for a body in another charset. A part of a code unit at the end is left out.
    static func narrowed(_ bytes: [UInt8], _ type: MediaType?) -> (text: [UInt8], charset: Charset)? {
        // each letter of ASCII has a zero byte
        guard bytes.contains(0) else { return nil }
        let whole = { (width: Int) in
            TextDecoding.decode(Array(bytes.prefix(bytes.count & ~(width - 1))), declared: type?.charset)
        }
        guard let found = whole(2) ?? whole(4),
            [.utf16le, .utf16be, .utf32le, .utf32be].contains(found.charset)
        else { return nil }
        return (Array(found.text.utf8), found.charset)
    }

    /// The body with its text changed, in the same charset; nil for a body in another charset.
    static func changed(_ bytes: [UInt8], _ type: MediaType?, _ change: ([UInt8]) -> [UInt8]) -> [UInt8]? {
        guard let (text, charset) = narrowed(bytes, type) else { return nil }
        let result = change(text)
        if result == text { return bytes }
        let mark = Charset.marks(nil).first(where: { $0.charset == charset })?.bytes ?? []
        let changed = TextEncoding.wide(String(decoding: result, as: UTF8.self), charset) ?? []
        return (bytes.starts(with: mark) ? mark : []) + changed
    }
}
