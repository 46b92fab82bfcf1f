// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A compiled schema object: a rule per keyword, or per group of keywords that depend on each other.
struct SchemaNode: Sendable {
    /// The place of the schema in its document.
    var pointer: JSONPointer
    /// The part of the document whose `$id` covers the schema.
    var resource: Int
    var rules: [SchemaRule] = []
    /// For the schemas `true` and `false`.
    var always: Bool?
    /// OpenAPI 3.0: null fits, regardless of other keywords.
    var isNullable = false
}

/// All schemas of a document; they refer to each other by index.
final class SchemaNodes: Sendable {
    let list: [SchemaNode]
    /// The dynamic anchors of each resource.
    let anchors: [[ByteText: Int]]
    /// Whether any schema uses `unevaluatedItems` or `unevaluatedProperties`.
    let hasUnevaluated: Bool
    /// Whether elements matched by `contains` count as evaluated.
    let containsEvaluates: Bool

    init(_ list: [SchemaNode], anchors: [[ByteText: Int]], hasUnevaluated: Bool, containsEvaluates: Bool) {
        self.list = list
        self.anchors = anchors
        self.hasUnevaluated = hasUnevaluated
        self.containsEvaluates = hasUnevaluated && containsEvaluates
    }
}

/// A condition on a value. Numbers are indexes of other schemas.
enum SchemaRule: Sendable {
    case types(SchemaTypes)
    case constant(JSONValue)
    case choice([JSONValue])
    case atLeast(JSONValue, exclusive: Bool)
    case atMost(JSONValue, exclusive: Bool)
    case multipleOf(SchemaNumber, written: JSONValue)
    case length(least: Int, most: Int?)
    case pattern(LinearPattern, String)
    case format(SchemaFormat)
    case itemCount(least: Int, most: Int?)
    case uniqueItems
    case items(first: [Int], others: Int?)
    case contains(Int, least: Int, most: Int?)
    case memberCount(least: Int, most: Int?)
    case required([String])
    case members(SchemaMembers)
    case names(Int)
    case requiredWith(String, [String])
    case schemaWith(String, Int)
    case all([Int])
    case any([Int])
    case one([Int])
    case not(Int)
    case condition(Int, then: Int?, otherwise: Int?)
    case reference(Int, keyword: String)
    /// The schema with that dynamic anchor in the outermost entered resource that has such an anchor.
    case dynamicReference(Int, anchor: ByteText)
    case unevaluatedItems(Int)
    case unevaluatedMembers(Int)
}

/// `properties`, `patternProperties` and `additionalProperties`: which schema a member has to fit.
struct SchemaMembers: Sendable {
    var named: [ByteText: Int] = [:]
    var patterns: [(pattern: LinearPattern, node: Int)] = []
    var others: Int?
}

/// The types of JSON; an integer is a number without a fraction.
struct SchemaTypes: OptionSet, Sendable {
    var rawValue: UInt8

    static let null = SchemaTypes(rawValue: 1)
    static let boolean = SchemaTypes(rawValue: 2)
    static let integer = SchemaTypes(rawValue: 4)
    static let number = SchemaTypes(rawValue: 8)
    static let string = SchemaTypes(rawValue: 16)
    static let array = SchemaTypes(rawValue: 32)
    static let object = SchemaTypes(rawValue: 64)

    private static let words: [(name: String, type: SchemaTypes, spoken: String)] = [
        ("null", .null, "null"), ("boolean", .boolean, "a boolean"), ("integer", .integer, "an integer"),
        ("number", .number, "a number"), ("string", .string, "a string"), ("array", .array, "an array"),
        ("object", .object, "an object"),
    ]

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init?(name: String) {
        guard let word = Self.words.first(where: { $0.name == name }) else { return nil }
        self = word.type
    }

    static var names: [String] { words.map(\.name) }

    /// "a string or null".
    var spoken: String {
        let names = Self.words.filter { contains($0.type) }.map(\.spoken)
        guard let last = names.last, names.count > 1 else { return names.first ?? "nothing" }
        return names.dropLast().joined(separator: ", ") + " or " + last
    }

    func fits(_ value: JSONValue) -> Bool {
        switch value {
        case .null: contains(.null)
        case .bool: contains(.boolean)
        case .integer: !isDisjoint(with: [.integer, .number])
        case .real(let number): contains(.number) || contains(.integer) && number.rounded() == number
        case .written: fits(value.rounded)
        case .string, .secret: contains(.string)
        case .array: contains(.array)
        case .object: contains(.object)
        }
    }
}
