// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// Names and values for a query or a form: text, numbers, booleans, null, and lists of them.
struct ValuesParameter: JSONDecodable {
    var object: JSONObject

    init(json: JSONValue) throws(JSONComplaint) {
        object = try JSONObject(json: json)
        for member in object.members {
            do throws(JSONComplaint) {
                try Self.check(member.value)
            } catch {
                throw JSONComplaint("\(member.name) \(error.message)", at: error.pointer).under(member: member.name)
            }
        }
    }

    private static func check(_ value: JSONValue) throws(JSONComplaint) {
        switch value {
        case .null, .bool, .integer, .real, .string: return
        // the empty object is how some clients write the empty list
        case .object(let object) where object.isEmpty: return
        case .object: throw JSONComplaint("must be a string, number, boolean or a list of these, not an object")
        case .array(let values):
            for (index, value) in values.enumerated() {
                switch value {
                case .bool, .integer, .real, .string: continue
                default:
                    throw JSONComplaint("must hold strings, numbers and booleans only, not \(value.typeName)")
                        .under(index: index)
                }
            }
        }
    }
}
