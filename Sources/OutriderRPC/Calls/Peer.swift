// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// One client's connection, as a method sees it. Made by the server, used by the hall; every member may be called from
/// any task.
package protocol Peer: AnyObject, Sendable {
    var info: PeerInfo { get }

    /// What the client promised or asked in `server.hello`; defaults until then.
    var terms: PeerTerms { get }

    func agree(to terms: PeerTerms)

    /// Queues an event that must arrive. Waits while the queue to this client is full; throws `clientGone` when the
    /// client is, and on cancellation.
    ///
    /// `isOver` is asked when it is queued, after all waiting: if it says so the event is left out. Whoever makes it true
    /// before an answer is given may rely on that nothing follows the answer.
    func notify(_ event: Event, unless isOver: (@Sendable () -> Bool)?) async throws(RPCError)

    /// The same without waiting. False if the queue is full, or the client is gone.
    func queue(_ event: Event, unless isOver: (@Sendable () -> Bool)?) -> Bool

    /// Queues an event that may be lost: a newer one with the same key replaces an older one still waiting, and a full
    /// queue drops it (counted, and told later by `event.dropped`). Whether it was queued.
    @discardableResult
    func offer(_ event: Event, key: String, unless isOver: (@Sendable () -> Bool)?) -> Bool

    /// Asks the client and waits for the answer (protocol section 9). Throws callbackTimedOut, callbackFailed (the
    /// client's error in `data.error`) or clientGone. Cancelling the task sends `$/cancelRequest` and does not wait.
    func ask(_ question: Question, timeout: Duration) async throws(RPCError) -> Answer

    /// Takes the connection for bytes of the call's own: they flow behind its reply if that is a result; with an error the
    /// connection ends. To be called before it waits for the first time, by a method that says `takesBytes`.
    ///
    /// Throws `notPermitted` on stdio, and `wrongState` beside other calls.
    func seize() throws(RPCError) -> any RawPipe
}

extension Peer {
    package func notify(_ event: Event) async throws(RPCError) { try await notify(event, unless: nil) }

    @discardableResult
    package func offer(_ event: Event, key: String) -> Bool { offer(event, key: key, unless: nil) }
}

/// What a client said to a question.
package struct Answer: Sendable {
    /// The JSON-RPC id that the question went out under.
    package var id: Int64
    package var value: JSONValue

    package init(id: Int64, value: JSONValue) {
        self.id = id
        self.value = value
    }
}

/// What is known of a connection from its beginning.
package struct PeerInfo: Sendable {
    package enum Transport: String, Sendable { case stdio, socket }
    package typealias Framing = OutriderRPC.Framing

    /// `con_` and 16 characters.
    package var connection: String
    package var transport: Transport
    package var framing: Framing
    /// Of the process at the other end, where the kernel tells (SO_PEERCRED).
    package var pid: Int?
    package var uid: Int?
    /// Whether that is another user than that of the service, and not root.
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
    /// The longest message the client can read, in bytes; nil if it set no limit.
    package var maxMessageBytes: Int?
    /// Callback methods that the client implements.
    package var callbacks: Set<String> = []
    /// Seconds between two progress events of one request.
    package var progressInterval = 0.1

    package init() {}
}
