// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderMethods

struct SubscriptionMachineTests {
    typealias Machine = SubscriptionMachine<Int>

    private func machine(
        _ queue: Int, _ drop: Machine.Drop = .oldest, window: Int? = nil, bytes: Int = 1 << 20
    ) -> Machine {
        Machine(Machine.Config(queue: queue, drop: drop, window: window, bytes: bytes))
    }

    private func push(_ notes: ClosedRange<Int>, to machine: inout Machine) -> Int {
        notes.reduce(0) { $0 + machine.push($1, bytes: 10) }
    }

    @Test func `notes are taken in order, with their numbers`() {
        var machine = machine(10)
        let lost = push(1...5, to: &machine)
        let taken = machine.take(3)
        #expect(taken.notes.map(\.note) == [1, 2, 3] && taken.notes.map(\.number) == [0, 1, 2])
        let rest = machine.take(9)
        #expect(rest.notes.map(\.note) == [4, 5] && lost == 0 && taken.dropped == 0)
        #expect(machine.count == 0 && machine.bytes == 0)
    }

    @Test func `the oldest go where there is no room, and leave a gap`() {
        var machine = machine(3)
        let lost = push(0...9, to: &machine)
        let taken = machine.take(9)
        #expect(taken.notes.map(\.number) == [7, 8, 9] && taken.dropped == 7 && lost == 7)
        let rest = machine.take(9)
        #expect(rest.dropped == 0 && machine.dropped == 7 && machine.told == 10)
    }

    @Test func `the newest go where that is wanted, and are still counted`() {
        var machine = machine(3, .newest)
        let lost = push(0...4, to: &machine)
        _ = machine.take(1)
        let lostThen = push(5...5, to: &machine)
        let taken = machine.take(9)
        #expect(taken.notes.map(\.number) == [1, 2, 5] && lost == 2 && lostThen == 0)
    }

    @Test func `bytes are bounded, too, but one note always fits`() {
        var machine = machine(100, bytes: 100)
        let lost = [machine.push(1, bytes: 5000), machine.push(2, bytes: 60), machine.push(3, bytes: 60)]
        #expect(lost == [0, 1, 1] && machine.count == 1 && machine.bytes == 60)
        let taken = machine.take(9, bytes: 1)
        #expect(taken.notes.map(\.note) == [3], "at least one, however long")
    }

    @Test func `without memory notes are dropped, the new one, too, and given notes count`() {
        var machine = machine(100, window: 10)
        let lost = [machine.push(1, bytes: 60, within: 100), machine.push(2, bytes: 60, within: 100)]
        let given = machine.take(9)
        #expect(lost == [0, 1] && given.notes.map(\.note) == [2] && machine.heldBytes == 60)
        let lostThen = machine.push(3, bytes: 60, within: 100)
        #expect(lostThen == 1 && machine.count == 0)
        let isKnown = machine.acknowledge(1)
        let lostAtLast = machine.push(4, bytes: 60, within: 100)
        #expect(isKnown && lostAtLast == 0 && machine.heldBytes == 60)
    }

    @Test func `a loss is news even where nothing is left`() {
        var machine = machine(1, .newest)
        _ = push(1...1, to: &machine)
        _ = machine.take(1)
        _ = push(2...3, to: &machine)
        _ = machine.take(0)
        let taken = machine.take(1)
        #expect(taken.notes.map(\.note) == [2] && taken.dropped == 0, "told once, though nothing was taken with it")
    }

    @Test func `a window holds back what is not acknowledged`() {
        var machine = machine(10, window: 2)
        _ = push(0...4, to: &machine)
        let first = machine.take(9)
        let none = machine.take(9)
        #expect(first.notes.map(\.number) == [0, 1] && none.notes.isEmpty)
        let early = machine.acknowledge(2)
        let known = machine.acknowledge(0)
        #expect(!early && known)
        let next = machine.take(9)
        let (last, again) = (machine.acknowledge(2), machine.acknowledge(0))
        #expect(next.notes.map(\.number) == [2] && last && again && machine.heldBytes == 20)
    }

    @Test func `a client that comes again gets what is not acknowledged first`() {
        var machine = machine(10, window: 3)
        _ = push(0...4, to: &machine)
        let first = machine.take(2, again: true)
        let second = machine.take(9, again: true)
        _ = machine.acknowledge(1)
        let third = machine.take(9, again: true)
        #expect([first, second, third].map { $0.notes.map(\.number) } == [[0, 1], [0, 1, 2], [2, 3, 4]])
    }

    @Test func `what was given is not dropped`() {
        var machine = machine(2, window: 2)
        _ = push(0...1, to: &machine)
        _ = machine.take(9)
        let lost = push(2...5, to: &machine)
        let taken = machine.take(9, again: true)
        #expect(taken.notes.map(\.number) == [0, 1] && lost == 2)
    }

    /// Random orders of events, against a list that keeps the promises by definition.
    @Test(arguments: 0..<50)
    func `in any order of events numbers rise, and nothing is lost uncounted`(_ seed: UInt64) {
        var random = SmallRandom(state: seed)
        let queue = Int.random(in: 1...5, using: &random)
        let drop: Machine.Drop = Bool.random(using: &random) ? .oldest : .newest
        let window = Bool.random(using: &random) ? Int.random(in: 1...4, using: &random) : nil
        var machine = machine(queue, drop, window: window)
        var (given, lost, told): ([Int], Int, Int) = ([], 0, 0)
        var acknowledged = -1
        for _ in 0..<3000 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                _ = machine.push(told, bytes: 10)
                told += 1
            case 2:
                let taken = machine.take(Int.random(in: 1...3, using: &random))
                given += taken.notes.map(\.number)
                lost += taken.dropped
            default:
                guard window != nil, let last = given.last else { continue }
                let (known, unknown) = (machine.acknowledge(last), machine.acknowledge(last + queue + told))
                #expect(known && !unknown)
                acknowledged = last
            }
            #expect(machine.count <= queue && (machine.heldBytes - machine.bytes) / 10 <= window ?? 0)
        }
        _ = machine.acknowledge(given.last ?? acknowledged)
        while true {
            let taken = machine.take(9)
            if taken.notes.isEmpty, taken.dropped == 0 { break }
            given += taken.notes.map(\.number)
            lost += taken.dropped
            if let last = given.last { _ = machine.acknowledge(last) }
        }
        #expect(zip(given, given.dropFirst()).allSatisfy { $0 < $1 })
        #expect(given.count + lost == told && machine.dropped == lost && machine.told == told)
    }
}
