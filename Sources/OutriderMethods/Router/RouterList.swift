// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Lists the routers that a client can use.
struct RouterList: Method {
    static let name = "router.list"

    struct Result: JSONEncodable {
        var records: [RouterRecord]

        func encode(to writer: inout JSONWriter) { writer.object { $0.member("routers", records) } }
    }

    static func call(_ params: NoParams, _ call: Call<ClientScope>) async throws -> Result {
        Result(records: call.scope.routers.all)
    }
}
