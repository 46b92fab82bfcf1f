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

/// A block of fields during decoding: checked against the limits before strings are made, then validated (RFC 9113
/// sections 6.5.2, 8.3).
struct HTTP2FieldBlock {
    /// Bytes and number of fields that are kept.
    static let mostBytes = 64 << 10
    static let mostFields = 1000
    /// Bytes of fields that are decoded without being kept; beyond, the connection ends.
    static let mostDecoded = 256 << 10

    private(set) var fields: [HTTPFields.Field] = []
    private(set) var status: Int?
    /// Of the Content-Length fields.
    private(set) var length: Int64?
    /// Why a response with these fields is malformed.
    private(set) var fault: String?
    private(set) var isTooLarge = false
    private var bytes = 0
    private var count = 0
    private var keeps: Bool

    /// - Parameter keeps: false to decode for the sake of the table only.
    init(keeps: Bool) {
        self.keeps = keeps
        if keeps { fields.reserveCapacity(12) }
    }

    var isOverDecoded: Bool { bytes > Self.mostDecoded }

    /// Whether the next field's strings are needed.
    mutating func takes(_ size: Int) -> Bool {
        bytes &+= size
        count &+= 1
        guard keeps else { return false }
        guard bytes <= Self.mostBytes, count <= Self.mostFields else {
            isTooLarge = true
            keeps = false
            fields = []
            return false
        }
        return true
    }

    mutating func add(_ field: HPACKField) {
        let (name, value) = (field.name, field.value)
        switch field.kind {
        case .regular: fields.append(HTTPFields.Field(name, value))
        case .contentLength:
            addLength(value)
            fields.append(HTTPFields.Field(name, value))
        case .status: addStatus(value)
        case .pseudo: refuse("the pseudo-field \(FieldRules.shown(name))")
        case .connection: refuse("the field \(name), which HTTP/2 does not have")
        case .badName: refuse("the field name \(FieldRules.shown(name))")
        case .badValue: refuse("a value of \(FieldRules.shown(name)) that no field may have")
        }
    }

    private mutating func addStatus(_ value: String) {
        guard status == nil, fields.isEmpty else { return refuse("a :status that is not first or not alone") }
        guard value.utf8.count == 3, let number = FieldRules.decimal(value), (100...999).contains(number) else {
            return refuse("the status \(FieldRules.shown(value))")
        }
        status = Int(number)  // safe: 100 to 999
    }

    private mutating func addLength(_ value: String) {
        guard let number = FieldRules.decimal(value) else { return refuse("a Content-Length that is no number") }
        if let length, length != number { return refuse("two different Content-Length values") }
        length = number
    }

    private mutating func refuse(_ what: String) {
        if fault == nil { fault = what }
    }
}
