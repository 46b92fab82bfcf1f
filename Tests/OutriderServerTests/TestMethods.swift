// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOPosix
import OutriderJSON
import OutriderRPC
import Synchronization

/// What became of the connections of a test.
final class Record: Sendable {
    struct Counts: Equatable {
        var opened = 0
        var inputEnded = 0
        var closed = 0
        var cancelled = 0
        /// Blobs that were made.
        var blobs = 0
        /// Computations away from the loop.
        var computations = 0
        /// Calls that wait at the gate.
        var waiting = 0
    }

    private let counts = Mutex(Counts())
    private let open = Mutex(false)

    /// The memory of clients that come from now on.
    let memory = Mutex<(any PayloadMemory)?>(nil)

    /// Lets go on who waits at the gate, now and later.
    func openGate() { open.withLock { $0 = true } }

    var isGateOpen: Bool { open.withLock { $0 } }

    var now: Counts { counts.withLock { $0 } }

    func note(_ change: (inout Counts) -> Void) { counts.withLock { change(&$0) } }
}

final class TestScope: ConnectionScope {
    let record: Record
    /// For long messages; nil without a limit.
    var memory: (any PayloadMemory)? { record.memory.withLock { $0 } }
    let control: any ServerControl

    init(_ record: Record, _ control: any ServerControl) {
        self.record = record
        self.control = control
        record.note { $0.opened += 1 }
    }

    func inputEnded() { record.note { $0.inputEnded += 1 } }
    func close() { record.note { $0.closed += 1 } }

    func compute<Value: Sendable>(
        _ work: @escaping @Sendable () throws(RPCError) -> Value
    ) async throws(RPCError) -> Value {
        record.note { $0.computations += 1 }
        return try work()
    }
}

struct Number: JSONEncodable {
    var name: StaticString
    var value: Int

    func encode(to writer: inout JSONWriter) { writer.object { $0.member(name, value) } }
}

struct AnyParams: JSONDecodable {
    var object: JSONObject

    init(json: JSONValue) throws(JSONComplaint) { object = try JSONObject(json: json) }

    func integer(_ name: String) -> Int { object[name]?.integer.flatMap { Int(exactly: $0) } ?? 0 }
    func seconds(_ name: String) -> Duration { .seconds(object[name]?.number ?? 0) }
}

enum Echo: Method {
    static let name = "test.echo"
    static func call(_ params: AnyParams, _ call: Call<TestScope>) async throws -> JSONObject { params.object }
}

/// Waits, and can be cancelled.
enum Sleep: Method {
    static let name = "test.sleep"
    static func call(_ params: AnyParams, _ call: Call<TestScope>) async throws -> JSONObject {
        do {
            try await Task.sleep(for: params.seconds("seconds"))
        } catch {
            call.scope.record.note { $0.cancelled += 1 }
            throw error
        }
        return params.object
    }
}

/// Waits until the test opens the gate, however long that takes it; can be cancelled.
enum Gate: Method {
    static let name = "test.gate"
    static func call(_ params: AnyParams, _ call: Call<TestScope>) async throws -> JSONObject {
        let record = call.scope.record
        record.note { $0.waiting += 1 }
        while !record.isGateOpen { try await Task.sleep(for: .milliseconds(2)) }
        return params.object
    }
}

/// Sends events of some size, then returns.
enum Flood: Method {
    static let name = "test.flood"
    static func call(_ params: AnyParams, _ call: Call<TestScope>) async throws -> Number {
        let pad = String(repeating: "x", count: params.integer("bytes"))
        for number in 0..<params.integer("count") {
            let event: JSONObject = ["n": .integer(Int64(number)), "pad": .string(pad)]
            let isDroppable = params.object["droppable"] != nil
            try await call.peer.notify(Event("test.tick", event, isDroppable: isDroppable))
        }
        return Number(name: "sent", value: params.integer("count"))
    }
}

/// Offers many events of one key in one go, then returns.
enum Offers: Method {
    static let name = "test.offers"
    static func call(_ params: AnyParams, _ call: Call<TestScope>) async throws -> Number {
        let pad = String(repeating: "x", count: params.integer("bytes"))
        for number in 0..<params.integer("count") {
            let event: JSONObject = ["n": .integer(Int64(number)), "pad": .string(pad)]
            call.peer.offer(Event("test.offer", event), key: params.object["keys"] == nil ? "k" : "k\(number)")
        }
        return Number(name: "offered", value: params.integer("count"))
    }
}

enum Blob: Method {
    static let name = "test.blob"
    static func call(_ params: AnyParams, _ call: Call<TestScope>) async throws -> JSONObject {
        call.scope.record.note { $0.blobs += 1 }
        return ["data": .string(String(repeating: "x", count: params.integer("bytes")))]
    }
}

/// Computes from its parameters; fails for a negative number.
enum Doubling: ComputedMethod {
    static let name = "test.double"
    typealias Scope = TestScope
    typealias Params = AnyParams
    typealias Result = Number
    static func compute(_ params: AnyParams) throws(RPCError) -> Number {
        let number = params.integer("number")
        if number < 0 { throw RPCError(code: 7, "negative") }
        return Number(name: "doubled", value: 2 * number)
    }
}

/// Has parameters that may be long; fails to decode a negative number.
enum LongNumber: Method {
    static let name = "test.long"

    struct Params: LongParams {
        var number: Int
        /// Whether decoding kept an event loop.
        var isFromLoop: Bool

        init(json: JSONValue) throws(JSONComplaint) {
            isFromLoop = MultiThreadedEventLoopGroup.currentEventLoop != nil
            number = try AnyParams(json: json).integer("number")
            if number < 0 { throw JSONComplaint("must not be negative", at: JSONPointer(member: "number")) }
        }
    }

    static func call(_ params: Params, _ call: Call<TestScope>) async throws -> JSONObject {
        ["number": .integer(Int64(params.number)), "isFromLoop": .bool(params.isFromLoop)]
    }
}

/// The same for calls that run without a task.
enum LongInline: InlineMethod {
    static let name = "test.longInline"

    private final class Over: InlineCall {
        func cancel() {}
    }

    static func call(_ params: LongNumber.Params, _ call: Call<TestScope>) async throws -> JSONObject {
        try await LongNumber.call(params, call)
    }

    /// Without a task for even numbers.
    static func begin(
        _ params: inout LongNumber.Params, _ call: Call<TestScope>, _ completion: @escaping CallCompletion
    ) throws(RPCError) -> (any InlineCall)? {
        guard params.number % 2 == 0 else { return nil }
        let result: JSONObject = ["number": .integer(Int64(params.number)), "isFromLoop": .bool(params.isFromLoop)]
        completion(.success(JSONText(of: result)))
        return Over()
    }
}

/// The same with a result that says itself whether it is long.
enum LongBoth: Method {
    static let name = "test.longBoth"

    static func call(_ params: LongNumber.Params, _ call: Call<TestScope>) async throws -> LongText.Result {
        LongText.Result(bytes: params.number)
    }
}

/// Returns a text that says itself whether it is long.
enum LongText: Method {
    static let name = "test.text"

    struct Result: LongResult {
        var bytes: Int
        var isLong: Bool { bytes > 1000 }
        func encode(to writer: inout JSONWriter) {
            writer.object { $0.member("text", String(repeating: "x", count: bytes)) }
        }
    }

    static func call(_ params: AnyParams, _ call: Call<TestScope>) async throws -> Result {
        Result(bytes: params.integer("bytes"))
    }
}

/// Calls the client back.
enum CallBack: Method {
    static let name = "test.ask"
    static func call(_ params: AnyParams, _ call: Call<TestScope>) async throws -> JSONObject {
        let timeout = params.object["timeout"] == nil ? Duration.seconds(10) : params.seconds("timeout")
        let response = try await call.peer.call(Callback("callback.test", params.object), timeout: timeout)
        return ["answer": response.value, "id": .integer(response.id)]
    }
}

/// An event that must come after the reply.
enum After: Method {
    static let name = "test.after"
    static func call(_ params: AnyParams, _ call: Call<TestScope>) async throws -> JSONObject {
        let peer = call.peer
        call.afterReply { peer.offer(Event("test.afterwards", params.object), key: "after") }
        return params.object
    }
}

enum Fail: Method {
    struct Bug: Error {}
    static let name = "test.fail"
    static func call(_ params: AnyParams, _ call: Call<TestScope>) async throws -> JSONObject {
        if params.object["bug"] != nil { throw Bug() }
        throw RPCError(code: params.integer("code"), "as asked", data: ["a": .integer(1)])
    }
}

enum Terms: Method {
    static let name = "test.terms"
    static func call(_ params: AnyParams, _ call: Call<TestScope>) async throws -> JSONObject {
        var terms = call.peer.terms
        terms.maxMessageBytes = params.integer("bytes")
        call.peer.agree(to: terms)
        return [:]
    }
}

enum Info: Method {
    static let name = "test.info"
    static func call(_ params: AnyParams, _ call: Call<TestScope>) async throws -> JSONObject {
        let info = call.peer.info
        return [
            "connection": .string(info.connection), "framing": .string(info.framing.rawValue),
            "transport": .string(info.transport.rawValue), "uid": .integer(Int64(info.uid ?? -1)),
        ]
    }
}

enum Stop: Method {
    static let name = "test.stop"
    static func call(_ params: AnyParams, _ call: Call<TestScope>) async throws -> JSONObject {
        call.scope.control.stop(grace: params.seconds("grace"))
        return [:]
    }
}

enum ShutDown: Method {
    static let name = "shutdown"
    static func call(_ params: AnyParams, _ call: Call<TestScope>) async throws -> JSONObject { [:] }
}

let testMethods: MethodTable<TestScope> = {
    var table = MethodTable<TestScope>()
    table.add(Echo.self)
    table.add(Sleep.self)
    table.add(Gate.self)
    table.add(Flood.self)
    table.add(Offers.self)
    table.add(Blob.self)
    table.add(Doubling.self)
    table.add(LongNumber.self)
    table.add(LongInline.self)
    table.add(LongBoth.self)
    table.add(LongText.self)
    table.add(CallBack.self)
    table.add(After.self)
    table.add(Fail.self)
    table.add(Terms.self)
    table.add(Info.self)
    table.add(Stop.self)
    table.add(ShutDown.self)
    return table
}()
