// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Closes idle connections. All sessions share them, so any session may be named.
struct SessionFlush: Method {
    static let name = "session.flush"

    static func call(_ params: SessionParams, _ call: Call<ClientScope>) async throws -> JSONNothing {
        let record = try params.session?.resolved(call.scope)
        call.scope.service.flush()
        let subject = MonitorSubject(session: record?.title, owner: call.scope.owner)
        call.scope.service.monitors.tell(.sessionFlushed, subject) { .nothing }
        return JSONNothing()
    }
}
