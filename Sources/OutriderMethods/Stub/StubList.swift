// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Lists the stubs of a session.
struct StubList: Method {
    static let name = "stub.list"

    struct Result: JSONEncodable {
        var stubs: [StubTable.Entry]

        func encode(to writer: inout JSONWriter) {
            writer.object { $0.member("stubs", stubs.map { StubInfoShape(entry: $0) }) }
        }
    }

    static func call(_ params: SessionParams, _ call: Call<ClientScope>) async throws -> Result {
        let stage = try call.scope.stage(named: params.session)
        return Result(stubs: stage?.withStubs { $0.entries } ?? [])
    }
}
