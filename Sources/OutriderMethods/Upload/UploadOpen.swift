// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Opens a stream that feeds the body of a request.
struct UploadOpen: Method {
    static let name = "upload.open"

    struct Result: JSONEncodable {
        var stream: Handle<UploadStream>

        func encode(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("stream", stream)
                writer.member("room", UploadStream.capacity)
            }
        }
    }

    static func call(_ params: NoParams, _ call: Call<ClientScope>) async throws -> Result {
        let handle = Handle<UploadStream>()
        let isOfOne = call.peer.info.transport == .stdio
        try call.scope.handles.keep(UploadStream(isOfOne: isOfOne), as: handle)
        let subject = MonitorSubject(owner: call.scope.owner)
        call.scope.service.monitors.tell(.uploadOpened, subject) { .handle(handle.name, size: nil) }
        return Result(stream: handle)
    }
}
