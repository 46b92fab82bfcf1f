// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Shows the escaped pairs of a value under a name.
struct EncodeQueryComponents: Computation {
    static let name = "encode.queryComponents"

    struct Params: JSONDecodable {
        var name: String
        var value: JSONValue
        var options: FormOptions

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let name: String? = try fields.optional("name")
            value = fields.value("value") ?? .null
            options = try fields.formOptions("encoding")
            try fields.finish()
            self.name = try JSONFields.need("name", name)
        }
    }

    struct Result: JSONEncodable {
        var components: HTTPFields

        func encode(to writer: inout JSONWriter) {
            writer.object { $0.member("components", FieldsShape(components)) }
        }
    }

    static func compute(_ params: Params) throws(RPCError) -> Result {
        do throws(JSONComplaint) {
            let pairs = try FormWriter.components(of: params.value, under: params.name, params.options)
            return Result(components: HTTPFields(pairs.map { HTTPFields.Field($0.name, $0.value) }))
        } catch {
            let inside = error.under(member: "value")
            throw RPCError(EncodedParameters.failure(inside, .urlEncodedForm, at: .root))
        }
    }
}
