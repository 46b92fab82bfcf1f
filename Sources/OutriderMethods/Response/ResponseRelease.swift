// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Forgets a kept body, and gives its memory or file back.
struct ResponseRelease: Method {
    static let name = "response.release"

    static func call(_ params: HandleParams<StoredResponse>, _ call: Call<ClientScope>) async throws -> JSONNothing {
        let stored = try call.scope.handles.find(params.handle, "response")
        call.scope.handles.remove(params.handle)
        await stored.closed()
        let subject = MonitorSubject(owner: call.scope.owner)
        call.scope.service.monitors.tell(.responseReleased, subject) { .handle(stored.handle.name, size: nil) }
        return JSONNothing()
    }
}
