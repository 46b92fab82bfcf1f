// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderRPC

extension StreamOpening {
    /// Opens the stream of a request with `bodyTo: "stream"`: bytes, or the items that the first read chooses.
    static func named(
        _ request: RequestParameters, _ call: Call<ClientScope>, waits: Bool
    ) async throws -> StreamOpened {
        let hub = StreamFanout(call.peer, monitor: call.scope.service.engine.monitor)
        let opening = StreamOpening(request: request, waits: waits, hub: hub, outlet: StreamBodyConsumer(hub))
        return try await opening.start(call) { () throws(RPCError) in
            [try StreamOptions().open(hub, call)]
        }
    }
}
