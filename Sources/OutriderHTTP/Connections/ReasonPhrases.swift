// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Finds the reason phrases in the heads of a response, as the server wrote them (RFC 9112 section 4).
///
/// It reads beside a parser that knows standard phrases only, and looks at no byte behind the final head.
package struct ReasonPhrases: Sendable {
    private enum Place {
        case statusLine
        /// Within the fields; `true` if the line has no byte yet.
        case fields(isLineEmpty: Bool)
        /// Behind the final head.
        case body
    }

    /// Bytes of a status line that are kept, and phrases that wait to be taken.
    private static let (mostBytes, mostPhrases) = (1024, 1000)

    private var place = Place.statusLine
    private var line: [UInt8] = []
    private var phrases: ArraySlice<String> = []
    private var isInterim = false

    package init() {}

    /// The phrase of the next head.
    package mutating func next() -> String? { phrases.popFirst() }

    /// Reads bytes of a response, from its first byte.
    package mutating func feed(_ bytes: some Sequence<UInt8>) {
        if case .body = place { return }
        for byte in bytes {
            switch place {
            case .body: return
            case .statusLine where byte == 0x0A: endStatusLine()
            case .statusLine: if line.count < Self.mostBytes { line.append(byte) }
            case .fields(let isEmpty):
                switch byte {
                case 0x0A where isEmpty: place = isInterim ? .statusLine : .body
                case 0x0A: place = .fields(isLineEmpty: true)
                case 0x0D: break
                default: if isEmpty { place = .fields(isLineEmpty: false) }
                }
            }
        }
    }

    private mutating func endStatusLine() {
        let text = Self.trimmed(line[...])
        line = []
        // an empty line may come before a head
        if text.isEmpty { return }
        let parts = text.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
        let status = parts.count > 1 ? parts[1] : []
        isInterim = status.first == 0x31 && !status.elementsEqual("101".utf8)
        if phrases.count < Self.mostPhrases { phrases.append(parts.count > 2 ? Self.text(parts[2]) : "") }
        place = .fields(isLineEmpty: true)
    }

    /// UTF-8, or else ISO 8859-1, which RFC 9112 knew before.
    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        let bytes = trimmed(bytes)
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var text = ""
        for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
        return text
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
        guard let last = bytes.lastIndex(where: { !isBlank($0) }) else { return [] }
        return bytes[...last].drop(while: isBlank)
    }
}
