// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// Fields from a client: an object of names and values (or lists of values), or a list of `{name, value}`.
struct FieldsParameter: JSONDecodable {
    var fields: HTTPFields
    /// Whether the client gave a list of `{name, value}`.
    var isList = false

    init(json: JSONValue) throws(JSONComplaint) {
        fields = HTTPFields()
        switch json {
        case .object(let object):
            for member in object.members {
                do throws(JSONComplaint) {
                    try add(member.name, member.value)
                } catch {
                    throw error.under(member: member.name)
                }
            }
        case .array:
            fields = HTTPFields(try [NamedValue](json: json).map { HTTPFields.Field($0.name, $0.value) })
            isList = true
        default: throw JSONComplaint("must be an object of names and values, or a list of {name, value}")
        }
    }

    private mutating func add(_ name: String, _ value: JSONValue) throws(JSONComplaint) {
        switch value {
        case .null: return
        case .string(let text): fields.add(name, text)
        case .array: for text in try [String](json: value) { fields.add(name, text) }
        default: throw JSONComplaint("\(name.excerpt) must be a string or a list of strings, not \(value.typeName)")
        }
    }

    struct NamedValue: JSONDecodable {
        var name: String
        var value: String

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let name: String? = try fields.optional("name")
            let value: String? = try fields.optional("value")
            try fields.finish()
            self.name = try JSONFields.need("name", name)
            self.value = try JSONFields.need("value", value)
        }
    }
}

extension FieldsParameter {
    /// The fields, if they may be sent. The complaint names the field at fault.
    func checked(_ member: String) throws(JSONComplaint) -> HTTPFields {
        do throws(HTTPFailure) {
            try FieldCheck.check(fields)
        } catch {
            throw JSONComplaint(error.message, at: place(of: error)).under(member: member)
        }
        return fields
    }

    /// The fields, if a response can have them. The complaint names the field at fault.
    func ofResponse(_ member: String) throws(JSONComplaint) -> HTTPFields {
        for (index, field) in fields.list.enumerated() {
            guard let fault = Self.fault(ofResponse: field) else { continue }
            let place = isList ? JSONPointer(index: index) : JSONPointer(member: field.name.excerpt)
            throw JSONComplaint(fault, at: place.under(member: member))
        }
        return fields
    }

    private static func fault(ofResponse field: HTTPFields.Field) -> String? {
        guard FieldRules.isToken(field.name) else { return FieldRules.fault(inField: field.name, "") }
        // without the name, because requests may not set all fields of responses
        return FieldRules.fault(inField: "X", field.value) == nil
            ? nil : "the value of \(field.name.excerpt) contains a line break or control character"
    }

    /// The place among the fields, in the form in which the client gave them.
    private func place(of failure: HTTPFailure) -> JSONPointer {
        let names = failure.pointer.map { JSONPointer(canonical: $0).names } ?? []
        guard names.count == 2, let name = names.last else { return .root }
        guard isList else { return JSONPointer(member: name.excerpt) }
        let index = fields.list.firstIndex { field in
            HTTPFields.same(field.name, name) && FieldRules.fault(inField: field.name, field.value) != nil
        }
        return index.map { JSONPointer(index: $0) } ?? .root
    }
}
