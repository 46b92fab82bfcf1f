// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// One method of the protocol: what it is called, what it takes, what it gives, what it does.
package protocol Method<Scope>: SendableMetatype {
    associatedtype Scope: ConnectionScope
    associatedtype Params: JSONDecodable
    associatedtype Result: JSONEncodable

    static var name: String { get }

    /// Whether bytes may follow the call that belong to it, and are no messages: see `Peer.seize`. Where such a call fails
    /// its connection ends, because nobody can tell where the bytes do. Default false.
    static var takesBytes: Bool { get }

    /// Throws RPCError for what the client must hear; anything else is a bug and becomes internalError (-32603).
    /// Runs on the connection's event loop until it suspends: nothing here may block.
    static func call(_ params: Params, _ call: Call<Scope>) async throws -> Result
}

extension Method {
    package static var takesBytes: Bool { false }
}

/// A method whose call can do without a task, which costs more than all else that many a small call needs.
package protocol BegunMethod<Scope>: Method where Params: Sendable {
    /// Begins the call, and hands over what it comes to, once, perhaps before this returns. Nil, and nothing has happened, if
    /// this call needs a task: then `call` follows.
    static func begin(
        _ params: Params, _ call: Call<Scope>, _ hand: @escaping @Sendable (Swift.Result<Result, RPCError>) -> Void
    ) throws(RPCError) -> (any BegunCall)?
}

/// A call that no task waits for.
package protocol BegunCall: AnyObject, Sendable {
    /// Nobody wants its result any more: it ends soon, and hands over an error. More than once is harmless.
    func cancel()
}

/// Everything that belongs to one connection: opened with it, closed with it.
package protocol ConnectionScope: AnyObject, Sendable {
    /// The client will send nothing more, but reads on (half-close): what no call waits for is cancelled now.
    func inputEnded()

    /// Whether the client will still hear of something without asking, behind the end of its input.
    var owes: Bool { get }

    /// The client is gone, or the server stops: everything owned is cancelled and deleted. Called exactly once.
    func close()
}

extension ConnectionScope {
    package var owes: Bool { false }
}

/// The params of a method that takes none.
package struct NoParams: JSONDecodable, Sendable {
    package init(json: JSONValue) throws(JSONComplaint) {
        try JSONFields(json).finish()
    }
}
