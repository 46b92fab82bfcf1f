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
