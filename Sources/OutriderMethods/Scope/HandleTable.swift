// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
package import OutriderRPC
import Synchronization

/// Names to the things that live under them: one table per connection, and one per user for what was detached from its
/// connections.
///
/// Responsible for: limits, and that nothing outlives the table's end.
/// Not responsible for: what the things do.
package final class HandleTable: Sendable {
    private struct Contents {
        var things: [String: any Holdable] = [:]
        var counts: [HandleKind: Int] = [:]
        var isClosed = false

        /// Returns their names.
        mutating func forgetOver(_ kind: HandleKind) -> [String] {
            let names = things.filter { type(of: $0.value).kind == kind && $0.value.isOver }.map(\.key)
            for name in names { things[name] = nil }
            counts[kind, default: 0] -= names.count
            return names
        }
    }

    private let contents = Mutex(Contents())
    /// Where detached things go, and where a name is looked up that is not here.
    private let detached: HandleTable?
    /// Where streams are found by other connections of the same user.
    private let streams: StreamIndex?
    private let user: Int?
    /// Detached requests that were given a name; used in the table of a user.
    let names = NameTable()

    package init(detached: HandleTable? = nil) {
        self.detached = detached
        streams = nil
        user = nil
    }

    /// The table of one connection, of that user.
    init(detached: HandleTable, streams: StreamIndex, user: Int?) {
        self.detached = detached
        self.streams = streams
        self.user = user
    }

    /// Keeps the thing under the handle. Throws `tooMany` when the connection has as many as it may have, and
    /// `clientGone` when it has left; the thing is not closed then.
    package func keep<Thing: Holdable>(_ thing: Thing, as handle: Handle<Thing>) throws(RPCError) {
        let kind = Thing.kind
        var over: [String] = []
        let refusal = contents.withLock { contents -> RPCError? in
            if contents.isClosed { return RPCError(.clientGone, "the connection has ended") }
            if contents.counts[kind, default: 0] >= kind.limit { over = contents.forgetOver(kind) }
            let count = contents.counts[kind, default: 0]
            if count >= kind.limit { return Self.tooMany(kind) }
            contents.counts[kind] = count + 1
            contents.things[handle.name] = thing
            return nil
        }
        if !over.isEmpty { streams?.remove(over) }
        if let refusal { throw refusal }
        if kind == .stream { streams?.add(thing, handle.name, user) }
    }

    /// What the handle names. Throws `unknownHandle`, with the name of the parameter that held it.
    package func find<Thing: Holdable>(_ handle: Handle<Thing>, _ parameter: String) throws(RPCError) -> Thing {
        if let thing = thing(handle.name) as? Thing { return thing }
        if let thing = detached?.thing(handle.name) as? Thing { return thing }
        if let thing: Thing = detached?.names.find(handle.name) { return thing }
        throw Self.unknown(handle.name, parameter)
    }

    /// Forgets the handle, wherever it is kept, without closing what it names. Nil if it was not known.
    @discardableResult
    package func remove<Thing: Holdable>(_ handle: Handle<Thing>) -> Thing? {
        let thing = take(handle.name, of: Thing.kind) ?? detached?.take(handle.name, of: Thing.kind)
        return thing as? Thing
    }

    /// The same for what is known by its name alone, and kept here.
    func forget(_ name: String, of kind: HandleKind) {
        _ = take(name, of: kind)
    }

    /// Moves the thing to the service, so that it outlives its connection. Throws `tooMany`, and leaves it where it is.
    package func detach<Thing: Holdable>(_ handle: Handle<Thing>, _ parameter: String) throws(RPCError) {
        guard let detached, let thing = thing(handle.name) as? Thing else { return }
        try detached.keep(thing, as: handle)
        _ = take(handle.name, of: Thing.kind)
    }

    /// All things of one type, in no order.
    package func all<Thing: Holdable>(_ type: Thing.Type = Thing.self) -> [Thing] {
        contents.withLock { contents in contents.things.values.compactMap { $0 as? Thing } }
    }

    /// The client will send nothing more: ends what no call waits for, and what the client will not hear of by itself.
    package func inputEnded() {
        let things = contents.withLock { Array($0.things.values) }
        for thing in things where !thing.isAwaited {
            if thing.owes { thing.inputEnded() } else { thing.close() }
        }
    }

    /// Whether the client will still hear of something without asking.
    package var owes: Bool { contents.withLock { Array($0.things.values) }.contains { $0.owes } }

    /// Ends everything, and refuses more.
    package func close() {
        let (names, things) = contents.withLock { contents in
            contents.isClosed = true
            defer { contents.things = [:] }
            return (Array(contents.things.keys), Array(contents.things.values))
        }
        for thing in things { thing.close() }
        streams?.remove(names)
    }

    private func thing(_ name: String) -> (any Holdable)? {
        contents.withLock { $0.things[name] }
    }

    private func take(_ name: String, of kind: HandleKind) -> (any Holdable)? {
        if kind == .stream { streams?.remove([name]) }
        return contents.withLock { contents in
            guard let thing = contents.things.removeValue(forKey: name) else { return nil }
            contents.counts[kind, default: 1] -= 1
            return thing
        }
    }

    private static func tooMany(_ kind: HandleKind) -> RPCError {
        RPCError(
            .tooMany, "too many handles: a connection may have \(kind.limit) of \(kind.rawValue); release some",
            data: ["limit": .integer(Int64(kind.limit)), "what": .string(kind.limitName)])
    }

    private static func unknown(_ name: String, _ parameter: String) -> RPCError {
        RPCError(
            .unknownHandle,
            "\(parameter) names nothing here: \(name.prefix(40)) was never given, is released, or is another's",
            data: ["pointer": .string("/" + parameter)])
    }
}
