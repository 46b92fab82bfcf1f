// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// How parameters are encoded: the name of an encoding, or an object of its options.
struct EncodingParameter: JSONDecodable {
    private typealias Kind = ParameterEncoding.Kind

    private var kind: ParameterEncoding.Kind?
    private var destination = ParameterEncoding.Destination.methodDependent
    private var form = FormOptions()
    private var json = JSONOptions()
    private var format = PropertyList.Format.xml
    private var callback: CallbackSpec?
    /// Options that were given, but belong to a single encoding.
    private var particular: [(names: [StaticString], kind: ParameterEncoding.Kind)] = []
    private var common: [StaticString] = []

    private static let options: [(names: [StaticString], kind: ParameterEncoding.Kind)] = [
        (
            [
                "destination", "array", "bool", "keyPath", "nil", "number", "space", "sort", "allowedCharacters",
            ], .urlEncodedForm
        ),
        (["pretty", "sortKeys"], .json),
        (["format"], .propertyList),
        (["callback", "decide", "timeout"], .custom),
    ]

    init(json value: JSONValue) throws(JSONComplaint) {
        if case .string(let word) = value {
            guard let kind = Kind(rawValue: word) else {
                throw JSONComplaint("must be one of \(Self.list(Kind.allCases.map(\.rawValue)))")
            }
            self.kind = kind
            return
        }
        var fields = try JSONFields(value)
        particular = Self.options.map { (fields.present($0.names), $0.kind) }.filter { !$0.names.isEmpty }
        common = fields.present(["key", "data", "date"])
        kind = try fields.choice("kind")
        try readForm(&fields)
        try readValues(&fields)
        json.pretty = try fields.optional("pretty") ?? false
        json.sortKeys = try fields.optional("sortKeys") ?? false
        if let format: PropertyList.Format = try fields.choice("format") { self.format = format }
        callback = try fields.callback()
        try fields.finish()
    }

    private mutating func readForm(_ fields: inout JSONFields) throws(JSONComplaint) {
        if let destination: ParameterEncoding.Destination = try fields.choice("destination") {
            self.destination = destination
        }
        if let arrays: Worded<FormOptions.Arrays> = try fields.optional("array") { form.arrays = arrays.value }
        if let bools: FormOptions.Bools = try fields.choice("bool") { form.bools = bools }
        if let paths: Worded<FormOptions.KeyPaths> = try fields.optional("keyPath") { form.keyPaths = paths.value }
        if let nulls: Worded<FormOptions.Nulls> = try fields.optional("nil") { form.nulls = nulls.value }
        if let numbers: FormOptions.Numbers = try fields.choice("number") { form.numbers = numbers }
        form.sorts = try fields.optional("sort")
        let spaces: FormOptions.Spaces? = try fields.choice("space")
        form.escape(allowing: try fields.optional("allowedCharacters"), spaces: spaces ?? .percent)
    }

    private mutating func readValues(_ fields: inout JSONFields) throws(JSONComplaint) {
        if let keys: Worded<KeyStyle> = try fields.optional("key") { form.keys = keys.value }
        if let data: ValueStyle.Data = try fields.choice("data") { form.values.data = data }
        if let date: Worded<ValueStyle.Date> = try fields.optional("date") { form.values.date = date.value }
        json.keys = form.keys
        json.values = form.values
    }

    /// The encoding, of that kind unless another is named. Complains about options of other kinds.
    ///
    /// - Parameter only: refuse any other kind.
    func encoding(
        _ kind: ParameterEncoding.Kind = .urlEncodedForm, only: Bool = false
    ) throws(JSONComplaint) -> ParameterEncoding {
        let wanted = self.kind ?? kind
        if only, wanted != kind {
            throw JSONComplaint("kind must be \"\(kind.rawValue)\" here", at: JSONPointer(member: "kind"))
        }
        for (names, owner) in particular where owner != wanted {
            let name = names.first?.description ?? ""
            throw JSONComplaint("\(name) goes with kind \"\(owner.rawValue)\" only", at: JSONPointer(member: name))
        }
        if let name = common.first?.description, wanted == .propertyList || wanted == .custom {
            throw JSONComplaint(
                "\(name) goes with kind \"urlEncodedForm\" or \"json\" only", at: JSONPointer(member: name))
        }
        switch wanted {
        case .urlEncodedForm: return .form(form, destination)
        case .json: return .json(json)
        case .propertyList: return .propertyList(format)
        case .custom:
            guard let callback else {
                throw JSONComplaint(
                    "callback is required for kind \"custom\"", at: JSONPointer(member: "callback"))
            }
            return .custom(callback)
        }
    }

    fileprivate static func list(_ words: [String]) -> String {
        words.map { "\"\($0)\"" }.joined(separator: ", ")
    }
}

/// A choice that is a word, or an object with a single member if words do not suffice.
private protocol WordedChoice: Sendable {
    static var words: [(String, Self)] { get }
    /// The member of the object.
    static var member: StaticString { get }
    init(_ member: JSONValue) throws(JSONComplaint)
}

private struct Worded<Value: WordedChoice>: JSONDecodable {
    var value: Value

    init(json: JSONValue) throws(JSONComplaint) {
        if case .string(let word) = json {
            guard let found = Value.words.first(where: { $0.0 == word }) else {
                throw JSONComplaint("must be one of \(EncodingParameter.list(Value.words.map(\.0)))")
            }
            value = found.1
            return
        }
        guard json.object != nil || json.array?.isEmpty == true else {
            throw JSONComplaint("must be a word, or an object with \(Value.member), not \(json.typeName)")
        }
        var fields = try JSONFields(json)
        let member = fields.value(Value.member)
        try fields.finish()
        let given = try JSONFields.need(Value.member, member)
        do throws(JSONComplaint) {
            value = try Value(given)
        } catch {
            let name = Value.member.description
            let isHere = error.pointer == .root
            throw JSONComplaint(isHere ? "\(name) \(error.message)" : error.message, at: error.pointer)
                .under(member: name)
        }
    }
}

extension FormOptions.Arrays: WordedChoice {
    static var words: [(String, Self)] {
        [("brackets", .brackets), ("noBrackets", .noBrackets), ("indexInBrackets", .indexInBrackets)]
    }
    static var member: StaticString { "template" }
    init(_ member: JSONValue) throws(JSONComplaint) { self = .template(KeyTemplate(try String(json: member))) }
}

extension FormOptions.KeyPaths: WordedChoice {
    static var words: [(String, Self)] { [("brackets", .brackets), ("dots", .dots)] }
    static var member: StaticString { "template" }
    init(_ member: JSONValue) throws(JSONComplaint) { self = .template(KeyTemplate(try String(json: member))) }
}

extension FormOptions.Nulls: WordedChoice {
    static var words: [(String, Self)] { [("dropKey", .dropKey), ("dropValue", .dropValue), ("null", .null)] }
    static var member: StaticString { "text" }
    init(_ member: JSONValue) throws(JSONComplaint) { self = .text(try String(json: member)) }
}

extension KeyStyle: WordedChoice {
    static var member: StaticString { "names" }
    init(_ member: JSONValue) throws(JSONComplaint) {
        var names: [String: String] = [:]
        for member in try JSONObject(json: member).members {
            do throws(JSONComplaint) {
                names[member.name] = try String(json: member.value)
            } catch {
                throw JSONComplaint("\(member.name) \(error.message)").under(member: member.name)
            }
        }
        self = .names(names)
    }
}

extension ValueStyle.Date: WordedChoice {
    static var words: [(String, Self)] {
        [
            ("iso8601", .iso8601), ("seconds", .seconds), ("milliseconds", .milliseconds), ("reference", .reference),
        ]
    }
    static var member: StaticString { "format" }
    init(_ member: JSONValue) throws(JSONComplaint) { self = .format(try String(json: member)) }
}
