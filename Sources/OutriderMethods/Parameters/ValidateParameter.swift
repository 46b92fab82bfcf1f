// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// `validate` of the contract: true, a rule, or a list of both. Nil inside for no validation.
struct ValidateParameter: JSONDecodable {
    var validation: Validation?

    private static let most = 16

    init(json: JSONValue) throws(JSONComplaint) {
        guard case .array(let entries) = json else {
            validation = try Self.rule(json).map { Validation([$0]) }
            return
        }
        guard entries.count <= Self.most else { throw JSONComplaint("must have at most \(Self.most) entries") }
        var rules: [ValidationRule] = []
        for (index, entry) in entries.enumerated() {
            do throws(JSONComplaint) {
                if let rule = try Self.rule(entry) { rules.append(rule) }
            } catch {
                throw error.under(index: index)
            }
        }
        validation = rules.isEmpty ? nil : Validation(rules)
    }

    private static func rule(_ json: JSONValue) throws(JSONComplaint) -> ValidationRule? {
        switch json {
        case .bool(let flag): return flag ? Validation.standard.rules.first : nil
        case .object: return try RuleParameter(json: json).rule
        default: throw JSONComplaint("must be true, false, a rule or a list of rules, not \(json.typeName)")
        }
    }
}

/// A single rule of a validation.
private struct RuleParameter: JSONDecodable {
    var rule: ValidationRule

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        rule = ValidationRule()
        rule.status = try fields.optional("status", as: StatusRangesParameter.self)?.ranges
        rule.contentType = try fields.optional("contentType", as: AcceptableParameter.self)?.types
        rule.schema = try fields.schema("schema")
        rule.callback = try fields.responseCallback()
        rule.onHeaders = try fields.optional("onHeaders") ?? false
        try fields.finish()
    }
}

extension JSONFields {
    /// A JSON Schema, compiled.
    mutating func schema(_ name: StaticString) throws(JSONComplaint) -> JSONSchema? {
        try optional(name, as: SchemaParameter.self)?.compiled(formats: false, as: name.description)
    }
}

extension JSONFields {
    /// `callback` with `decide` and `timeout`, which are refused without a callback.
    ///
    /// - Parameter isNeeded: false where another member may stand in place of the callback.
    mutating func responseCallback(isNeeded: Bool = true) throws(JSONComplaint) -> CallbackSpec? {
        let options = callbackOptions
        let name: String? = try optional("callback") { (name: String) in
            (1...CallbackSpec.longestName).contains(name.utf8.count)
                ? nil : "must have 1 to \(CallbackSpec.longestName) bytes"
        }
        let way: CallbackSpec.Way? = try choice("decide")
        let timeout = try number("timeout", in: CallbackSpec.timeouts)
        if name == nil, isNeeded { try Self.needCallback(for: options) }
        return name.map { CallbackSpec($0, way: way ?? .request, timeout: timeout ?? 30) }
    }
}

/// A list of statuses: numbers, and ranges such as `200..299`.
struct StatusRangesParameter: JSONDecodable {
    var ranges: StatusRanges

    init(json: JSONValue) throws(JSONComplaint) {
        ranges = StatusRanges([])
        for (index, entry) in try [JSONValue](json: json).enumerated() {
            guard let range = Self.range(entry) else {
                throw JSONComplaint(
                    "must be a status from 100 to 999, or a range such as \"200..299\"", at: JSONPointer(index: index))
            }
            ranges.ranges.append(range)
        }
    }

    private static func range(_ json: JSONValue) -> ClosedRange<Int>? {
        if let text = json.string { return StatusRanges.range(text) }
        guard let number = json.integer, (100...999).contains(number) else { return nil }
        return Int(number)...Int(number)  // safe: from 100 to 999
    }
}

/// Media types and patterns, or true for the types that the request accepts.
private struct AcceptableParameter: JSONDecodable {
    /// Nil for no check.
    var types: AcceptableTypes?

    init(json: JSONValue) throws(JSONComplaint) {
        if case .bool(let flag) = json {
            types = flag ? .accept : nil
            return
        }
        guard json.array != nil || json.object?.isEmpty == true else {
            throw JSONComplaint("must be true, false or a list of media types, not \(json.typeName)")
        }
        types = .list(try MediaPatternsParameter(json: json).texts)
    }
}

/// Media types and patterns such as `text/*`.
struct MediaPatternsParameter: JSONDecodable {
    var texts: [String]

    init(json: JSONValue) throws(JSONComplaint) {
        texts = try [String](json: json)
        for (index, text) in texts.enumerated() where AcceptableTypes.type(text) == nil {
            throw JSONComplaint("must be a media type, or a pattern such as text/*", at: JSONPointer(index: index))
        }
    }

    var types: [MediaType] { texts.compactMap(AcceptableTypes.type) }
}
