// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC
import Synchronization
import Testing

@testable import OutriderMethods

struct HandleTableTests {
    final class Thing: Holdable {
        static let kind = HandleKind.stream
        let isAwaited: Bool
        let closed = Mutex(0)
        let over = Mutex(false)
        var isOver: Bool { over.withLock { $0 } }

        init(isAwaited: Bool = false) { self.isAwaited = isAwaited }

        func close() { closed.withLock { $0 += 1 } }

        var closings: Int { closed.withLock { $0 } }
    }

    final class OtherThing: Holdable {
        static let kind = HandleKind.request
        var isAwaited: Bool { false }

        func close() {}
    }

    private func keep(_ thing: Thing, in table: HandleTable) throws -> Handle<Thing> {
        let handle = Handle<Thing>()
        try table.keep(thing, as: handle)
        return handle
    }

    @Test func `a handle says its kind and is not to be guessed`() {
        let names = (0..<100).map { _ in Handle<Thing>().name }
        #expect(Set(names).count == 100)
        for name in names {
            #expect(name.hasPrefix("str_"))
            #expect(name.utf8.count == 20)
            #expect(name.dropFirst(4).allSatisfy { "abcdefghijklmnopqrstuvwxyz234567".contains($0) })
        }
    }

    @Test func `what is kept is found, until it is removed`() throws {
        let table = HandleTable()
        let thing = Thing()
        let handle = try keep(thing, in: table)
        #expect(try table.find(handle, "stream") === thing)
        #expect(table.remove(handle) === thing)
        #expect(table.remove(handle) == nil)
        #expect(thing.closings == 0)
    }

    @Test func `an unknown handle is refused with the place where it stood`() throws {
        let error = #expect(throws: RPCError.self) { _ = try HandleTable().find(Handle<Thing>(), "stream") }
        #expect(error?.code == -32012)
        #expect(error?.data?["pointer"] == .string("/stream"))
    }

    @Test func `a handle of another kind is not known`() throws {
        let table = HandleTable()
        let handle = try keep(Thing(), in: table)
        let wrong = try Handle<OtherThing>(json: .string(handle.name))
        #expect(throws: RPCError.self) { _ = try table.find(wrong, "request") }
    }

    @Test func `one more stream than allowed is refused, and one less makes room`() throws {
        let table = HandleTable()
        let handles = try (0..<256).map { _ in try keep(Thing(), in: table) }
        let error = #expect(throws: RPCError.self) { _ = try keep(Thing(), in: table) }
        #expect(error?.code == -32011)
        #expect(error?.data == ["limit": .integer(256), "what": .string("streams")])
        table.remove(handles[0])
        _ = try keep(Thing(), in: table)
    }

    /// A request, which is never over: how often the table has asked.
    private final class Request: Holdable {
        static let kind = HandleKind.request
        static let looks = Mutex(0)
        let isAwaited = false

        var isOver: Bool {
            Self.looks.withLock { $0 += 1 }
            return false
        }

        func close() {}
    }

    @Test func `a request beyond the limit is refused without a search`() throws {
        let table = HandleTable()
        for _ in 0..<HandleKind.request.limit { try table.keep(Request(), as: Handle()) }
        #expect(throws: RPCError.self) { try table.keep(Request(), as: Handle()) }
        #expect(Request.looks.withLock { $0 } == 0)
    }

    @Test func `what is over is forgotten when its place is needed, and not before`() throws {
        let table = HandleTable()
        let things = (0..<256).map { _ in Thing() }
        let handles = try things.map { try keep($0, in: table) }
        for thing in things.prefix(10) { thing.over.withLock { $0 = true } }
        _ = try table.find(handles[0], "stream")
        for _ in 0..<10 { _ = try keep(Thing(), in: table) }
        #expect(throws: RPCError.self) { _ = try table.find(handles[0], "stream") }
        _ = try table.find(handles[10], "stream")
        #expect(throws: RPCError.self) { _ = try keep(Thing(), in: table) }
    }

    @Test func `when the client leaves all is closed once, and nothing more is kept`() throws {
        let table = HandleTable()
        let thing = Thing()
        _ = try keep(thing, in: table)
        table.close()
        table.close()
        #expect(thing.closings == 1)
        let error = #expect(throws: RPCError.self) { _ = try keep(Thing(), in: table) }
        #expect(error?.code == -32022)
    }

    @Test func `at the end of input what no call waits for is closed`() throws {
        let table = HandleTable()
        let idle = Thing()
        let awaited = Thing(isAwaited: true)
        _ = try keep(idle, in: table)
        _ = try keep(awaited, in: table)
        table.inputEnded()
        #expect(idle.closings == 1)
        #expect(awaited.closings == 0)
    }

    @Test func `what is detached outlives its connection, and others find it`() throws {
        let service = HandleTable()
        let mine = HandleTable(detached: service)
        let others = HandleTable(detached: service)
        let thing = Thing()
        let own = try keep(Thing(), in: mine)
        #expect(throws: RPCError.self) { _ = try others.find(own, "stream") }
        let handle = try keep(thing, in: service)
        mine.close()
        #expect(thing.closings == 0)
        #expect(try others.find(handle, "stream") === thing)
        #expect(others.remove(handle) === thing)
    }
}
