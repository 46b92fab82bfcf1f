// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport
import Synchronization

/// The memory for large payloads of all clients together, in bytes: messages on their way, bodies of requests and
/// responses, bytes that wait for a network or a client. `FairQueue` shares the budget among clients.
///
/// Payloads that can go to files use the first half only, so that messages always find room soon. A message that finds
/// none waits. One waiting message at a time may exceed the budget: so reading goes on even if all the rest is held by
/// messages that never end. Such a message gives way to the next after some time, until a quarter more than the
/// budget is held. While no message exceeds the budget, the next may, however much is held: short bodies always find
/// memory, and must not stop long messages.
package final class MemoryBudget: Sendable {
    /// The default: 192 MiB, and on small machines and in small containers an eighth of the memory.
    package static let usual = usual(within: MachineMemory.bytes)

    /// - Parameter memory: the memory that the process may use; nil if unknown.
    static func usual(within memory: Int?) -> Int { memory.map { min(192 << 20, max(least, $0 / 8)) } ?? 192 << 20 }

    /// The smallest budget: 16 MiB.
    package static let least = 16 << 20
    /// Smaller payloads are not counted: 64 KiB.
    package static let counted = 64 << 10
    /// Smaller requests are not counted: 8 KiB.
    package static let countedRequest = 8 << 10
    /// What is counted for a byte of a response body in a result: the body, its text, and the message with the text.
    static let inlineWeight = 3
    /// How long most of the memory must be free before the heap returns its free pages to the system.
    private static let restSeconds = 2
    /// What an exchange takes, with its heads and the record under its handle: 5 KiB, which is not counted to the budget.
    static let exchangeBytes = 5 << 10

    package struct Counts: Sendable {
        package var limit = 0
        package var held = 0
        /// Bytes of exchanges, which the budget does not limit.
        package var exchanges = 0
        /// The most that was held at once.
        package var highest = 0
        /// The largest shares of clients, the largest first.
        package var shares: [Int] = []
        /// Messages that had to wait, and calls that were refused.
        package var waited = 0
        package var refused = 0
        /// Payloads that went to files, and their bytes.
        package var spilt = 0
        package var spiltBytes = 0
    }

    package typealias Tell = @Sendable (_ isBeyond: Bool) -> Void

    private struct State {
        var queue: FairQueue
        var lastID: FairQueue.ID = 0
        var waiting: [FairQueue.ID: Tell] = [:]
        /// A message has exceeded the budget.
        var isExceeded = false
        /// How many messages beyond the budget are held, also those that gave way.
        var beyond = 0
        /// Waits that never exceed the budget.
        var patient: Set<FairQueue.ID> = []
        /// The most that may be held before a further message exceeds the budget.
        let mostExceeded: Int
        var counts = Counts()
        /// What the exchanges take that exist, about.
        var exchanges = 0
        var trim = TrimRule()

        var used: Int { queue.held &+ exchanges }

        mutating func note() {
            trim.rises(to: used)
            counts.highest = max(counts.highest, queue.held)
        }

        mutating func forget(_ id: FairQueue.ID) -> Tell? {
            patient.remove(id)
            return waiting.removeValue(forKey: id)
        }

        /// The messages that have their memory now, and perhaps one that exceeds the budget.
        mutating func begin(_ begun: [(id: FairQueue.ID, client: ClientKey)]) -> [(Tell, Bool)] {
            note()
            if !patient.isEmpty { patient.subtract(begun.map(\.id)) }
            return begun.compactMap { waiting.removeValue(forKey: $0.id) }.map { ($0, false) } + exceed()
        }

        /// Lets the next waiting message exceed the budget, unless another message does.
        mutating func exceed() -> [(Tell, Bool)] {
            guard !isExceeded, queue.isAwaited, queue.held < mostExceeded || beyond == 0 else { return [] }
            let ids = patient
            guard let next = queue.runNext({ !ids.contains($0) }) else { return [] }
            note()
            guard let tell = waiting.removeValue(forKey: next.id) else { return [] }
            isExceeded = true
            beyond &+= 1
            return [(tell, true)]
        }
    }

    private static let shownShares = 16

    package let limit: Int
    private let state: Mutex<State>

    package init(_ limit: Int) {
        self.limit = limit
        state = Mutex(
            State(queue: FairQueue(places: limit, mostWaiting: 16), mostExceeded: limit &+ limit / 4))
    }

    package var counts: Counts {
        state.withLock { state in
            var counts = state.counts
            (counts.limit, counts.held, counts.exchanges) = (limit, state.queue.held, state.exchanges)
            let shares = state.queue.holders.map(\.held).filter { $0 > 0 }.sorted(by: >)
            counts.shares = Array(shares.prefix(Self.shownShares))
            return counts
        }
    }

    /// Takes bytes; false if the client may not have them now.
    ///
    /// - Parameter canSpill: whether the payload could go to a file.
    func take(_ bytes: Int, for client: ClientKey, canSpill: Bool) -> Bool {
        state.withLock { state in
            guard state.queue.take(bytes, for: client, within: canSpill ? limit / 2 : limit) else { return false }
            state.note()
            return true
        }
    }

    /// Takes bytes even beyond the budget, for a payload that exists already.
    func takeAnyway(_ bytes: Int, for client: ClientKey) {
        state.withLock { state in
            state.queue.takeAnyway(bytes, for: client)
            state.note()
        }
    }

    /// Calls `tell` once the bytes are taken: perhaps at once, perhaps from another thread.
    ///
    /// - Parameter mayExceed: whether the bytes may be taken beyond the budget.
    func wait(_ bytes: Int, for client: ClientKey, mayExceed: Bool = true, _ tell: @escaping Tell) -> UInt64 {
        let (id, due) = state.withLock { state -> (FairQueue.ID, [(Tell, Bool)]) in
            state.lastID &+= 1
            let id = state.lastID
            if state.queue.enter(id, for: client, weight: bytes, isOwed: true) == .run {
                state.note()
                return (id, [(tell, false)])
            }
            state.counts.waited &+= 1
            state.waiting[id] = tell
            if !mayExceed { state.patient.insert(id) }
            return (id, state.exceed())
        }
        for (tell, isBeyond) in due { tell(isBeyond) }
        return id
    }

    /// Ends the wait; `tell` is not called afterwards. False if the bytes were taken before.
    @discardableResult
    func cancel(_ id: UInt64, of client: ClientKey) -> Bool {
        // what waited is dropped behind the lock: an exchange may end with it, which notes that here
        let (due, _) = state.withLock { state -> ([(Tell, Bool)]?, Tell?) in
            let waited = state.forget(id)
            guard state.queue.cancel(id, of: client) else { return (nil, waited) }
            // a smaller message of the client may have waited for this turn
            return (state.begin(state.queue.fill()), waited)
        }
        for (tell, isBeyond) in due ?? [] { tell(isBeyond) }
        return due != nil
    }

    /// Gives bytes back.
    ///
    /// - Parameters:
    ///   - isBeyond: whether no other message may exceed the budget because of them.
    ///   - beyond: how many of the messages had exceeded the budget by `wait`.
    func give(_ bytes: Int, of client: ClientKey, isBeyond: Bool = false, beyond: Int = 0) {
        let (due, trims) = state.withLock { state -> ([(Tell, Bool)], Bool) in
            let begun = state.queue.leave(client, weight: bytes)
            if isBeyond { state.isExceeded = false }
            state.beyond &-= beyond
            let due = state.begin(begun)
            return (due, state.trim.falls(to: state.used))
        }
        if trims { trimSoon() }
        for (tell, isBeyond) in due { tell(isBeyond) }
    }

    /// Notes how many exchanges there are, of all clients: many that end at once leave much free memory.
    func note(exchanges count: Int) {
        let trims = state.withLock { state in
            state.exchanges = count &* Self.exchangeBytes
            state.note()
            return state.trim.falls(to: state.used)
        }
        if trims { trimSoon() }
    }

    /// Returns free pages, unless much is held again by then: large blocks are mapped, but many smaller ones leave free
    /// pages in the heap.
    private func trimSoon() {
        // ends by itself
        Task {
            try? await Task.sleep(for: .seconds(Self.restSeconds))
            let trims = state.withLock { $0.trim.rested(at: $0.used) }
            if trims { BlockingThreads.files.run(for: .service, isOwed: true) { ServiceMemory.returnFreePages() } }
        }
    }

    /// The message beyond the budget takes long: another message may exceed it.
    func passOn() {
        let due = state.withLock { state in
            state.isExceeded = false
            return state.exceed()
        }
        for (tell, isBeyond) in due { tell(isBeyond) }
    }

    package func countRefusal() { state.withLock { $0.counts.refused &+= 1 } }

    func countSpill(_ bytes: Int) {
        state.withLock { state in
            state.counts.spilt &+= 1
            state.counts.spiltBytes &+= bytes
        }
    }
}
