// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderJSON

/// A client of a service: makes a call, and reads the events before its reply, and its reply.
struct ServiceClient: ~Copyable {
    /// A reply: where its parts stand in its line.
    struct Reply {
        var line: [UInt8]
        var result: Range<Int>?
        var error: Range<Int>?

        var body: ArraySlice<UInt8> { line[result ?? error ?? 0..<0] }

        /// The result, or the error, as a value. For what our own service says: values of servers, which it passes on as
        /// they are, may be beyond us.
        func parsed() throws(CommandFailure) -> JSONValue { try ServiceClient.parsed(body) }

        /// Of an object, the text of a member of a member.
        func text(of path: String...) -> ArraySlice<UInt8>? {
            var text = body
            for name in path {
                let found = text.withUnsafeBufferPointer { JSONLocator.range(ofMember: name, in: $0) }
                guard let found else { return nil }
                text = text.dropFirst(found.lowerBound).prefix(found.count)
            }
            return text
        }
    }

    static func parsed(_ text: ArraySlice<UInt8>) throws(CommandFailure) -> JSONValue {
        do {
            return try JSONParser.parse(Array(text), limits: .generous)
        } catch {
            throw CommandFailure(.brokeProtocol, "the reply is no JSON: \(error.reason)")
        }
    }

    /// A call that is yet to be sent.
    struct Order {
        var method: String
        var params: JSONObject
    }

    private var wire: ServiceWire
    private var lastID = 0
    /// The first call, until the first message of the service, for a service that dies before reading the call.
    private var first: [UInt8]?
    private var connections = 1
    /// Connects anew, for a first call that the service has not read.
    private let reconnect: (() throws(CommandFailure) -> ServiceWire)?
    /// A service that ends or is killed accepts connections for some milliseconds more.
    private static let mostConnections = 5
    /// Microseconds before a further connection, by the number of connections until then.
    private static let pauses: [UInt32] = [0, 0, 8_000, 27_000, 64_000]

    init(_ wire: consuming ServiceWire, reconnect: (() throws(CommandFailure) -> ServiceWire)? = nil) {
        self.wire = wire
        self.reconnect = reconnect
    }

    /// Sends a call without waiting for its reply; `reply(by:)` gives that with the same id.
    mutating func send(_ order: Order) throws(CommandFailure) -> Int {
        try send(order.method, JSONText(written: JSONWriter.bytes(of: order.params)))
    }

    private mutating func send(_ method: String, _ params: JSONText) throws(CommandFailure) -> Int {
        lastID += 1
        let call = JSONWriter.bytes(of: Outgoing(id: lastID, method: method, params: params))
        if lastID == 1, reconnect != nil { first = call }
        do {
            try wire.send(call)
        } catch {
            try resend(after: error)
        }
        return lastID
    }

    /// Sends the first call over a new connection. Throws the error if the service may have read the call, or another one
    /// was sent after it: handles of earlier calls would be gone with their connection.
    private mutating func resend(after error: CommandFailure) throws(CommandFailure) {
        var error = error
        while error.isUnread, lastID == 1, connections < Self.mostConnections, let first, let reconnect {
            usleep(Self.pauses[connections])
            connections += 1
            wire = try reconnect()
            do {
                return try wire.send(first)
            } catch let next {
                error = next
            }
        }
        throw error
    }

    /// The next reply to any call; nil at the deadline. Events on the way go to the closure.
    mutating func reply(
        by deadline: Deadline, onEvent: ([UInt8]) throws(CommandFailure) -> Void
    ) throws(CommandFailure) -> (id: Int, reply: Reply)? {
        while true {
            let line: [UInt8]
            do {
                line = try wire.receive(by: deadline)
            } catch {
                if error.code == CommandFailure.Status.timedOut.rawValue { return nil }
                try resend(after: error)
                continue
            }
            first = nil
            if let found = try take(line, onEvent) { return found }
        }
    }

    /// The next message if it is a reply, to any call; nil for others. Events go to the closure.
    mutating func next(
        onEvent: ([UInt8]) throws(CommandFailure) -> Void
    ) throws(CommandFailure) -> (id: Int, reply: Reply)? {
        try take(try wire.receive(by: .never), onEvent)
    }

    /// Waits until the service has replied once, so that calls sent side by side meet a service that lives.
    mutating func greet(by deadline: Deadline) throws(CommandFailure) {
        guard reconnect != nil, lastID == 0 || first != nil else { return }
        _ = try call("server.info", JSONText(written: Array("{}".utf8)), by: deadline)
    }

    /// Takes back a call whose reply nothing waits for.
    mutating func cancel(_ id: Int) {
        let params = JSONText(written: Array("{\"id\":\(id)}".utf8))
        try? wire.send(JSONWriter.bytes(of: Outgoing(id: nil, method: "$/cancelRequest", params: params)))
    }

    /// Calls, and waits for the reply. Events on the way go to the closure; callbacks are refused.
    mutating func call(
        _ method: String, _ params: JSONText, by deadline: Deadline,
        onEvent: ([UInt8]) throws(CommandFailure) -> Void = { (_) throws(CommandFailure) in }
    ) throws(CommandFailure) -> Reply {
        let id = try send(method, params)
        while let (found, reply) = try reply(by: deadline, onEvent: onEvent) {
            // replies to calls that were given up
            if found == id { return reply }
        }
        cancel(id)
        throw CommandFailure(.timedOut, "no reply within the time allowed")
    }

    /// The same for a result that is an object. An error of the call ends the command.
    mutating func object(
        _ method: String, _ params: JSONObject, by deadline: Deadline,
        onEvent: ([UInt8]) throws(CommandFailure) -> Void = { (_) throws(CommandFailure) in }
    ) throws(CommandFailure) -> JSONObject {
        try Self.object(of: try reply(method, params, by: deadline, onEvent: onEvent))
    }

    /// The object of a result. An error of the call ends the command.
    static func object(of reply: Reply) throws(CommandFailure) -> JSONObject {
        try check(reply)
        guard let result = try reply.parsed().object else {
            throw CommandFailure(.brokeProtocol, "the reply is no object")
        }
        return result
    }

    /// The same, not yet parsed.
    mutating func reply(
        _ method: String, _ params: JSONObject, by deadline: Deadline,
        onEvent: ([UInt8]) throws(CommandFailure) -> Void = { (_) throws(CommandFailure) in }
    ) throws(CommandFailure) -> Reply {
        let reply = try call(method, JSONText(written: JSONWriter.bytes(of: params)), by: deadline, onEvent: onEvent)
        try Self.check(reply)
        return reply
    }

    private static func check(_ reply: Reply) throws(CommandFailure) {
        guard reply.error != nil else { return }
        let message = try reply.parsed().object?["message"]?.string ?? "the call failed"
        throw CommandFailure(.error, CommandFailure.inShell(message))
    }

    /// Carries standard input and output over the connection, which carries bytes from now on.
    mutating func carry() throws(CommandFailure) { try wire.carry() }

    /// From now on waiting for replies fails once no program reads standard output any more.
    mutating func endWithReader() { wire.endsWithReader = true }

    /// The descriptor and the first bytes of a connection that carries bytes from now on.
    mutating func surrenderBytes() -> (file: Int32, early: [UInt8]) { wire.surrenderBytes() }

    /// Waits for an event, which goes to the closure, or until the other file can be read: true.
    @discardableResult
    mutating func wait(
        or file: Int32?, endsWithReader: Bool = false, by deadline: Deadline = .never,
        onEvent: ([UInt8]) throws(CommandFailure) -> Void
    ) throws(CommandFailure) -> Bool {
        guard let line = try wire.receive(or: file, endsWithReader: endsWithReader, by: deadline) else { return true }
        _ = try take(line, onEvent)
        return false
    }

    /// A reply and the id of its call, or nil for anything else.
    private func take(
        _ line: [UInt8], _ onEvent: ([UInt8]) throws(CommandFailure) -> Void
    ) throws(CommandFailure) -> (id: Int, reply: Reply)? {
        if line.allSatisfy({ $0 == UInt8(ascii: " ") }) { return nil }
        let parts = try Self.parts(line)
        let id = parts.id.map { String(decoding: line[$0], as: UTF8.self) }
        if parts.method != nil {
            guard let id else {
                try onEvent(line)
                return nil
            }
            try refuse(id)
            return nil
        }
        if id == "null", let error = parts.error {
            throw CommandFailure(
                .brokeProtocol, "the service could not read the call: \(String(decoding: line[error], as: UTF8.self))")
        }
        guard let id = id.flatMap({ Int($0) }), (1...max(1, lastID)).contains(id) else { return nil }
        guard (parts.result == nil) != (parts.error == nil) else {
            throw CommandFailure(.brokeProtocol, "the reply has neither or both of result and error")
        }
        return (id, Reply(line: line, result: parts.result, error: parts.error))
    }

    private struct Parts {
        var id: Range<Int>?
        var method: Range<Int>?
        var result: Range<Int>?
        var error: Range<Int>?
    }

    private static func parts(_ line: [UInt8]) throws(CommandFailure) -> Parts {
        do {
            return try line.withUnsafeBufferPointer { bytes throws(JSONFailure) in
                try JSONScanner.check(bytes, limits: .generous)
                return Parts(
                    id: JSONLocator.range(ofMember: "id", in: bytes),
                    method: JSONLocator.range(ofMember: "method", in: bytes),
                    result: JSONLocator.range(ofMember: "result", in: bytes),
                    error: JSONLocator.range(ofMember: "error", in: bytes))
            }
        } catch {
            throw CommandFailure(.brokeProtocol, "the program at the socket sends no JSON: \(error.reason)")
        }
    }

    /// Refuses a callback at once, since a shell has no code for callbacks.
    private func refuse(_ id: String) throws(CommandFailure) {
        try wire.send(
            Array(
                #"{"jsonrpc":"2.0","id":\#(id),"error":{"code":-32601,"message":"this client takes no callbacks"}}"#
                    .utf8))
    }
}

extension JSONLimits {
    /// For messages of our own service: a body inside a result may be nested to our limit, and have any size.
    static var generous: JSONLimits {
        var limits = JSONLimits()
        limits.depth = 256
        limits.tokens = .max
        limits.members = .max
        return limits
    }
}

/// A call, or a notification, on its way out.
private struct Outgoing: JSONEncodable {
    var id: Int?
    var method: String
    var params: JSONText

    func encode(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("jsonrpc", "2.0")
            writer.member("id", id)
            writer.member("method", method)
            writer.member("params", params)
        }
    }
}
