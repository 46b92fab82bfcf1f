// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Removes stubs.
struct StubRemove: Method {
    static let name = "stub.remove"

    static func call(_ params: StubParams, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let stage = try call.scope.stage(named: params.session)
        let removed = stage?.withStubs { stubs in
            if params.stub == nil {
                stubs.forgetRequests()
                stubs.unmatched = nil
            }
            return stubs.remove(params.stub)
        }
        stage?.uncount(params.stub)
        return ReplyMembers { $0.member("removed", removed ?? 0) }
    }
}
