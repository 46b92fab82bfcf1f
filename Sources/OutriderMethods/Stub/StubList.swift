// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Lists the stubs of a session.
struct StubList: Method {
    static let name = "stub.list"

    static func call(_ params: SessionParams, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let stage = try call.scope.stage(named: params.session)
        let stubs: [StubTable.Entry] = stage?.withStubs { $0.entries } ?? []
        return ReplyMembers { $0.member("stubs", stubs.map { StubInfoShape(entry: $0) }) }
    }
}
