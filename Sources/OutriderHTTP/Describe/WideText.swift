// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Bodies in UTF-16, whose secrets are looked for in UTF-8.
enum WideText {
    /// The text in UTF-8; nil for a body in another charset. A byte at the end that is half of a character is left out.
    static func narrowed(_ bytes: [UInt8], _ type: MediaType?) -> (text: [UInt8], charset: Charset)? {
        // each letter of ASCII has a zero byte
        guard bytes.contains(0),
            let found = TextDecoding.decode(Array(bytes.prefix(bytes.count & ~1)), declared: type?.charset),
            found.charset == .utf16le || found.charset == .utf16be
        else { return nil }
        return (Array(found.text.utf8), found.charset)
    }

    /// The body with its text changed, in the same charset; nil for a body in another charset.
    static func changed(_ bytes: [UInt8], _ type: MediaType?, _ change: ([UInt8]) -> [UInt8]) -> [UInt8]? {
        guard let (text, charset) = narrowed(bytes, type) else { return nil }
        let result = change(text)
        if result == text { return bytes }
        let isLittle = charset == .utf16le
        let mark: [UInt8] = isLittle ? [0xFF, 0xFE] : [0xFE, 0xFF]
        var written = bytes.starts(with: mark) ? mark : []
        written.reserveCapacity(bytes.count)
        for unit in String(decoding: result, as: UTF8.self).utf16 {
            let (high, low) = (UInt8(truncatingIfNeeded: unit >> 8), UInt8(truncatingIfNeeded: unit))
            written.append(isLittle ? low : high)
            written.append(isLittle ? high : low)
        }
        return written
    }
}
