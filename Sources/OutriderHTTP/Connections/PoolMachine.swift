// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What two attempts must share to share a connection. Whatever is not in here must not influence a connection.
package struct PoolKey: Sendable, Hashable {
    package var isSecure: Bool
    package var host: String
    package var port: Int
    package var socketPath: String?
    package var trust: Trust
    /// Nil for the direct way.
    package var proxy: ProxyRoute?
    package var addresses: AddressPolicy

    package init(_ url: HTTPURL, trust: Trust, proxy: ProxyRoute? = nil, addresses: AddressPolicy = .any) {
        isSecure = url.isSecure
        host = url.host
        port = url.port
        socketPath = url.socketPath
        self.trust = trust
        self.proxy = proxy
        self.addresses = addresses
    }
}

/// Decides which connection carries which attempt, and how many there may be.
///
///     ask ──▶ lend an idle one (the youngest) ─────────────┐
///      ├────▶ open another ──▶ opened ─────────────────────┤
///      └────▶ wait, in order ──▶ takeBack, ended ──────────┴──▶ carrying ──▶ takeBack ──▶ idle ──▶ expire
///
/// A connection takes a place from the moment when it is being opened until it has ended. Connections and waiters are
/// ids; whoever runs this keeps what they stand for. Times are seconds of any clock that does not go back.
///
/// Responsible for: the limit per key, order among waiters, age and number of idle connections.
/// Not responsible for: opening, closing, deadlines of waiters (they call `cancel`).
package struct PoolMachine: ~Copyable {
    package typealias ConnectionID = UInt64
    package typealias WaiterID = UInt64

    package struct Config: Sendable {
        /// Seconds that a connection may lie idle. Default 60.
        package var idleSeconds = 60.0
        /// Idle connections of all keys together; the oldest goes when there is one more. Default 256.
        package var idleInAll = 256
        /// Waiters of one key; one more is refused. Default 10,000.
        package var waitersPerKey = 10_000

        package init() {}
    }

    package struct Counts: Sendable, Equatable {
        /// Carrying an attempt, or being opened.
        package var busy = 0
        package var idle = 0
        package var waiting = 0

        package init(busy: Int = 0, idle: Int = 0, waiting: Int = 0) {
            self.busy = busy
            self.idle = idle
            self.waiting = waiting
        }
    }

    private struct Idle {
        let connection: ConnectionID
        let since: Double
    }

    private struct Waiter {
        let id: WaiterID
        let limit: Int
    }

    private struct Place {
        var busy = 0
        /// The youngest is last.
        var idle: [Idle] = []
        /// The first to come is first.
        var waiters: [Waiter] = []

        var isEmpty: Bool { busy == 0 && idle.isEmpty && waiters.isEmpty }

        mutating func ask(_ waiter: WaiterID, limit: Int, mostWaiters: Int) -> Ask {
            if let youngest = idle.popLast() {
                busy += 1
                return .lend(youngest.connection)
            }
            if busy < max(1, limit) {
                busy += 1
                return .open
            }
            guard waiters.count < mostWaiters else { return .refuse }
            waiters.append(Waiter(id: waiter, limit: limit))
            return .wait
        }

        /// The waiter who gets the connection that is free now; if there is none, it is idle from now on.
        mutating func takeBack(_ connection: ConnectionID, now: Double) -> WaiterID? {
            if !waiters.isEmpty { return waiters.removeFirst().id }
            busy -= 1
            idle.append(Idle(connection: connection, since: now))
            return nil
        }
    }

    private let config: Config
    private var places: [PoolKey: Place] = [:]
    package private(set) var counts = Counts()

    package init(_ config: Config = Config()) { self.config = config }

    package enum Ask: Equatable {
        case lend(ConnectionID)
        case open
        case wait
        /// Too many are waiting already.
        case refuse
    }

    /// An attempt wants a connection. At most `limit` connections of the key may exist for it to open one.
    package mutating func ask(_ waiter: WaiterID, for key: PoolKey, limit: Int) -> Ask {
        let answer = places[key, default: Place()].ask(waiter, limit: limit, mostWaiters: config.waitersPerKey)
        switch answer {
        case .lend:
            counts.idle -= 1
            counts.busy += 1
        case .open: counts.busy += 1
        case .wait: counts.waiting += 1
        case .refuse: break
        }
        return answer
    }

    package enum TakeBack: Equatable {
        case lend(WaiterID)
        case keep
        /// It is kept, but for it this one, the oldest of all, is to be closed.
        case evict(ConnectionID)
    }

    /// A connection has done its work and can carry another attempt.
    package mutating func takeBack(_ connection: ConnectionID, of key: PoolKey, now: Double) -> TakeBack {
        guard let index = places.index(forKey: key) else { return .evict(connection) }
        if let waiter = places.values[index].takeBack(connection, now: now) {
            counts.waiting -= 1
            return .lend(waiter)
        }
        counts.busy -= 1
        counts.idle += 1
        guard counts.idle > config.idleInAll, let oldest = removeOldest() else { return .keep }
        return .evict(oldest)
    }

    /// A connection that was opening or carrying an attempt is no more. Returns the waiter for whom another is to be opened.
    package mutating func ended(of key: PoolKey) -> WaiterID? {
        guard var place = places[key] else { return nil }
        place.busy -= 1
        counts.busy -= 1
        var next: WaiterID?
        if let first = place.waiters.first, place.busy < max(1, first.limit) {
            place.waiters.removeFirst()
            place.busy += 1
            counts.waiting -= 1
            counts.busy += 1
            next = first.id
        }
        places[key] = place.isEmpty ? nil : place
        return next
    }

    /// A connection ended while it was idle; it must not be lent any more. False if it was not idle.
    package mutating func idleEnded(_ connection: ConnectionID, of key: PoolKey) -> Bool {
        guard var place = places[key], let index = place.idle.firstIndex(where: { $0.connection == connection }) else {
            return false
        }
        place.idle.remove(at: index)
        counts.idle -= 1
        places[key] = place.isEmpty ? nil : place
        return true
    }

    /// A waiter does not want a connection any more. False if it was not waiting.
    package mutating func cancel(_ waiter: WaiterID, of key: PoolKey) -> Bool {
        guard var place = places[key], let index = place.waiters.firstIndex(where: { $0.id == waiter }) else {
            return false
        }
        place.waiters.remove(at: index)
        counts.waiting -= 1
        places[key] = place.isEmpty ? nil : place
        return true
    }

    /// The connections to close because they have been idle too long.
    package mutating func expire(now: Double) -> [ConnectionID] {
        var expired: [ConnectionID] = []
        for (key, var place) in places {
            let old = place.idle.prefix { now - $0.since >= config.idleSeconds }
            guard !old.isEmpty else { continue }
            expired += old.map(\.connection)
            counts.idle -= old.count
            place.idle.removeFirst(old.count)
            places[key] = place.isEmpty ? nil : place
        }
        return expired
    }

    /// When `expire` will next have something to say; nil while nothing is idle.
    package var nextExpiry: Double? {
        let oldest = places.values.compactMap { $0.idle.first?.since }.min()
        return oldest.map { $0 + config.idleSeconds }
    }

    private mutating func removeOldest() -> ConnectionID? {
        var found: (key: PoolKey, since: Double)?
        for (key, place) in places {
            guard let since = place.idle.first?.since, since < found?.since ?? .infinity else { continue }
            found = (key, since)
        }
        guard let key = found?.key, var place = places[key] else { return nil }
        let oldest = place.idle.removeFirst()
        counts.idle -= 1
        places[key] = place.isEmpty ? nil : place
        return oldest.connection
    }
}

/// Whether an attempt whose connection died may be sent again, once, on a fresh connection (RFC 9110 section 9.2.2,
/// RFC 9112 section 9.3.1).
///
/// A server may close an idle connection at any time, so the first byte of a request can meet its end. Where nothing has
/// been answered, a method that may be repeated is; POST and PATCH never are, since the server could have acted.
package enum Replay {
    package static func isAllowed(
        method: String, wasReused: Bool, answerBegan: Bool, fileBodyBegan: Bool, replayedBefore: Bool
    ) -> Bool {
        wasReused && !answerBegan && !fileBodyBegan && !replayedBefore && isIdempotent(method)
    }

    /// RFC 9110 section 9.2.2; unknown methods are not.
    package static func isIdempotent(_ method: String) -> Bool {
        switch method {
        case "GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE": true
        default: false
        }
    }
}
