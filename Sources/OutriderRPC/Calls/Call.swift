// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// A call in progress, as its method sees it. Cancelling (`$/cancelRequest`, a vanished client, shutdown) cancels the
/// task the method runs in.
package struct Call<Scope: ConnectionScope>: Sendable {
    /// Nil for a notification, which gets no reply.
    package let id: RequestID?
    package let scope: Scope
    package let peer: any Peer
    /// Whether the call came in a message too long to parse it on the event loop.
    let isLong: Bool
    private let later: Later

    package init(id: RequestID?, scope: Scope, peer: any Peer, later: Later, isLong: Bool = false) {
        self.id = id
        self.scope = scope
        self.peer = peer
        self.later = later
        self.isLong = isLong
    }

    /// Runs the work as soon as this call's reply is queued, so that no event of a handle can overtake the reply that
    /// names the handle. The work is dropped if the call fails.
    package func afterReply(_ work: @escaping @Sendable () -> Void) {
        later.work.withLock { $0.append(work) }
    }
}

/// The work that a call leaves for the time after its reply; the server runs it.
package final class Later: Sendable {
    fileprivate let work = Mutex<[@Sendable () -> Void]>([])

    package init() {}

    package func run() {
        let work = work.withLock { work in
            defer { work = [] }
            return work
        }
        for item in work { item() }
    }
}
