// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The kind of a response field, decided once when its bytes are read (RFC 9113 section 8.2).
enum HTTP2FieldKind: UInt8 {
    case regular
    case contentLength
    case status
    /// A pseudo-field that no response has.
    case pseudo
    /// Connection, Transfer-Encoding and the like.
    case connection
    /// An upper-case letter, or no token.
    case badName
    /// CR, LF, NUL, or surrounding white space.
    case badValue

    static func of(name: String) -> HTTP2FieldKind {
        var name = name
        return name.withUTF8 { of(name: UnsafeRawBufferPointer($0)) }
    }

    static func of(name: UnsafeRawBufferPointer) -> HTTP2FieldKind {
        guard name.count > 0 else { return .badName }
        if name[0] == UInt8(ascii: ":") { return name.equals(":status") ? .status : .pseudo }
        for byte in name where !FieldRules.isTokenByte(byte) || (0x41...0x5A).contains(byte) { return .badName }
        switch name.count {
        case 7: return name.equals("upgrade") ? .connection : .regular
        case 10: return name.equals("connection") || name.equals("keep-alive") ? .connection : .regular
        case 14: return name.equals("content-length") ? .contentLength : .regular
        case 16: return name.equals("proxy-connection") ? .connection : .regular
        case 17: return name.equals("transfer-encoding") ? .connection : .regular
        default: return .regular
        }
    }

    /// The same kind, or `badValue`.
    func with(value: UnsafeRawBufferPointer) -> HTTP2FieldKind {
        guard let first = value.first, let last = value.last else { return self }
        if first == 0x20 || first == 0x09 || last == 0x20 || last == 0x09 { return .badValue }
        for byte in value where byte == 0x0A || byte == 0x0D || byte == 0 { return .badValue }
        return self
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func equals(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        for index in 0..<count where self[index] != text.utf8Start[index] { return false }
        return true
    }
}
