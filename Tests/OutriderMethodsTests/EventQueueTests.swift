// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOPosix
import OutriderEngine
import OutriderJSON
import OutriderRPC
import Testing

@testable import OutriderMethods

struct EventQueueTests {
    private func event(_ number: Int, bytes: Int = 0) -> Event {
        Event("e\(number)", JSONValue.string(String(repeating: "x", count: bytes)))
    }

    private func names(_ events: [Event]) -> [String] { events.map(\.name) }

    @Test func `events are taken in order, so many at a time`() {
        var machine = EventQueueMachine()
        for number in 1...5 { machine.push(.init(event(number), mayBeLost: true)) }
        let taken = (0..<3).map { names(machine.take($0 == 0 ? 2 : 9).events) }
        #expect(taken == [["e1", "e2"], ["e3", "e4", "e5"], []] && machine.bytes == 0)
    }

    @Test func `the oldest that may be lost goes first, and is counted`() {
        var machine = EventQueueMachine(limit: 3)
        machine.push(.init(event(1), mayBeLost: false))
        for number in 2...6 { machine.push(.init(event(number), mayBeLost: true)) }
        let taken = machine.take(9)
        #expect(names(taken.events) == ["e1", "e5", "e6"] && taken.dropped == 3)
        let after = machine.take(9)
        #expect(after.dropped == 0)
    }

    @Test func `an event that waits for a reply stays in a full queue`() {
        var machine = EventQueueMachine(limit: 2, bytes: 1000)
        for number in 1...3 { machine.push(.init(event(number, bytes: 900), mayBeLost: false, claim: { true })) }
        for number in 4...5 { machine.push(.init(event(number, bytes: 900), mayBeLost: false)) }
        let taken = machine.take(9)
        #expect(names(taken.events) == ["e1", "e2", "e3", "e5"] && taken.dropped == 1 && machine.bytes == 0)
    }

    @Test func `the newest goes where that was asked for`() {
        var machine = EventQueueMachine(limit: 2, drop: .newest)
        for number in 1...4 { machine.push(.init(event(number), mayBeLost: true)) }
        machine.push(.init(event(5), mayBeLost: false))
        let taken = machine.take(9)
        #expect(names(taken.events) == ["e2", "e5"] && taken.dropped == 3)
    }

    @Test func `bytes are bounded, too, but one event always fits`() {
        var machine = EventQueueMachine(limit: 100, bytes: 1000)
        machine.push(.init(event(1, bytes: 5000), mayBeLost: true))
        #expect(machine.count == 1)
        for number in 2...20 { machine.push(.init(event(number, bytes: 100), mayBeLost: true)) }
        #expect(machine.bytes <= 1000 && machine.count == 6)
        let taken = machine.take(9, bytes: 1)
        #expect(taken.events.count == 1, "at least one, however long")
    }

    @Test func `without memory an event that may be lost goes, the new one, too, and no other`() {
        var machine = EventQueueMachine()
        machine.push(.init(event(1, bytes: 100), mayBeLost: true), within: 1000)
        machine.push(.init(event(2, bytes: 100), mayBeLost: false), within: 1000)
        machine.push(.init(event(3, bytes: 900), mayBeLost: true), within: 1000)
        machine.push(.init(event(4, bytes: 900), mayBeLost: false), within: 1000)
        let taken = machine.take(9)
        #expect(names(taken.events) == ["e2", "e4"] && taken.dropped == 2 && machine.bytes == 0)
        machine.push(.init(event(5, bytes: 5000), mayBeLost: true), within: 1000)
        #expect(machine.isEmpty && machine.dropped == 1)
    }

    @Test func `events are counted in steps, until they are taken`() async throws {
        let budget = MemoryBudget(16 << 20)
        let queue = EventQueue(quota: BodyQuota(budget: budget))
        queue.push(event(1, bytes: 8000), mayBeLost: true)
        #expect(budget.counts.held == 0)
        queue.push(event(2, bytes: 8000), mayBeLost: true)
        queue.push(event(3, bytes: 20_000), mayBeLost: true)
        #expect(budget.counts.held == 32 << 10)
        let taken = try await queue.next(2, bytes: 1 << 20, wait: 0, engine)
        #expect(names(taken.events) == ["e1", "e2"] && budget.counts.held == 16 << 10)
        _ = try await queue.next(2, bytes: 1 << 20, wait: 0, engine)
        #expect(budget.counts.held == 0)
    }

    @Test func `what lost its purpose is passed over`() {
        var machine = EventQueueMachine()
        machine.push(.init(event(1), mayBeLost: false, claim: { false }))
        machine.push(.init(event(2), mayBeLost: false, claim: { true }))
        let taken = machine.take(1)
        #expect(names(taken.events) == ["e2"])
    }

    @Test func `what no client needs makes room first, and is not counted`() {
        var machine = EventQueueMachine(limit: 3)
        machine.push(.init(event(1), mayBeLost: true))
        for number in 2...3 { machine.push(.init(event(number), mayBeLost: false, isStale: { true })) }
        machine.push(.init(event(4), mayBeLost: true))
        let taken = machine.take(9)
        #expect(names(taken.events) == ["e1", "e4"] && taken.dropped == 0 && machine.bytes == 0)
    }

    @Test func `an event that the client cannot read is lost and counted, unless no client needs it`() {
        var machine = EventQueueMachine()
        machine.push(.init(event(1), mayBeLost: false))
        machine.push(.init(event(2), mayBeLost: false, isStale: { true }))
        machine.push(.init(event(3), mayBeLost: false, claim: { false }))
        machine.push(.init(event(4), mayBeLost: false))
        let taken = machine.take(9) { !["e1", "e2"].contains($0.name) }
        #expect(names(taken.events) == ["e4"] && taken.dropped == 1 && machine.isEmpty && machine.bytes == 0)
    }

    private var engine: Engine { Engine(transport: SilentTransport(), group: MultiThreadedEventLoopGroup.singleton) }

    @Test func `who waits gets the first that comes`() async throws {
        let queue = EventQueue()
        let engine = engine
        async let taken = queue.next(9, bytes: 1 << 20, wait: 60, engine)
        while !queue.isAwaited { await Task.yield() }
        queue.push(event(1), mayBeLost: true)
        #expect(names(try await taken.events) == ["e1"])
    }

    @Test func `who waits hears that nothing more will come`() async throws {
        let queue = EventQueue()
        let engine = engine
        async let taken = queue.next(9, bytes: 1 << 20, wait: 60, engine)
        while !queue.isAwaited { await Task.yield() }
        queue.end()
        #expect(try await taken.isOver)
        queue.push(event(1), mayBeLost: true)
        #expect(try await queue.next(9, bytes: 1, wait: 60, engine).events.isEmpty)
    }

    @Test func `a wait that is cancelled ends`() async {
        let queue = EventQueue()
        let engine = engine
        let task = Task { try await queue.next(9, bytes: 1 << 20, wait: 600, engine) }
        while !queue.isAwaited { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `two that wait share what comes`() async throws {
        let queue = EventQueue()
        let engine = engine
        async let one = queue.next(1, bytes: 1 << 20, wait: 60, engine)
        async let two = queue.next(1, bytes: 1 << 20, wait: 60, engine)
        while !queue.isAwaited { await Task.yield() }
        queue.push(event(1), mayBeLost: true)
        queue.push(event(2), mayBeLost: true)
        let both = try await [one, two].flatMap { $0.events.map(\.name) }
        #expect(both.sorted() == ["e1", "e2"])
    }
}
