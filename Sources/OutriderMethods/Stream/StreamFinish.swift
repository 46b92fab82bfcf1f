// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Marks a body as complete.
struct StreamFinish: Method {
    static let name = "stream.finish"

    struct Params: JSONDecodable {
        var stream: Handle<UploadStream>

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let stream = try fields.optional("stream", as: Handle<UploadStream>.self)
            try fields.finish()
            self.stream = try JSONFields.need("stream", stream)
        }
    }

    struct Result: JSONEncodable {
        var size: Int

        func encode(to writer: inout JSONWriter) { writer.object { $0.member("size", size) } }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        let stream = try call.scope.handles.writing(params.stream)
        return Result(size: try stream.finish().get())
    }
}
