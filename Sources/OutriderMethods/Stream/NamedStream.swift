// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC

extension StreamOpening {
    /// Opens the stream of a request that says `bodyTo: "stream"`: bytes to be read, or what the first read makes of them.
    static func named(
        _ request: RequestParameters, _ call: Call<ClientScope>, waits: Bool
    ) async throws -> StreamOpen.Result {
        let hub = StreamHub(call.peer, monitor: call.scope.service.engine.monitor)
        let opening = StreamOpening(request: request, waits: waits, hub: hub, outlet: StreamOutlet(hub))
        return try await opening.start(call) { () throws(RPCError) in
            [try StreamWish().open(hub, call)]
        }
    }
}
