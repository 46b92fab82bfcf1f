// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Opens a stream that feeds the body of a request.
struct UploadOpen: Method {
    static let name = "upload.open"

    static func call(_ params: NoParams, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let handle = Handle<UploadStream>()
        let isOfOne = call.peer.info.transport == .stdio
        try call.scope.handles.keep(UploadStream(isOfOne: isOfOne), as: handle)
        let subject = MonitorSubject(owner: call.scope.owner)
        call.scope.service.monitors.tell(.uploadOpened, subject) { .handle(handle.name, size: nil) }
        return ReplyMembers { writer in
            writer.member("stream", handle)
            writer.member("room", UploadStream.capacity)
        }
    }
}
