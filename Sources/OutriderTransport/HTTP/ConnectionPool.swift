// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// An attempt that waits for a connection, as the pool sees it.
protocol PoolWaiter: AnyObject {
    var key: PoolKey { get }
    var connectionsPerHost: Int { get }
    var holder: PoolHolder { get }
    /// A connection with a slot is available.
    func carry(on connection: any AttemptConnection)
    /// No connection is available, but there is a place for a new connection: open it.
    func openConnection()
    func refused(_ failure: HTTPFailure)
}

/// Lends the connections of an event loop to attempts, and keeps idle connections for later attempts.
///
/// Runs a `PoolMachine`, which knows connections and waiters by ids; the pool has the objects behind the ids.
///
/// Responsible for: carrying out the decisions of the machine; closing idle connections, whether expired, outdated or
/// beyond a limit; shares of clients (`ConnectionPoolShares`); changed trust (`ConnectionPoolTrust`).
/// Not responsible for: opening a connection (`ConnectionOpening`); the attempt on a connection (`AttemptRunner`).
// proof: every method runs on `loop` and asserts it; other threads only carry the reference.
final class ConnectionPool: @unchecked Sendable {
    let loop: any EventLoop
    let deadlines: Deadlines
    let spares: ProxySpares
    /// Limits the growth of the windows of HTTP/2 streams.
    let reserve = HTTP2WindowReserve()
    var handshakes = HandshakeQueue()
    /// The key of the last attempt whose key may outlive its session.
    var recentKey: PoolKey?

    private var machine: PoolMachine
    private var lastID: UInt64 = 0
    private var waiters: [PoolMachine.WaiterID: any PoolWaiter] = [:]
    /// Connections without an attempt, of either kind.
    private(set) var idle: [PoolMachine.ConnectionID: any AttemptConnection] = [:]
    /// Connections with slots for several attempts, including idle ones, without draining connections.
    private var shared: [PoolMachine.ConnectionID: any AttemptConnection] = [:]
    /// Shared connections that take no new attempts and have not ended.
    private(set) var draining: [PoolMachine.ConnectionID: any AttemptConnection] = [:]
    private var plainOrigins = OriginMemory()
    var addresses = AddressWatch()
    private var expiry: Scheduled<Void>?
    /// The time of `expiry`.
    private var expiryTime = 0.0
    /// The earliest time limit of an idle or shared connection; `distantFuture` without TLS.
    private var firstEnd = NIODeadline.distantFuture

    /// The connections of each client, including connections that are being opened. For `ConnectionPoolShares`.
    var shares: FairQueue
    /// Openings that wait for a place in the share of their client. For `ConnectionPoolShares`.
    var unplaced: [FairQueue.ID: Placed] = [:]
    /// For `ConnectionPoolTrust`.
    var generations = TrustGenerations()

    init(on loop: any EventLoop, config: PoolMachine.Config, mostConnections: Int) {
        shares = FairQueue(places: mostConnections, mostWaiting: config.waitersPerKey)
        self.loop = loop
        deadlines = Deadlines(on: loop)
        spares = ProxySpares(on: loop)
        machine = PoolMachine(config)
    }

    var counts: PoolMachine.Counts {
        var counts = machine.counts
        counts.draining = draining.count
        return counts
    }

    /// An id for a connection or a waiter.
    func makeID() -> UInt64 {
        lastID &+= 1
        return lastID
    }

    // MARK: waiters

    /// Calls a method of `PoolWaiter`, at once or later. Returns an id for `cancel` if the attempt has to wait.
    func ask(
        _ waiter: any PoolWaiter, isReplay: Bool = false, avoiding: PoolMachine.ConnectionID? = nil
    ) -> PoolMachine.WaiterID? {
        loop.assertInEventLoop()
        endUnreachable()
        if firstEnd != .distantFuture, firstEnd <= .now() { endOverdue() }
        let id = makeID()
        switch machine.ask(
            id, for: waiter.key, limit: waiter.connectionsPerHost, holder: waiter.holder, isReplay: isReplay,
            avoiding: avoiding, now: now)
        {
        case .lend(let connection):
            lend(connection, to: waiter)
        case .open:
            waiter.openConnection()
        case .wait:
            waiters[id] = waiter
            return id
        case .refuse:
            let text = "too many requests wait for a connection to \(waiter.key.host); send fewer at once"
            waiter.refused(HTTPFailure(.limitExceeded, text, phase: .queue, retryable: true))
        }
        return nil
    }

    /// Whether attempts for the key wait for a connection that is being opened.
    func awaitsOpening(_ key: PoolKey) -> Bool { machine.awaitsOpening(key) }

    private func lend(_ id: PoolMachine.ConnectionID, to waiter: any PoolWaiter) {
        guard let connection = idle.removeValue(forKey: id) ?? shared[id] else { return waiter.openConnection() }
        connection.reserve(for: waiter.holder)
        waiter.carry(on: connection)
    }

    /// The attempt does not wait any more.
    func cancel(_ waiter: PoolMachine.WaiterID, of key: PoolKey) {
        loop.assertInEventLoop()
        waiters[waiter] = nil
        _ = machine.cancel(waiter, of: key)
        // a connection that the waiter waited for may be idle now
        expireLater()
    }

    // MARK: connections that carry one attempt at a time

    /// Takes back a connection after its request.
    func takeBack(_ connection: any AttemptConnection) {
        loop.assertInEventLoop()
        let key = connection.key
        let (now, until) = (now, connection.idleUntil)
        if isOutdated(connection, key) || until <= now {
            connection.close()
            return ended(connection)
        }
        switch machine.takeBack(connection.id, of: key, by: connection.holder, now: now, until: until) {
        case .lend(let waiter):
            guard let waiter = waiters.removeValue(forKey: waiter) else { return }
            connection.reserve(for: waiter.holder)
            waiter.carry(on: connection)
        case .keep: keep(connection, evicting: nil)
        case .evict(let oldest): keep(connection, evicting: oldest)
        }
    }

    /// The connection is idle from now on, unless another client waits for its place.
    private func keep(_ connection: any AttemptConnection, evicting oldest: PoolMachine.ConnectionID?) {
        idle[connection.id] = connection
        firstEnd = min(firstEnd, connection.facts.until)
        if let oldest {
            shared[oldest] = nil
            idle.removeValue(forKey: oldest)?.close()
            expireLater(connection.idleUntil)
        } else if unplaced.isEmpty {
            expireLater(connection.idleUntil)
        } else {
            dropIdle(connection)
        }
    }

    /// An unshared connection has ended.
    func ended(_ connection: any AttemptConnection) {
        loop.assertInEventLoop()
        if let next = machine.ended(of: connection.key, by: connection.holder) { serve([next]) }
    }

    /// The opening of a connection has ended.
    func openingEnded(of key: PoolKey, by holder: PoolHolder, failed: Bool) {
        loop.assertInEventLoop()
        serve(machine.openingEnded(of: key, by: holder, failed: failed))
    }

    /// The opening of a connection waits for a place in the share of its client.
    func openingWaits(of key: PoolKey) {
        loop.assertInEventLoop()
        serve(machine.openingWaits(of: key))
    }

    /// Gives waiters the connections and openings that the machine grants.
    private func serve(_ next: [PoolMachine.Next]) {
        for step in next {
            // deferred: a step that fails at once triggers the next, and a long queue would recurse
            switch step {
            case .open(let id):
                guard let waiter = waiters.removeValue(forKey: id) else { continue }
                loop.assumeIsolated().execute { waiter.openConnection() }
            case .lend(let id, let connection):
                guard let waiter = waiters.removeValue(forKey: id) else { continue }
                let connection = idle.removeValue(forKey: connection) ?? shared[connection]
                connection?.reserve(for: waiter.holder)
                loop.assumeIsolated().execute {
                    if let connection { waiter.carry(on: connection) } else { waiter.openConnection() }
                }
            }
        }
    }

    // MARK: shared connections

    /// A connection was opened, and carries the attempt that opened it.
    ///
    /// - Parameter capacity: attempts at a time; nil for a connection that carries them one after the other.
    func opened(_ connection: any AttemptConnection, capacity: Int?) {
        loop.assertInEventLoop()
        addresses.watch(for: connection.facts)
        guard connection.key.mayBeShared else { return }
        if capacity != nil {
            shared[connection.id] = connection
            firstEnd = min(firstEnd, connection.facts.until)
        }
        serve(
            machine.opened(
                connection.id, of: connection.key, capacity: capacity, by: connection.holder, now: now))
    }

    /// An attempt on a shared connection has ended, or did not begin.
    func release(_ connection: any AttemptConnection) {
        loop.assertInEventLoop()
        if isOutdated(connection, connection.key) { connection.drain() }
        guard shared[connection.id] != nil else { return }
        switch machine.release(connection.id, of: connection.key, now: now) {
        case .next(let next): serve(next)
        case .idle(.evict(let oldest)): keep(connection, evicting: oldest)
        case .idle: keep(connection, evicting: nil)
        }
    }

    /// The server allows more attempts at once, or fewer.
    func setCapacity(_ capacity: Int, of connection: any AttemptConnection) {
        loop.assertInEventLoop()
        guard shared[connection.id] != nil else { return }
        serve(machine.setCapacity(capacity, of: connection.id, connection.key))
    }

    /// The attempts at once that the server allows on a connection, if known.
    func knownCapacity(of key: PoolKey) -> Int? { machine.knownCapacity(of: key) }

    /// A shared connection takes no new attempts. `sharedEnded` follows.
    func drains(_ connection: any AttemptConnection) {
        loop.assertInEventLoop()
        guard shared.removeValue(forKey: connection.id) != nil else { return }
        idle[connection.id] = nil
        draining[connection.id] = connection
        serve(machine.withdraw(connection.id, of: connection.key))
    }

    /// A shared connection is gone, whether draining or not.
    func sharedEnded(_ connection: any AttemptConnection) {
        loop.assertInEventLoop()
        draining[connection.id] = nil
        guard shared.removeValue(forKey: connection.id) != nil else { return }
        idle[connection.id] = nil
        serve(machine.withdraw(connection.id, of: connection.key))
    }

    /// Remembers for a while that the origin requires HTTP/1.1.
    func needsHTTP11(_ key: PoolKey) { plainOrigins.insert(key, now: now) }

    func isKnownToNeedHTTP11(_ key: PoolKey) -> Bool { plainOrigins.contains(key, now: now) }

    // MARK: idle connections

    /// A connection has ended while idle.
    func idleEnded(_ connection: any AttemptConnection) {
        loop.assertInEventLoop()
        forgetIdle(connection)
    }

    /// Closes an idle connection.
    func dropIdle(_ connection: any AttemptConnection) {
        forgetIdle(connection)
        connection.close()
    }

    private func forgetIdle(_ connection: any AttemptConnection) {
        _ = machine.idleEnded(connection.id, of: connection.key)
        idle[connection.id] = nil
        shared[connection.id] = nil
    }

    /// Closes these connections if idle; connections in use end with their last request.
    func end(where isOver: (any AttemptConnection) -> Bool) {
        for connection in idle.values where isOver(connection) { dropIdle(connection) }
        for connection in shared.values where isOver(connection) { connection.drain() }
    }

    /// Ends connections whose time limit has passed.
    private func endOverdue() {
        let now = NIODeadline.now()
        end { $0.facts.until <= now }
        firstEnd = [idle, shared].joined().map(\.value.facts.until).filter { $0 > now }.min() ?? .distantFuture
    }

    /// Schedules a single task, for the connection that expires first.
    ///
    /// - Parameter end: the time by which a connection that is idle since now must end, if its server names one.
    private func expireLater(_ end: Double = .infinity) {
        guard expiry == nil || end < expiryTime, let next = machine.nextExpiry else { return }
        expiry?.cancel()
        expiryTime = next
        let wait = TimeAmount.seconds(max(0, next - now))
        expiry = loop.assumeIsolated().scheduleTask(in: wait) {
            self.expiry = nil
            for id in self.machine.expire(now: self.now) {
                let connection = self.idle.removeValue(forKey: id) ?? self.shared[id]
                self.shared[id] = nil
                connection?.close()
            }
            self.expireLater()
        }
    }

    /// Closes all idle connections.
    func flush() {
        loop.assertInEventLoop()
        spares.close()
        expiry?.cancel()
        expiry = nil
        for connection in idle.values {
            dropIdle(connection)
        }
    }

    /// Seconds, for the machine.
    var now: Double { Double(NIODeadline.now().uptimeNanoseconds) / 1e9 }
}
