// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides which connection carries which attempt, and the number of connections.
///
///     ask ──▶ lend the youngest idle connection, or a slot ┐
///      ├────▶ open another ──▶ opened ─────────────────────┤
///      └────▶ wait, in order ──▶ takeBack, release, ended ─┴──▶ carrying ──▶ takeBack, release ──▶ idle ──▶ expire
///
/// A connection counts from the moment when it is being opened until it has ended. An HTTP/1.1 connection carries a
/// single attempt; an HTTP/2 connection has slots, and leaves the machine once the connection takes no new attempts.
/// Until the protocol of an origin is known, a single connection is opened and the other attempts wait. Connections and
/// waiters are ids; the runner keeps the objects. Times are seconds of any clock that does not go back.
///
/// The connections and waiters of each key are in a `PoolPlace`; the machine has the limits of all keys together.
///
/// Responsible for: the limit per key, turns of waiters, age and number of idle connections.
/// Not responsible for: opening, closing, deadlines of waiters (which call `cancel`).
package struct PoolMachine: ~Copyable {
    package typealias ConnectionID = UInt64
    package typealias WaiterID = UInt64

    package struct Config: Sendable {
        /// Seconds that a connection may lie idle, unless its server names a shorter time. Default 60.
        package var idleSeconds = 60.0
        /// Idle connections of all keys together; beyond this number the oldest is closed. Default 256.
        package var idleInAll = 256
        /// Waiters of a key; further waiters are refused. Default 10,000.
        package var waitersPerKey = 10_000

        package init() {}
    }

    package struct Counts: Sendable, Equatable {
        /// Carrying an attempt, or being opened.
        package var busy = 0
        package var idle = 0
        package var waiting = 0
        /// HTTP/2 connections among them, and the attempts that these carry.
        package var http2 = 0
        package var streams = 0
        /// HTTP/2 connections that take no new attempts, which are not among the others.
        package var draining = 0

        package init(busy: Int = 0, idle: Int = 0, waiting: Int = 0) {
            self.busy = busy
            self.idle = idle
            self.waiting = waiting
        }
    }

    /// An attempt that needs a connection; a new connection is opened only while its key has fewer than `limit`.
    package struct Request {
        let waiter: WaiterID
        let limit: Int
        let holder: PoolHolder
        /// The attempt died or was refused on another connection: an idle HTTP/1.1 connection may be as dead.
        let isReplay: Bool
        /// A connection that has just refused the attempt.
        let avoiding: ConnectionID?
    }

    private let config: Config
    private var places: [PoolKey: PoolPlace] = [:]
    /// The place that was found last, until a place is added or removed: most attempts go where the last one went.
    private var recent: (key: PoolKey, index: Dictionary<PoolKey, PoolPlace>.Index)?
    /// Keys whose last connection turned out to be HTTP/1.1: further connections are opened without waiting.
    private var plain = OriginMemory()
    package private(set) var counts = Counts()

    package init(_ config: Config = Config()) { self.config = config }

    /// The reply to an attempt.
    package enum Ask: Equatable {
        /// An idle connection, or a slot.
        case lend(ConnectionID)
        /// The attempt opens a connection, and reports `opened` or `openingEnded`.
        case open
        /// A later `Next` names the waiter, unless `cancel` comes first.
        case wait
        /// Too many are waiting already.
        case refuse
    }

    /// The outcome for a waiter.
    package enum Next: Equatable {
        case lend(WaiterID, ConnectionID)
        case open(WaiterID)
    }

    /// An attempt needs a connection; `Request` describes the parameters.
    package mutating func ask(
        _ waiter: WaiterID, for key: PoolKey, limit: Int, holder: PoolHolder = PoolHolder(), isReplay: Bool = false,
        avoiding: ConnectionID? = nil, now: @autoclosure () -> Double = 0
    ) -> Ask {
        let request = Request(
            waiter: waiter, limit: limit, holder: holder, isReplay: isReplay, avoiding: avoiding)
        guard !key.mayBeShared else { return askShared(request, for: key, now: now()) }
        let most = config.waitersPerKey
        return change(key) { $0.ask(request, mostWaiters: most, isPlain: true, now: now()) }
    }

    private mutating func askShared(_ request: Request, for key: PoolKey, now: Double) -> Ask {
        let isPlain = plain.contains(key, now: now)
        let most = config.waitersPerKey
        return change(key) { $0.ask(request, mostWaiters: most, isPlain: isPlain, now: now) }
    }

    /// Whether attempts for the key wait for a connection that is being opened, and not for a place.
    package func awaitsOpening(_ key: PoolKey) -> Bool { places[key]?.isOpening == true }

    /// Changes the place of a key, and the counts with it.
    @discardableResult
    private mutating func change<Result>(_ key: PoolKey, _ body: (inout PoolPlace) -> Result) -> Result {
        if let index = index(of: key) { return change(at: index, body) }
        var place = PoolPlace(mayBeShared: key.mayBeShared)
        let result = body(&place)
        count(from: Counts(), to: place.counts)
        if !place.isEmpty {
            recent = nil
            places[key] = place
        }
        return result
    }

    private mutating func index(of key: PoolKey) -> Dictionary<PoolKey, PoolPlace>.Index? {
        if let recent, recent.key.isSame(as: key) { return recent.index }
        guard let index = places.index(forKey: key) else { return nil }
        recent = (key, index)
        return index
    }

    /// The same in place, so that no list of the place is copied. Without its last connection and waiter the place is removed.
    private mutating func change<Result>(
        at index: Dictionary<PoolKey, PoolPlace>.Index, _ body: (inout PoolPlace) -> Result
    ) -> Result {
        let change = Self.change(&places.values[index], body)
        count(from: change.before, to: change.after)
        if change.isEmpty {
            recent = nil
            places.remove(at: index)
        }
        return change.result
    }

    /// Looks at the place while it is at hand: each access through the dictionary copies it.
    private static func change<Result>(
        _ place: inout PoolPlace, _ body: (inout PoolPlace) -> Result
    ) -> (result: Result, before: Counts, after: Counts, isEmpty: Bool) {
        let before = place.counts
        let result = body(&place)
        return (result, before, place.counts, place.isEmpty)
    }

    private mutating func count(from before: Counts, to after: Counts) {
        counts.busy += after.busy - before.busy
        counts.idle += after.idle - before.idle
        counts.waiting += after.waiting - before.waiting
        counts.http2 += after.http2 - before.http2
        counts.streams += after.streams - before.streams
    }

    /// A connection was opened for an attempt, and carries the attempt.
    ///
    /// - Parameter capacity: attempts at once; nil for a connection that carries attempts in turn.
    package mutating func opened(
        _ connection: ConnectionID, of key: PoolKey, capacity: Int?, by holder: PoolHolder = PoolHolder(), now: Double
    ) -> [Next] {
        guard key.mayBeShared else { return [] }
        if capacity == nil { plain.insert(key, now: now) } else { plain.remove(key) }
        return change(key) {
            $0.opened(connection, capacity: capacity, by: holder, now: now)
            return $0.next(isPlain: capacity == nil)
        }
    }

    /// A connection that was being opened has ended.
    package mutating func openingEnded(
        of key: PoolKey, by holder: PoolHolder = PoolHolder(), failed: Bool
    ) -> [Next] {
        guard key.mayBeShared else { return ended(of: key, by: holder).map { [$0] } ?? [] }
        return change(key) {
            $0.openingEnded(by: holder, failed: failed)
            return $0.next(isPlain: false)
        }
    }

    /// A connection that is being opened takes long, or waits for room in the share of its client: other attempts no
    /// longer wait for its protocol. The connection still counts.
    package mutating func openingWaits(of key: PoolKey) -> [Next] {
        guard key.mayBeShared, places[key] != nil else { return [] }
        return change(key) {
            $0.openingWaits()
            return $0.next(isPlain: false)
        }
    }

    /// The next use of a free connection.
    package enum TakeBack: Equatable {
        case lend(WaiterID)
        /// The connection is idle.
        case keep
        /// Keep the connection, and close this one, the oldest of all.
        case evict(ConnectionID)
    }

    /// A connection for single attempts has done its work and can carry another attempt.
    ///
    /// - Parameter until: the time from which the connection must not lie idle, as its server may close it then.
    package mutating func takeBack(
        _ connection: ConnectionID, of key: PoolKey, by holder: PoolHolder = PoolHolder(), now: Double,
        until: Double = .infinity
    ) -> TakeBack {
        guard let index = index(of: key) else { return .evict(connection) }
        if let waiter = places.values[index].takeBack(connection, by: holder, now: now, until: until) {
            counts.waiting -= 1
            return .lend(waiter)
        }
        counts.busy -= 1
        counts.idle += 1
        return evicted()
    }

    private mutating func evicted() -> TakeBack {
        guard counts.idle > config.idleInAll, let oldest = removeOldest() else { return .keep }
        return .evict(oldest)
    }

    /// A connection for one attempt that carried one has ended. Returns what a waiter gets for it.
    package mutating func ended(of key: PoolKey, by holder: PoolHolder = PoolHolder()) -> Next? {
        guard places[key] != nil else { return nil }
        return change(key) { $0.ended(by: holder) }
    }

    // MARK: connections with slots

    package enum Release: Equatable {
        case next([Next])
        /// The connection is idle, and this connection, or an older idle one, is to be closed.
        case idle(TakeBack)
    }

    /// An attempt on a shared connection has ended.
    package mutating func release(_ connection: ConnectionID, of key: PoolKey, now: Double) -> Release {
        guard let index = index(of: key) else { return .next([]) }
        let next: [Next]? = change(at: index) { place in
            guard place.shared.contains(where: { $0.connection == connection }) else { return [] }
            return place.release(connection, now: now) ? nil : place.next(isPlain: false)
        }
        return next.map { .next($0) } ?? .idle(evicted())
    }

    /// The server allows more attempts at once, or fewer.
    package mutating func setCapacity(_ capacity: Int, of connection: ConnectionID, _ key: PoolKey) -> [Next] {
        guard places[key] != nil else { return [] }
        return change(key) {
            $0.setCapacity(capacity, of: connection)
            return $0.next(isPlain: false)
        }
    }

    /// The attempts at once that the server allows on a connection, if a connection of the key has learned that.
    package func knownCapacity(of key: PoolKey) -> Int? { places[key]?.knownCapacity }

    /// A shared connection takes no new attempts, or is gone. Repeated calls have no effect.
    package mutating func withdraw(_ connection: ConnectionID, of key: PoolKey) -> [Next] {
        guard places[key] != nil else { return [] }
        return change(key) {
            $0.removeShared(connection)
            return $0.next(isPlain: false)
        }
    }

    // MARK: idle connections and waiters

    /// A connection ended while idle, and must not be lent again. False for a connection that was not idle.
    package mutating func idleEnded(_ connection: ConnectionID, of key: PoolKey) -> Bool {
        guard places[key] != nil else { return false }
        return change(key) { $0.removeIdle(connection) }
    }

    /// A waiter gives up. False for an id that was not waiting.
    package mutating func cancel(_ waiter: WaiterID, of key: PoolKey) -> Bool {
        guard places[key] != nil else { return false }
        return change(key) { $0.cancel(waiter) }
    }

    /// The connections to close because they have been idle too long.
    package mutating func expire(now: Double) -> [ConnectionID] {
        var expired: [ConnectionID] = []
        for key in Array(places.keys) {
            while let first = places[key]?.firstExpiry(config.idleSeconds), first.time <= now,
                change(key, { $0.removeIdle(first.connection) })
            {
                expired.append(first.connection)
            }
        }
        return expired
    }

    /// The next time at which `expire` finds a connection; nil while no connection is idle.
    package var nextExpiry: Double? {
        places.values.compactMap { $0.firstExpiry(config.idleSeconds)?.time }.min()
    }

    private mutating func removeOldest() -> ConnectionID? {
        var found: (key: PoolKey, connection: ConnectionID, since: Double)?
        for (key, place) in places {
            guard let oldest = place.oldest, oldest.since < found?.since ?? .infinity else { continue }
            found = (key, oldest.connection, oldest.since)
        }
        guard let found else { return nil }
        change(found.key) { $0.removeIdle(found.connection) }
        return found.connection
    }
}
