// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A JSON value (RFC 8259), as a client wrote it: integers and reals stay different, numbers keep their written form,
/// objects keep their order.
package enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    /// A number without fraction or exponent.
    case integer(Int64)
    /// A number with a fraction; always finite.
    case real(Double)
    /// A number that neither Int64 nor Double would reproduce as written: `1.10`, `1e3`, 18446744073709551615. In the
    /// grammar of JSON, and within the range of a Double.
    case written(String)
    case string(String)
    /// A string that was read into locked memory, as its member is marked in the schema; `string` is nil.
    case secret(Secret)
    case array([JSONValue])
    case object(JSONObject)

    /// Compares texts by their bytes: Swift's own equality would equate two spellings of an accent.
    package static func == (one: JSONValue, other: JSONValue) -> Bool {
        switch (one, other) {
        case (.null, .null): true
        case (.bool(let one), .bool(let other)): one == other
        case (.integer(let one), .integer(let other)): one == other
        case (.real(let one), .real(let other)): one == other
        case (.written(let one), .written(let other)), (.string(let one), .string(let other)):
            one.utf8.elementsEqual(other.utf8)
        case (.secret(let one), .secret(let other)): one == other
        case (.array(let one), .array(let other)): one == other
        case (.object(let one), .object(let other)): one == other
        default: false
        }
    }

    /// The name of the type in complaints: "a string", "an object".
    package var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .integer: "an integer"
        case .real, .written: "a number"
        case .string, .secret: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    package var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The value as an integer; an integral real such as `3.0` or `1e+15` counts, because Lua and Lisp write so.
    package var integer: Int64? {
        switch self {
        case .integer(let number): number
        case .real(let number): Int64(exactly: number)
        case .written(let text): Self.integer(text)
        default: nil
        }
    }

    /// Digits without fraction and exponent are never rounded to an integer that fits.
    private static func integer(_ text: String) -> Int64? {
        if let number = Int64(text) { return number }
        guard text.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 | 0x20 == UInt8(ascii: "e") }) else {
            return nil
        }
        return Double(text).flatMap { Int64(exactly: $0) }
    }

    /// The value as a number of any kind, to the precision of a Double.
    package var number: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .real(let number): number
        case .written(let text): Double(text)
        default: nil
        }
    }

    /// The value, with a written number converted to an integer or real, rounded if necessary.
    package var rounded: JSONValue {
        guard case .written(let text) = self else { return self }
        return integer.map { .integer($0) } ?? Double(text).map { .real($0) } ?? .null
    }

    package var object: JSONObject? {
        if case .object(let object) = self { object } else { nil }
    }

    package var array: [JSONValue]? {
        if case .array(let array) = self { array } else { nil }
    }
}

/// A JSON object: members in the order in which they were written, names unique.
package struct JSONObject: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    package struct Member: Sendable, Equatable {
        package var name: String
        package var value: JSONValue

        package init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }

        package static func == (one: Member, other: Member) -> Bool {
            same(one.name, other.name) && one.value == other.value
        }
    }

    package var members: [Member]

    /// The names must be unique; the parser refuses duplicates before building an object.
    package init(members: [Member] = []) {
        self.members = members
    }

    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        members = elements.map { Member($0.0, $0.1) }
    }

    package var isEmpty: Bool { members.isEmpty }

    /// The member of that name; setting nil removes the member.
    ///
    /// Linear: the objects searched here are small.
    package subscript(name: String) -> JSONValue? {
        get {
            for member in members where Self.same(member.name, name) { return member.value }
            return nil
        }
        set {
            let index = members.firstIndex { Self.same($0.name, name) }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(name, value))
            case (nil, nil): break
            }
        }
    }

    /// Names are compared as bytes: Swift's own equality would equate two spellings of an accent.
    private static func same(_ one: String, _ other: String) -> Bool { one.utf8.elementsEqual(other.utf8) }
}
