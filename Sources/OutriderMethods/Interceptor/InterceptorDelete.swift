// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Forgets an interceptor. Requests and sessions with this interceptor keep using the copy that they have.
struct InterceptorDelete: Method {
    static let name = "interceptor.delete"

    static func call(_ params: HandleParams<InterceptorRecord>, _ call: Call<ClientScope>) async throws -> JSONNothing {
        _ = try call.scope.handles.find(params.handle, "interceptor")
        call.scope.handles.remove(params.handle)
        return JSONNothing()
    }
}
