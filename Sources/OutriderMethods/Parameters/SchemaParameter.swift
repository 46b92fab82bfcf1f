// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// A JSON Schema of the contract: an object, true or false.
struct SchemaParameter: JSONDecodable {
    var document: JSONValue

    init(json: JSONValue) throws(JSONComplaint) {
        switch json {
        case .object, .bool: document = json
        case .array(let values) where values.isEmpty: document = .object(JSONObject())
        default: throw JSONComplaint("must be a JSON Schema: an object, true or false, not \(json.typeName)")
        }
    }

    /// The compiled schema. Complaints use pointers from the enclosing object, in which `name` holds the schema.
    func compiled(formats: Bool, as name: String) throws(JSONComplaint) -> JSONSchema {
        var budget = WorkBudget()
        return try compiled(formats: formats, as: name, budget: &budget)
    }

    /// The same, with a budget that several schemas share.
    func compiled(formats: Bool, as name: String, budget: inout WorkBudget) throws(JSONComplaint) -> JSONSchema {
        do throws(JSONComplaint) {
            return try JSONSchema(document, formats: formats, budget: &budget)
        } catch {
            throw JSONComplaint("\(name) cannot be used: \(error.message)", at: error.pointer.under(member: name))
        }
    }
}
