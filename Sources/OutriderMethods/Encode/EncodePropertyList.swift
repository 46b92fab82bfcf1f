// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Encodes a value as a property list, as `parameters` are.
struct EncodePropertyList: Computation {
    static let name = "encode.propertyList"

    struct Params: JSONDecodable {
        var parameters: JSONValue
        var encoding: ParameterEncoding

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let parameters = fields.value("parameters")
            encoding = try fields.encoding("encoding", .propertyList)
            try fields.finish()
            self.parameters = try JSONFields.need("parameters", parameters)
        }
    }

    typealias Result = EncodedBody

    static func compute(_ params: Params) throws(RPCError) -> EncodedBody {
        try EncodedText.body(params.parameters, params.encoding)
    }
}
