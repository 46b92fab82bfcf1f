// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Ends this connection's work, as LSP asks. The connection itself refuses later calls.
struct Shutdown: Method {
    static let name = "shutdown"

    static func call(_ params: NoParams, _ call: Call<ClientScope>) async throws -> JSONNothing { JSONNothing() }
}
