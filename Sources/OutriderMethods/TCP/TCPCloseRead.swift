// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Ends the reading half of a stream.
struct TCPCloseRead: Method {
    static let name = "tcp.closeRead"

    struct Params: JSONDecodable {
        var stream: Handle<ReadStream>

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let stream = try fields.optional("stream", as: Handle<ReadStream>.self)
            try fields.finish()
            self.stream = try JSONFields.need("stream", stream)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> JSONNothing {
        try call.scope.handles.find(params.stream, "stream").connection().closeRead()
        return JSONNothing()
    }
}
