// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import OutriderTransport

/// Makes what compresses and inflates the messages of a WebSocket, as both sides agreed.
package enum MessageCoders {
    package static func inflater(_ agreement: DeflateAgreement) -> any MessageInflating { MessageInflate(agreement) }

    /// Nil if the agreement leaves no window that zlib can make: messages then go out as they are.
    package static func deflater(_ agreement: DeflateAgreement) -> (any MessageDeflating)? { MessageDeflate(agreement) }
}

extension Exchange {
    /// Runs work on the event loop of the exchange, beginning at once.
    package func attend(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task.immediate(executorPreference: surroundings.executors.current) { await work() }
    }

    /// Whether the client has suspended it.
    package var isSuspended: Bool { state.withLock { $0.snapshot.phase == .suspended } }
}
