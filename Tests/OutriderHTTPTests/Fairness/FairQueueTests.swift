// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// Whose work gets a place.
struct FairQueueTests {
    private let one = ClientKey(1), two = ClientKey(2), three = ClientKey(3)

    @Test func `one client gets half of all places, the next half of the rest, and each further one finds a place`() {
        var queue = FairQueue(places: 16, mostWaiting: 100)
        var id: FairQueue.ID = 0
        func fill(_ client: ClientKey) -> Int {
            var running = 0
            for _ in 0..<20 {
                id += 1
                if queue.enter(id, for: client) == .run { running += 1 }
            }
            return running
        }
        #expect((fill(one), fill(two), fill(three), fill(.service)) == (8, 4, 2, 1))
        #expect(queue.held == 15)
        #expect(queue.enter(1000, for: ClientKey(9)) == .run)
        #expect(queue.enter(1001, for: ClientKey(10)) == .wait)
    }

    @Test func `a single place goes to one client after the other`() {
        var queue = FairQueue(places: 1, mostWaiting: 100)
        #expect(queue.enter(1, for: one) == .run)
        #expect(queue.enter(2, for: one) == .wait)
        #expect(queue.enter(3, for: one) == .wait)
        #expect(queue.enter(4, for: two) == .wait)
        var order: [FairQueue.ID] = []
        var running = one
        while let next = queue.leave(running).first {
            order.append(next.id)
            running = next.client
        }
        #expect(order == [2, 4, 3])
        #expect(queue.held == 0)
    }

    @Test func `work of one client keeps its order, and passes nothing that waits`() {
        var queue = FairQueue(places: 2, mostWaiting: 100)
        #expect(queue.enter(1, for: one) == .run)
        #expect(queue.enter(2, for: one) == .wait)
        #expect(queue.enter(3, for: two) == .run)
        #expect(queue.leave(two).isEmpty)
        #expect(queue.enter(4, for: one) == .wait)
        #expect(queue.leave(one).map(\.id) == [2])
        #expect(queue.leave(one).map(\.id) == [4])
    }

    @Test func `what is cancelled never runs, and a client with nothing else is forgotten`() {
        var queue = FairQueue(places: 1, mostWaiting: 2)
        _ = queue.enter(1, for: one)
        _ = queue.enter(2, for: two)
        _ = queue.enter(3, for: two)
        #expect(queue.cancel(2, of: two) && !queue.cancel(2, of: two) && !queue.cancel(1, of: one))
        #expect(queue.leave(one).map(\.id) == [3])
        _ = queue.enter(4, for: one)
        let wasWaiting = queue.cancel(4, of: one)
        #expect(wasWaiting)
        #expect(queue.leave(two).isEmpty && queue.held == 0)
    }

    @Test func `too much is refused, but for what gives something back`() {
        var queue = FairQueue(places: 1, mostWaiting: 1)
        _ = queue.enter(1, for: one)
        #expect(queue.enter(2, for: one) == .wait)
        #expect(queue.enter(3, for: one) == .refuse)
        #expect(queue.enter(4, for: one, isOwed: true) == .wait)
        #expect(queue.enter(5, for: two) == .wait)
    }

    @Test(arguments: 0..<20)
    func `in every order of events each place is used, and each work runs once`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var queue = FairQueue(places: Int.random(in: 1...9, using: &random), mostWaiting: 50)
        var running: [(FairQueue.ID, ClientKey)] = []
        var waiting: [FairQueue.ID: ClientKey] = [:]
        func held(_ client: ClientKey) -> Int { running.count { $0.1 == client } }
        for id in 1...2000 as ClosedRange<FairQueue.ID> {
            let client = ClientKey(UInt64.random(in: 1...4, using: &random))
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                switch queue.enter(id, for: client) {
                case .run: running.append((id, client))
                case .wait: waiting[id] = client
                case .refuse: #expect(waiting.values.count { $0 == client } == 50)
                }
            case 2:
                guard let (id, owner) = waiting.randomElement(using: &random) else { continue }
                let wasWaiting = queue.cancel(id, of: owner)
                #expect(wasWaiting)
                waiting[id] = nil
            default:
                guard !running.isEmpty else { continue }
                let (_, owner) = running.remove(at: Int.random(in: 0..<running.count, using: &random))
                for next in queue.leave(owner) {
                    #expect(waiting.removeValue(forKey: next.id) == next.client)
                    running.append((next.id, next.client))
                }
            }
            #expect(queue.held == running.count && running.count <= queue.places)
            // no client waits that may have a place
            let free = queue.places - running.count
            for client in Set(waiting.values) { #expect(free == 0 || held(client) >= free) }
        }
    }

    @Test func `work of several places gets them if the client holds less than would be free`() {
        var queue = FairQueue(places: 100, mostWaiting: 100)
        #expect(queue.enter(1, for: one, weight: 50) == .run)
        #expect(queue.enter(2, for: one, weight: 1) == .wait)
        #expect(queue.enter(3, for: two, weight: 51) == .wait)
        #expect(queue.take(26, for: three, within: 75) == false)
        #expect(queue.take(25, for: three, within: 75) == true)
        #expect(queue.held == 75)
        #expect(queue.leave(one, weight: 50).map(\.id) == [2, 3])
        #expect(Dictionary(uniqueKeysWithValues: queue.holders.map { ($0, $1) }) == [one: 1, two: 51, three: 25])
        #expect(queue.leave(three, weight: 25).isEmpty && queue.leave(two, weight: 51).isEmpty)
        #expect(queue.leave(one).isEmpty && queue.held == 0 && queue.holders.isEmpty)
    }

    @Test func `the next work may exceed the places, in its turn`() {
        var queue = FairQueue(places: 10, mostWaiting: 100)
        queue.takeAnyway(12, for: one)
        #expect(queue.enter(1, for: two, weight: 8) == .wait)
        #expect(queue.enter(2, for: three, weight: 3) == .wait)
        #expect(queue.isAwaited)
        #expect(queue.runNext().map { $0.id } == 1)
        #expect(queue.held == 20)
        #expect(queue.leave(one, weight: 12).isEmpty)
        #expect(queue.leave(two, weight: 8).map(\.id) == [2])
        #expect(!queue.isAwaited)
        #expect(queue.runNext() == nil)
    }
}
