// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Lists the requests that came to the stubs of a session.
struct StubRequests: Method {
    static let name = "stub.requests"

    struct Result: JSONEncodable {
        var requests: [StubTable.Seen]

        func encode(to writer: inout JSONWriter) {
            writer.object { $0.member("requests", requests.map { StubRequestShape($0) }) }
        }
    }

    static func call(_ params: StubParams, _ call: Call<ClientScope>) async throws -> Result {
        let stage = try call.scope.stage(named: params.session)
        let requests = stage?.withStubs { $0.requests } ?? []
        return Result(requests: requests.filter { params.stub == nil || $0.stub == params.stub })
    }
}
