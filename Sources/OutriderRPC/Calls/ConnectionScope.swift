// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Everything that belongs to a connection: opened and closed together with the connection.
package protocol ConnectionScope: AnyObject, Sendable {
    /// The client will send nothing more, but reads on (half-close): work that no call waits for is cancelled now.
    func inputEnded()

    /// Whether events for this client may still come after the end of its input.
    var owes: Bool { get }

    /// Runs a long computation away from the event loop, within the client's share. Default: runs it in place.
    func compute<Value: Sendable>(
        _ work: @escaping @Sendable () throws(RPCError) -> Value
    ) async throws(RPCError) -> Value

    /// The memory for the client's large payloads; nil without a limit.
    var memory: (any PayloadMemory)? { get }

    /// The client is gone, or the server stops: everything owned is cancelled and deleted. Called exactly once.
    func close()
}

extension ConnectionScope {
    package var owes: Bool { false }
    package var memory: (any PayloadMemory)? { nil }

    package func compute<Value: Sendable>(
        _ work: @escaping @Sendable () throws(RPCError) -> Value
    ) async throws(RPCError) -> Value {
        try work()
    }
}
