// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// The shape for the response body.
struct SerializeParameter: JSONDecodable {
    var spec: SerializeSpec

    private static let mostCases = 16

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        spec = try Self.read(&fields)
        guard fields.hasMore else { return }
        let cases: [CaseParameter]? = try fields.optional("cases") { (cases: [CaseParameter]) in
            cases.count > Self.mostCases ? "must have at most \(Self.mostCases) entries" : nil
        }
        try fields.finish()
        if let cases, !cases.isEmpty {
            var extras = spec.extras ?? SerializeExtras()
            extras.cases = cases.map(\.branch)
            spec.extras = extras
        }
    }

    /// Reads a single shape; the caller calls `finish`.
    fileprivate static func read(_ fields: inout JSONFields) throws(JSONComplaint) -> SerializeSpec {
        var spec = SerializeSpec()
        if let shape: SerializeSpec.Shape = try fields.choice("as") { spec.shape = shape }
        spec.encoding = try fields.optional("encoding")
        guard fields.hasMore else { return spec }
        var extras = SerializeExtras()
        extras.fallback = try fields.optional("fallback") { (label: String) in
            Charset(label: label) == nil ? "must be a charset that is known, such as iso-8859-1" : nil
        }
        let status: StatusRangesParameter? = try fields.optional("emptyStatus")
        let methods = try fields.methods("emptyMethods")
        if status != nil || methods != nil { extras.empty = EmptyRule(status: status?.ranges, methods: methods) }
        extras.preprocess = try fields.optional("preprocess", as: PreprocessParameter.self)?.preprocess
        extras.schema = try fields.schema("schema")
        extras.callback = try fields.responseCallback()
        extras.ignoresError = try fields.optional("ignoreError") ?? false
        if extras.schema != nil, ![.auto, .json, .propertyList].contains(spec.shape) {
            throw JSONComplaint(
                "schema goes with \"as\": \"json\" or \"propertyList\"", at: JSONPointer(member: "schema"))
        }
        let isPlain =
            extras.fallback == nil && extras.empty == nil && extras.preprocess == nil && extras.schema == nil
            && extras.callback == nil && !extras.ignoresError
        if !isPlain { spec.extras = extras }
        return spec
    }

    /// A branch of a choice.
    private struct CaseParameter: JSONDecodable {
        var branch: BodyCase

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let name: String? = try fields.optional("name")
            let when: ConditionParameter? = try fields.optional("when")
            let value = fields.value("value")
            let spec = try SerializeParameter.read(&fields)
            try fields.finish()
            branch = BodyCase(
                name: name, when: try JSONFields.need("when", when).condition, serialize: spec,
                value: value.map { JSONText(written: JSONWriter.bytes(of: $0)) })
        }
    }
}

/// The condition of a branch.
private struct ConditionParameter: JSONDecodable {
    var condition: BodyCase.Condition

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        condition = BodyCase.Condition()
        condition.status = try fields.optional("status", as: StatusRangesParameter.self)?.ranges
        condition.contentType = try fields.optional("contentType", as: MediaPatternsParameter.self)?.types
        condition.error = try fields.optional("error", as: ErrorsParameter.self)?.errors
        condition.isEmpty = try fields.optional("empty")
        try fields.finish()
    }
}

/// Any error, none, or some kinds of errors by code, kind or reason.
private struct ErrorsParameter: JSONDecodable {
    var errors: BodyCase.Errors

    init(json: JSONValue) throws(JSONComplaint) {
        if case .bool(let flag) = json {
            errors = .any(flag)
            return
        }
        guard json.array != nil || json.object?.isEmpty == true else {
            throw JSONComplaint("must be true, false or a list of failures, not \(json.typeName)")
        }
        var kinds: Set<HTTPFailure.Kind> = []
        for (index, entry) in try [JSONValue](json: json).enumerated() {
            let found = HTTPFailure.Kind.named(entry)
            guard !found.isEmpty else {
                throw JSONComplaint(
                    "must be the code, the kind or the reason of a failure, such as 1405 or \"timedOut\"",
                    at: JSONPointer(index: index))
            }
            kinds.formUnion(found)
        }
        errors = .kinds(kinds)
    }
}

extension HTTPFailure.Kind {
    /// The kinds with this code, kind or reason on the wire.
    static func named(_ name: JSONValue) -> [HTTPFailure.Kind] {
        allCases.filter { kind in
            let code = kind.failureCode
            if let text = name.string { return code.kind.description == text || code.reason?.description == text }
            return name.integer == Int64(code.code)
        }
    }
}

/// The processing of the bytes before the parser.
private struct PreprocessParameter: JSONDecodable {
    /// Nil for none.
    var preprocess: Preprocess?

    private enum Known: String, CaseIterable { case none, googleXSSI }

    init(json: JSONValue) throws(JSONComplaint) {
        if let word = json.string {
            guard let known = Known(rawValue: word) else {
                throw JSONComplaint("must be \"none\", \"googleXSSI\" or an object")
            }
            preprocess = known == .googleXSSI ? .googleXSSI : nil
            return
        }
        guard json.object != nil else { throw JSONComplaint("must be a string or an object, not \(json.typeName)") }
        var fields = try JSONFields(json)
        let present = fields.present(["dropFirst", "dropPrefix", "callback"])
        let count = try fields.integer("dropFirst", in: 0...9_007_199_254_740_992)
        let prefix: String? = try fields.optional("dropPrefix")
        let callback = try fields.responseCallback(isNeeded: false)
        if present.count == 1, callback == nil { try fields.refuseCallbackOptions() }
        try fields.finish()
        guard present.count == 1 else {
            throw JSONComplaint("must have exactly one of dropFirst, dropPrefix and callback")
        }
        if let count {
            preprocess = .dropFirst(count)
        } else if let prefix {
            preprocess = .dropPrefix(Array(prefix.utf8))
        } else if let callback {
            preprocess = .callback(callback)
        }
    }
}
