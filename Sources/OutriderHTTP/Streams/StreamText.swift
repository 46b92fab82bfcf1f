// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// The charset of a body that arrives in pieces, and its decoder.
///
/// As in `TextDecoding`, the requested charset wins, then a byte order mark, then the declared charset, then UTF-8.
/// Invalid UTF-8 becomes U+FFFD, as usual for incremental decoders (Unicode 15 section 3.9, maximal subparts); bytes
/// invalid in other charsets are an error.
struct StreamText: Sendable {
    private let wanted: String?
    private var declared: String?
    /// Nil until the first bytes arrive.
    private(set) var charset: Charset?

    init(wanted: String?) { self.wanted = wanted }

    mutating func begin(contentType: String?) {
        declared = contentType.flatMap { MediaType(parsing: $0)?.charset }
        charset = nil
    }

    /// Determines the charset from the first bytes, and returns the length of a byte order mark; nil if more bytes are
    /// needed. Throws `stringSerializationFailed` for an unknown charset.
    mutating func begin(_ window: ByteWindow, isOver: Bool) throws(HTTPFailure) -> Int? {
        var mark: (bytes: [UInt8], charset: Charset)?
        for candidate in Charset.marks(wanted ?? declared) {
            let count = min(window.count, candidate.bytes.count)
            guard window.slice(count).elementsEqual(candidate.bytes[..<count]) else { continue }
            if count == candidate.bytes.count { mark = candidate } else if !isOver { return nil }
        }
        let chosen: Charset
        if let label = wanted ?? (mark == nil ? declared : nil) {
            guard let known = Charset(label: label, mark: mark?.charset) else {
                throw HTTPFailure(
                    .stringSerializationFailed, "the charset \(FieldRules.shown(label)) is not known", sent: .sent,
                    details: [.encoding(label)])
            }
            chosen = known
        } else {
            chosen = mark?.charset ?? .utf8
        }
        charset = chosen
        return mark?.charset == chosen ? mark?.bytes.count ?? 0 : 0
    }

    /// The bytes of a code unit: line ends are whole units.
    var width: Int {
        switch charset {
        case .utf16le, .utf16be: 2
        case .utf32le, .utf32be: 4
        default: 1
        }
    }

    /// The code unit at the index; 0xFFFF for all units above.
    func unit(_ bytes: ArraySlice<UInt8>, at index: Int) -> UInt16 {
        switch charset {
        case .utf16le: UInt16(bytes[index + 1]) << 8 | UInt16(bytes[index])
        case .utf16be: UInt16(bytes[index]) << 8 | UInt16(bytes[index + 1])
        case .utf32le: UInt16(clamping: TextDecoding.number(bytes, at: index, highFirst: false))
        case .utf32be: UInt16(clamping: TextDecoding.number(bytes, at: index, highFirst: true))
        default: UInt16(bytes[index])
        }
    }

    /// Whether text may be cut only at line ends, because single bytes do not show where a character begins.
    var cutsAtLines: Bool { charset?.systemName != nil }

    /// The length of the longest prefix of whole characters; if more bytes may come, an incomplete character is left
    /// out.
    func whole(_ bytes: ArraySlice<UInt8>, isOver: Bool) -> Int {
        switch charset {
        case .utf16le, .utf16be:
            let even = bytes.count & ~1
            if isOver || even == 0 { return isOver ? bytes.count : 0 }
            let isLead = unit(bytes, at: bytes.startIndex + even - 2) & 0xFC00 == 0xD800
            return isLead ? even - 2 : even
        case .utf32le, .utf32be: return isOver ? bytes.count : bytes.count & ~3
        case .utf8, .ascii: return isOver ? bytes.count : bytes.count - UTF8Cut.unfinished(bytes)
        default: return bytes.count
        }
    }

    /// The item for the bytes: text, plain bytes if the text holds U+0000, or a failure if malformed.
    func content(_ bytes: ArraySlice<UInt8>) -> StreamItem.Content {
        guard let text = text(bytes) else {
            let name = charset?.name ?? "utf-8"
            return .failed(
                HTTPFailure(
                    .stringSerializationFailed, "\(bytes.count) bytes are not \(name)", sent: .sent,
                    details: [.encoding(name)]))
        }
        // half of the clients' parsers lose or cut such a string
        if text.utf8.contains(0) { return .data(Array(bytes)) }
        var writer = JSONWriter(capacity: bytes.count + 16)
        writer.value(text)
        return .text(JSONText(written: writer.bytes))
    }

    private func text(_ bytes: ArraySlice<UInt8>) -> String? {
        switch charset {
        case nil, .utf8, .ascii: String(decoding: bytes, as: UTF8.self)
        case .some(let charset): TextDecoding.text(of: bytes, charset)
        }
    }
}

/// Where UTF-8 may be cut (RFC 3629 section 4).
enum UTF8Cut {
    /// The length of an incomplete character at the end.
    static func unfinished(_ bytes: ArraySlice<UInt8>) -> Int {
        for count in 1...3 where count <= bytes.count {
            let index = bytes.endIndex - count
            let byte = bytes[index]
            if byte & 0xC0 == 0x80 { continue }
            guard let (length, second) = lead(byte), length > count else { return 0 }
            return count == 1 || second.contains(bytes[index + 1]) ? count : 0
        }
        return 0
    }

    /// The length of the character that begins with a byte, and the range of its second byte.
    static func lead(_ byte: UInt8) -> (length: Int, second: ClosedRange<UInt8>)? {
        switch byte {
        case 0xC2...0xDF: (2, 0x80...0xBF)
        case 0xE0: (3, 0xA0...0xBF)
        case 0xED: (3, 0x80...0x9F)
        case 0xE1...0xEF: (3, 0x80...0xBF)
        case 0xF0: (4, 0x90...0xBF)
        case 0xF1...0xF3: (4, 0x80...0xBF)
        case 0xF4: (4, 0x80...0x8F)
        default: nil
        }
    }
}
