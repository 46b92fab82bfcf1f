// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Encodes names and values for the query of a URL, and puts them there.
struct EncodeQuery: Computation {
    static let name = "encode.query"

    struct Params: JSONDecodable {
        var parameters: JSONValue
        var options: FormOptions
        var url: String?

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let parameters = fields.value("parameters")
            options = try fields.formOptions("encoding")
            url = try fields.optional("url")
            try fields.finish()
            self.parameters = try JSONFields.need("parameters", parameters)
        }
    }

    typealias Result = ReplyMembers

    static func compute(_ params: Params) throws(RPCError) -> ReplyMembers {
        let query = try EncodedText.form(params.parameters, params.options)
        guard let text = params.url else { return ReplyMembers { $0.member("query", query) } }
        do throws(HTTPFailure) {
            var url = try HTTPURL(parsing: text)
            url.append(query: query)
            let whole = url.described
            return ReplyMembers { writer in
                writer.member("query", query)
                writer.member("url", whole)
            }
        } catch {
            throw RPCError(error)
        }
    }
}
