// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Reads DER elements in sequence (X.690), without building a tree.
package struct DERScanner: Sendable {
    /// An element: its tag, all its bytes, and its contents.
    package struct Element: Sendable {
        package var tag: UInt8
        package var whole: ArraySlice<UInt8>
        package var contents: ArraySlice<UInt8>

        package var elements: DERScanner { DERScanner(contents) }
    }

    package static let sequence: UInt8 = 0x30
    package static let integer: UInt8 = 0x02
    package static let bitString: UInt8 = 0x03
    package static let octetString: UInt8 = 0x04
    package static let objectIdentifier: UInt8 = 0x06
    package static let boolean: UInt8 = 0x01
    package static let enumerated: UInt8 = 0x0A
    package static let utcTime: UInt8 = 0x17
    package static let generalizedTime: UInt8 = 0x18

    private var rest: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    package init(_ bytes: [UInt8]) { rest = bytes[...] }

    package var isAtEnd: Bool { rest.isEmpty }

    /// The tag of the next element; nil at the end.
    package var nextTag: UInt8? { rest.first }

    /// The next element; nil at the end, or where the bytes are no DER with lengths below 2^31 and tags below 31.
    package mutating func next() -> Element? {
        guard let tag = rest.first, tag & 0x1F != 0x1F else { return nil }
        var index = rest.startIndex + 1
        guard index < rest.endIndex else { return nil }
        var length = Int(rest[index])
        index += 1
        if length >= 0x80 {
            let count = length & 0x7F
            guard (1...4).contains(count), rest.endIndex - index >= count else { return nil }
            length = 0
            for _ in 0..<count {
                length = length << 8 | Int(rest[index])
                index += 1
            }
            guard length >= 0x80, length < 1 << 31 else { return nil }
        }
        guard rest.endIndex - index >= length else { return nil }
        let end = index + length
        let element = Element(tag: tag, whole: rest[rest.startIndex..<end], contents: rest[index..<end])
        rest = rest[end...]
        return element
    }

    /// The next element if it has that tag; otherwise nil, and nothing is skipped.
    package mutating func next(_ tag: UInt8) -> Element? { nextTag == tag ? next() : nil }
}
