// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Synchronization
import Testing

@testable import OutriderEngine

/// The memory for large payloads of all clients.
struct MemoryBudgetTests {
    private let budget = MemoryBudget(1000)

    private func quota(_ number: UInt64) -> BodyQuota { BodyQuota(client: ClientKey(number), budget: budget) }

    /// Notes the charges that a wait was given.
    private final class Charges: Sendable {
        let list = Mutex<[MemoryCharge]>([])
        var now: [Bool] { list.withLock { $0.map(\.isBeyond) } }
        func add(_ charge: MemoryCharge) { list.withLock { $0.append(charge) } }
        func drop() { list.withLock { $0 = [] } }
    }

    @Test func `payloads that can go to files get half of the budget`() {
        let (one, two) = (quota(1), quota(2))
        let first = one.hold(250)
        #expect(first != nil && one.hold(1) == nil)
        let second = two.hold(125)
        #expect(second != nil && two.hold(1) == nil)
        #expect(two.message(200) != nil)
        #expect(budget.counts.held == 375)
        withExtendedLifetime((first, second)) {}
    }

    @Test func `a message waits, and one at a time exceeds the budget`() {
        let (one, two, three) = (quota(1), quota(2), quota(3))
        let lasting = one.message(500)
        let more = two.message(250)
        let (second, third) = (Charges(), Charges())
        _ = two.wait(forMessage: 300) { second.add($0) }
        _ = three.wait(forMessage: 400) { third.add($0) }
        #expect(second.now == [true] && third.now.isEmpty)
        // the message that exceeds the budget may grow
        #expect(second.list.withLock { $0[0].grow(by: 1000) })
        #expect(budget.counts.held == 2050 && budget.counts.waited == 2)
        second.drop()
        #expect(third.now == [true])
        third.drop()
        lasting?.release()
        more?.release()
        #expect(budget.counts.held == 0 && budget.counts.shares.isEmpty)
    }

    @Test func `short bodies far beyond the budget stop no long message, and messages still go one at a time`() {
        let (one, two, three) = (quota(1), quota(2), quota(3))
        // short bodies are taken whatever is held
        budget.takeAnyway(5000, for: ClientKey(9))
        let (first, second, third) = (Charges(), Charges(), Charges())
        _ = one.wait(forMessage: 300) { first.add($0) }
        _ = two.wait(forMessage: 300) { second.add($0) }
        _ = three.wait(forMessage: 300) { third.add($0) }
        #expect(first.now == [true] && second.now.isEmpty)
        // a message that gave way is still held: so much beyond the budget, no other one follows
        first.list.withLock { $0[0].giveWay() }
        #expect(second.now.isEmpty)
        // the message passes to another charge, which ends
        let other = MemoryCharge(one, 0)
        first.list.withLock { other.take(over: $0[0]) }
        first.drop()
        #expect(second.now.isEmpty)
        other.release()
        #expect(second.now == [true] && third.now.isEmpty)
        second.drop()
        #expect(third.now == [true])
        third.drop()
        budget.give(5000, of: ClientKey(9))
        #expect(budget.counts.held == 0)
    }

    @Test func `a client keeps 1 MiB of short bodies in memory, and more of them only while there is room`() {
        let full = quota(1).message(1000)
        let two = quota(2)
        #expect(two.takeMemory(1 << 20, of: 1000))
        #expect(!two.takeMemory(1000, of: 1000))
        two.giveMemory(1 << 20)
        #expect(two.takeMemory(1000, of: 1000))
        two.giveMemory(1000)
        full?.release()
        #expect(budget.counts.held == 0)
    }

    @Test func `a wait that ends takes nothing, and lets others go on`() {
        let (one, two, three) = (quota(1), quota(2), quota(3))
        let charges = Charges()
        let lasting = one.message(500)
        _ = two.wait(forMessage: 600) { charges.add($0) }
        let wait = three.wait(forMessage: 600) { charges.add($0) }
        three.cancelWait(wait)
        charges.drop()
        #expect(charges.now.isEmpty && budget.counts.held == 500)
        lasting?.release()
        lasting?.release()
        #expect(budget.counts.held == 0)
    }

    @Test func `a wait that ends lets a smaller message of the same client go on`() {
        let (one, two, three) = (quota(1), quota(2), quota(3))
        let lasting = one.message(500)
        let (beyond, small) = (Charges(), Charges())
        // exceeds the budget, so that nothing else may
        _ = two.wait(forMessage: 800) { beyond.add($0) }
        let wait = three.wait(forMessage: 400) { small.add($0) }
        _ = three.wait(forMessage: 100) { small.add($0) }
        lasting?.release()
        #expect(beyond.now == [true] && small.now.isEmpty && budget.counts.held == 800)
        three.cancelWait(wait)
        #expect(small.now == [false] && budget.counts.held == 900)
    }

    @Test func `a message beyond the budget gives way, and stays counted`() {
        let (one, two, three) = (quota(1), quota(2), quota(3))
        let lasting = one.message(500)
        let (second, third) = (Charges(), Charges())
        _ = two.wait(forMessage: 550) { second.add($0) }
        _ = three.wait(forMessage: 550) { third.add($0) }
        #expect(second.now == [true] && third.now.isEmpty)
        second.list.withLock { $0[0] }.giveWay()
        #expect(third.now == [true] && budget.counts.held == 1600)
        // more than a quarter beyond: no further message exceeds the budget
        third.list.withLock { $0[0] }.giveWay()
        let fourth = Charges()
        _ = quota(4).wait(forMessage: 10) { fourth.add($0) }
        #expect(fourth.now.isEmpty)
        second.drop()
        #expect(fourth.now == [true])
        third.drop()
        fourth.drop()
        lasting?.release()
        #expect(budget.counts.held == 0)
    }

    @Test func `a body that is read back never exceeds the budget`() async {
        let (one, two) = (quota(1), quota(2))
        let lasting = one.message(500)
        #expect(await two.room(600, seconds: 0.02) == nil)
        let message = Charges()
        _ = two.wait(forMessage: 600) { message.add($0) }
        #expect(message.now == [true])
        message.drop()
        lasting?.release()
        #expect(budget.counts.held == 0)
    }

    @Test(.timeLimit(.minutes(1))) func `a wait of a cancelled task ends at once, and lets others go on`() async {
        let (one, two, three) = (quota(1), quota(2), quota(3))
        let lasting = one.message(500)
        // more than there can ever be is refused at once
        #expect(await two.room(1001, seconds: 600) == nil)
        let beyond = Charges()
        _ = three.wait(forMessage: 800) { beyond.add($0) }
        let wait = Task { await two.room(600, seconds: 600) == nil }
        while budget.counts.waited < 2 { await Task.yield() }
        let small = Charges()
        _ = two.wait(forMessage: 0) { small.add($0) }
        #expect(small.now.isEmpty)
        wait.cancel()
        #expect(await wait.value)
        beyond.drop()
        #expect(small.now.count == 1)
        lasting?.release()
        small.drop()
        #expect(budget.counts.held == 0)
    }

    @Test func `a charge that goes over to another takes its place along`() {
        let (one, two) = (quota(1), quota(2))
        let lasting = one.message(500)
        let (second, third) = (Charges(), Charges())
        let whole = two.message(0)
        _ = two.wait(forMessage: 600) { second.add($0) }
        if let first = second.list.withLock({ $0.first }) { whole?.take(over: first) }
        second.drop()
        _ = two.wait(forMessage: 600) { third.add($0) }
        #expect(third.now.isEmpty && budget.counts.held == 1100)
        whole?.release()
        #expect(third.now == [true])
        // nothing is left behind if the other has ended
        if let first = third.list.withLock({ $0.first }) { whole?.take(over: first) }
        third.drop()
        lasting?.release()
        #expect(budget.counts.held == 0)
    }

    @Test func `stored bodies count against the client and the budget`() {
        let (one, long) = (quota(1), 1 << 20)
        #expect(one.takeMemory(200, of: long) && !one.takeMemory(200, of: long))
        #expect(one.held.memory == 200 && budget.counts.held == 200)
        #expect(one.takeMemory(2000, of: 2000))
        one.giveMemory(2000)
        one.giveMemory(200)
        #expect(one.held.memory == 0 && budget.counts.held == 0)
    }
}
