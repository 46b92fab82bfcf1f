// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Returns the contract as an OpenRPC document: `schema/openrpc.json` on a single line.
struct RPCDiscover: Method {
    static let name = "rpc.discover"

    private static let document = JSONText(written: OpenRPC.line())

    static func call(_ params: NoParams, _ call: Call<ClientScope>) async throws -> JSONText { document }
}
