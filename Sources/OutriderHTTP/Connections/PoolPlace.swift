// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The connections and waiters of one key, for `PoolMachine`.
struct PoolPlace {
    typealias ConnectionID = PoolMachine.ConnectionID
    typealias WaiterID = PoolMachine.WaiterID

    struct Idle {
        let connection: ConnectionID
        let since: Double
        /// When its server may close it; infinite if the server names no time.
        let until: Double
    }

    /// A connection with slots for several attempts.
    struct Shared {
        let connection: ConnectionID
        /// May fall below `used`, and be 0.
        var capacity: Int
        var used: Int
        /// When the last slot was returned.
        var since: Double

        var hasSlot: Bool { used < capacity }
    }

    /// Whether a connection may turn out to be shared.
    let mayBeShared: Bool
    /// Connections that carry single attempts, and all connections that are being opened.
    var busy = 0
    /// Connections that are being opened and do not wait for their client; counted only for shareable ones.
    private var opening = 0
    /// The last connection could not be opened, so waiters do not wait for a single connection.
    private var hasFailed = false
    /// Connections for single attempts. The youngest is last.
    var idle: [Idle] = []
    /// In the order of their opening.
    var shared: [Shared] = []
    /// The last capacity of a shared connection that its server announced, unless 0.
    private(set) var knownCapacity: Int?
    /// Attempts that wait, and the users of connections that carry single attempts or are being opened.
    private var lines = PoolLines()

    init(mayBeShared: Bool) { self.mayBeShared = mayBeShared }

    var isEmpty: Bool { busy == 0 && idle.isEmpty && lines.isEmpty && shared.isEmpty }

    var counts: PoolMachine.Counts {
        var counts = PoolMachine.Counts(busy: busy, idle: idle.count, waiting: lines.count)
        for connection in shared {
            if connection.used > 0 { counts.busy += 1 } else { counts.idle += 1 }
            counts.streams += connection.used
        }
        counts.http2 = shared.count
        return counts
    }

    /// Whether waiters expect the connection that is being opened, which may carry all of them.
    var isOpening: Bool { opening > 0 }

    private func mayOpen(isPlain: Bool) -> Bool { opening == 0 || isPlain || hasFailed }

    /// - Parameter left: connections that the session of the attempt may still use.
    private static func mayOpen(limit: Int, _ holder: PoolHolder, left: Int, busy: Int, shared: Int) -> Bool {
        left > shared && busy + shared < max(1, max(limit, holder.session?.limit ?? 0))
    }

    /// Whether the connection that has refused an attempt allows none at present: the server would refuse the attempt
    /// on another connection as well.
    private static func awaitsRaise(of avoided: ConnectionID?, in shared: [Shared]) -> Bool {
        guard let avoided else { return false }
        return shared.contains { $0.connection == avoided && $0.capacity == 0 }
    }

    private mutating func open(_ holder: PoolHolder) {
        busy += 1
        lines.use(holder)
        if mayBeShared { opening += 1 }
    }

    mutating func ask(
        _ ask: PoolMachine.Request, mostWaiters: Int, isPlain: Bool, now: @autoclosure () -> Double
    ) -> PoolMachine.Ask {
        let left = lines.left(for: ask.holder)
        if !ask.isReplay, left > 0, let youngest = takeIdle(now: now()) {
            busy += 1
            lines.use(ask.holder)
            return .lend(youngest)
        }
        if let slot = takeSlot(avoiding: ask.avoiding) { return .lend(slot) }
        let fits = Self.mayOpen(limit: ask.limit, ask.holder, left: left, busy: busy, shared: shared.count)
        if fits, mayOpen(isPlain: isPlain), !Self.awaitsRaise(of: ask.avoiding, in: shared) {
            open(ask.holder)
            return .open
        }
        // no slot of the avoided connection will come back if none is used
        if let slot = shared.firstIndex(where: { $0.connection == ask.avoiding && $0.hasSlot && $0.used == 0 }) {
            shared[slot].used = 1
            return .lend(shared[slot].connection)
        }
        guard lines.count < mostWaiters else { return .refuse }
        lines.add(
            PoolLines.Waiter(
                id: ask.waiter, limit: ask.limit, holder: ask.holder, isReplay: ask.isReplay, avoiding: ask.avoiding))
        return .wait
    }

    /// The youngest idle connection that its server still keeps. The others wait for `expire`.
    private mutating func takeIdle(now: @autoclosure () -> Double) -> ConnectionID? {
        guard let index = idle.lastIndex(where: { $0.until == .infinity || $0.until > now() }) else { return nil }
        return idle.remove(at: index).connection
    }

    /// A free slot of the fullest connection, so that the others can become idle.
    private mutating func takeSlot(avoiding avoided: ConnectionID?) -> ConnectionID? {
        var best: Int?
        for (index, connection) in shared.enumerated() where connection.hasSlot && connection.connection != avoided {
            if let best, shared[best].used > connection.used { continue }
            best = index
        }
        guard let best else { return nil }
        shared[best].used += 1
        return shared[best].connection
    }

    /// The waiter that gets the free connection; without a waiter, the connection is idle from now on.
    mutating func takeBack(
        _ connection: ConnectionID, by holder: PoolHolder, now: Double, until: Double
    ) -> WaiterID? {
        lines.giveUp(holder)
        if let waiter = lines.take({ _, left in left > 0 }) {
            lines.use(waiter.holder)
            return waiter.id
        }
        busy -= 1
        idle.append(Idle(connection: connection, since: now, until: until))
        return nil
    }

    /// - Parameter capacity: nil for a connection of single attempts.
    mutating func opened(_ connection: ConnectionID, capacity: Int?, by holder: PoolHolder, now: Double) {
        opening = max(0, opening - 1)
        hasFailed = false
        guard let capacity else { return }
        busy -= 1
        lines.giveUp(holder)
        shared.append(Shared(connection: connection, capacity: capacity, used: 1, since: now))
    }

    /// The opening does not reveal the protocol of the origin soon.
    mutating func openingWaits() { opening = max(0, opening - 1) }

    mutating func openingEnded(by holder: PoolHolder, failed: Bool) {
        opening = max(0, opening - 1)
        busy -= 1
        lines.giveUp(holder)
        if failed { hasFailed = true }
    }

    /// A slot is free. True if the connection is idle now.
    mutating func release(_ connection: ConnectionID, now: Double) -> Bool {
        guard let index = shared.firstIndex(where: { $0.connection == connection }) else { return false }
        shared[index].used = max(0, shared[index].used - 1)
        shared[index].since = now
        return shared[index].used == 0 && lines.isEmpty
    }

    mutating func setCapacity(_ capacity: Int, of connection: ConnectionID) {
        guard let index = shared.firstIndex(where: { $0.connection == connection }) else { return }
        shared[index].capacity = capacity
        if capacity > 0 { knownCapacity = capacity }
    }

    mutating func removeShared(_ connection: ConnectionID) {
        shared.removeAll { $0.connection == connection }
    }

    /// Removes an idle connection of either kind. False if the connection was not idle.
    mutating func removeIdle(_ connection: ConnectionID) -> Bool {
        if let index = idle.firstIndex(where: { $0.connection == connection }) {
            idle.remove(at: index)
            return true
        }
        guard let index = shared.firstIndex(where: { $0.connection == connection && $0.used == 0 }) else {
            return false
        }
        shared.remove(at: index)
        return true
    }

    /// When the oldest idle connection became idle. A connection whose next stream is waited for is not idle.
    var oldest: (connection: ConnectionID, since: Double)? {
        var oldest = idle.first.map { ($0.connection, $0.since) }
        guard lines.isEmpty else { return oldest }
        for connection in shared where connection.used == 0 && connection.since < oldest?.1 ?? .infinity {
            oldest = (connection.connection, connection.since)
        }
        return oldest
    }

    /// The connection to close first, and when, if none may be idle for more than these seconds.
    func firstExpiry(_ seconds: Double) -> (connection: ConnectionID, time: Double)? {
        var first = oldest.map { (connection: $0.connection, time: $0.since + seconds) }
        for connection in idle where connection.until < first?.time ?? .infinity {
            first = (connection.connection, connection.until)
        }
        return first
    }

    /// A busy connection for single attempts has ended, and makes room for another connection.
    mutating func ended(by holder: PoolHolder) -> PoolMachine.Next? {
        busy -= 1
        lines.giveUp(holder)
        return step(isPlain: true)
    }

    /// False if the waiter was not waiting.
    mutating func cancel(_ waiter: WaiterID) -> Bool { lines.cancel(waiter) }

    /// Gives waiters free slots, idle connections, then places to open another connection.
    mutating func next(isPlain: Bool) -> [PoolMachine.Next] {
        var next: [PoolMachine.Next] = []
        while let step = step(isPlain: isPlain) { next.append(step) }
        return next
    }

    private mutating func step(isPlain: Bool) -> PoolMachine.Next? {
        if lines.isEmpty { return nil }
        if shared.contains(where: \.hasSlot), let waiter = lines.take({ _, _ in true }),
            let slot = takeSlot(avoiding: nil)
        {
            return .lend(waiter.id, slot)
        }
        if !idle.isEmpty, let waiter = lines.take({ !$0.isReplay && $1 > 0 }), let youngest = idle.popLast() {
            busy += 1
            lines.use(waiter.holder)
            return .lend(waiter.id, youngest.connection)
        }
        guard mayOpen(isPlain: isPlain) else { return nil }
        let (busy, shared) = (busy, shared)
        let waiter = lines.take {
            Self.mayOpen(limit: $0.limit, $0.holder, left: $1, busy: busy, shared: shared.count)
                && !Self.awaitsRaise(of: $0.avoiding, in: shared)
        }
        guard let waiter else { return nil }
        open(waiter.holder)
        return .open(waiter.id)
    }
}
