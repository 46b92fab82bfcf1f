// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Lists the requests that came to the stubs of a session.
struct StubRequests: Method {
    static let name = "stub.requests"

    static func call(_ params: StubParams, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let stage = try call.scope.stage(named: params.session)
        let requests = stage?.withStubs { $0.requests } ?? []
        let wanted = requests.filter { params.stub == nil || $0.stub == params.stub }
        return ReplyMembers { $0.member("requests", wanted.map { StubRequestShape($0) }) }
    }
}
