// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// One JSON value (RFC 8259), as a client wrote it: integers and reals stay different, objects keep their order.
package enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    /// A number without fraction or exponent. Numbers outside Int64 are refused by the parser, never rounded.
    case integer(Int64)
    /// A number with a fraction or an exponent; always finite.
    case real(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// What a person calls this type, for complaints: "a string", "an object".
    package var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .integer: "an integer"
        case .real: "a number"
        case .string: "a string"
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
        default: nil
        }
    }

    /// The value as a number of either kind.
    package var number: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .real(let number): number
        default: nil
        }
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
    }

    package var members: [Member]

    /// The names must be unique; the parser refuses duplicates before it builds an object.
    package init(members: [Member] = []) {
        self.members = members
    }

    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        members = elements.map { Member($0.0, $0.1) }
    }

    package var isEmpty: Bool { members.isEmpty }

    /// The member of that name; setting nil removes it.
    ///
    /// Linear: objects that we look into are small.
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

    /// Names are bytes: Swift's own equality would take two spellings of one accent for the same.
    private static func same(_ one: String, _ other: String) -> Bool { one.utf8.elementsEqual(other.utf8) }
}
