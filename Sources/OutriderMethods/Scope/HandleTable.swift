// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
package import OutriderRPC
import Synchronization

/// The objects of a connection by handle; each user also has a table for objects that were detached from connections.
///
/// Responsible for: limits, and closing all objects at the end.
/// Not responsible for: the work of the objects.
package final class HandleTable: Sendable {
    private struct Contents {
        var things: [HandleKey: any Holdable] = [:]
        /// The number of objects of each kind, by `HandleKind.index`.
        var counts = [Int](repeating: 0, count: HandleKind.allCases.count)
        var isClosed = false
        /// The client sends nothing more, and so decides nothing.
        var hasEndedInput = false

        /// Forgets the objects that are over; returns their names.
        mutating func forgetOver(_ kind: HandleKind) -> [String] {
            let keys = things.filter { type(of: $0.value).kind == kind && $0.value.isOver }.map(\.key)
            for key in keys { things[key] = nil }
            counts[kind.index] -= keys.count
            return keys.map(\.name)
        }
    }

    private let contents = Mutex(Contents())
    /// The table for detached objects, and for names that are unknown here.
    private let detached: HandleTable?
    /// The index through which other connections of the same user find streams.
    private let streams: StreamIndex?
    private let user: Int?
    /// Detached requests with a name; used in the table of a user.
    let names = NameTable()

    package init(detached: HandleTable? = nil) {
        self.detached = detached
        streams = nil
        user = nil
    }

    /// The table of a connection of that user.
    init(detached: HandleTable, streams: StreamIndex, user: Int?) {
        self.detached = detached
        self.streams = streams
        self.user = user
    }

    /// Keeps the object under the handle. Throws `tooMany` at the connection's limit, and `clientGone` after the
    /// connection's end; neither closes the object.
    package func keep<Thing: Holdable>(_ thing: Thing, as handle: Handle<Thing>) throws(RPCError) {
        let kind = Thing.kind
        var over: [String] = []
        let refusal = contents.withLock { contents -> RPCError? in
            if contents.isClosed { return RPCError(.clientGone, "the connection has ended") }
            if contents.hasEndedInput, kind == .decision { return Self.cannotDecide }
            if contents.counts[kind.index] >= kind.limit, kind.canBeOver { over = contents.forgetOver(kind) }
            if contents.counts[kind.index] >= kind.limit { return Self.tooMany(kind) }
            contents.counts[kind.index] += 1
            contents.things[HandleKey(handle.name)] = thing
            return nil
        }
        if !over.isEmpty { streams?.remove(over) }
        if let refusal { throw refusal }
        if kind == .stream { streams?.add(thing, handle.name, user) }
    }

    /// The object under the handle. Throws `unknownHandle`, with the name of the parameter.
    package func find<Thing: Holdable>(_ handle: Handle<Thing>, _ parameter: String) throws(RPCError) -> Thing {
        if let thing = thing(handle.name) as? Thing { return thing }
        if let thing = detached?.thing(handle.name) as? Thing { return thing }
        if let thing: Thing = detached?.names.find(handle.name) { return thing }
        throw Self.unknown(handle.name, parameter)
    }

    /// Forgets the handle, here or among detached handles, without closing the object. Nil if unknown.
    @discardableResult
    package func remove<Thing: Holdable>(_ handle: Handle<Thing>) -> Thing? {
        let thing = take(handle.name, of: Thing.kind) ?? detached?.take(handle.name, of: Thing.kind)
        return thing as? Thing
    }

    /// The same for an object known only by name, in this table alone.
    @discardableResult
    func forget(_ name: String, of kind: HandleKind) -> (any Holdable)? { take(name, of: kind) }

    /// All objects of a type, in no order.
    package func all<Thing: Holdable>(_ type: Thing.Type = Thing.self) -> [Thing] {
        contents.withLock { contents in contents.things.values.compactMap { $0 as? Thing } }
    }

    /// The client sends nothing more: closes the objects that no call waits for, except those that still send events.
    package func inputEnded() {
        let things = contents.withLock { contents in
            contents.hasEndedInput = true
            return Array(contents.things.values)
        }
        for thing in things {
            if thing.isAwaited || thing.owes { thing.inputEnded() } else { thing.close() }
        }
    }

    /// Whether any object will still send the client events.
    package var owes: Bool { contents.withLock { Array($0.things.values) }.contains { $0.owes } }

    /// Closes all objects, and refuses more.
    package func close() {
        let (names, things) = contents.withLock { contents in
            contents.isClosed = true
            defer { contents.things = [:] }
            return (contents.things.keys.map(\.name), Array(contents.things.values))
        }
        for thing in things { thing.close() }
        streams?.remove(names)
    }

    private func thing(_ name: String) -> (any Holdable)? {
        contents.withLock { $0.things[HandleKey(name)] }
    }

    private func take(_ name: String, of kind: HandleKind) -> (any Holdable)? {
        if kind == .stream { streams?.remove([name]) }
        return contents.withLock { contents in
            guard let thing = contents.things.removeValue(forKey: HandleKey(name)) else { return nil }
            contents.counts[kind.index] -= 1
            return thing
        }
    }

    static var cannotDecide: RPCError { RPCError(.clientGone, "the client can no longer decide") }

    private static func tooMany(_ kind: HandleKind) -> RPCError {
        let things = kind == .response ? "responses" : kind.limitName
        return RPCError(
            .tooMany, "too many \(things): a connection may have \(kind.limit); release some",
            data: ["limit": .integer(Int64(kind.limit)), "what": .string(kind.limitName)])
    }

    private static func unknown(_ name: String, _ parameter: String) -> RPCError {
        RPCError(
            .unknownHandle,
            "\(parameter) names nothing here: \(name.prefix(40)) was never given, is released, or is another's",
            data: ["pointer": .string("/" + parameter)])
    }
}

/// A name in a table of handles. Names are random, so that eight of their bytes make a hash as good as all of them, for
/// a third of the time.
private struct HandleKey: Hashable {
    let name: String
    private let lastBytes: UInt64

    init(_ name: String) {
        self.name = name
        let bytes = name.utf8.withContiguousStorageIfAvailable { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            return bytes.count < 8 ? 0 : bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self)
        }
        lastBytes = bytes ?? 0
    }

    static func == (one: HandleKey, other: HandleKey) -> Bool {
        one.lastBytes == other.lastBytes && one.name == other.name
    }

    func hash(into hasher: inout Hasher) { hasher.combine(lastBytes) }
}
