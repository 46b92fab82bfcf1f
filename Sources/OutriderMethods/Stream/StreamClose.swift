// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Ends a stream; no event of the stream follows the reply.
struct StreamClose: Method {
    static let name = "stream.close"

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
        let handles = call.scope.handles
        // closing an upload stream ends its body
        let upload = Handle<UploadStream>(named: params.stream.name)
        if let stream = try? handles.find(upload, "stream") {
            handles.remove(upload)
            stream.close()
            return JSONNothing()
        }
        let stream = try handles.find(params.stream, "stream")
        handles.remove(params.stream)
        await stream.end()
        return JSONNothing()
    }
}
