// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// A client's connection, as a method sees it. Every member may be called from any task.
package protocol Peer: AnyObject, Sendable {
    var info: PeerInfo { get }

    /// The terms that the client set in `server.hello`; defaults until then.
    var terms: PeerTerms { get }

    func agree(to terms: PeerTerms)

    /// Queues an event that must arrive. Waits while the queue to this client is full; throws `clientGone` if the
    /// client is gone, and on cancellation.
    ///
    /// `isOver` is called when the event is queued, after all waiting: true drops the event. If `isOver` becomes true
    /// before a reply is queued, no event follows that reply.
    func notify(_ event: Event, unless isOver: (@Sendable () -> Bool)?) async throws(RPCError)

    /// Queues an event without waiting. False if the queue is full, or the client is gone.
    func queue(_ event: Event, unless isOver: (@Sendable () -> Bool)?) -> Bool

    /// Queues a droppable event: a newer event replaces a waiting event with the same key, and a full queue drops the
    /// event (counted, and reported later by `event.dropped`). True if the event was queued.
    @discardableResult
    func offer(_ event: Event, key: String, unless isOver: (@Sendable () -> Bool)?) -> Bool

    /// Sends a callback to the client and waits for the reply (protocol section 9). Throws callbackTimedOut,
    /// callbackFailed (the client's error in `data.error`) or clientGone. Cancelling the task sends `$/cancelRequest`
    /// and does not wait.
    func call(_ callback: Callback, timeout: Duration) async throws(RPCError) -> CallbackResponse

    /// Takes the connection over for raw bytes of this call. The bytes start after the reply if the call has a result;
    /// if the call fails the connection ends. To be called before the method's first suspension, by a method with
    /// `takesBytes`.
    ///
    /// Throws `notPermitted` on stdio, and `wrongState` beside other calls.
    func hijack() throws(RPCError) -> any RawPipe
}

extension Peer {
    package func notify(_ event: Event) async throws(RPCError) { try await notify(event, unless: nil) }

    @discardableResult
    package func offer(_ event: Event, key: String) -> Bool { offer(event, key: key, unless: nil) }
}

/// The client's reply to a callback.
package struct CallbackResponse: Sendable {
    /// The JSON-RPC id of the callback.
    package var id: Int64
    package var value: JSONValue
    /// The memory of the reply's message; nil for a short message. Released with the last reference.
    package var charge: (any PayloadCharge)?

    package init(id: Int64, value: JSONValue, charge: (any PayloadCharge)? = nil) {
        self.id = id
        self.value = value
        self.charge = charge
    }
}

/// Facts about a connection that do not change.
package struct PeerInfo: Sendable {
    package enum Transport: String, Sendable { case stdio, socket }
    package typealias Framing = OutriderRPC.Framing

    /// `con_` and 16 characters.
    package var connection: String
    package var transport: Transport
    package var framing: Framing
    /// Process at the other end, if the kernel tells (SO_PEERCRED).
    package var pid: Int?
    package var uid: Int?
    /// Whether `uid` is neither the user of the service nor root.
    package var isOtherUser: Bool

    package init(
        connection: String, transport: Transport, framing: Framing, pid: Int? = nil, uid: Int? = nil,
        isOtherUser: Bool = false
    ) {
        self.connection = connection
        self.transport = transport
        self.framing = framing
        self.pid = pid
        self.uid = uid
        self.isOtherUser = isOtherUser
    }
}

package struct PeerTerms: Sendable {
    /// The longest message that the client can read, in bytes; nil for no limit.
    package var maxMessageBytes: Int?
    /// Callback methods that the client implements.
    package var callbacks: Set<String> = []
    /// Seconds between two progress events of a request.
    package var progressInterval = 0.1
    /// Whether long bodies in replies may follow their messages as raw bytes.
    package var rawBodies = false
    /// Default of a request's `maxInline`, for calls whose replies may carry raw bytes; nil for the service's.
    package var maxInline: Int?

    package init() {}

    /// The most bytes of a result, for a message that the client can read; nil for no limit. The rest of the message is
    /// the id, of 4 KiB at most, and a quarter of a short message is room enough for the ids of nearly all clients.
    package var maxResultBytes: Int? { maxMessageBytes.map { $0 - min(4096, $0 / 4) } }
}
