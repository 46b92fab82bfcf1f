// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Finds the texts in the heads of a response that a parser beside it does not give as the server wrote them: reason
/// phrases (RFC 9112 section 4), of which the parser knows the standard ones only, and field values that are not UTF-8.
///
/// It looks at no byte behind the final head.
package struct HeadTexts: Sendable {
    /// Of one head.
    package struct Head: Sendable {
        package fileprivate(set) var phrase: String
        /// The values that are not UTF-8, in order: as a decoder with replacement characters has them, and as they are.
        fileprivate var values: [(replaced: String, text: String)] = []

        /// Corrects the fields of the head from the parser.
        package func correct(_ fields: inout HTTPFields) {
            var rest = values[...]
            for index in fields.list.indices {
                guard let next = rest.first else { return }
                guard fields.list[index].value == next.replaced else { continue }
                fields.list[index].value = next.text
                rest.removeFirst()
            }
        }
    }

    private enum Place {
        case statusLine
        /// Within the fields; the line may have no byte yet.
        case fields
        /// Behind the final head.
        case body
    }

    /// Bytes of a status line and of a field that are kept, and heads that wait to be taken.
    private static let (mostBytes, mostFieldBytes, mostHeads) = (1024, 64 << 10, 1000)

    private var place = Place.statusLine
    private var line: [UInt8] = []
    private var heads: ArraySlice<Head> = []
    private var isInterim = false

    package init() {}

    /// The texts of the next head.
    package mutating func next() -> Head? { heads.popFirst() }

    /// Reads bytes of a response, from its first byte.
    package mutating func feed(_ bytes: some Sequence<UInt8>) {
        if case .body = place { return }
        for byte in bytes {
            switch place {
            case .body: return
            case .statusLine where byte == 0x0A: endStatusLine()
            case .statusLine: if line.count < Self.mostBytes { line.append(byte) }
            case .fields where byte == 0x0A: endField()
            case .fields: if byte != 0x0D, line.count < Self.mostFieldBytes { line.append(byte) }
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
        let phrase = parts.count > 2 ? FieldRules.text(Self.trimmed(parts[2])) : ""
        if heads.count < Self.mostHeads { heads.append(Head(phrase: phrase)) }
        place = .fields
    }

    private mutating func endField() {
        defer { line.removeAll(keepingCapacity: true) }
        if line.isEmpty {
            place = isInterim ? .statusLine : .body
            return
        }
        guard line.contains(where: { $0 >= 0x80 }), let colon = line.firstIndex(of: UInt8(ascii: ":")),
            let last = heads.indices.last
        else { return }
        let value = Self.trimmed(line[(colon + 1)...])
        if String(validating: value, as: UTF8.self) != nil { return }
        let text = FieldRules.text(value, of: String(decoding: line[..<colon], as: UTF8.self))
        heads[last].values.append((String(decoding: value, as: UTF8.self), text))
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
        guard let last = bytes.lastIndex(where: { !isBlank($0) }) else { return [] }
        return bytes[...last].drop(while: isBlank)
    }
}
