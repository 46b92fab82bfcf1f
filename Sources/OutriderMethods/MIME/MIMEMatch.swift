// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Tests whether a media type is acceptable.
struct MIMEMatch: Computation {
    static let name = "mime.match"

    struct Params: JSONDecodable {
        var type: String
        var acceptable: [String]

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let type: String? = try fields.optional("type")
            acceptable = try fields.optional("acceptable") ?? ["*/*"]
            try fields.finish()
            self.type = try JSONFields.need("type", type)
        }
    }

    typealias Result = ReplyMembers

    static func compute(_ params: Params) throws(RPCError) -> ReplyMembers {
        let type = MediaType(parsing: String(FieldRules.trimmed(params.type[...])))
        let match = params.acceptable.first { pattern in
            guard let type, let pattern = MediaType(parsing: String(FieldRules.trimmed(pattern[...]))) else {
                return false
            }
            return type.matches(pattern)
        }
        return ReplyMembers { writer in
            writer.member("matches", match != nil)
            writer.member("match", match)
            writer.member("type", type?.type)
            writer.member("subtype", type?.subtype)
        }
    }
}
