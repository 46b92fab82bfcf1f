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
    private let later: AfterReplyQueue

    package init(id: RequestID?, scope: Scope, peer: any Peer, later: AfterReplyQueue) {
        self.id = id
        self.scope = scope
        self.peer = peer
        self.later = later
    }

    /// Runs the work as soon as this call's reply is queued, so that no event of a handle can overtake the reply that
    /// names the handle. The work is dropped if the call fails.
    package func afterReply(_ work: @escaping @Sendable () -> Void) {
        later.work.withLock { $0.append((work, isUndo: false)) }
    }

    /// Runs the work in place of that of `afterReply` if the client has cancelled the call and gets no result, although
    /// the call has succeeded. The work frees the objects that only the result names.
    package func ifUnwanted(_ work: @escaping @Sendable () -> Void) {
        later.work.withLock { $0.append((work, isUndo: true)) }
    }

    /// The memory of the call's message, which ends with the call; nil for a short message.
    package var charge: (any PayloadCharge)? { later.charge }

    /// Whether the call came in a message too long to parse it on the event loop.
    package var isLong: Bool { later.isLong }

    /// The size of a short message with this call alone; else 0.
    package var messageBytes: Int { later.messageBytes }

    /// The parameters, if they were decoded before the call.
    @inline(__always)
    var decoded: (any DecodedParams)? { later.decoded }

    /// Whether raw bytes may follow the reply: the client agreed, and the call is not part of a batch.
    package func takesRaw(_ terms: PeerTerms) -> Bool { terms.rawBodies && later.isAlone }

    /// The parameters are used up, or counted elsewhere: gives the memory of the message back.
    package func releaseMessage() { later.charge?.release() }
}

/// The work that a call leaves for the time after its reply; the server runs it.
package final class AfterReplyQueue: Sendable {
    fileprivate let work = Mutex<[(run: @Sendable () -> Void, isUndo: Bool)]>([])
    fileprivate let charge: (any PayloadCharge)?

    fileprivate let isLong: Bool

    fileprivate let isAlone: Bool

    fileprivate let messageBytes: Int

    fileprivate let decoded: (any DecodedParams)?

    /// - Parameters:
    ///   - charge: the memory of the call's message; nil for a short message.
    ///   - isLong: whether the message was too long to parse it on the event loop.
    ///   - isAlone: whether the reply is a message of its own, and not a member of a batch.
    ///   - decoded: the call's parameters, if they were decoded before.
    ///   - messageBytes: the size of a short message with the call alone; else 0.
    package init(
        charge: (any PayloadCharge)? = nil, isLong: Bool = false, isAlone: Bool = false,
        decoded: (any DecodedParams)? = nil, messageBytes: Int = 0
    ) {
        self.messageBytes = messageBytes
        self.charge = charge
        self.isLong = isLong
        self.isAlone = isAlone
        self.decoded = decoded
    }

    /// - Parameter isUnwanted: whether the client gets no result, because it has cancelled the call.
    package func run(isUnwanted: Bool = false) {
        let work = work.withLock { work in
            defer { work = [] }
            return work
        }
        let undoes = isUnwanted && work.contains { $0.isUndo }
        for item in work where item.isUndo == undoes { item.run() }
    }
}
