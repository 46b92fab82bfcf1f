// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// Names and values for a query or a form: an object, or a list of `{name, value}`, where names may repeat and
/// interleave. A value is text, a number, a boolean, null, or a list of these.
struct ValuesParameter: JSONDecodable {
    var object: JSONObject

    init(json: JSONValue) throws(JSONComplaint) {
        if case .array(let list) = json, !list.isEmpty {
            object = JSONObject()
            object.members.reserveCapacity(list.count)
            for (index, item) in list.enumerated() {
                do throws(JSONComplaint) {
                    object.members.append(try Pair(json: item).member)
                } catch {
                    throw error.under(index: index)
                }
            }
            return
        }
        if json.array == nil, json.object == nil {
            throw JSONComplaint("must be an object, or a list of {name, value}, not \(json.typeName)")
        }
        object = try JSONObject(json: json)
        for member in object.members {
            do throws(JSONComplaint) {
                try Self.check(member.value)
            } catch {
                throw JSONComplaint("\(member.name.excerpt) \(error.message)", at: error.pointer).under(
                    member: member.name)
            }
        }
    }

    private static func check(_ value: JSONValue) throws(JSONComplaint) {
        switch value {
        case .null, .bool, .integer, .real, .written, .string, .secret: return
        // some clients write the empty list as the empty object
        case .object(let object) where object.isEmpty: return
        case .object: throw JSONComplaint("must be a string, number, boolean or a list of these, not an object")
        case .array(let values):
            for (index, value) in values.enumerated() {
                switch value {
                case .bool, .integer, .real, .written, .string: continue
                default:
                    throw JSONComplaint("must hold strings, numbers and booleans only, not \(value.typeName)")
                        .under(index: index)
                }
            }
        }
    }

    private struct Pair: JSONDecodable {
        var member: JSONObject.Member

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let name: String? = try fields.optional("name")
            let value = fields.value("value")
            try fields.finish()
            do throws(JSONComplaint) {
                if let value { try ValuesParameter.check(value) }
            } catch {
                throw JSONComplaint("value \(error.message)", at: error.pointer).under(member: "value")
            }
            member = JSONObject.Member(try JSONFields.need("name", name), value ?? .null)
        }
    }
}
