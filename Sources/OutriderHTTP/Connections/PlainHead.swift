// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Parses heads of the most common form in a single pass: complete, final, HTTP/1.1, lines that end in CRLF, and plain
/// ASCII values without surrounding white space.
///
/// For any other head (RFC 9112) the result is nil, and `ResponseReader` goes through it line by line.
package struct PlainHead: Sendable, Equatable {
    package var head: ResponseHead
    /// The length of the head, with the empty line.
    package var bytes: Int

    /// Longer heads, and those with more fields, are left to the reader of lines and its limits.
    private static let mostBytes = 16 << 10
    private static let mostFields = 100

    /// The head at the beginning of the bytes; nil if incomplete or not plain.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = PlainHeadReader(bytes.prefix(Self.mostBytes))
        guard let status = reader.status(), let reason = reader.reason() else { return nil }
        var fields: [HTTPFields.Field] = []
        fields.reserveCapacity(12)
        while !reader.isAtEmptyLine {
            guard fields.count < Self.mostFields, let name = reader.name(), let value = reader.value() else {
                return nil
            }
            fields.append(HTTPFields.Field(name, value))
        }
        guard reader.emptyLine() else { return nil }
        head = ResponseHead(status: status, reason: reason, version: .http11, fields: HTTPFields(fields))
        self.bytes = reader.position
    }
}

/// The position of `PlainHead` in the bytes.
private struct PlainHeadReader {
    private let bytes: UnsafeRawBufferPointer
    private(set) var position = 0

    init(_ bytes: Slice<UnsafeRawBufferPointer>) { self.bytes = UnsafeRawBufferPointer(rebasing: bytes) }

    private static let version: StaticString = "HTTP/1.1 "

    /// A final status, followed by a space.
    mutating func status() -> Int? {
        let start = Self.version.utf8CodeUnitCount
        guard bytes.count > start + 5 else { return nil }
        for index in 0..<start where bytes[index] != Self.version.utf8Start[index] { return nil }
        var status = 0
        for index in start..<start + 3 {
            guard case 0x30...0x39 = bytes[index] else { return nil }
            status = status * 10 + Int(bytes[index] &- 0x30)
        }
        guard (200...599).contains(status), bytes[start + 3] == 0x20 else { return nil }
        position = start + 4
        return status
    }

    mutating func reason() -> String? { line(mayBeEmpty: true) }

    var isAtEmptyLine: Bool { position < bytes.count && bytes[position] == 0x0D }

    mutating func emptyLine() -> Bool {
        guard bytes.count - position >= 2, bytes[position] == 0x0D, bytes[position + 1] == 0x0A else { return false }
        position += 2
        return true
    }

    /// A token and its colon.
    mutating func name() -> String? {
        let start = position
        var index = start
        while index < bytes.count, FieldRules.isTokenByte(bytes[index]) { index += 1 }
        guard index > start, index < bytes.count, bytes[index] == UInt8(ascii: ":") else { return nil }
        position = index + 1
        let name = UnsafeRawBufferPointer(rebasing: bytes[start..<index])
        return UsualFieldNames.find(name) ?? String(decoding: name, as: UTF8.self)
    }

    mutating func value() -> String? {
        if position < bytes.count, bytes[position] == 0x20 { position += 1 }
        return line(mayBeEmpty: false)
    }

    /// Printable ASCII up to the end of the line, without surrounding white space.
    private mutating func line(mayBeEmpty: Bool) -> String? {
        let start = position
        var index = start
        while index < bytes.count, bytes[index] >= 0x20, bytes[index] < 0x7F { index += 1 }
        guard bytes.count - index >= 2, bytes[index] == 0x0D, bytes[index + 1] == 0x0A else { return nil }
        position = index + 2
        if index == start { return mayBeEmpty ? "" : nil }
        guard bytes[start] != 0x20, bytes[index - 1] != 0x20 else { return nil }
        return String(decoding: UnsafeRawBufferPointer(rebasing: bytes[start..<index]), as: UTF8.self)
    }
}
