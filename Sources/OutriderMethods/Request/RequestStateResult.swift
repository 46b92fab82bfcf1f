// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// The state of a request after a method changed the request.
struct RequestStateResult: JSONEncodable {
    var state: RequestPhase

    init(_ exchange: Exchange) { state = exchange.snapshot.phase }

    func encode(to writer: inout JSONWriter) { writer.object { $0.member("state", state.rawValue) } }
}
