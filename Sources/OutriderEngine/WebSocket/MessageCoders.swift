// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import OutriderTransport

/// Makes the compressor and decompressor of a WebSocket's messages, by the agreement of both sides.
package enum MessageCoders {
    package static func inflater(_ agreement: DeflateAgreement) -> any MessageInflating { MessageInflate(agreement) }

    /// Nil if zlib cannot make the agreed window: then messages are sent uncompressed.
    package static func deflater(_ agreement: DeflateAgreement) -> (any MessageDeflating)? { MessageDeflate(agreement) }
}

extension Exchange {
    /// Runs work on the event loop of the exchange, beginning at once.
    package func attend(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task.immediate(executorPreference: environment.executors.current) { await work() }
    }

    /// Whether the client has suspended the exchange.
    package var isSuspended: Bool { state.withLock { $0.snapshot.phase == .suspended } }
}
