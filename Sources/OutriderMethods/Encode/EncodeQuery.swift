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

    struct Result: JSONEncodable {
        var query: String
        var url: String?

        func encode(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("query", query)
                writer.member("url", url)
            }
        }
    }

    static func compute(_ params: Params) throws(RPCError) -> Result {
        let query = try EncodedText.form(params.parameters, params.options)
        guard let text = params.url else { return Result(query: query) }
        do throws(HTTPFailure) {
            var url = try HTTPURL(parsing: text)
            url.append(query: query)
            return Result(query: query, url: url.described)
        } catch {
            throw RPCError(error)
        }
    }
}
