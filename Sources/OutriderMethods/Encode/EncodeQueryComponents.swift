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

    typealias Result = ReplyMembers

    static func compute(_ params: Params) throws(RPCError) -> ReplyMembers {
        do throws(JSONComplaint) {
            let pairs = try FormWriter.components(of: params.value, under: params.name, params.options)
            let components = HTTPFields(pairs.map { HTTPFields.Field($0.name, $0.value) })
            return ReplyMembers { $0.member("components", FieldsShape(components)) }
        } catch {
            let inside = error.under(member: "value")
            throw RPCError(EncodedParameters.failure(inside, .urlEncodedForm, at: .root))
        }
    }
}
