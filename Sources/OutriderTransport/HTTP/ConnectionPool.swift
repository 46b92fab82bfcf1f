// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// What the pool needs of an attempt that wants a connection.
protocol PoolWaiter: AnyObject {
    var key: PoolKey { get }
    var connectionsPerHost: Int { get }
    /// Here it is.
    func carry(on connection: HTTP1Connection)
    /// There is none to lend, but a place for one: open it.
    func openConnection()
    func refused(_ failure: HTTPFailure)
}

/// Runs `PoolMachine` for all connections of one event loop.
// proof: every method runs on `loop` and asserts it; other threads only carry the reference.
final class ConnectionPool: @unchecked Sendable {
    let loop: any EventLoop
    let deadlines: Deadlines
    let spares: ProxySpares
    private var machine: PoolMachine
    private var idle: [PoolMachine.ConnectionID: HTTP1Connection] = [:]
    private var waiters: [PoolMachine.WaiterID: any PoolWaiter] = [:]
    private var lastID: UInt64 = 0
    private var expiry: Scheduled<Void>?
    private var isClosed = false
    private var shares: FairQueue
    /// Those that wait for a place in the share of their client.
    private var unplaced: [FairQueue.ID: Placed] = [:]

    /// The states of trusted roots, as they were when they were last looked at.
    private var roots: [Trust: RootsState] = [:]

    private struct RootsState {
        var stamp: TrustRoots.Stamp?
        /// Counts the changes.
        var generation = 0
        var looked: NIODeadline
    }

    /// How long changed roots may stay unnoticed.
    private static let rootsPatience = TimeAmount.milliseconds(1000)

    init(on loop: any EventLoop, config: PoolMachine.Config, mostConnections: Int) {
        shares = FairQueue(places: mostConnections, mostWaiting: config.waitersPerKey)
        self.loop = loop
        deadlines = Deadlines(on: loop)
        spares = ProxySpares(on: loop)
        machine = PoolMachine(config)
    }

    var counts: PoolMachine.Counts { machine.counts }

    /// An id for a connection or a waiter.
    func makeID() -> UInt64 {
        lastID &+= 1
        return lastID
    }

    /// Answers at once or later through one of the methods of `PoolWaiter`. Returns the id for `cancel` if it has to wait.
    func ask(_ waiter: any PoolWaiter) -> PoolMachine.WaiterID? {
        loop.assertInEventLoop()
        guard !isClosed else {
            waiter.refused(HTTPFailure(.sessionInvalidated, "the service is stopping", phase: .queue))
            return nil
        }
        let id = makeID()
        switch machine.ask(id, for: waiter.key, limit: waiter.connectionsPerHost) {
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

    // MARK: shares

    typealias Placed = (Result<ConnectionPlace, HTTPFailure>) -> Void

    /// Hands over a place for a connection, at once or as soon as the client has fewer connections than are free. Returns
    /// the id for `withdraw` if that must be waited for.
    func place(for client: ClientKey, _ hand: @escaping Placed) -> FairQueue.ID? {
        loop.assertInEventLoop()
        let id = makeID()
        switch shares.enter(id, for: client) {
        case .run: hand(.success(ConnectionPlace(client, self)))
        case .wait:
            unplaced[id] = hand
            evictIdle(for: client)
            return id
        case .refuse:
            let text = "too many requests of this client wait for a connection (send fewer at once)"
            hand(.failure(HTTPFailure(.tooManyOpenFiles, text, phase: .queue)))
        }
        return nil
    }

    func withdraw(_ id: FairQueue.ID, of client: ClientKey) {
        loop.assertInEventLoop()
        unplaced[id] = nil
        _ = shares.cancel(id, of: client)
    }

    fileprivate func giveBack(_ client: ClientKey) {
        loop.assertInEventLoop()
        for (id, client) in shares.leave(client) {
            guard let hand = unplaced.removeValue(forKey: id) else { continue }
            // not from here, as in `ended`
            let place = ConnectionPlace(client, self)
            loop.assumeIsolated().execute { hand(.success(place)) }
        }
    }

    /// An idle connection is worth less than one that is wanted: of the same client, or of any if all are taken.
    private func evictIdle(for client: ClientKey) {
        let isFull = shares.held >= shares.places
        let candidates = idle.values.filter { isFull || $0.place.client == client }
        if let oldest = candidates.min(by: { $0.id < $1.id }) { dropIdle(oldest) }
    }

    private func dropIdle(_ connection: HTTP1Connection) {
        _ = machine.idleEnded(connection.id, of: connection.key)
        idle[connection.id] = nil
        connection.close()
    }

    // MARK: connections that end

    func cancel(_ waiter: PoolMachine.WaiterID, of key: PoolKey) {
        loop.assertInEventLoop()
        waiters[waiter] = nil
        _ = machine.cancel(waiter, of: key)
    }

    // MARK: roots

    /// Which state of its roots connections are made under now.
    func generation(of trust: Trust) -> Int { roots[trust]?.generation ?? 0 }

    /// Where the roots of a trust have changed, closes the idle connections that rest on the old ones: a root that was
    /// removed vouches for nothing any more. Those that are in use are closed when they are done.
    func closeOutdated(_ key: PoolKey, _ tls: TLSBridge) {
        loop.assertInEventLoop()
        guard key.usesTLS else { return }
        let now = NIODeadline.now()
        guard var state = roots[key.trust] else {
            roots[key.trust] = RootsState(stamp: tls.stamp(of: key.trust), looked: now)
            return
        }
        guard now >= state.looked + Self.rootsPatience else { return }
        state.looked = now
        let stamp = tls.stamp(of: key.trust)
        let isChanged = stamp != state.stamp
        state.stamp = stamp
        if isChanged { state.generation += 1 }
        roots[key.trust] = state
        guard isChanged else { return }
        spares.close()
        for connection in idle.values where connection.key.trust == key.trust && connection.key.usesTLS {
            _ = machine.idleEnded(connection.id, of: connection.key)
            idle[connection.id] = nil
            connection.close()
        }
    }

    /// Whether the roots under which the connection was made have changed since.
    private func isOutdated(_ connection: HTTP1Connection) -> Bool {
        connection.key.usesTLS && connection.generation != generation(of: connection.key.trust)
    }

    /// The connection has done its work.
    func takeBack(_ connection: HTTP1Connection) {
        loop.assertInEventLoop()
        if isOutdated(connection) {
            connection.close()
            return ended(of: connection.key)
        }
        switch machine.takeBack(connection.id, of: connection.key, now: now) {
        case .lend(let waiter):
            guard let waiter = waiters.removeValue(forKey: waiter) else { return }
            waiter.carry(on: connection)
        case .keep:
            idle[connection.id] = connection
            if unplaced.isEmpty { expireLater() } else { dropIdle(connection) }
        case .evict(let oldest):
            idle[connection.id] = connection
            idle.removeValue(forKey: oldest)?.close()
        }
        if isClosed { closeIdle() }
    }

    /// A connection, or the attempt to open one, has come to its end.
    func ended(of key: PoolKey) {
        loop.assertInEventLoop()
        guard let next = machine.ended(of: key), let waiter = waiters.removeValue(forKey: next) else { return }
        // not from here: if that fails at once, the next one follows, and so on through a long queue
        loop.assumeIsolated().execute { waiter.openConnection() }
    }

    func idleEnded(_ connection: HTTP1Connection) {
        loop.assertInEventLoop()
        _ = machine.idleEnded(connection.id, of: connection.key)
        idle[connection.id] = nil
    }

    /// Closes what is idle now.
    func flush() {
        loop.assertInEventLoop()
        closeIdle()
    }

    /// Closes what is idle, now and from now on; refuses what comes.
    func close() {
        loop.assertInEventLoop()
        isClosed = true
        closeIdle()
    }

    private func closeIdle() {
        spares.close()
        expiry?.cancel()
        expiry = nil
        for connection in idle.values {
            _ = machine.idleEnded(connection.id, of: connection.key)
            connection.close()
        }
        idle = [:]
    }

    private func lend(_ id: PoolMachine.ConnectionID, to waiter: any PoolWaiter) {
        guard let connection = idle.removeValue(forKey: id) else { return waiter.openConnection() }
        waiter.carry(on: connection)
    }

    private var now: Double { Double(NIODeadline.now().uptimeNanoseconds) / 1e9 }

    /// One task at most is scheduled, for the connection that will have been idle longest.
    private func expireLater() {
        guard expiry == nil, let next = machine.nextExpiry else { return }
        let wait = TimeAmount.seconds(max(0, next - now))
        expiry = loop.assumeIsolated().scheduleTask(in: wait) {
            self.expiry = nil
            for id in self.machine.expire(now: self.now) { self.idle.removeValue(forKey: id)?.close() }
            self.expireLater()
        }
    }
}

extension PoolKey {
    /// Whether certificates were judged for the connection: the origin's, or those of a proxy.
    fileprivate var usesTLS: Bool { isSecure || proxy?.server.kind == .https }
}

extension TimeAmount {
    /// Of seconds from outside: not less than nothing, not more than a year.
    static func seconds(_ seconds: Double) -> TimeAmount {
        let clamped = min(max(0, seconds), 31_536_000) * 1e9
        // safe: clamped to what fits, and not-a-number became 0
        return .nanoseconds(clamped.isNaN ? 0 : Int64(clamped))
    }
}

/// A place for one connection in the share of a client, taken until it is given back.
// proof: confined to the loop of its pool; other threads only carry the reference.
final class ConnectionPlace: @unchecked Sendable {
    let client: ClientKey
    private var pool: ConnectionPool?

    init(_ client: ClientKey, _ pool: ConnectionPool) {
        self.client = client
        self.pool = pool
    }

    /// Harmless when repeated.
    func giveBack() {
        guard let pool else { return }
        self.pool = nil
        pool.giveBack(client)
    }
}
