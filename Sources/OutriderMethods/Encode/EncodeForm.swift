// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Encodes names and values as `parameters` are for a form.
struct EncodeForm: Computation {
    static let name = "encode.form"

    struct Params: JSONDecodable {
        var parameters: JSONValue
        var options: FormOptions

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let parameters = fields.value("parameters")
            options = try fields.formOptions("encoding")
            try fields.finish()
            self.parameters = try JSONFields.need("parameters", parameters)
        }
    }

    typealias Result = ReplyMembers

    static func compute(_ params: Params) throws(RPCError) -> ReplyMembers {
        let text = try EncodedText.form(params.parameters, params.options)
        return ReplyMembers { writer in
            writer.member("text", text)
            writer.member("contentType", FormEncoding.contentType)
        }
    }
}
