// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// A method of the protocol: name, params, result and implementation.
package protocol Method<Scope>: SendableMetatype {
    associatedtype Scope: ConnectionScope
    associatedtype Params: JSONDecodable
    associatedtype Result: JSONEncodable

    static var name: String { get }

    /// Whether raw bytes may follow the call: see `Peer.hijack`. If such a call fails its connection ends, because the
    /// end of the bytes is unknown. Default false.
    static var takesBytes: Bool { get }

    /// Throws RPCError for failures that the client must see; any other error is a bug and becomes internalError
    /// (-32603). Runs on the connection's event loop until the first suspension, so the method must not block.
    static func call(_ params: consuming Params, _ call: Call<Scope>) async throws -> Result

    /// Starts a call, from its parameters to its result as written. The outcome of a call without a task goes to
    /// `completion`, exactly once, perhaps before `started` returns.
    static func started(
        _ params: JSONValue, _ call: Call<Scope>, _ completion: @escaping CallCompletion
    ) throws -> StartedCall

    /// The parameters of a long message, decoded before the call begins; nil if the call decodes them.
    static func decodedEarly(_ params: JSONValue) -> (any DecodedParams)?

    static func decoded(_ params: JSONValue, _ call: Call<Scope>) throws(RPCError) -> Params

    static func written(_ result: Result, _ call: Call<Scope>) async throws -> JSONText
}

/// Takes the outcome of a call, with the result as written.
package typealias CallCompletion = @Sendable (Swift.Result<JSONText, RPCError>) -> Void

extension Method {
    package static var takesBytes: Bool { false }
}

/// A method that computes its result from the parameters alone. The whole call leaves the event loop if its message is
/// long.
package protocol ComputedMethod<Scope>: Method {
    static func compute(_ params: Params) throws(RPCError) -> Result
}

extension ComputedMethod {
    package static func call(_ params: Params, _ call: Call<Scope>) async throws -> Result { try compute(params) }
}

/// Parameters that may take megabytes: those of a long message are decoded where the message is parsed, away from the
/// event loop, before the call begins.
package protocol LongParams: JSONDecodable, Sendable {}

/// The parameters of a call, decoded before the call begins. Only the method knows the type.
package typealias DecodedParams = AnyObject & Sendable

/// A result that may take megabytes: then it is written away from the event loop.
package protocol LongResult: JSONEncodable, Sendable {
    var isLong: Bool { get }
}

/// A method whose calls can run without a task. Creating a task costs more than the rest of a small call.
package protocol InlineMethod<Scope>: Method where Params: Sendable {
    /// Begins the call, and passes the outcome to `completion` exactly once, perhaps before this function returns.
    /// Returns nil if this call needs a task: then `call` follows, with the same params.
    static func begin(
        _ params: inout Params, _ call: Call<Scope>, _ completion: @escaping CallCompletion
    ) throws(RPCError) -> (any InlineCall)?
}

/// A call that has started.
package enum StartedCall {
    /// The call runs without a task, or is over.
    case inline(any InlineCall)
    /// The rest of the call, for a task.
    case task(@Sendable () async throws -> JSONText)
}

/// A call in progress without a task.
package protocol InlineCall: AnyObject, Sendable {
    /// The result is not needed any more: the call ends soon, with an error. Repeating `cancel` has no effect.
    func cancel()
}

/// The params of a method without params.
package struct NoParams: JSONDecodable, Sendable {
    package init(json: JSONValue) throws(JSONComplaint) {
        try JSONFields(json).finish()
    }
}
