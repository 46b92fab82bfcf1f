// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Ends the reading half of a stream.
struct TCPCloseRead: Method {
    static let name = "tcp.closeRead"

    static func call(_ params: HandleParams<ReadStream>, _ call: Call<ClientScope>) async throws -> JSONNothing {
        try call.scope.handles.find(params.handle, "stream").connection().closeRead()
        return JSONNothing()
    }
}
