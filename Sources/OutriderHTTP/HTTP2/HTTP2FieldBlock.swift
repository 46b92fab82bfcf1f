// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

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
        let text = FieldText(value, isLatin1: field.isLatin1)
        switch field.kind {
        case .regular: fields.append(HTTPFields.Field(name, text))
        case .contentLength:
            addLength(value)
            fields.append(HTTPFields.Field(name, text))
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
        guard length == nil else { return refuse("more than one Content-Length") }
        length = number
    }

    private mutating func refuse(_ what: String) {
        if fault == nil { fault = what }
    }
}
