// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// An element of a short XML document.
package struct XMLElement: Sendable, Equatable {
    /// Without the prefix of its namespace.
    package var name: String
    /// The element's own text, references resolved.
    package var text = ""
    package var children: [XMLElement] = []

    /// The first descendant at this path of names; nil if there is none.
    package func first(_ path: String...) -> XMLElement? {
        path.reduce(Optional(self)) { element, name in element?.children.first { $0.name == name } }
    }
}

/// Reads short XML 1.0 responses. Strict, and without the dangerous parts of XML: no document type, no entities but the
/// five predefined, no processing instructions. Attributes are dropped.
package struct XMLScanner {
    private struct Malformed: Error {}

    private static let mostBytes = 256 << 10
    private static let mostDepth = 16
    private static let mostElements = 4096

    private let bytes: [UInt8]
    private var position = 0
    private var elements = 0

    /// The root; nil for malformed XML, or for more than 256 KiB.
    package static func scan(_ bytes: [UInt8]) -> XMLElement? {
        guard bytes.count <= mostBytes, String(validating: bytes, as: UTF8.self) != nil else { return nil }
        let hasMark = bytes.starts(with: [0xEF, 0xBB, 0xBF])
        var scanner = XMLScanner(bytes: hasMark ? Array(bytes.dropFirst(3)) : bytes)
        return try? scanner.document()
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    // MARK: structure

    private mutating func document() throws(Malformed) -> XMLElement {
        if take("<?xml ") { _ = try taken(until: "?>") }
        try skipBetween()
        let root = try element(depth: 0)
        try skipBetween()
        guard position == bytes.count else { throw Malformed() }
        return root
    }

    /// Skips space and comments.
    private mutating func skipBetween() throws(Malformed) {
        repeat { skipSpace() } while try skipComment()
    }

    private mutating func skipComment() throws(Malformed) -> Bool {
        guard take("<!--") else { return false }
        _ = try taken(until: "--")
        try expect(">")
        return true
    }

    private mutating func element(depth: Int) throws(Malformed) -> XMLElement {
        elements += 1
        guard depth < Self.mostDepth, elements <= Self.mostElements else { throw Malformed() }
        try expect("<")
        let tag = try name()
        var element = XMLElement(name: tag.split(separator: ":").last.map(String.init) ?? tag)
        if try attributes() { return element }
        while !take("</") {
            if take("<![CDATA[") {
                element.text += String(decoding: try taken(until: "]]>"), as: UTF8.self)
            } else if try skipComment() {
                continue
            } else if position < bytes.count, bytes[position] == UInt8(ascii: "<") {
                element.children.append(try self.element(depth: depth + 1))
            } else {
                element.text += try text()
            }
        }
        guard try name() == tag else { throw Malformed() }
        skipSpace()
        try expect(">")
        return element
    }

    /// Skips attributes to the end of the tag; returns whether the tag is self-closing.
    private mutating func attributes() throws(Malformed) -> Bool {
        while true {
            let before = position
            skipSpace()
            if take("/>") { return true }
            if take(">") { return false }
            guard position > before else { throw Malformed() }
            _ = try name()
            skipSpace()
            try expect("=")
            skipSpace()
            let isSingle = take("'")
            if !isSingle { try expect("\"") }
            let value = try taken(until: isSingle ? "'" : "\"")
            if value.contains(UInt8(ascii: "<")) { throw Malformed() }
        }
    }

    // MARK: words

    private mutating func name() throws(Malformed) -> String {
        let found = bytes[position...].prefix { byte in
            byte >= 0x80 || UInt8.isLetterOrDigit(byte) || ":_-.".utf8.contains(byte)
        }
        guard let first = found.first, first >= 0x80 || !"0123456789-.".utf8.contains(first), found.count <= 256 else {
            throw Malformed()
        }
        position = found.endIndex
        return String(decoding: found, as: UTF8.self)
    }

    /// Reads text up to the next tag.
    private mutating func text() throws(Malformed) -> String {
        var found: [UInt8] = []
        while position < bytes.count, bytes[position] != UInt8(ascii: "<") {
            if take("&") {
                found += try reference().utf8
            } else {
                found.append(bytes[position])
                position += 1
            }
        }
        guard position < bytes.count else { throw Malformed() }
        return String(decoding: found, as: UTF8.self)
    }

    private mutating func reference() throws(Malformed) -> String {
        let name = String(decoding: try taken(until: ";").prefix(12), as: UTF8.self)
        switch name {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default:
            let number =
                name.hasPrefix("#x")
                ? UInt32(name.dropFirst(2), radix: 16)
                : name.hasPrefix("#") ? UInt32(name.dropFirst()) : nil
            guard !name.contains("+"), let scalar = number.flatMap(Unicode.Scalar.init), scalar.value != 0 else {
                throw Malformed()
            }
            return String(Character(scalar))
        }
    }

    // MARK: bytes

    private mutating func taken(until end: StaticString) throws(Malformed) -> ArraySlice<UInt8> {
        let start = position
        while position < bytes.count {
            let here = position
            if take(end) { return bytes[start..<here] }
            position += 1
        }
        throw Malformed()
    }

    private mutating func take(_ word: StaticString) -> Bool {
        let wanted = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        guard bytes[position...].starts(with: wanted) else { return false }
        position += wanted.count
        return true
    }

    private mutating func expect(_ word: StaticString) throws(Malformed) {
        guard take(word) else { throw Malformed() }
    }

    private mutating func skipSpace() {
        while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
    }
}

extension UInt8 {
    fileprivate static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
