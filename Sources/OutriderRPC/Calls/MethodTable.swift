// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON
import Synchronization

/// Maps method names to implementations. Built once at start.
///
/// Decoding, calling and encoding are one type-erased closure per method, so that callers do not know the types and
/// methods do not know the bytes. `add` has a form for each kind of method; the compiler selects the form by the
/// protocols of the method, its parameters and its result:
///
/// - a `Method` runs in a task on the loop of its connection, and is decoded and written there;
/// - an `InlineMethod` may run without a task, and falls back to a task;
/// - a `ComputedMethod` with a long message runs away from the loop;
/// - `LongParams` and `LongResult` are decoded and written away from the loop if they are long;
/// - a result of type `JSONText` is written by the method itself.
package struct MethodTable<Scope: ConnectionScope>: Sendable {
    /// Takes the parameters over, so that a long message does not stay in memory for the whole call.
    package typealias Entry = @Sendable (Once<JSONValue>, Call<Scope>) async throws -> JSONText

    package typealias Completion = @Sendable (Result<JSONText, RPCError>) -> Void
    package typealias Beginner = @Sendable (JSONValue, Call<Scope>, @escaping Completion) throws -> CallBeginning
    package typealias Decoder = @Sendable (JSONValue) -> any DecodedParams

    /// A class, because a closure that stands in a dictionary by itself is wrapped anew by each lookup.
    private final class Bound: Sendable {
        let entry: Entry
        /// Nil for methods whose calls always need a task.
        let beginner: Beginner?
        /// Nil for methods whose parameters are short.
        let decoder: Decoder?

        init(_ entry: @escaping Entry, _ beginner: Beginner?, _ decoder: Decoder?) {
            self.entry = entry
            self.beginner = beginner
            self.decoder = decoder
        }
    }

    private var methods: [String: Bound] = [:]
    /// The methods whose calls may be followed by raw bytes.
    package private(set) var rawMethods: Set<String> = []
    /// The members of messages that are read into locked memory.
    package var secrets = SecretMembers()
    /// The rules for clients that run as another user than the service.
    package var ownerRules = OwnerRules()

    package init() {}

    /// A later method replaces an earlier method of the same name; the tests refuse duplicates.
    package mutating func add<M: Method>(_ method: M.Type) where M.Scope == Scope {
        bind(method) { params, call in
            JSONText(of: try await M.call(try Self.decoded(M.self, try params.take()), call))
        }
    }

    private mutating func bind<M: Method>(
        _ method: M.Type, _ beginner: Beginner? = nil, decoder: Decoder? = nil, _ entry: @escaping Entry
    ) where M.Scope == Scope {
        if M.takesBytes { rawMethods.insert(M.name) }
        if methods[M.name] == nil { names.insert(M.name, at: names.firstIndex { $0 > M.name } ?? names.endIndex) }
        methods[M.name] = Bound(entry, beginner, decoder)
    }

    /// Adds a method whose calls may leave the loop as a whole.
    package mutating func add<M: ComputedMethod>(_ method: M.Type) where M.Scope == Scope {
        bind(method) { params, call in
            guard call.isLong else {
                return JSONText(of: try await M.call(try Self.decoded(M.self, try params.take()), call))
            }
            return try await call.scope.compute { () throws(RPCError) in
                JSONText(of: try M.compute(try Self.decoded(M.self, try params.take())))
            }
        }
    }

    /// Adds a method whose results may be long.
    package mutating func add<M: Method>(_ method: M.Type) where M.Scope == Scope, M.Result: LongResult {
        bind(method) { params, call in
            try await Self.text(of: try await M.call(try Self.decoded(M.self, try params.take()), call), call)
        }
    }

    /// Adds a method whose parameters may be long.
    package mutating func add<M: Method>(_ method: M.Type) where M.Scope == Scope, M.Params: LongParams {
        bind(method, decoder: Self.decoder(of: M.self)) { params, call in
            let params = try Self.given(M.self, call) ?? Self.decoded(M.self, try params.take())
            return JSONText(of: try await M.call(params, call))
        }
    }

    /// Adds a method whose parameters and results may be long.
    package mutating func add<M: Method>(_ method: M.Type)
    where M.Scope == Scope, M.Params: LongParams, M.Result: LongResult {
        bind(method, decoder: Self.decoder(of: M.self)) { params, call in
            let params = try Self.given(M.self, call) ?? Self.decoded(M.self, try params.take())
            return try await Self.text(of: try await M.call(params, call), call)
        }
    }

    private static func text(of result: some LongResult, _ call: Call<Scope>) async throws -> JSONText {
        guard result.isLong else { return JSONText(of: result) }
        return try await call.scope.compute { JSONText(of: result) }
    }

    private typealias Early<M: Method> = Once<Result<M.Params, RPCError>> where M.Params: LongParams

    private static func decoder<M: Method>(of method: M.Type) -> Decoder where M.Params: LongParams {
        { params in Early<M>(Result { () throws(RPCError) in try decoded(method, params) }) }
    }

    /// The parameters that were decoded before the call; nil if they were not.
    private static func given<M: Method>(
        _ method: M.Type, _ call: Call<Scope>
    ) throws(RPCError) -> M.Params? where M.Params: LongParams {
        guard let decoded = call.decoded, let early = decoded as? Early<M> else { return nil }
        return try early.take().get()
    }

    /// Adds a method that writes its result itself: a copy of megabytes would keep the event loop.
    package mutating func add<M: Method>(_ method: M.Type) where M.Scope == Scope, M.Result == JSONText {
        bind(method) { params, call in try await M.call(try Self.decoded(M.self, try params.take()), call) }
    }

    /// Adds a method whose calls may run without a task.
    package mutating func add<M: InlineMethod>(_ method: M.Type) where M.Scope == Scope {
        let beginner: Beginner = { params, call, completion in
            var decoded = try Self.decoded(M.self, params)
            return try Self.begin(M.self, &decoded, call, completion)
        }
        bind(method, beginner) { params, call in
            JSONText(of: try await M.call(try Self.decoded(M.self, try params.take()), call))
        }
    }

    /// Adds a method whose calls may run without a task, and whose parameters may be long.
    package mutating func add<M: InlineMethod>(_ method: M.Type) where M.Scope == Scope, M.Params: LongParams {
        let beginner: Beginner = { params, call, completion in
            var decoded = try Self.given(M.self, call) ?? Self.decoded(M.self, params)
            return try Self.begin(M.self, &decoded, call, completion)
        }
        bind(method, beginner, decoder: Self.decoder(of: M.self)) { params, call in
            let params = try Self.given(M.self, call) ?? Self.decoded(M.self, try params.take())
            return JSONText(of: try await M.call(params, call))
        }
    }

    private static func begin<M: InlineMethod>(
        _ method: M.Type, _ decoded: inout M.Params, _ call: Call<Scope>, _ completion: @escaping Completion
    ) throws -> CallBeginning where M.Scope == Scope {
        if let begun = try M.begin(&decoded, call, completion) { return .inline(begun) }
        let once = Once(decoded)
        return .task { JSONText(of: try await M.call(try once.take(), call)) }
    }

    private static func decoded<M: Method>(_ method: M.Type, _ params: JSONValue) throws(RPCError) -> M.Params {
        do throws(JSONComplaint) {
            return try M.Params(json: params)
        } catch {
            throw RPCError(error)
        }
    }

    package subscript(name: String) -> Entry? { methods[name]?.entry }

    package func beginner(_ name: String) -> Beginner? { methods[name]?.beginner }

    package func decoder(_ name: String) -> Decoder? { methods[name]?.decoder }

    package func knows(_ name: String) -> Bool { methods[name] != nil }

    /// Sorted.
    package private(set) var names: [String] = []
}

/// A value for a closure that takes it over, and runs once.
package final class Once<Value: Sendable>: Sendable {
    private let value: Mutex<Value?>

    package init(_ value: Value) { self.value = Mutex(value) }

    /// Throws after the first call.
    package func take() throws(RPCError) -> Value {
        let taken = value.withLock { value in
            defer { value = nil }
            return value
        }
        guard let taken else { throw RPCError(.internalError, "the parameters of a call were taken twice") }
        return taken
    }
}
