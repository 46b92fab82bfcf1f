// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Removes stubs.
struct StubRemove: Method {
    static let name = "stub.remove"

    struct Result: JSONEncodable {
        var removed: Int

        func encode(to writer: inout JSONWriter) { writer.object { $0.member("removed", removed) } }
    }

    static func call(_ params: StubParams, _ call: Call<ClientScope>) async throws -> Result {
        let stage = try call.scope.stage(named: params.session)
        let removed = stage?.withStubs { stubs in
            if params.stub == nil {
                stubs.forgetRequests()
                stubs.unmatched = nil
            }
            return stubs.remove(params.stub)
        }
        stage?.uncount(params.stub)
        return Result(removed: removed ?? 0)
    }
}
