// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Logging
import NIOCore
package import OutriderJSON
package import OutriderRPC

/// The service, as a connection sees it.
protocol ServiceHooks: AnyObject, Sendable {
    var tally: Counters { get }

    /// LSP `exit`, on stdio.
    func exit(status: Int32)

    /// Called once for each connection, with its first message.
    func spoke(_ connection: Connection)

    /// Called once for each connection, at its end.
    func closed(_ connection: Connection)

    var logger: Logger { get }
}

/// The service, as a listener sees it.
protocol ConnectionHost: ServiceHooks {
    func admits(_ user: UInt32) -> Bool

    /// Whether the service takes no new client any more.
    var isStopping: Bool { get }

    /// A client is accepted. It may yet move to another loop, and has no connection until then.
    func came()

    /// The client's channel is closed.
    func went()

    /// A connection for a new client; nil if there are too many.
    func open(
        _ wire: any Wire, loop: any EventLoop, transport: PeerInfo.Transport, pid: Int?, uid: Int?
    ) -> Connection?
}

/// The methods of the service, bound to the scope of a connection.
package protocol Dispatch: AnyObject, Sendable {
    func knows(_ method: String) -> Bool
    /// Sorted.
    var names: [String] { get }
    /// Methods whose calls may be followed by raw bytes.
    var rawMethods: Set<String> { get }
    /// The members of messages that are read into locked memory.
    var secrets: SecretMembers { get }
    /// Decodes the parameters of a long message before their call; nil if that is left to the call.
    func decode(_ method: String, _ params: JSONValue) -> (any DecodedParams)?
    /// Starts a call, as `Method.started` does; nil for an unknown method.
    func start(
        _ method: String, _ params: JSONValue, id: RequestID?, peer: any Peer, later: AfterReplyQueue,
        _ completion: @escaping CallCompletion
    ) throws -> StartedCall?
    /// The error for a refused result of a callback; nil if the result is permitted.
    func refusal(ofResult value: JSONValue) -> RPCError?
    func inputEnded()
    /// Whether events are still due to the client.
    var owes: Bool { get }
    /// The memory for the client's large payloads; nil without a limit.
    var memory: (any PayloadMemory)? { get }
    func close()
}

/// The type of the scope is known here only.
final class ScopeDispatch<Scope: ConnectionScope>: Dispatch {
    private let table: MethodTable<Scope>
    private let scope: Scope
    private let isOtherUser: Bool

    /// - Parameter isOtherUser: whether the client runs as another user than the service, and not as root.
    init(table: MethodTable<Scope>, scope: Scope, isOtherUser: Bool = false) {
        self.table = table
        self.scope = scope
        self.isOtherUser = isOtherUser
    }

    func knows(_ method: String) -> Bool { table.knows(method) }

    var names: [String] { table.names }

    var rawMethods: Set<String> { table.rawMethods }

    var secrets: SecretMembers { table.secrets }

    func decode(_ method: String, _ params: JSONValue) -> (any DecodedParams)? {
        // `start` refuses them
        if isOtherUser, table.ownerRules.refusal(of: method, params) != nil { return nil }
        return table[method]?.decodedEarly(params)
    }

    func start(
        _ method: String, _ params: JSONValue, id: RequestID?, peer: any Peer, later: AfterReplyQueue,
        _ completion: @escaping CallCompletion
    ) throws -> StartedCall? {
        if isOtherUser, let refusal = table.ownerRules.refusal(of: method, params) { throw refusal }
        return try table.start(method, params, Call(id: id, scope: scope, peer: peer, later: later), completion)
    }

    func refusal(ofResult value: JSONValue) -> RPCError? {
        isOtherUser ? table.ownerRules.refusal(ofResult: value) : nil
    }

    func inputEnded() { scope.inputEnded() }

    var owes: Bool { scope.owes }

    var memory: (any PayloadMemory)? { scope.memory }

    func close() { scope.close() }
}
