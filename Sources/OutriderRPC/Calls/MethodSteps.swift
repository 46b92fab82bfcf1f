// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// The steps of a call. Each step has a form for each kind of method, of parameters or of results; the compiler selects
/// the form by the protocols of these types, and any kinds go together:
///
/// - `started`: an `InlineMethod` may run without a task, a `ComputedMethod` with a long message runs away from the
///   loop, and every other method in a task on the loop of its connection;
/// - `decodedEarly` and `decoded`: `LongParams` are decoded with their message;
/// - `written`: a `LongResult` is written away from the loop if it is long, and `JSONText` is a result as written.
extension Method {
    package static func started(
        _ params: JSONValue, _ call: Call<Scope>, _ completion: @escaping CallCompletion
    ) throws -> StartedCall {
        // a long message does not stay in memory for the whole call
        let params = Once(params)
        return .task {
            try await written(try await Self.call(try decoded(try params.take(), call), call), call)
        }
    }

    package static func decodedEarly(_ params: JSONValue) -> (any DecodedParams)? { nil }

    package static func decoded(_ params: JSONValue, _ call: Call<Scope>) throws(RPCError) -> Params {
        try read(params)
    }

    package static func written(_ result: Result, _ call: Call<Scope>) async throws -> JSONText {
        JSONText(of: result)
    }

    fileprivate static func read(_ params: JSONValue) throws(RPCError) -> Params {
        do throws(JSONComplaint) {
            return try Params(json: params)
        } catch {
            throw RPCError(error)
        }
    }
}

extension Method where Params: LongParams {
    private typealias Early = Once<Swift.Result<Params, RPCError>>

    package static func decodedEarly(_ params: JSONValue) -> (any DecodedParams)? {
        Early(Swift.Result { () throws(RPCError) in try read(params) })
    }

    package static func decoded(_ params: JSONValue, _ call: Call<Scope>) throws(RPCError) -> Params {
        // most calls are short, and a cast to a generic type takes long
        guard let decoded = call.decoded, let early = decoded as? Early else { return try read(params) }
        return try early.take().get()
    }
}

extension Method where Result: LongResult {
    package static func written(_ result: Result, _ call: Call<Scope>) async throws -> JSONText {
        guard result.isLong else { return JSONText(of: result) }
        return try await call.scope.compute { JSONText(of: result) }
    }
}

extension Method where Result == JSONText {
    /// A copy of megabytes would keep the event loop.
    package static func written(_ result: JSONText, _ call: Call<Scope>) async throws -> JSONText { result }
}

extension ComputedMethod {
    package static func started(
        _ params: JSONValue, _ call: Call<Scope>, _ completion: @escaping CallCompletion
    ) throws -> StartedCall {
        let params = Once(params)
        guard call.isLong else {
            return .task { try await written(try compute(try decoded(try params.take(), call)), call) }
        }
        return .task {
            try await call.scope.compute { () throws(RPCError) in
                JSONText(of: try compute(try decoded(try params.take(), call)))
            }
        }
    }
}

extension InlineMethod {
    package static func started(
        _ params: JSONValue, _ call: Call<Scope>, _ completion: @escaping CallCompletion
    ) throws -> StartedCall {
        var decoded = try decoded(params, call)
        if let inline = try begin(&decoded, call, completion) { return .inline(inline) }
        let params = Once(decoded)
        return .task { try await written(try await Self.call(try params.take(), call), call) }
    }
}
