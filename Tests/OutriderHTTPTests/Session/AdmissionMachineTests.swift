// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// A machine that expectations can call.
private final class Admission {
    private var machine: AdmissionMachine

    init(_ limits: AdmissionLimits, now: Double) { machine = AdmissionMachine(limits, now: now) }

    var running: Int { machine.running }
    var waiting: Int { machine.waiting }

    func ask(_ id: Int, _ priority: RequestPriority, now: Double) -> AdmissionMachine.Verdict {
        machine.ask(id, priority, now: now)
    }

    func askInBackground(_ id: Int, now: Double) -> AdmissionMachine.Verdict { machine.askInBackground(id, now: now) }
    func leave(now: Double) -> [Int] { machine.leave(now: now) }
    func tick(now: Double) -> [Int] { machine.tick(now: now) }
    func cancel(_ id: Int) -> Bool { machine.cancel(id) }
    func comeBack(_ id: Int) -> Bool { machine.comeBack(id) }
    func change(_ limits: AdmissionLimits, now: Double) -> [Int] { machine.change(limits, now: now) }
    func nextTick(now: Double) -> Double? { machine.nextTick(now: now) }
}

struct AdmissionMachineTests {
    private func limits(_ concurrent: Int? = nil, rate: AdmissionLimits.Rate? = nil, waiting: Int = 100)
        -> AdmissionLimits
    {
        var limits = AdmissionLimits()
        limits.concurrent = concurrent
        limits.rate = rate
        limits.waiting = waiting
        return limits
    }

    @Test func `without limits all requests go`() {
        let machine = Admission(AdmissionLimits(), now: 0)
        for id in 1...1000 { #expect(machine.ask(id, .normal, now: 0) == .go) }
        #expect(machine.nextTick(now: 0) == nil)
    }

    @Test func `so many go at once, the others when one has left`() {
        let machine = Admission(limits(2), now: 0)
        #expect(machine.ask(1, .normal, now: 0) == .go)
        #expect(machine.ask(2, .normal, now: 0) == .go)
        #expect(machine.ask(3, .normal, now: 0) == .wait)
        #expect(machine.ask(4, .normal, now: 0) == .wait)
        #expect(machine.leave(now: 1) == [3])
        #expect(machine.leave(now: 1) == [4])
        #expect(machine.leave(now: 1) == [])
        #expect(machine.running == 1)
    }

    @Test func `work in the background waits for all requests, and takes no place from them`() {
        let machine = Admission(limits(1, waiting: 1), now: 0)
        #expect(machine.askInBackground(1, now: 0) == .go)
        for id in 2...17 { #expect(machine.askInBackground(id, now: 0) == .wait) }
        #expect(machine.askInBackground(18, now: 0) == .refuse)
        #expect(machine.waiting == 0)
        #expect(machine.ask(19, .low, now: 0) == .wait)
        #expect(machine.ask(20, .high, now: 0) == .refuse)
        #expect(machine.leave(now: 1) == [19])
        #expect(machine.leave(now: 1) == [2])
        #expect(machine.change(limits(), now: 1) == Array(3...17))
    }

    @Test func `the rate counts work in the background`() {
        let machine = Admission(limits(rate: .init(requests: 1, seconds: 10)), now: 0)
        #expect(machine.askInBackground(1, now: 0) == .go)
        #expect(machine.leave(now: 1) == [])
        #expect(machine.nextTick(now: 1) == nil)
        #expect(machine.askInBackground(2, now: 1) == .wait)
        #expect(machine.nextTick(now: 1) == 9)
        #expect(machine.tick(now: 10) == [2])
    }

    @Test func `one more than may wait is refused`() {
        let machine = Admission(limits(1, waiting: 1), now: 0)
        #expect(machine.ask(1, .normal, now: 0) == .go)
        #expect(machine.ask(2, .normal, now: 0) == .wait)
        #expect(machine.ask(3, .high, now: 0) == .refuse)
        #expect(machine.waiting == 1)
    }

    @Test func `who waits no longer is passed over`() {
        let machine = Admission(limits(1), now: 0)
        for id in 1...4 { _ = machine.ask(id, .normal, now: 0) }
        #expect(machine.cancel(2))
        #expect(!machine.cancel(2))
        #expect(!machine.cancel(1))
        #expect(machine.leave(now: 0) == [3])
    }

    @Test func `higher priorities go more often, and none waits for ever`() {
        let machine = Admission(limits(1), now: 0)
        _ = machine.ask(0, .normal, now: 0)
        for id in 0..<100 {
            _ = machine.ask(1000 + id, .low, now: 0)
            _ = machine.ask(2000 + id, .normal, now: 0)
            _ = machine.ask(3000 + id, .high, now: 0)
        }
        #expect(machine.waiting == 100, "only so many may wait")
        let wide = Admission(limits(1, waiting: 1000), now: 0)
        _ = wide.ask(0, .normal, now: 0)
        for id in 0..<100 {
            _ = wide.ask(1000 + id, .low, now: 0)
            _ = wide.ask(2000 + id, .normal, now: 0)
            _ = wide.ask(3000 + id, .high, now: 0)
        }
        var counts = [1: 0, 2: 0, 3: 0]
        var order: [Int: [Int]] = [:]
        for _ in 0..<105 {
            let gone = wide.leave(now: 0)
            #expect(gone.count == 1)
            for id in gone {
                counts[id / 1000]? += 1
                order[id / 1000, default: []].append(id)
            }
        }
        #expect(counts == [1: 5, 2: 20, 3: 80])
        for line in order.values { #expect(line == line.sorted(), "in the order in which they came") }
    }

    @Test func `a line that was empty does not catch up on what it missed`() {
        let machine = Admission(limits(1, waiting: 1000), now: 0)
        _ = machine.ask(0, .high, now: 0)
        for id in 1...100 { _ = machine.ask(id, .low, now: 0) }
        for _ in 0..<50 { _ = machine.leave(now: 0) }
        for id in 500...520 { _ = machine.ask(id, .normal, now: 0) }
        let next = (0..<5).flatMap { _ in machine.leave(now: 0) }
        #expect(next.contains { $0 < 500 }, "the low ones still have their turn")
    }

    @Test func `turns of a crowd that is gone count against no line`() {
        let machine = Admission(limits(1, waiting: 1000), now: 0)
        _ = machine.ask(0, .low, now: 0)
        for id in 1...100 { _ = machine.ask(id, .low, now: 0) }
        for _ in 0..<100 { _ = machine.leave(now: 0) }
        for id in 200..<300 { _ = machine.ask(id, .high, now: 0) }
        _ = machine.ask(300, .low, now: 0)
        let next = (0..<20).flatMap { _ in machine.leave(now: 0) }
        #expect(next.contains(300), "the low one has its turn among the next")
    }

    @Test func `so many begin in so many seconds`() throws {
        let machine = Admission(limits(rate: AdmissionLimits.Rate(requests: 2, seconds: 1)), now: 10)
        #expect(machine.ask(1, .normal, now: 10) == .go)
        #expect(machine.ask(2, .normal, now: 10) == .go)
        #expect(machine.ask(3, .normal, now: 10) == .wait)
        #expect(machine.leave(now: 10) == [], "leaving makes no time")
        let tick = try #require(machine.nextTick(now: 10))
        #expect(abs(tick - 1) < 0.01)
        #expect(machine.tick(now: 10.9) == [], "a third would be too many within the second")
        #expect(machine.tick(now: 11) == [3])
        #expect(machine.nextTick(now: 11) == nil)
        #expect(machine.ask(4, .normal, now: 1000) == .go)
        #expect(machine.ask(5, .normal, now: 1000) == .go)
        #expect(machine.ask(6, .normal, now: 1000) == .wait, "no more are saved up than go at once")
    }

    @Test func `a clock that stands still or goes back makes no time`() {
        let machine = Admission(limits(rate: AdmissionLimits.Rate(requests: 1, seconds: 1)), now: 10)
        _ = machine.ask(1, .normal, now: 10)
        #expect(machine.ask(2, .normal, now: 5) == .wait)
        #expect(machine.tick(now: 9) == [])
        #expect(machine.tick(now: 11) == [2])
    }

    @Test func `other limits hold at once`() {
        let machine = Admission(limits(1), now: 0)
        for id in 1...5 { _ = machine.ask(id, .normal, now: 0) }
        #expect(machine.change(limits(3), now: 0) == [2, 3])
        #expect(machine.change(limits(1), now: 0) == [])
        #expect(machine.leave(now: 0) == [])
        #expect(machine.leave(now: 0) == [])
        #expect(machine.leave(now: 0) == [4])
        #expect(machine.change(AdmissionLimits(), now: 0) == [5])
    }

    @Test func `who was suspended comes back before others begin, and not before there is room`() {
        let machine = Admission(limits(1, waiting: 1), now: 0)
        _ = machine.ask(1, .normal, now: 0)
        #expect(machine.leave(now: 0) == [])
        #expect(machine.comeBack(1))
        #expect(machine.ask(2, .high, now: 0) == .wait)
        #expect(machine.leave(now: 0) == [2])
        #expect(!machine.comeBack(1))
        #expect(machine.ask(3, .high, now: 0) == .wait)
        #expect(!machine.comeBack(4), "those that come back are never too many")
        #expect(machine.running == 1 && machine.waiting == 3)
        #expect(machine.leave(now: 0) == [1])
        #expect(machine.cancel(4) && !machine.cancel(4))
        #expect(machine.leave(now: 0) == [3])
    }

    @Test func `who comes back needs no time`() {
        let machine = Admission(limits(1, rate: AdmissionLimits.Rate(requests: 1, seconds: 10)), now: 0)
        _ = machine.ask(1, .normal, now: 0)
        #expect(machine.leave(now: 0) == [])
        #expect(machine.comeBack(1))
        #expect(machine.nextTick(now: 0) == nil)
    }

    @Test(arguments: 0..<50) func `in any order of events the limits are kept and no request is lost`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let most = Int.random(in: 1...4, using: &random)
        let rate = Bool.random(using: &random) ? AdmissionLimits.Rate(requests: 3, seconds: 1) : nil
        let machine = Admission(limits(most, rate: rate, waiting: 20), now: 0)
        var now = 0.0
        var running: Set<Int> = []
        var waiting: Set<Int> = []
        func go(_ ids: [Int]) {
            for id in ids {
                #expect(waiting.remove(id) != nil)
                running.insert(id)
            }
        }
        for id in 1...400 {
            switch Int.random(in: 0..<7, using: &random) {
            case 0, 1:
                switch machine.ask(id, RequestPriority.allCases.randomElement(using: &random) ?? .normal, now: now) {
                case .go: running.insert(id)
                case .wait: waiting.insert(id)
                case .refuse: #expect(waiting.count >= 20)
                }
            case 2, 3:
                guard let one = running.randomElement(using: &random) else { continue }
                running.remove(one)
                go(machine.leave(now: now))
            case 6:
                // one is suspended, and wants to go on at once
                guard let one = running.popFirst() else { continue }
                go(machine.leave(now: now))
                if machine.comeBack(one) { running.insert(one) } else { waiting.insert(one) }
            case 4:
                guard let one = waiting.randomElement(using: &random) else { continue }
                waiting.remove(one)
                #expect(machine.cancel(one))
            default:
                now += Double.random(in: 0...1, using: &random)
                go(machine.tick(now: now))
            }
            #expect(running.count <= most && machine.running == running.count && machine.waiting == waiting.count)
            if rate == nil, !waiting.isEmpty { #expect(running.count == most) }
        }
        while !waiting.isEmpty {
            now += 1
            go(machine.tick(now: now))
            if running.popFirst() != nil { go(machine.leave(now: now)) }
        }
    }
}
