// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Escapes a text like the names and values of a form.
struct EncodeEscape: Computation {
    static let name = "encode.escape"

    struct Params: JSONDecodable {
        var text: String
        var options = FormOptions()

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let text: String? = try fields.optional("text")
            let spaces: FormOptions.Spaces? = try fields.choice("space")
            options.escape(allowing: try fields.optional("allowedCharacters"), spaces: spaces ?? .percent)
            try fields.finish()
            self.text = try JSONFields.need("text", text)
        }
    }

    typealias Result = ReplyMembers

    static func compute(_ params: Params) throws(RPCError) -> ReplyMembers {
        ReplyMembers { $0.member("text", params.options.escaping.escape(params.text)) }
    }
}
