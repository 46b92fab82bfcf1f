// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// How a WebSocket connection ended.
package enum WebSocketEnd: Sendable, Equatable {
    /// Both sides sent a Close frame. The code is the server's, nil if it sent none.
    case closed(code: Int?, reason: String)
    /// The connection fails; the Close frame with the fault's code is among the frames to write.
    case failed(WebSocketFault)
    /// TCP ended without a Close frame. `wasClosing`: the client had sent its own.
    case lost(wasClosing: Bool)
}
