// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Ends a stream; no event of the stream follows the reply.
struct StreamClose: Method {
    static let name = "stream.close"

    static func call(_ params: HandleParams<ReadStream>, _ call: Call<ClientScope>) async throws -> JSONNothing {
        let handles = call.scope.handles
        // closing an upload stream ends its body
        let upload = Handle<UploadStream>(named: params.handle.name)
        if let stream = try? handles.find(upload, "stream") {
            handles.remove(upload)
            stream.close()
            return JSONNothing()
        }
        let stream = try handles.find(params.handle, "stream")
        handles.remove(params.handle)
        await stream.end()
        return JSONNothing()
    }
}
