// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The attempts that wait for a connection of one key: a line for each holder, in the order of arrival.
///
/// The client that uses the fewest connections of the key is served first; clients that use equally many take turns.
struct PoolLines {
    struct Waiter {
        let id: PoolMachine.WaiterID
        let limit: Int
        let holder: PoolHolder
        /// The waiter must not get an idle HTTP/1.1 connection.
        let isReplay: Bool
        /// A connection that has refused the waiter.
        var avoiding: PoolMachine.ConnectionID?
    }

    private struct Line {
        let holder: PoolHolder
        var waiters: [Waiter] = []
        /// The index of the first waiter.
        var first = 0

        var next: Waiter? { first < waiters.count ? waiters[first] : nil }

        mutating func removeFirst() {
            first += 1
            guard first > 64, first * 2 > waiters.count else { return }
            waiters.removeFirst(first)
            first = 0
        }
    }

    private struct Use {
        let holder: PoolHolder
        var count: Int
    }

    /// The holder that was served longest ago is first; no line is empty.
    private var lines: [Line] = []
    private var uses: [Use] = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    // MARK: uses

    mutating func use(_ holder: PoolHolder) {
        for index in uses.indices where uses[index].holder == holder {
            uses[index].count += 1
            return
        }
        uses.append(Use(holder: holder, count: 1))
    }

    mutating func giveUp(_ holder: PoolHolder) {
        guard let index = uses.firstIndex(where: { $0.holder == holder }) else { return }
        uses[index].count -= 1
        if uses[index].count == 0 { uses.swapAt(index, uses.count - 1) }
        if uses.last?.count == 0 { uses.removeLast() }
    }

    private func used(by client: ClientKey) -> Int {
        uses.reduce(0) { $0 + ($1.holder.client == client ? $1.count : 0) }
    }

    /// Connections that the holder's session may still use; a large number without a limit of its own.
    func left(for holder: PoolHolder) -> Int {
        guard let session = holder.session else { return .max }
        let used = uses.reduce(0) { $0 + ($1.holder.session?.session == session.session ? $1.count : 0) }
        return max(0, session.limit - used)
    }

    // MARK: waiters

    mutating func add(_ waiter: Waiter) {
        count += 1
        guard let index = lines.firstIndex(where: { $0.holder == waiter.holder }) else {
            lines.append(Line(holder: waiter.holder, waiters: [waiter]))
            return
        }
        // a replay has waited before, and those before it longer
        if waiter.isReplay {
            let waiting = lines[index].waiters[lines[index].first...]
            lines[index].waiters.insert(waiter, at: waiting.firstIndex { !$0.isReplay } ?? waiting.endIndex)
        } else {
            lines[index].waiters.append(waiter)
        }
    }

    /// Removes the waiter whose turn it is among those that satisfy `suits`.
    ///
    /// - Parameter suits: gets the waiter, and the number of connections that its session may still use.
    mutating func take(_ suits: (Waiter, Int) -> Bool) -> Waiter? {
        var best: (index: Int, used: Int)?
        for (index, line) in lines.enumerated() {
            guard let waiter = line.next, suits(waiter, left(for: line.holder)) else { continue }
            if lines.count == 1 { return remove(from: index) }
            let used = used(by: line.holder.client)
            if used < best?.used ?? .max { best = (index, used) }
        }
        return best.flatMap { remove(from: $0.index) }
    }

    private mutating func remove(from index: Int) -> Waiter? {
        guard let waiter = lines[index].next else { return nil }
        count -= 1
        lines[index].removeFirst()
        if lines[index].next == nil {
            lines.remove(at: index)
        } else if lines.count > 1 {
            lines.append(lines.remove(at: index))
        }
        return waiter
    }

    /// False if the attempt is not waiting.
    mutating func cancel(_ id: PoolMachine.WaiterID) -> Bool {
        for index in lines.indices {
            let line = lines[index]
            guard let place = line.waiters[line.first...].firstIndex(where: { $0.id == id }) else { continue }
            count -= 1
            lines[index].waiters.remove(at: place)
            if lines[index].next == nil { lines.remove(at: index) }
            return true
        }
        return false
    }
}
