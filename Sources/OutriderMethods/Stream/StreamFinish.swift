// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Marks a body as complete.
struct StreamFinish: Method {
    static let name = "stream.finish"

    static func call(_ params: HandleParams<UploadStream>, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let stream = try call.scope.handles.writing(params.handle)
        let size = try stream.finish().get()
        return ReplyMembers { $0.member("size", size) }
    }
}
