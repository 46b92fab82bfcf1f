// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Chooses the event loop of a new client. The client's calls, the requests of these calls and their connections to
/// servers stay on the loop.
struct LoopChoice: Sendable {
    enum Rule: Sendable {
        /// Each loop gets as many clients as the others. The first loop gets a client last, because the first loop also
        /// accepts clients and carries shared work.
        case even
        /// A further loop gets clients only while all loops before are busy: clients of the same loop share connections to
        /// servers.
        case whenBusy
    }

    /// The share of its time that a busy loop works.
    static let busy = 0.5

    private let rule: Rule
    /// Connected clients by loop.
    private(set) var clients: [Int]

    init(loops: Int, _ rule: Rule) {
        self.rule = rule
        clients = Array(repeating: 0, count: max(1, loops))
    }

    /// The loop of the next client.
    ///
    /// - Parameter loads: the share of its time that each loop works, from 0 to 1; a missing load is 0.
    mutating func enter(_ loads: [Double]) -> Int {
        let load = { (index: Int) in index < loads.count ? loads[index] : 0 }
        var chosen = clients.indices.reversed().min { clients[$0] < clients[$1] } ?? 0
        if rule == .whenBusy {
            chosen =
                clients.indices.first { load($0) < Self.busy }
                ?? clients.indices.min { (load($0), clients[$0]) < (load($1), clients[$1]) } ?? 0
        }
        clients[chosen] += 1
        return chosen
    }

    mutating func leave(_ index: Int) {
        if clients.indices.contains(index), clients[index] > 0 { clients[index] -= 1 }
    }
}

/// The share of its time that an event loop works, over the last quarter of a second or more.
struct LoopLoad: Sendable {
    /// Nanoseconds.
    static let period: Int64 = 250_000_000
    /// A loop without an event for so many nanoseconds sleeps.
    static let asleep: Int64 = 1_000_000_000

    private var worked: Int64 = 0
    private var passed: Int64 = 0
    private var lastEnd: Int64 = 0
    private var share = 0.0

    /// A turn of the loop has ended.
    ///
    /// - Parameters:
    ///   - slept: nanoseconds before the turn.
    ///   - began: the beginning of the turn, in nanoseconds of a clock that only moves forward.
    mutating func turned(slept: Int64, began: Int64, ended: Int64) {
        let work = max(0, ended &- began)
        worked = worked &+ work
        passed = passed &+ work &+ max(0, slept)
        lastEnd = ended
        guard passed >= Self.period else { return }
        share = Double(worked) / Double(passed)
        (worked, passed) = (0, 0)
    }

    func share(at now: Int64) -> Double { now &- lastEnd >= Self.asleep ? 0 : share }
}
