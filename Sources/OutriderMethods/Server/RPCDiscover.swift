// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Returns the contract as an OpenRPC document: the same bytes as `schema/openrpc.json`.
struct RPCDiscover: Method {
    static let name = "rpc.discover"

    private static let document = JSONText(
        written: Array(
            UnsafeBufferPointer(start: OpenRPC.document.utf8Start, count: OpenRPC.document.utf8CodeUnitCount)))

    static func call(_ params: NoParams, _ call: Call<ClientScope>) async throws -> JSONText { document }
}
