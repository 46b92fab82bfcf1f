// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderServer

struct LoopChoiceTests {
    @Test func `an even choice gives each loop as many clients`() {
        var choice = LoopChoice(loops: 3, .even)
        #expect((0..<6).map { _ in choice.enter([1, 1, 0]) } == [2, 1, 0, 2, 1, 0])
        choice.leave(1)
        choice.leave(1)
        #expect(choice.clients == [2, 0, 2])
        #expect((0..<3).map { _ in choice.enter([]) } == [1, 1, 2])
    }

    @Test func `a choice by load begins a further loop only when all before it are busy`() {
        var choice = LoopChoice(loops: 3, .whenBusy)
        #expect((0..<5).map { _ in choice.enter([0.49, 0, 0]) } == [0, 0, 0, 0, 0])
        #expect(choice.enter([0.5, 0, 0]) == 1)
        #expect(choice.enter([0.9, 0.7, 0]) == 2)
        #expect(choice.enter([0.2, 0.7, 0.9]) == 0)
    }

    @Test func `where all loops are busy the least busy one is chosen`() {
        var choice = LoopChoice(loops: 3, .whenBusy)
        #expect(choice.enter([0.9, 0.6, 0.8]) == 1)
        // equally busy: the one with fewer clients
        #expect(choice.enter([0.9, 0.9, 0.9]) == 0)
    }

    @Test func `an index that does not exist, and a client too few, are ignored`() {
        var choice = LoopChoice(loops: 2, .even)
        choice.leave(0)
        choice.leave(7)
        choice.leave(-1)
        #expect(choice.clients == [0, 0])
    }

    @Test func `the load is the share of the time that a loop works`() {
        var load = LoopLoad()
        var now: Int64 = 0
        func turn(slept: Int64, worked: Int64) {
            now += slept + worked
            load.turned(slept: slept, began: now - worked, ended: now)
        }
        for _ in 0..<300 { turn(slept: 250_000, worked: 750_000) }
        #expect(abs(load.share(at: now) - 0.75) < 0.01)
        for _ in 0..<600 { turn(slept: 900_000, worked: 100_000) }
        #expect(abs(load.share(at: now) - 0.1) < 0.01)
        for _ in 0..<600 { turn(slept: 0, worked: 1_000_000) }
        #expect(load.share(at: now) == 1)
        // without events the loop sleeps
        #expect(load.share(at: now + LoopLoad.asleep) == 0)
    }

    @Test func `the number of loops goes by the setting, the processors and the limit`() {
        #expect(ServiceLoops.Count.fixed(3).loops(ofProcessors: 2) == 3)
        #expect(ServiceLoops.Count.fixed(0).loops(ofProcessors: 2) == 1)
        #expect(ServiceLoops.Count.auto.loops(ofProcessors: 8) == 8)
    }

    @Test func `clients are spread over the loops of the group, and leave them`() async throws {
        let loops = ServiceLoops(.fixed(4), most: 2)
        #expect(loops.count == 2)
        let (first, second, third) = (loops.enter(), loops.enter(), loops.enter())
        #expect(first.loop === third.loop)
        #expect(first.loop !== second.loop)
        #expect(loops.clients == [1, 2])
        loops.leave(first.index)
        #expect(loops.clients == [1, 1])
        try await loops.group.shutdownGracefully()
    }

    @Test func `without load all clients share the first loop`() async throws {
        let loops = ServiceLoops(.auto)
        #expect((0..<5).allSatisfy { _ in loops.enter().index == 0 })
        try await loops.group.shutdownGracefully()
    }
}
