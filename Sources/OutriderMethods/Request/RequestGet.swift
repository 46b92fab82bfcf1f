// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC

/// Describes the current state of a request.
struct RequestGet: Method {
    static let name = "request.get"

    static func call(_ params: HandleParams<RequestRecord>, _ call: Call<ClientScope>) async throws -> RequestInfoShape
    {
        RequestInfoShape(try call.scope.handles.find(params.handle, "request"), for: call.scope)
    }
}
