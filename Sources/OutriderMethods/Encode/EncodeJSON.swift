// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Encodes a value as JSON, as `parameters` are.
struct EncodeJSON: Computation {
    static let name = "encode.json"

    struct Params: JSONDecodable {
        var parameters: JSONValue
        var encoding: ParameterEncoding

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let parameters = fields.value("parameters")
            encoding = try fields.encoding("encoding", .json)
            try fields.finish()
            self.parameters = parameters ?? .null
        }
    }

    typealias Result = EncodedBody

    static func compute(_ params: Params) throws(RPCError) -> EncodedBody {
        try EncodedText.body(params.parameters, params.encoding)
    }
}
