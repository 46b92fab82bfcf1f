// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderJSON
import OutriderRPC

/// Checks a value against a JSON Schema.
struct EvaluateSchema: Method {
    static let name = "evaluate.schema"

    struct Params: JSONDecodable {
        var schema: JSONSchema
        var value: JSONValue

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let formats: Bool? = try fields.optional("formats")
            let document: SchemaParameter? = try fields.optional("schema")
            value = fields.value("value") ?? .null
            try fields.finish()
            schema = try JSONFields.need("schema", document).compiled(formats: formats ?? false, as: "schema")
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let faults = await background { params.schema.faults(in: params.value) }
        return ReplyMembers { writer in
            writer.member("valid", faults.isEmpty)
            writer.member("errors", faults)
        }
    }
}
